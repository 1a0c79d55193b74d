// The questions of admin.h about client quotas.
#include <algorithm>

#include "cli/admin.h"
#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/describe_client_quotas.h"

namespace tailrace::cli {

std::string entity_text(const QuotaEntity& entity) {
  std::string text;
  for (const QuotaPart& part : entity) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part.type, part.name.value_or("<default>"));
  }
  return text;
}

Outcome<std::vector<QuotaEntry>> describe_quotas(Client& client, const std::vector<QuotaFilter>& filters, bool strict) {
  kafka::DescribeClientQuotasRequest request;
  request.strict = strict;
  for (const QuotaFilter& filter : filters) {
    request.components.emplace_back();
    request.components.back().entity_type = filter.type;
    request.components.back().match_type = static_cast<std::int8_t>(filter.match);
    if (filter.match == QuotaFilter::Match::exact) request.components.back().match = filter.name;
  }
  auto connection = client.any();
  if (!connection) return std::unexpected(connection.error());
  auto reply = ask<kafka::DescribeClientQuotasResponse>(**connection, request, client.timeout());
  if (!reply) return std::unexpected(reply.error());
  const auto& answer = reply->message;
  if (answer.error_code != 0) {
    return std::unexpected(describe_error(answer.error_code, answer.error_message.value_or(std::string_view())));
  }
  std::vector<QuotaEntry> entries;
  if (!answer.entries) return entries;
  for (const auto& one : *answer.entries) {
    QuotaEntry entry;
    for (const auto& part : one.entity) {
      entry.entity.push_back({.type = std::string(part.entity_type), .name = std::nullopt});
      if (part.entity_name) entry.entity.back().name = *part.entity_name;
    }
    // User first, as people say it.
    std::sort(entry.entity.begin(), entry.entity.end(),
              [](const QuotaPart& a, const QuotaPart& b) { return a.type > b.type; });
    for (const auto& value : one.values) entry.values.emplace_back(value.key, value.value);
    std::sort(entry.values.begin(), entry.values.end());
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const QuotaEntry& a, const QuotaEntry& b) { return entity_text(a.entity) < entity_text(b.entity); });
  return entries;
}

Outcome<Verdict> alter_quotas(Client& client, const QuotaEntity& entity, const std::vector<QuotaChange>& changes,
                              bool validate_only) {
  kafka::AlterClientQuotasRequest request;
  request.validate_only = validate_only;
  request.entries.emplace_back();
  for (const QuotaPart& part : entity) {
    request.entries[0].entity.emplace_back();
    request.entries[0].entity.back().entity_type = part.type;
    if (part.name) request.entries[0].entity.back().entity_name = *part.name;
  }
  for (const QuotaChange& change : changes) {
    request.entries[0].ops.emplace_back();
    request.entries[0].ops.back().key = change.key;
    request.entries[0].ops.back().value = change.value.value_or(0);
    request.entries[0].ops.back().remove = !change.value;
  }
  auto verdicts = ask_controller<kafka::AlterClientQuotasResponse>(client, request, [&](const auto& answer) {
    std::vector<Verdict> all;
    for (const auto& one : answer.entries) {
      all.push_back({entity_text(entity), one.error_code, std::string(one.error_message.value_or(""))});
    }
    return all;
  });
  if (!verdicts) return std::unexpected(verdicts.error());
  if (verdicts->empty()) return std::unexpected(std::string("the broker does not say what became of the quotas"));
  return verdicts->front();
}

}  // namespace tailrace::cli
