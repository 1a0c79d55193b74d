// `tailrace producers`: which producers a partition knows, and their open transactions (KIP-664), as
// kafka-transactions describe-producers.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/text.h"
#include "services/kafka/messages/describe_producers.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "producers";

struct ProducersOptions : CommandOptions {
  std::string topic;
  std::vector<std::int32_t> partitions;
};

struct Row {
  std::int32_t partition = 0;
  kafka::DescribeProducersResponse::ProducerState state;
};

ordered_json to_json(const std::string& topic, const Row& row) {
  const auto& state = row.state;
  return {{"topic", topic},
          {"partition", row.partition},
          {"producer_id", state.producer_id},
          {"producer_epoch", state.producer_epoch},
          {"coordinator_epoch", state.coordinator_epoch},
          {"last_sequence", state.last_sequence},
          {"last_timestamp", state.last_timestamp},
          {"current_transaction_start_offset",
           state.current_txn_start_offset < 0 ? ordered_json() : ordered_json(state.current_txn_start_offset)}};
}

void print_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> out = {
      {"partition", "producer id", "epoch", "coordinator epoch", "last sequence", "last write", "open since offset"}};
  for (const Row& row : rows) {
    const auto& state = row.state;
    const auto or_none = [](std::int64_t value) { return value < 0 ? std::string("-") : std::to_string(value); };
    out.push_back({std::to_string(row.partition), std::to_string(state.producer_id),
                   std::to_string(state.producer_epoch), or_none(state.coordinator_epoch), or_none(state.last_sequence),
                   state.last_timestamp < 0 ? "-" : time_text(state.last_timestamp),
                   or_none(state.current_txn_start_offset)});
  }
  if (out.size() > 1) write_out(table(out));
}

int producers(const ProducersOptions& options) {
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  const std::vector<std::string> names{options.topic};
  auto cluster = client->describe(&names, false);
  if (!cluster) return fail(kCommand, cluster.error());
  if (cluster->topics.size() != 1 || cluster->topics[0].error_code != 0) {
    return fail(kCommand, fmt::format("there is no topic {}", options.topic));
  }
  const Topic& topic = cluster->topics[0];
  const auto is_wanted = [&](std::int32_t index) {
    const auto& wanted = options.partitions;
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), index) != wanted.end();
  };
  for (const std::int32_t wanted : options.partitions) {
    const bool is_there = std::any_of(topic.partitions.begin(), topic.partitions.end(),
                                      [&](const Partition& one) { return one.index == wanted; });
    if (!is_there) return fail(kCommand, fmt::format("topic {} has no partition {}", topic.name, wanted));
  }
  std::map<BrokerId, kafka::DescribeProducersRequest> requests;
  int status = kExitDone;
  for (const Partition& partition : topic.partitions) {
    if (!is_wanted(partition.index)) continue;
    if (partition.leader < 0) {
      status = fail(kCommand, fmt::format("{}-{} has no leader", topic.name, partition.index));
      continue;
    }
    auto& request = requests[partition.leader];
    if (request.topics.empty()) request.topics.emplace_back();
    request.topics[0].name = topic.name;
    request.topics[0].partition_indexes.push_back(partition.index);
  }
  std::vector<Row> rows;
  for (const auto& [leader, request] : requests) {
    auto connection = client->broker(leader);
    if (!connection) return fail(kCommand, connection.error());
    auto reply = ask<kafka::DescribeProducersResponse>(**connection, request, client->timeout());
    if (!reply) return fail(kCommand, reply.error());
    for (const auto& answer : reply->message.topics) {
      for (const auto& partition : answer.partitions) {
        if (partition.error_code != 0) {
          status =
              fail(kCommand, fmt::format("{}-{}: {}", topic.name, partition.partition_index,
                                         describe_error(partition.error_code, partition.error_message.value_or(""))));
        }
        for (const auto& state : partition.active_producers) rows.push_back({partition.partition_index, state});
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(a.partition, a.state.producer_id) < std::pair(b.partition, b.state.producer_id);
  });
  if (!options.json) {
    print_table(rows);
    return status;
  }
  ordered_json all = ordered_json::array();
  for (const Row& row : rows) all.push_back(to_json(topic.name, row));
  print_json(all);
  return status;
}

}  // namespace

void add_producers_command(Command app, int& exit_code) {
  auto options = std::make_shared<ProducersOptions>();
  Command command = add_command(app, "producers", "Show which producers partitions know, and open transactions",
                                options, exit_code, producers);
  command.add_option("TOPIC,--topic", options->topic, "the topic").type_name("TOPIC").required();
  command.add_option("-p,--partition", options->partitions, "only this partition; may be repeated (default: all)")
      .non_negative()
      .type_name("N");
  command.footer("Idempotent and transactional producers only; others leave no trace.");
  add_examples(command, {"producers events --partition 0"});
}

}  // namespace tailrace::cli
