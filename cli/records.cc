// `tailrace records delete`: moves the starts of logs up, as kafka-delete-records.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/absent.h"
#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/partition_files.h"
#include "cli/text.h"
#include "services/kafka/messages/delete_records.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "records delete";
constexpr Offset kHighWatermark = -1;  // DeleteRecordsRequest

struct RecordsOptions : CommandOptions {
  std::string file;
  std::string topic;
  std::vector<std::int32_t> partitions;
  Offset before = kNoOffset;
  bool all = false;
};

struct Deletion {
  ListedPartition partition;
  Offset low_watermark = kNoOffset;
  std::string error = "the broker says nothing about it";
};

// All that the options name, with the offsets; partitions are looked up.
Outcome<std::vector<Deletion>> collect(const RecordsOptions& options, const std::vector<ListedPartition>& listed,
                                       Client& client, std::map<PartitionKey, BrokerId>& leaders) {
  std::vector<std::string> names;
  for (const ListedPartition& one : listed) names.push_back(one.key.topic);
  if (!options.topic.empty()) names.push_back(options.topic);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  auto cluster = client.describe(&names, false);
  if (!cluster) return std::unexpected(cluster.error());
  std::vector<Deletion> all;
  for (const ListedPartition& one : listed) all.push_back({.partition = one});
  for (const Topic& topic : cluster->topics) {
    if (topic.error_code != 0) {
      return std::unexpected(
          fmt::format("topic {}: {}; nothing was deleted", topic.name, describe_error(topic.error_code)));
    }
    for (const Partition& partition : topic.partitions) {
      leaders[{topic.name, partition.index}] = partition.leader;
      const auto& wanted = options.partitions;
      if (topic.name != options.topic ||
          (!wanted.empty() && std::find(wanted.begin(), wanted.end(), partition.index) == wanted.end())) {
        continue;
      }
      all.push_back({.partition = {.key = {topic.name, partition.index},
                                   .offset = options.all ? kHighWatermark : options.before,
                                   .replicas = {}}});
    }
  }
  for (const std::int32_t partition : options.partitions) {
    if (!leaders.contains({options.topic, partition})) {
      return std::unexpected(
          fmt::format("topic {} has no partition {}; nothing was deleted", options.topic, partition));
    }
  }
  for (const Deletion& one : all) {
    const PartitionKey& key = one.partition.key;
    const auto leader = leaders.find(key);
    if (leader == leaders.end()) {
      return std::unexpected(
          fmt::format("topic {} has no partition {}; nothing was deleted", key.topic, key.partition));
    }
    if (leader->second < 0) {
      return std::unexpected(fmt::format("{}-{} has no leader; nothing was deleted", key.topic, key.partition));
    }
  }
  return all;
}

// What lies outside a log is refused before anything is deleted anywhere.
Outcome<void> check_offsets(Client& client, const std::vector<Deletion>& deletions) {
  std::vector<std::string> names;
  std::vector<PartitionKey> keys;
  for (const Deletion& one : deletions) {
    if (one.partition.offset == kHighWatermark) continue;
    names.push_back(one.partition.key.topic);
    keys.push_back(one.partition.key);
  }
  if (keys.empty()) return {};
  auto cluster = client.describe(&names, false);
  if (!cluster) return std::unexpected(cluster.error());
  auto ends = find_offsets(client, *cluster, keys, kLatestTime, false);
  if (!ends) return std::unexpected(ends.error());
  for (const Deletion& one : deletions) {
    if (one.partition.offset == kHighWatermark) continue;
    const FoundOffset& end = (*ends)[one.partition.key];
    const PartitionKey& key = one.partition.key;
    if (!end.error.empty()) return std::unexpected(fmt::format("{}-{}: {}", key.topic, key.partition, end.error));
    if (one.partition.offset > end.offset) {
      return std::unexpected(fmt::format("{}-{} ends at {}, before {}; nothing was deleted", key.topic, key.partition,
                                         end.offset, one.partition.offset));
    }
  }
  return {};
}

