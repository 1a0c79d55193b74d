// `tailrace log-dirs`: the data directories of brokers and the sizes of the logs in them, as kafka-log-dirs.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/text.h"
#include "services/kafka/messages/describe_log_dirs.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;
using Directory = kafka::DescribeLogDirsResponse::DescribeLogDirsResult;

constexpr std::string_view kCommand = "log-dirs describe";

struct LogDirsOptions : CommandOptions {
  std::string brokers;
  std::string topics;
};

struct Answer {
  BrokerId broker = -1;
  Reply<kafka::DescribeLogDirsResponse> reply;
};

// kafka-log-dirs' own JSON, with the sizes of file systems (KIP-827) beside it.
ordered_json to_json(const std::vector<Answer>& answers) {
  ordered_json brokers = ordered_json::array();
  for (const Answer& answer : answers) {
    ordered_json directories = ordered_json::array();
    for (const Directory& directory : answer.reply.message.results) {
      ordered_json partitions = ordered_json::array();
      for (const auto& topic : directory.topics) {
        for (const auto& one : topic.partitions) {
          partitions.push_back({{"partition", fmt::format("{}-{}", topic.name, one.partition_index)},
                                {"size", one.partition_size},
                                {"offsetLag", one.offset_lag},
                                {"isFuture", one.is_future_key}});
        }
      }
      directories.push_back(
          {{"partitions", std::move(partitions)},
           {"error", directory.error_code == 0 ? ordered_json() : ordered_json(describe_error(directory.error_code))},
           {"logDir", directory.log_dir},
           {"totalBytes", directory.total_bytes},
           {"usableBytes", directory.usable_bytes}});
    }
    brokers.push_back({{"broker", answer.broker}, {"logDirs", std::move(directories)}});
  }
  return {{"brokers", std::move(brokers)}, {"version", 1}};
}

void print_directory(BrokerId broker, const Directory& directory) {
  std::int64_t sum = 0;
  std::vector<std::vector<std::string>> rows = {{"", "topic", "partition", "size", "lag"}};
  for (const auto& topic : directory.topics) {
    for (const auto& one : topic.partitions) {
      sum += one.partition_size;
      rows.push_back(
          {"", std::string(topic.name), std::to_string(one.partition_index),
           human_bytes(static_cast<double>(one.partition_size)),
           one.is_future_key ? fmt::format("{} (moving here)", one.offset_lag) : std::to_string(one.offset_lag)});
    }
  }
  std::sort(rows.begin() + 1, rows.end(), [](const auto& a, const auto& b) {
    return std::tuple(a[1], a[2].size(), a[2]) < std::tuple(b[1], b[2].size(), b[2]);
  });
  print("Broker {}: {}: {} in {} partitions", broker, directory.log_dir, human_bytes(static_cast<double>(sum)),
        rows.size() - 1);
  if (directory.total_bytes >= 0) {
    print("; {} of {} are free", human_bytes(static_cast<double>(directory.usable_bytes)),
          human_bytes(static_cast<double>(directory.total_bytes)));
  }
  print("\n");
  if (rows.size() > 1) write_out(table(rows));
}

Outcome<std::vector<BrokerId>> chosen_brokers(const LogDirsOptions& options) {
  std::vector<BrokerId> ids;
  for (const std::string& text : split_list(options.brokers)) {
    const auto id = parse_integer(text);
    if (!id || *id < 0 || *id > 0x7FFFFFFF) return std::unexpected(fmt::format("\"{}\" is no broker id", text));
    ids.push_back(static_cast<BrokerId>(*id));
  }
  return ids;
}

int describe(const LogDirsOptions& options) {
  auto ids = chosen_brokers(options);
  if (!ids) return misuse(kCommand, ids.error());
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  const std::vector<std::string> topics = split_list(options.topics);
  auto cluster = client->describe(&topics, false);
  if (!cluster) return fail(kCommand, cluster.error());
  kafka::DescribeLogDirsRequest request;
  if (!topics.empty()) request.topics.emplace();
  for (const Topic& topic : cluster->topics) {
    if (topic.error_code != 0) return fail(kCommand, fmt::format("there is no topic {}", topic.name));
    request.topics->emplace_back();
    request.topics->back().topic = topic.name;
    for (const Partition& partition : topic.partitions) request.topics->back().partitions.push_back(partition.index);
  }
  if (ids->empty()) {
    for (const auto& [id, address] : cluster->brokers) ids->push_back(id);
  }
  std::vector<Answer> answers;
  for (const BrokerId id : *ids) {
    auto connection = client->broker(id);
    if (!connection) return fail(kCommand, connection.error());
    auto reply = ask<kafka::DescribeLogDirsResponse>(**connection, request, client->timeout());
    if (!reply) return fail(kCommand, reply.error());
    if (reply->message.error_code != 0) {
      return fail(kCommand, fmt::format("broker {}: {}", id, describe_error(reply->message.error_code)));
    }
    answers.push_back({.broker = id, .reply = std::move(*reply)});
  }
  int status = kExitDone;
  for (const Answer& answer : answers) {
    for (const Directory& directory : answer.reply.message.results) {
      if (directory.error_code != 0) {
        status = fail(kCommand, fmt::format("broker {}: {}: {}", answer.broker, directory.log_dir,
                                            describe_error(directory.error_code)));
      } else if (!options.json) {
        print_directory(answer.broker, directory);
      }
    }
  }
  if (options.json) print_json(to_json(answers));
  return status;
}

}  // namespace

void add_log_dirs_command(Command app, int& exit_code) {
  const Command group = add_group(app, "log-dirs", "Show data directories and the sizes of logs");
  auto options = std::make_shared<LogDirsOptions>();
  Command command = add_command(group, "describe", "Show data directories and the sizes of the logs in them", options,
                                exit_code, describe);
  command.add_option("--broker-list", options->brokers, "of these brokers, with commas (default: all)")
      .type_name("ID,...");
  command.add_option("--topic-list", options->topics, "only these topics, with commas (default: all)")
      .type_name("TOPIC,...");
  add_examples(command, {"log-dirs describe", "log-dirs describe --topic-list events --json"});
}

}  // namespace tailrace::cli
