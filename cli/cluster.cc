// `tailrace cluster`: who the brokers are, as kafka-cluster, and `tailrace api-versions`: what they serve, as
// kafka-broker-api-versions.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/absent.h"
#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/text.h"
#include "services/kafka/api_table.h"
#include "services/kafka/message_types.h"
#include "services/kafka/messages/describe_cluster.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;
using ClusterReply = Reply<kafka::DescribeClusterResponse>;

struct ClusterOptions : CommandOptions {
  bool include_fenced = false;
};

Outcome<ClusterReply> ask_cluster(const ClusterOptions& options) {
  auto client = Client::connect(options.client);
  if (!client) return std::unexpected(client.error());
  auto connection = client->any();
  if (!connection) return std::unexpected(connection.error());
  kafka::DescribeClusterRequest request;
  request.include_fenced_brokers = options.include_fenced;
  auto reply = ask<kafka::DescribeClusterResponse>(**connection, request, client->timeout());
  if (!reply) return std::unexpected(reply.error());
  auto& answer = reply->message;
  if (answer.error_code != 0) {
    return std::unexpected(describe_error(answer.error_code, answer.error_message.value_or(std::string_view())));
  }
  std::sort(answer.brokers.begin(), answer.brokers.end(),
            [](const auto& a, const auto& b) { return a.broker_id < b.broker_id; });
  return reply;
}

void print_brokers(const ClusterReply& reply) {
  std::vector<std::vector<std::string>> rows = {{"id", "host", "port", "rack", "state", "controller"}};
  for (const auto& broker : reply.message.brokers) {
    rows.push_back({std::to_string(broker.broker_id), std::string(broker.host), std::to_string(broker.port),
                    std::string(broker.rack.value_or("-")), broker.is_fenced ? "fenced" : "unfenced",
                    broker.broker_id == reply.message.controller_id ? "yes" : "no"});
  }
  write_out(table(rows));
}

ordered_json brokers_json(const ClusterReply& reply) {
  ordered_json all = ordered_json::array();
  for (const auto& broker : reply.message.brokers) {
    all.push_back({{"id", broker.broker_id},
                   {"host", broker.host},
                   {"port", broker.port},
                   {"rack", or_null(broker.rack)},
                   {"fenced", broker.is_fenced}});
  }
  return all;
}

int cluster_id(const ClusterOptions& options) {
  auto reply = ask_cluster(options);
  if (!reply) return fail("cluster cluster-id", reply.error());
  if (options.json) {
    print_json({{"cluster_id", reply->message.cluster_id}});
  } else {
    print("Cluster ID: {}\n", reply->message.cluster_id);
  }
  return kExitDone;
}

int list_endpoints(const ClusterOptions& options) {
  auto reply = ask_cluster(options);
  if (!reply) return fail("cluster list-endpoints", reply.error());
  options.json ? print_json(brokers_json(*reply)) : print_brokers(*reply);
  return kExitDone;
}

int describe(const ClusterOptions& options) {
  constexpr std::string_view kCommand = "cluster describe";
  auto reply = ask_cluster(options);
  if (!reply) return fail(kCommand, reply.error());
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto cluster = client->describe(nullptr, false);
  if (!cluster) return fail(kCommand, cluster.error());
  std::size_t partitions = 0;
  std::size_t without_leader = 0;
  std::size_t under_replicated = 0;
  for (const Topic& topic : cluster->topics) {
    partitions += topic.partitions.size();
    for (const Partition& partition : topic.partitions) {
      without_leader += partition.leader < 0 ? 1 : 0;
      under_replicated += partition.in_sync.size() < partition.replicas.size() ? 1 : 0;
    }
  }
  if (options.json) {
    print_json({{"cluster_id", reply->message.cluster_id},
                {"controller", reply->message.controller_id},
                {"brokers", brokers_json(*reply)},
                {"topics", cluster->topics.size()},
                {"partitions", partitions},
                {"partitions_without_leader", without_leader},
                {"partitions_under_replicated", under_replicated}});
    return kExitDone;
  }
  print("Cluster ID: {}\nTopics: {}, partitions: {}, without a leader: {}, under-replicated: {}\n",
        reply->message.cluster_id, human_count(cluster->topics.size()), human_count(partitions),
        human_count(without_leader), human_count(under_replicated));
  print_brokers(*reply);
  return kExitDone;
}

struct ApiRow {
  std::int16_t key = 0;
  std::string name;
  std::int16_t min = 0;
  std::int16_t max = 0;
  std::int16_t usable = -1;  // the highest that this program knows, too; -1: none
};

std::vector<ApiRow> api_rows(const Connection& connection) {
  std::vector<ApiRow> rows;
  for (const auto& [key, range] : connection.versions()) {
    ApiRow row{.key = key, .name = std::string(kafka::api_name(key)), .min = range.first, .max = range.second};
    if (row.name.empty()) row.name = fmt::format("UNKNOWN({})", key);
    if (const auto* type = kafka::find_message_type(key, kafka::MessageKind::request)) {
      row.usable = connection.version_for(key, type->info.version_min, type->info.version_max);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int api_versions(const ClusterOptions& options) {
  constexpr std::string_view kCommand = "api-versions";
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  const std::vector<std::string> none;
  auto cluster = client->describe(&none, false);
  if (!cluster) return fail(kCommand, cluster.error());
  int status = kExitDone;
  ordered_json all = ordered_json::array();
  for (const auto& [id, address] : cluster->brokers) {
    auto connection = client->broker(id);
    if (!connection) {
      status = fail(kCommand, connection.error());
      continue;
    }
    std::vector<std::vector<std::string>> rows = {{"", "key", "api", "versions", "usable"}};
    ordered_json apis = ordered_json::array();
    for (const ApiRow& row : api_rows(**connection)) {
      rows.push_back({"", std::to_string(row.key), row.name, fmt::format("{} to {}", row.min, row.max),
                      row.usable < 0 ? "-" : std::to_string(row.usable)});
      apis.push_back({{"key", row.key},
                      {"name", row.name},
                      {"min", row.min},
                      {"max", row.max},
                      {"usable", row.usable < 0 ? ordered_json() : ordered_json(row.usable)}});
    }
    all.push_back({{"broker", id}, {"address", address.text()}, {"apis", std::move(apis)}});
    if (!options.json) print("Broker {} ({}):\n{}", id, address.text(), table(rows));
  }
  if (options.json) print_json(all);
  return status;
}

}  // namespace

void add_cluster_command(Command app, int& exit_code) {
  auto options = std::make_shared<ClusterOptions>();
  const Command group = add_group(app, "cluster", "Show the cluster and its brokers");
  Command command = add_command(group, "describe", "Show the cluster's id, its brokers and what it has", options,
                                exit_code, describe);
  add_examples(command, {"cluster describe"});
  command = add_command(group, "cluster-id", "Print the cluster's id", options, exit_code, cluster_id);
  add_examples(command, {"cluster cluster-id"});
  command = add_command(group, "list-endpoints", "Show the brokers", options, exit_code, list_endpoints);
  command.alias("brokers");
  command.add_flag("--include-fenced-brokers", options->include_fenced, "also those that are not in service");
  add_examples(command, {"cluster list-endpoints", "cluster brokers --json"});
}

void add_api_versions_command(Command app, int& exit_code) {
  auto options = std::make_shared<ClusterOptions>();
  Command command = add_command(app, "api-versions", "Show which APIs each broker serves, in which versions", options,
                                exit_code, api_versions);
  command.footer("\"usable\" is the highest version that this program knows, too.");
  add_examples(command, {"api-versions"});
}

}  // namespace tailrace::cli