Outcome<void> send(Client& client, std::map<PartitionKey, BrokerId>& leaders, std::vector<Deletion>& deletions) {
  std::map<BrokerId, kafka::DeleteRecordsRequest> requests;
  for (const Deletion& one : deletions) {
    kafka::DeleteRecordsRequest& request = requests[leaders[one.partition.key]];
    request.timeout_ms = static_cast<std::int32_t>(client.timeout().count());
    if (request.topics.empty() || request.topics.back().name != one.partition.key.topic) {
      request.topics.emplace_back();
      request.topics.back().name = one.partition.key.topic;
    }
    request.topics.back().partitions.emplace_back();
    request.topics.back().partitions.back().partition_index = one.partition.key.partition;
    request.topics.back().partitions.back().offset = one.partition.offset;
  }
  for (const auto& [leader, request] : requests) {
    auto connection = client.broker(leader);
    if (!connection) return std::unexpected(connection.error());
    auto reply = ask<kafka::DeleteRecordsResponse>(**connection, request, client.timeout() + std::chrono::seconds(2));
    if (!reply) return std::unexpected(reply.error());
    for (const auto& topic : reply->message.topics) {
      for (const auto& partition : topic.partitions) {
        const PartitionKey key{std::string(topic.name), partition.partition_index};
        for (Deletion& one : deletions) {
          if (one.partition.key != key) continue;
          one.low_watermark = partition.low_watermark;
          one.error = partition.error_code == 0 ? std::string() : describe_error(partition.error_code);
        }
      }
    }
  }
  return {};
}

int print_result(const RecordsOptions& options, const std::vector<Deletion>& deletions) {
  int status = kExitDone;
  ordered_json all = ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"topic", "partition", "low watermark"}};
  for (const Deletion& one : deletions) {
    const PartitionKey& key = one.partition.key;
    if (!one.error.empty()) {
      status = fail(kCommand, fmt::format("{}-{}: {}", key.topic, key.partition, one.error));
    } else {
      rows.push_back({key.topic, std::to_string(key.partition), std::to_string(one.low_watermark)});
    }
    all.push_back({{"topic", key.topic},
                   {"partition", key.partition},
                   {"low_watermark", one.error.empty() ? ordered_json(one.low_watermark) : ordered_json()},
                   {"error", or_null(one.error)}});
  }
  if (options.json) {
    print_json(all);
  } else if (rows.size() > 1) {
    write_out(table(rows));
  }
  return status;
}

int delete_records(const RecordsOptions& options) {
  std::vector<ListedPartition> listed;
  if (!options.file.empty()) {
    auto text = read_text_file(options.file);
    if (!text) return misuse(kCommand, text.error());
    auto parsed = parse_partition_file(*text, Wanted::offsets);
    if (!parsed) return misuse(kCommand, fmt::format("{}: {}", options.file, parsed.error()));
    listed = std::move(*parsed);
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  std::map<PartitionKey, BrokerId> leaders;
  auto deletions = collect(options, listed, *client, leaders);
  if (!deletions) return fail(kCommand, deletions.error());
  std::sort(deletions->begin(), deletions->end(),
            [](const Deletion& a, const Deletion& b) { return a.partition.key < b.partition.key; });
  if (auto checked = check_offsets(*client, *deletions); !checked) return fail(kCommand, checked.error());
  if (auto sent = send(*client, leaders, *deletions); !sent) return fail(kCommand, sent.error());
  return print_result(options, *deletions);
}

}  // namespace

void add_records_command(Command app, int& exit_code) {
  const Command group = add_group(app, "records", "Delete records");
  auto options = std::make_shared<RecordsOptions>();
  Command command =
      add_command(group, "delete", "Delete the oldest records of partitions", options, exit_code, delete_records);
  command.description(
      "Delete the oldest records of partitions\nThey are gone for everybody at once; the disk gets their room back "
      "when "
      "all of a segment is deleted. Nothing is deleted when one of the offsets is not in its log.");
  const Option topic = command.add_option("TOPIC,--topic", options->topic, "the topic").type_name("TOPIC");
  command.add_option("-p,--partition", options->partitions, "only this partition; may be repeated (default: all)")
      .non_negative()
      .type_name("N")
      .needs(topic);
  const Option before =
      command
          .add_option("--before-offset", options->before, "delete what is before this offset, which becomes the first")
          .non_negative()
          .type_name("OFFSET")
          .needs(topic);
  const Option all = command.add_flag("--all", options->all, "delete everything").needs(topic).excludes(before);
  command
      .add_option("--offset-json-file", options->file,
                  "what kafka-delete-records reads; offset -1 is the end; - is standard input")
      .type_name("FILE")
      .excludes(topic);
  command.callback([options, before, all, &exit_code] {
    if (options->file.empty() && options->topic.empty()) refuse_without("TOPIC or --offset-json-file");
    if (!options->topic.empty() && before.count() == 0 && all.count() == 0) {
      refuse_without("--before-offset or --all");
    }
    exit_code = delete_records(*options);
  });
  add_examples(command, {"records delete events --partition 0 --before-offset 1000", "records delete events --all",
                         "records delete --offset-json-file offsets.json"});
}

}  // namespace tailrace::cli
