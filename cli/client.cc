#include "cli/client.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/command.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/metadata.h"

namespace tailrace::cli {
namespace {

// How long to wait before asking again for what is not there yet (a leader, a topic that is being made).
constexpr std::chrono::milliseconds kAskAgain{20};

Topic to_topic(const kafka::MetadataResponse::MetadataResponseTopic& from) {
  Topic topic;
  topic.name = from.name.value_or(std::string_view());
  topic.id = from.topic_id;
  topic.error_code = from.error_code;
  topic.is_internal = from.is_internal;
  for (const auto& one : from.partitions) {
    topic.partitions.push_back(Partition{.index = one.partition_index,
                                         .error_code = one.error_code,
                                         .leader = one.leader_id,
                                         .leader_epoch = one.leader_epoch,
                                         .replicas = one.replica_nodes,
                                         .in_sync = one.isr_nodes});
  }
  std::sort(topic.partitions.begin(), topic.partitions.end(),
            [](const Partition& a, const Partition& b) { return a.index < b.index; });
  return topic;
}

// "HOST:PORT,HOST:PORT"
Outcome<std::vector<HostPort>> parse_bootstrap(std::string_view text) {
  std::vector<HostPort> all;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    auto address = parse_host_port(text.substr(0, comma));
    if (!address) return std::unexpected(address.error());
    all.push_back(std::move(*address));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  if (all.empty()) return std::unexpected(std::string("no bootstrap server is named"));
  return all;
}

}  // namespace

void add_client_options(Command command, ClientOptions& options) {
  command.add_option("-b,--bootstrap-server", options.bootstrap, "a broker of the cluster, or several with commas")
      .type_name("HOST:PORT")
      .check([](const std::string& text) {
        auto parsed = parse_bootstrap(text);
        return parsed ? std::string() : parsed.error();
      })
      .group(kCommonGroup)
      .capture_default_str();
  command
      .add_option_function<double>(
          "--timeout", [&options](double seconds) { options.timeout_ms = static_cast<std::int64_t>(seconds * 1000); },
          "how long to wait for an answer, and to try again what fails for a time (default: 30)")
      .in_range(0.001, 86400.0)
      .type_name("SECONDS")
      .group(kCommonGroup);
}

Outcome<Client> Client::connect(const ClientOptions& options) {
  Client client(options);
  auto addresses = parse_bootstrap(options.bootstrap);
  if (!addresses) return std::unexpected(addresses.error());
  client.bootstrap_ = std::move(*addresses);
  if (auto connected = client.any(); !connected) return std::unexpected(connected.error());
  return client;
}

Outcome<Connection*> Client::any() {
  if (!connections_.empty()) return &connections_.begin()->second;
  if (!bootstrap_connection_.empty()) return &bootstrap_connection_.front();
  std::string error;
  std::vector<HostPort> addresses = bootstrap_;
  for (const auto& [id, address] : brokers_) addresses.push_back(address);
  for (const HostPort& address : addresses) {
    auto connection = Connection::open(address, timeout());
    if (connection) {
      bootstrap_connection_.push_back(std::move(*connection));
      return &bootstrap_connection_.front();
    }
    if (error.empty()) error = connection.error();
  }
  return std::unexpected(error);
}

Outcome<Connection*> Client::broker(BrokerId id) {
  if (const auto open = connections_.find(id); open != connections_.end()) return &open->second;
  const auto known = brokers_.find(id);
  if (known == brokers_.end()) return std::unexpected(fmt::format("broker {} is not known", id));
  auto connection = Connection::open(known->second, timeout());
  if (!connection) return std::unexpected(connection.error());
  return &connections_.emplace(id, std::move(*connection)).first->second;
}

Outcome<Connection*> Client::controller() {
  if (controller_ < 0) {
    const std::vector<std::string> none;
    if (auto cluster = describe(&none, false); !cluster) return std::unexpected(cluster.error());
  }
  return brokers_.contains(controller_) ? broker(controller_) : any();
}

Outcome<Cluster> Client::describe(const std::vector<std::string>* topics, bool create) {
  kafka::MetadataRequest request;
  request.allow_auto_topic_creation = create;
  if (topics != nullptr) {
    request.topics.emplace();
    for (const std::string& name : *topics) {
      kafka::MetadataRequest::MetadataRequestTopic topic;
      topic.name = name;
      request.topics->push_back(topic);
    }
  }
  auto connection = any();
  if (!connection) return std::unexpected(connection.error());
  auto reply = ask<kafka::MetadataResponse>(**connection, request, timeout());
  if (!reply) {  // once more on a new connection: the old one may have died since it was used
    connections_.clear();
    bootstrap_connection_.clear();
    connection = any();
    if (!connection) return std::unexpected(connection.error());
    reply = ask<kafka::MetadataResponse>(**connection, request, timeout());
  }
  if (!reply) return std::unexpected(reply.error());
  const kafka::MetadataResponse& answer = reply->message;
  if (answer.error_code != 0) return std::unexpected(describe_error(answer.error_code));
  Cluster cluster;
  cluster.id = answer.cluster_id.value_or(std::string_view());
  cluster.controller = answer.controller_id;
  for (const auto& one : answer.brokers) {
    cluster.brokers[one.node_id] =
        HostPort{.host = std::string(one.host), .port = static_cast<std::uint16_t>(one.port)};
  }
  for (const auto& one : answer.topics) cluster.topics.push_back(to_topic(one));
  std::sort(cluster.topics.begin(), cluster.topics.end(),
            [](const Topic& a, const Topic& b) { return a.name < b.name; });
  std::erase_if(connections_, [&](const auto& entry) {
    const auto now = cluster.brokers.find(entry.first);
    return now == cluster.brokers.end() || now->second != entry.second.address();
  });
  brokers_ = cluster.brokers;
  controller_ = cluster.controller;
  return cluster;
}

Outcome<Topic> Client::topic(const std::string& name, bool create) {
  const auto give_up = deadline();
  const std::vector<std::string> names{name};
  for (;;) {
    auto cluster = describe(&names, create);
    if (!cluster) return std::unexpected(cluster.error());
    if (cluster->topics.empty()) return std::unexpected(fmt::format("the broker says nothing about topic {}", name));
    Topic& topic = cluster->topics.front();
    const bool has_leaders = std::all_of(topic.partitions.begin(), topic.partitions.end(),
                                         [](const Partition& partition) { return partition.leader >= 0; });
    if (topic.error_code == 0 && has_leaders && !topic.partitions.empty()) return std::move(topic);
    // With `create`, UNKNOWN_TOPIC_OR_PARTITION is what a broker says until the topic is there.
    const bool may_come = topic.error_code == 0 || kafka::error_retriable(topic.error_code);
    const bool is_unknown = topic.error_code == kafka::wire(kafka::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    if (is_unknown && !create) return std::unexpected(fmt::format("there is no topic {}", name));
    if (!may_come || Connection::Clock::now() >= give_up) {
      return std::unexpected(topic.error_code != 0 ? fmt::format("topic {}: {}", name, describe_error(topic.error_code))
                                                   : fmt::format("topic {}: not every partition has a leader", name));
    }
    std::this_thread::sleep_for(kAskAgain);
  }
}

}  // namespace tailrace::cli
