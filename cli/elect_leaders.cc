// `tailrace elect-leaders`: makes replicas leaders again (KIP-183, KIP-460), as kafka-leader-election.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/partition_files.h"
#include "cli/text.h"
#include "services/kafka/messages/elect_leaders.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "elect-leaders";

struct ElectOptions : CommandOptions {
  std::string type;
  std::string topic;
  std::vector<std::int32_t> partitions;
  std::string file;
  bool all = false;
};

// Nothing: all partitions.
Outcome<std::optional<std::vector<PartitionKey>>> chosen(const ElectOptions& options) {
  if (options.all) return std::nullopt;
  std::vector<PartitionKey> keys;
  for (const std::int32_t partition : options.partitions) keys.push_back({options.topic, partition});
  if (!options.file.empty()) {
    auto text = read_text_file(options.file);
    if (!text) return std::unexpected(text.error());
    auto listed = parse_partition_file(*text, Wanted::partitions);
    if (!listed) return std::unexpected(fmt::format("{}: {}", options.file, listed.error()));
    for (const ListedPartition& one : *listed) keys.push_back(one.key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

int elect(const ElectOptions& options) {
  auto keys = chosen(options);
  if (!keys) return misuse(kCommand, keys.error());
  kafka::ElectLeadersRequest request;
  request.election_type = options.type == "unclean" ? 1 : 0;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  if (*keys) {
    request.topic_partitions.emplace();
    for (const PartitionKey& key : **keys) {
      if (request.topic_partitions->empty() || request.topic_partitions->back().topic != key.topic) {
        request.topic_partitions->emplace_back();
        request.topic_partitions->back().topic = key.topic;
      }
      request.topic_partitions->back().partitions.push_back(key.partition);
    }
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto verdicts = ask_controller<kafka::ElectLeadersResponse>(*client, request, [](const auto& answer) {
    std::vector<Verdict> all;
    if (answer.error_code != 0) all.push_back({"all partitions", answer.error_code});
    for (const auto& topic : answer.replica_election_results) {
      for (const auto& one : topic.partition_result) {
        all.push_back({fmt::format("{}-{}", topic.topic, one.partition_id), one.error_code,
                       std::string(one.error_message.value_or(""))});
      }
    }
    return all;
  });
  if (!verdicts) return fail(kCommand, verdicts.error());
  int status = kExitDone;
  ordered_json list = ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"partition", "election"}};
  for (const Verdict& verdict : *verdicts) {
    // The replica leads already: nothing to do is no failure.
    const bool not_needed = verdict.error_code == kafka::wire(kafka::ErrorCode::ELECTION_NOT_NEEDED);
    if (!verdict.is_done() && !not_needed) {
      status = fail(kCommand, fmt::format("{}: {}", verdict.name, verdict.error()));
    } else {
      rows.push_back({verdict.name, not_needed ? "not needed" : "done"});
    }
    list.push_back({{"partition", verdict.name},
                    {"elected", verdict.is_done()},
                    {"needed", !not_needed},
                    {"error", verdict.is_done() || not_needed ? ordered_json() : ordered_json(verdict.error())}});
  }
  if (options.json) {
    print_json(list);
  } else if (verdicts->empty()) {
    print("No partition needs an election.\n");
  } else if (rows.size() > 1) {
    write_out(table(rows));
  }
  return status;
}

}  // namespace

void add_elect_leaders_command(Command app, int& exit_code) {
  auto options = std::make_shared<ElectOptions>();
  Command command = add_command(app, "elect-leaders", "Elect leaders of partitions", options, exit_code, elect);
  command
      .add_option("--election-type", options->type,
                  "preferred: the first of the replicas, where another leads; unclean: any replica, where none leads, "
                  "even if records are lost")
      .type_name("TYPE")
      .one_of_in_any_case({"preferred", "unclean"})
      .required();
  const Option topic = command.add_option("--topic", options->topic, "the topic").type_name("TOPIC");
  const Option partition =
      command.add_option("-p,--partition", options->partitions, "a partition of it; may be repeated")
          .non_negative()
          .type_name("N");
  topic.needs(partition);
  partition.needs(topic);
  const Option file =
      command.add_option("--path-to-json-file", options->file, "what kafka-leader-election reads; - is standard input")
          .type_name("FILE")
          .excludes(topic);
  const Option all =
      command.add_flag("--all-topic-partitions", options->all, "all that need it").excludes(topic).excludes(file);
  command.callback([options, all, file, topic, &exit_code] {
    if (all.count() + file.count() + topic.count() == 0) {
      refuse_without("--topic, --path-to-json-file or --all-topic-partitions");
    }
    exit_code = elect(*options);
  });
  add_examples(command, {"elect-leaders --election-type preferred --all-topic-partitions",
                         "elect-leaders --election-type unclean --topic events --partition 3"});
}

}  // namespace tailrace::cli
