#include "cli/partition_files.h"

#include <limits>
#include <set>

#include <nlohmann/json.hpp>

namespace tailrace::cli {
namespace {

using nlohmann::json;

std::unexpected<std::string> wrong(std::string text) { return std::unexpected(std::move(text)); }

Outcome<std::int64_t> number_in(const json& object, const char* field, std::int64_t min, std::int64_t max) {
  const auto at = object.find(field);
  if (at == object.end()) return wrong(fmt::format("\"{}\" is missing", field));
  if (!at->is_number_integer()) return wrong(fmt::format("\"{}\" is no whole number", field));
  if (at->is_number_unsigned() && at->get<std::uint64_t>() > static_cast<std::uint64_t>(max)) {
    return wrong(fmt::format("\"{}\" is out of range", field));
  }
  const auto value = at->get<std::int64_t>();
  if (value < min || value > max) return wrong(fmt::format("\"{}\" is out of range", field));
  return value;
}

Outcome<std::vector<BrokerId>> replicas_in(const json& object) {
  const auto at = object.find("replicas");
  if (at == object.end() || !at->is_array() || at->empty()) return wrong("\"replicas\" is no list of broker ids");
  std::vector<BrokerId> replicas;
  for (const json& one : *at) {
    if (!one.is_number_integer() || one < 0 || one > std::numeric_limits<BrokerId>::max()) {
      return wrong("\"replicas\" is no list of broker ids");
    }
    replicas.push_back(one.get<BrokerId>());
    if (std::set(replicas.begin(), replicas.end()).size() != replicas.size()) {
      return wrong(fmt::format("broker {} stands twice in \"replicas\"", replicas.back()));
    }
  }
  return replicas;
}

Outcome<ListedPartition> parse_one(const json& object, Wanted wanted) {
  if (!object.is_object()) return wrong("it is no object");
  for (const auto& [field, value] : object.items()) {
    const bool is_known = field == "topic" || field == "partition" ||
                          (field == "offset" && wanted == Wanted::offsets) ||
                          ((field == "replicas" || field == "log_dirs") && wanted == Wanted::replicas);
    if (!is_known) return wrong(fmt::format("there is no field \"{}\"", field));
  }
  ListedPartition out;
  const auto topic = object.find("topic");
  if (topic == object.end() || !topic->is_string() || topic->get_ref<const std::string&>().empty()) {
    return wrong("\"topic\" is no name");
  }
  out.key.topic = topic->get<std::string>();
  const auto partition = number_in(object, "partition", 0, std::numeric_limits<std::int32_t>::max());
  if (!partition) return wrong(partition.error());
  out.key.partition = static_cast<std::int32_t>(*partition);
  if (wanted == Wanted::offsets) {
    const auto offset = number_in(object, "offset", -1, std::numeric_limits<std::int64_t>::max());
    if (!offset) return wrong(offset.error());
    out.offset = *offset;
  }
  if (wanted == Wanted::replicas) {
    auto replicas = replicas_in(object);
    if (!replicas) return wrong(replicas.error());
    out.replicas = std::move(*replicas);
  }
  return out;
}

}  // namespace

Outcome<std::vector<ListedPartition>> parse_partition_file(std::string_view text, Wanted wanted) {
  const json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return wrong("it is no JSON");
  if (!parsed.is_object()) return wrong("it is no JSON object");
  if (const auto version = parsed.find("version"); version != parsed.end() && *version != 1) {
    return wrong("only version 1 is known");
  }
  const auto list = parsed.find("partitions");
  if (list == parsed.end() || !list->is_array()) return wrong("it has no list \"partitions\"");
  std::vector<ListedPartition> all;
  std::set<PartitionKey> seen;
  for (const json& object : *list) {
    auto one = parse_one(object, wanted);
    if (!one) return wrong(fmt::format("partitions[{}]: {}", all.size(), one.error()));
    if (!seen.insert(one->key).second) {
      return wrong(fmt::format("{}-{} stands twice", one->key.topic, one->key.partition));
    }
    all.push_back(std::move(*one));
  }
  if (all.empty()) return wrong("it names no partition");
  return all;
}

}  // namespace tailrace::cli
