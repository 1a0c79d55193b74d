// `tailrace reassign`: replicas that are being moved (KIP-455), as kafka-reassign-partitions.
#include <algorithm>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/partition_files.h"
#include "cli/text.h"
#include "services/kafka/messages/list_partition_reassignments.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

struct ReassignOptions : CommandOptions {
  std::string file;
};

struct Move {
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> adding;
  std::vector<BrokerId> removing;
};
using Moves = std::map<PartitionKey, Move>;

std::string join(const std::vector<BrokerId>& ids) {
  return ids.empty() ? "-" : fmt::format("{}", fmt::join(ids, ","));
}

// All moves, or those of some partitions.
Outcome<Moves> list_moves(Client& client, const std::vector<ListedPartition>* only) {
  kafka::ListPartitionReassignmentsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(client.timeout().count());
  if (only != nullptr) {
    std::map<std::string_view, std::vector<std::int32_t>> by_topic;
    for (const ListedPartition& one : *only) by_topic[one.key.topic].push_back(one.key.partition);
    request.topics.emplace();
    for (auto& [topic, partitions] : by_topic) {
      request.topics->emplace_back();
      request.topics->back().name = topic;
      request.topics->back().partition_indexes = std::move(partitions);
    }
  }
  Moves moves;
  auto verdicts = ask_controller<kafka::ListPartitionReassignmentsResponse>(client, request, [&](const auto& answer) {
    moves.clear();
    for (const auto& topic : answer.topics) {
      for (const auto& one : topic.partitions) {
        moves[{std::string(topic.name), one.partition_index}] = {one.replicas, one.adding_replicas,
                                                                 one.removing_replicas};
      }
    }
    return std::vector<Verdict>{{"", answer.error_code, std::string(answer.error_message.value_or(""))}};
  });
  if (!verdicts) return std::unexpected(verdicts.error());
  if (!verdicts->front().is_done()) return std::unexpected(verdicts->front().error());
  return moves;
}

int list(const ReassignOptions& options) {
  constexpr std::string_view kCommand = "reassign list";
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto moves = list_moves(*client, nullptr);
  if (!moves) return fail(kCommand, moves.error());
  ordered_json all = ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"topic", "partition", "replicas", "adding", "removing"}};
  for (const auto& [key, move] : *moves) {
    rows.push_back(
        {key.topic, std::to_string(key.partition), join(move.replicas), join(move.adding), join(move.removing)});
    all.push_back({{"topic", key.topic},
                   {"partition", key.partition},
                   {"replicas", move.replicas},
                   {"adding_replicas", move.adding},
                   {"removing_replicas", move.removing}});
  }
  if (options.json) {
    print_json(all);
  } else if (rows.size() == 1) {
    print("No partition reassignments found.\n");
  } else {
    write_out(table(rows));
  }
  return kExitDone;
}

// Where one partition of the file is, in kafka-reassign-partitions' words.
std::string state_of(const ListedPartition& wanted, const Moves& moves, const Partition* now) {
  if (now == nullptr) return "there is no such partition";
  if (moves.contains(wanted.key)) return "in progress";
  if (now->replicas == wanted.replicas) return "completed";
  return fmt::format("not under way: its replicas are {}", join(now->replicas));
}

int verify(const ReassignOptions& options) {
  constexpr std::string_view kCommand = "reassign verify";
  auto text = read_text_file(options.file);
  if (!text) return misuse(kCommand, text.error());
  auto wanted = parse_partition_file(*text, Wanted::replicas);
  if (!wanted) return misuse(kCommand, fmt::format("{}: {}", options.file, wanted.error()));
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto moves = list_moves(*client, &*wanted);
  if (!moves) return fail(kCommand, moves.error());
  auto cluster = client->describe(nullptr, false);
  if (!cluster) return fail(kCommand, cluster.error());
  std::map<PartitionKey, const Partition*> present;
  for (const Topic& topic : cluster->topics) {
    for (const Partition& partition : topic.partitions) present[{topic.name, partition.index}] = &partition;
  }
  int status = kExitDone;
  ordered_json all = ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"topic", "partition", "wanted replicas", "reassignment"}};
  for (const ListedPartition& one : *wanted) {
    const auto now = present.find(one.key);
    const std::string state = state_of(one, *moves, now == present.end() ? nullptr : now->second);
    if (state != "completed") status = kExitFailed;
    rows.push_back({one.key.topic, std::to_string(one.key.partition), join(one.replicas), state});
    all.push_back(
        {{"topic", one.key.topic}, {"partition", one.key.partition}, {"replicas", one.replicas}, {"state", state}});
  }
  if (options.json) {
    print_json(all);
  } else {
    write_out(table(rows));
  }
  return status;
}

}  // namespace

void add_reassign_command(Command app, int& exit_code) {
  const Command group = add_group(app, "reassign", "Show replicas that are being moved between brokers");
  auto options = std::make_shared<ReassignOptions>();
  Command command = add_command(group, "list", "Show all moves that are under way", options, exit_code, list);
  add_examples(command, {"reassign list"});
  command = add_command(group, "verify", "Say whether the moves of a file are completed", options, exit_code, verify);
  command
      .add_option("--reassignment-json-file", options->file,
                  "what kafka-reassign-partitions reads; - is standard input")
      .type_name("FILE")
      .required();
  command.footer("The exit status is 0 when all of them are completed.");
  add_examples(command, {"reassign verify --reassignment-json-file moves.json"});
}

}  // namespace tailrace::cli
