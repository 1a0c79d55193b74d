#include "services/zkbridge/controller.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/base/check.h"
#include "services/kafka/api_table.h"
#include "services/kafka/messages/allocate_producer_ids.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/zkbridge/controller_replies.h"
#include "services/zkbridge/taking_over.h"
#include "services/zkbridge/znodes.h"

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;

constexpr std::int64_t kProducerIdBlock = 1000;  // as in Kafka
constexpr BrokerId kNoBroker = -1;
constexpr std::size_t kStatesInOneChange = 500;  // keeps a multi well below ZooKeeper's 1 MB

bool contains(const std::vector<BrokerId>& ids, BrokerId id) { return std::ranges::find(ids, id) != ids.end(); }

// "/brokers/topics/T/partitions/3/state" -> {"T", 3}.
std::optional<std::pair<std::string_view, std::int32_t>> parse_state_path(std::string_view path) {
  const std::string_view prefix = znodes::kTopics;
  if (!path.starts_with(prefix) || !path.ends_with("/state")) return std::nullopt;
  std::string_view rest = path.substr(prefix.size() + 1);
  rest.remove_suffix(std::string_view("/state").size());
  const std::size_t middle = rest.find("/partitions/");
  if (middle == std::string_view::npos) return std::nullopt;
  const auto number = znodes::partition_number(rest.substr(middle + std::string_view("/partitions/").size()));
  if (!number) return std::nullopt;
  return std::pair(rest.substr(0, middle), *number);
}

// The name right below `parent`, empty for other paths.
std::string_view child_of(std::string_view parent, std::string_view path) {
  if (path.size() <= parent.size() + 1 || !path.starts_with(parent) || path[parent.size()] != '/') return {};
  const std::string_view name = path.substr(parent.size() + 1);
  return name.find('/') == std::string_view::npos ? name : std::string_view();
}

std::vector<std::int32_t> all_partitions(const Topic& topic) {
  std::vector<std::int32_t> numbers(topic.partitions.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  return numbers;
}

}  // namespace

Controller::Controller(ControllerOptions options) : options_(std::move(options)) { CHECK(options_.config != nullptr); }

node::BrokerConfigs Controller::broker_configs() const {
  static const node::ConfigMap kNothing;
  const auto settings = [&](std::string_view name) -> const node::ConfigMap& {
    const auto at = cluster_.broker_configs.find(name);
    return at == cluster_.broker_configs.end() ? kNothing : at->second;
  };
  return {*options_.config, settings(std::to_string(options_.node_id)), settings(kAllBrokers)};
}

// -- Store ---------------------------------------------------------------------------------------------------------

void Controller::submit(Step step, Request request) {
  const std::uint64_t id = next_store_id_++;
  steps_.emplace(id, std::move(step));
  effects_.store.push_back({id, std::move(request)});
}

// A controller that was replaced must not write: the epoch is part of every change.
void Controller::change(Step step, std::vector<Operation> operations) {
  operations.insert(operations.begin(), Check{znodes::kControllerEpoch, cluster_.controller_epoch_version});
  submit(std::move(step), Multi{std::move(operations)});
}

Effects Controller::on_store_result(StoreResult result, const Moment& moment) {
  now_ = moment.now;
  const auto at = steps_.find(result.id);
  CHECK(at != steps_.end());
  Step step = std::move(at->second);
  steps_.erase(at);
  std::visit([&](auto& s) { on_step(s, result, moment); }, step);
  return take();
}

// True, and the controller gives up, when the store is not as it must be after what we did to it. A full disk is not
// that.
bool Controller::went_wrong(const StoreResult& result, const char* doing) {
  if (result.code == StoreCode::ok || result.code == StoreCode::no_space) return false;
  effects_.fatal = fmt::format("the metadata is not as expected while {}: {}", doing, name(result.code));
  return true;
}

// -- Becoming the controller ---------------------------------------------------------------------------------------

Effects Controller::start() {
  submit(Load{}, GetTree{"/"});
  return take();
}

void Controller::on_step(const Load&, StoreResult& result, const Moment& moment) {
  if (result.code != StoreCode::ok) {
    effects_.fatal = fmt::format("reading the metadata: {}", name(result.code));
    return;
  }
  load(result.tree);
  prepare(moment);
}

void Controller::load(const std::vector<TreeNode>& tree) {
  cluster_ = {};
  loaded_paths_.clear();
  registered_nodes_.clear();
  deletions_.clear();
  config_paths_.clear();
  config_changes_.clear();
  for (const TreeNode& node : tree) load_node(node);
  for (auto& [name, topic] : cluster_.topics) {
    if (!topic.id.is_zero()) cluster_.topic_names[topic.id] = name;
  }
}

void Controller::load_node(const TreeNode& node) {
  loaded_paths_.insert(node.path);
  const std::string_view path = node.path;
  const std::string data = node.data.value_or("");
  if (path == znodes::kClusterId) {
    if (auto id = znodes::parse_cluster_id(data)) cluster_.id = *id;
  } else if (path == znodes::kControllerEpoch) {
    cluster_.controller_epoch = znodes::partition_number(data).value_or(0);
    cluster_.controller_epoch_version = node.stat.version;
  } else if (path == znodes::kProducerIds) {
    cluster_.producer_id_block_version = node.stat.version;
    if (const auto block = znodes::parse_producer_ids(data)) {
      cluster_.next_producer_id = block->last + 1;
    } else if (!data.empty()) {
      effects_.refusal = fmt::format("{} does not read: {}", path, data);
    }
  } else if (const auto broker = znodes::partition_number(child_of(znodes::kBrokers, path))) {
    registered_nodes_.insert(*broker);
  } else if (const std::string_view topic_name = child_of(znodes::kTopics, path); !topic_name.empty()) {
    if (std::optional<Topic> topic = znodes::parse_topic(data)) {
      topic->version = node.stat.version;
      cluster_.topics[std::string(topic_name)] = std::move(*topic);
    } else {
      effects_.refusal = fmt::format("{} does not read: {}", path, data);
    }
  } else if (const auto state = parse_state_path(path)) {
    const auto topic = cluster_.topics.find(state->first);
    const auto index = static_cast<std::size_t>(state->second);
    if (topic == cluster_.topics.end() || index >= topic->second.partitions.size()) return;
    PartitionState& partition = topic->second.partitions[index];
    if (!znodes::parse_partition_state(data, partition)) {
      effects_.refusal = fmt::format("{} does not read: {}", path, data);
      return;
    }
    partition.version = node.stat.version;
    partition.has_node = true;
  } else if (const std::string_view config = child_of(znodes::kTopicConfigs, path); !config.empty()) {
    // "/brokers" sorts before "/config": the topic is there when its settings come.
    const auto topic = cluster_.topics.find(config);
    if (topic == cluster_.topics.end()) return;
    topic->second.has_config_node = true;
    if (auto configs = znodes::parse_config(data)) topic->second.configs = std::move(*configs);
  } else if (path.starts_with("/config/")) {
    load_config(node);
  } else if (const std::string_view deleted = child_of(znodes::kDeletions, path); !deleted.empty()) {
    deletions_[std::string(deleted)].is_in_store = true;
  }
}

// Makes the nodes that every tree has, and takes in the topics of a directory whose metadata is new, all in one change.
void Controller::prepare(const Moment& moment) {
  if (!effects_.fatal.empty() || !effects_.refusal.empty()) return;
  std::vector<Operation> operations;
  for (const char* path : znodes::persistent_paths()) {
    if (!loaded_paths_.contains(std::string_view(path))) operations.push_back(Create{path, std::nullopt});
  }
  if (!loaded_paths_.contains(std::string_view(znodes::kControllerEpoch))) {
    operations.push_back(Create{znodes::kControllerEpoch, "0"});
  }
  if (!loaded_paths_.contains(std::string_view(znodes::kFeature))) {
    operations.push_back(Create{znodes::kFeature, znodes::feature_json()});
  }
  if (cluster_.id.empty()) {
    const std::string id = options_.cluster_id.empty() ? random_id(options_.chance).text() : options_.cluster_id;
    operations.push_back(Create{znodes::kClusterId, znodes::cluster_id_json(id)});
    for (Operation& operation : take_over(options_.found, options_.node_id, cluster_.controller_epoch + 1,
                                          options_.chance, moment.wall_ms, effects_.notes)) {
      operations.push_back(std::move(operation));
    }
  } else if (!options_.cluster_id.empty() && options_.cluster_id != cluster_.id) {
    effects_.refusal = fmt::format("the data directory belongs to cluster {}, its metadata to cluster {}",
                                   options_.cluster_id, cluster_.id);
    return;
  }
  if (operations.empty()) {
    elect(moment);
  } else {
    submit(Prepare{}, Multi{std::move(operations)});
  }
}

void Controller::on_step(const Prepare&, StoreResult& result, const Moment&) {
  if (result.code != StoreCode::ok) {
    effects_.fatal = fmt::format("making the metadata: {}", name(result.code));
    return;
  }
  options_.found = {};
  submit(Load{}, GetTree{"/"});
}

void Controller::elect(const Moment& moment) {
  phase_ = Phase::electing;
  submit(Elect{}, Multi{{Create{znodes::kController, znodes::controller_json(options_.node_id, moment.wall_ms),
                                CreateMode::ephemeral},
                         Set{znodes::kControllerEpoch, std::to_string(cluster_.controller_epoch + 1),
                             cluster_.controller_epoch_version}}});
}

void Controller::on_step(const Elect&, StoreResult& result, const Moment& moment) {
  if (result.code == StoreCode::node_exists || result.code == StoreCode::bad_version) {
    phase_ = Phase::standby;
    submit(AwaitElection{}, Get{znodes::kController, true});
    return;
  }
  if (result.code != StoreCode::ok) {
    effects_.fatal = fmt::format("becoming the controller: {}", name(result.code));
    return;
  }
  ++cluster_.controller_epoch;
  cluster_.controller_epoch_version = result.operations[1].stat.version;
  note(fmt::format("controller_elected epoch={} topics={} cluster_id={}", cluster_.controller_epoch,
                   cluster_.topics.size(), cluster_.id));
  take_in(moment);
}

void Controller::on_step(const AwaitElection&, StoreResult& result, const Moment&) {
  if (result.code == StoreCode::no_node) submit(Load{}, GetTree{"/"});
}

Effects Controller::on_watch(const WatchEvent& event) {
  if (phase_ == Phase::standby && event.path == znodes::kController && event.kind == WatchEvent::Kind::removed) {
    phase_ = Phase::loading;
    submit(Load{}, GetTree{"/"});
  }
  return take();
}

// What a Kafka may have left undone: topics made before 2.8 have no id, by which everybody now speaks of them, and one
// that stopped while it made a topic has not made all of the topic's nodes, or while it deleted one not removed all:
// the settings that are left are not those of the next topic of that name.
void Controller::take_in(const Moment& moment) {
  std::vector<Operation> operations;
  for (auto& [name, topic] : cluster_.topics) {
    const auto make = [&](std::string path) {
      if (!loaded_paths_.contains(path)) operations.push_back(Create{std::move(path), std::nullopt});
    };
    make(znodes::topic_partitions(name));
    for (const std::int32_t number : all_partitions(topic)) make(znodes::partition(name, number));
    if (!topic.id.is_zero()) continue;
    topic.id = random_id(options_.chance);
    cluster_.topic_names[topic.id] = name;
    operations.push_back(Set{znodes::topic(name), znodes::topic_json(topic), topic.version++});
  }
  const std::string configs = std::string(znodes::kTopicConfigs) + "/";
  for (auto path = loaded_paths_.lower_bound(configs); path != loaded_paths_.end() && path->starts_with(configs);
       ++path) {
    if (!cluster_.topics.contains(std::string_view(*path).substr(configs.size()))) {
      operations.push_back(Remove{*path});
    }
  }
  if (operations.empty()) {
    activate(moment);
  } else {
    change(TakeIn{}, std::move(operations));
  }
}

void Controller::on_step(const TakeIn&, StoreResult& result, const Moment& moment) {
  if (result.code != StoreCode::ok) {
    effects_.fatal = fmt::format("completing topics: {}", name(result.code));
    return;
  }
  activate(moment);
}

void Controller::activate(const Moment& moment) {
  phase_ = Phase::active;
  loaded_paths_.clear();
  std::vector<std::string> resumed;
  for (auto& [name, deletion] : deletions_) {
    resumed.push_back(name);
    if (const auto topic = cluster_.topics.find(name); topic != cluster_.topics.end()) topic->second.is_deleting = true;
  }
  for (const std::string& name : resumed) stop_replicas(name);
  for (auto& [id, client] : clients_) {
    for (const std::vector<std::byte>& hello : std::exchange(client.early, {})) register_client(id, hello, moment);
  }
}

// -- Clients and brokers -------------------------------------------------------------------------------------------

Effects Controller::on_hello(ClientId client, Bytes message, const Moment& moment) {
  now_ = moment.now;
  if (phase_ == Phase::active) {
    register_client(client, message, moment);
  } else {
    clients_[client].early.assign(1, {message.begin(), message.end()});
  }
  return take();
}

void Controller::register_client(ClientId id, Bytes hello, const Moment& moment) {
  const auto request = kafka::decode_exactly<kafka::NodeRegistrationRequest>(hello, 0);
  if (!request) {
    note(fmt::format("hello_refused client={} reason=\"{}\"", id, request.error().text()));
    return;
  }
  clients_[id];
  if (request->endpoints.empty()) {
    clients_[id].is_observer = true;
    welcome(id, ErrorCode::NONE);
    send_whole_image(id);
    return;
  }
  // A broker that was started again may be here before the end of its old session was seen.
  if (const std::optional<ClientId> old = client_of(options_.node_id)) {
    clients_[*old].broker.reset();
    broker_gone(options_.node_id);
  }
  clients_[id].broker = options_.node_id;
  Broker broker;
  for (const auto& endpoint : request->endpoints) {
    broker.endpoints.push_back(
        {std::string(endpoint.listener), std::string(endpoint.host), endpoint.port, endpoint.security_protocol});
  }
  if (request->rack) broker.rack = std::string(*request->rack);
  const std::string path = znodes::broker(options_.node_id);
  std::vector<Operation> operations;
  if (!registered_nodes_.insert(options_.node_id).second) operations.push_back(Remove{path});
  operations.push_back(Create{path, znodes::broker_json(broker, moment.wall_ms), CreateMode::ephemeral});
  change(Register{id, options_.node_id, std::move(broker)}, std::move(operations));
}

void Controller::on_step(Register& step, StoreResult& result, const Moment&) {
  if (went_wrong(result, "registering the broker")) return;
  const auto client = clients_.find(step.client);
  const bool is_current = client != clients_.end() && client->second.broker == step.id;
  if (result.code != StoreCode::ok) {
    // Nothing was changed: the node is there or not as it was before, which only the store knows now.
    effects_.fatal = "registering the broker: the disk is full";
    return;
  }
  if (!is_current) return;  // gone meanwhile, or replaced: whoever did that takes the node away
  step.broker.epoch = result.operations.back().stat.created_zxid;
  cluster_.brokers[step.id] = std::move(step.broker);
  note(fmt::format("broker_registered id={} epoch={}", step.id, cluster_.brokers[step.id].epoch));
  welcome(step.client, ErrorCode::NONE);
  move_leaders();
  send_whole_state(step.client, step.id);
}

void Controller::welcome(ClientId client, ErrorCode code) {
  kafka::NodeRegistrationResponse response;
  response.error_code = kafka::wire(code);
  response.cluster_id = cluster_.id;
  response.broker_id = options_.node_id;
  if (const auto broker = cluster_.brokers.find(options_.node_id); broker != cluster_.brokers.end()) {
    response.broker_epoch = broker->second.epoch;
  }
  kafka::Buffer bytes;
  kafka::encode(response, 0, bytes);
  effects_.messages.push_back({client, node::ControlType::welcome, std::nullopt, std::move(bytes)});
  clients_[client].is_welcome = true;
}

void Controller::send_whole_state(ClientId client, BrokerId id) {
  effects_.messages.push_back({client, node::ControlType::config_image, std::nullopt, whole_config_image(cluster_)});
  // Topics that are being deleted are among the replicas too: a broker knows by name only what it was told of, and the
  // StopReplica that follows must find them.
  std::vector<Mention> hosted;
  for (const auto& [name, topic] : cluster_.topics) {
    if (topic.is_creating) continue;
    Mention mention{name, &topic, {}};
    for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
      if (contains(topic.partitions[i].replicas, id)) mention.partitions.push_back(static_cast<std::int32_t>(i));
    }
    if (!mention.partitions.empty()) hosted.push_back(std::move(mention));
  }
  send_control(id, kafka::api_key::kLeaderAndIsr, std::move(hosted), true);
  send_control(id, kafka::api_key::kUpdateMetadata, all_topics(), true);
  for (auto& [name, deletion] : deletions_) {
    if (deletion.is_in_store && deletion.awaited.contains(id)) stop_replicas(name);
  }
}

std::vector<Mention> Controller::all_topics() const {
  std::vector<Mention> all;
  for (const auto& [name, topic] : cluster_.topics) {
    if (!topic.is_creating && !topic.is_deleting) all.push_back({name, &topic, all_partitions(topic)});
  }
  return all;
}

void Controller::send_whole_image(ClientId observer) {
  effects_.messages.push_back({observer, node::ControlType::config_image, std::nullopt, whole_config_image(cluster_)});
  send_control(observer, kNoBroker, kafka::api_key::kUpdateMetadata, all_topics(), true);
}

Effects Controller::on_client_gone(ClientId id, const Moment& moment) {
  now_ = moment.now;
  const auto at = clients_.find(id);
  if (at == clients_.end()) return take();
  const std::optional<BrokerId> broker = at->second.broker;
  clients_.erase(at);
  std::erase_if(controls_, [&](const auto& entry) { return entry.second.client == id; });
  std::erase_if(requests_, [&](const auto& entry) { return entry.second.client == id; });
  // Of those the store is asked for already the answers are dropped when they come.
  if (broker && phase_ == Phase::active) {
    broker_gone(*broker);
    if (registered_nodes_.erase(*broker) != 0) change(Unregister{}, {Remove{znodes::broker(*broker)}});
  }
  return take();
}

void Controller::on_step(const Unregister&, StoreResult& result, const Moment&) {
  if (went_wrong(result, "taking the broker's registration away")) return;
  if (result.code != StoreCode::ok) effects_.fatal = "taking the broker's registration away: the disk is full";
}

void Controller::broker_gone(BrokerId id) {
  if (cluster_.brokers.erase(id) == 0) return;
  note(fmt::format("broker_gone id={}", id));
  std::erase_if(controls_, [&](const auto& entry) { return entry.second.broker == id; });
  move_leaders();
}

std::optional<ClientId> Controller::client_of(BrokerId id) const {
  for (const auto& [client_id, client] : clients_) {
    if (client.broker == id) return client_id;
  }
  return std::nullopt;
}

// Gives a leader to each partition whose leader is not alive while another in-sync replica is (the first in the order
// of its replicas). Where none is, everything stays: on a node of its own the leader comes back, with the same epoch,
// as when Kafka 3.9's only broker starts again.
void Controller::move_leaders() {
  std::vector<Operation> operations;
  MoveLeaders moved;
  const auto flush = [&] {
    if (!operations.empty()) change(std::exchange(moved, {}), std::exchange(operations, {}));
  };
  for (auto& [name, topic] : cluster_.topics) {
    if (topic.is_creating || topic.is_deleting) continue;
    for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
      PartitionState& state = topic.partitions[i];
      if (cluster_.brokers.contains(state.leader)) continue;
      const auto number = static_cast<std::int32_t>(i);
      const bool live_in_sync =
          std::ranges::any_of(state.isr, [&](BrokerId r) { return cluster_.brokers.contains(r); });
      const bool live = std::ranges::any_of(state.replicas, [&](BrokerId r) { return cluster_.brokers.contains(r); });
      if (!state.has_node && live) {
        choose_first_leaders(cluster_, std::span(&state, 1));
        state.has_node = true;
        operations.push_back(Create{znodes::partition_state(name, number), znodes::partition_state_json(state)});
      } else if (state.has_node && live_in_sync) {
        for (const BrokerId replica : state.replicas) {
          if (!cluster_.brokers.contains(replica) || !contains(state.isr, replica)) continue;
          state.leader = replica;
          break;
        }
        std::erase_if(state.isr, [&](BrokerId r) { return !cluster_.brokers.contains(r); });
        ++state.leader_epoch;
        state.controller_epoch = cluster_.controller_epoch;
        operations.push_back(
            Set{znodes::partition_state(name, number), znodes::partition_state_json(state), state.version++});
      } else {
        continue;
      }
      moved.partitions[name].push_back(number);
      if (operations.size() >= kStatesInOneChange) flush();
    }
  }
  flush();
}

void Controller::on_step(const MoveLeaders& step, StoreResult& result, const Moment&) {
  if (went_wrong(result, "moving leaders")) return;
  if (result.code != StoreCode::ok) {
    effects_.fatal = "moving leaders: the disk is full";
    return;
  }
  std::vector<Mention> all;
  std::map<BrokerId, std::vector<Mention>> hosted;
  for (const auto& [name, partitions] : step.partitions) {
    const auto topic = cluster_.topics.find(name);
    if (topic == cluster_.topics.end() || topic->second.is_deleting) continue;
    all.push_back({topic->first, &topic->second, partitions});
    for (const auto& [id, broker] : cluster_.brokers) {
      Mention mention{topic->first, &topic->second, {}};
      for (const std::int32_t number : partitions) {
        if (contains(topic->second.partitions[static_cast<std::size_t>(number)].replicas, id)) {
          mention.partitions.push_back(number);
        }
      }
      if (!mention.partitions.empty()) hosted[id].push_back(std::move(mention));
    }
  }
  for (auto& [id, mentions] : hosted) send_control(id, kafka::api_key::kLeaderAndIsr, std::move(mentions), false);
  send_metadata(all);
}

// -- Messages to brokers -------------------------------------------------------------------------------------------

void Controller::send_config(const kafka::Buffer& image) {
  for (const auto& [id, client] : clients_) {
    const bool is_broker = client.broker && cluster_.brokers.contains(*client.broker);
    if (!is_broker && !client.is_observer) continue;
    kafka::Buffer bytes(image.size());
    bytes.append(image.bytes());
    effects_.messages.push_back({id, node::ControlType::config_image, std::nullopt, std::move(bytes)});
  }
}

void Controller::send_control(BrokerId to, std::int16_t key, std::vector<Mention> topics, bool is_whole) {
  const std::optional<ClientId> client = client_of(to);
  if (client && cluster_.brokers.contains(to)) send_control(*client, to, key, topics, is_whole);
}

void Controller::send_control(ClientId client, BrokerId broker, std::int16_t key, const std::vector<Mention>& topics,
                              bool is_whole) {
  const std::uint64_t number = next_control_++;
  const auto registered = cluster_.brokers.find(broker);
  const Sender sender{options_.node_id, registered == cluster_.brokers.end() ? -1 : registered->second.epoch, number};
  kafka::Buffer frame;
  if (key == kafka::api_key::kLeaderAndIsr) {
    frame = leader_and_isr_frame(cluster_, sender, topics, is_whole);
  } else if (key == kafka::api_key::kUpdateMetadata) {
    frame = update_metadata_frame(cluster_, sender, topics);
  } else {
    frame = stop_replica_frame(cluster_, sender, topics);
  }
  Control control{client, broker, key, is_whole, {}};
  for (const Mention& mention : topics) control.topics.emplace(mention.name);
  controls_.emplace(number, std::move(control));
  effects_.messages.push_back({client, node::ControlType::control, number, std::move(frame)});
}

void Controller::send_metadata(const std::vector<Mention>& topics) {
  for (const auto& [id, broker] : cluster_.brokers) send_control(id, kafka::api_key::kUpdateMetadata, topics, false);
  for (const auto& [id, client] : clients_) {
    if (client.is_observer) send_control(id, kNoBroker, kafka::api_key::kUpdateMetadata, topics, false);
  }
}

Effects Controller::on_control_reply(ClientId client, std::uint64_t number, Bytes frame) {
  const auto at = controls_.find(number);
  if (at == controls_.end() || at->second.client != client) return take();  // of a session that is over
  const Control control = std::move(at->second);
  controls_.erase(at);
  const std::int16_t version = control.key == kafka::api_key::kLeaderAndIsr  ? 7
                               : control.key == kafka::api_key::kStopReplica ? 4
                                                                             : 8;
  std::int32_t correlation_id = 0;
  std::size_t body_at = 0;
  const auto header = kafka::decode_response_header(frame, kafka::response_header_version(control.key, version),
                                                    correlation_id, body_at);
  if (!header) {
    note(
        fmt::format("control_reply_refused api={} reason=\"{}\"", kafka::api_name(control.key), header.error().text()));
    return take();
  }
  const Bytes body = frame.subspan(body_at);
  if (control.key == kafka::api_key::kLeaderAndIsr) {
    on_leader_and_isr_reply(control, number, body, version);
  } else if (control.key == kafka::api_key::kStopReplica) {
    on_stop_replica_reply(control, body, version);
  } else {
    const auto response = kafka::decode<kafka::UpdateMetadataResponse>(body, version);
    if (!response || response->error_code != 0) note("metadata_update_refused");
  }
  return take();
}

// -- Producer ids --------------------------------------------------------------------------------------------------

void Controller::allocate_producer_ids(const ProducerIdsRequest& request, Bytes body) {
  const auto asked = kafka::decode<kafka::AllocateProducerIdsRequest>(body, request.version);
  if (!asked) {
    refuse_frame(request.client, request.number);
    return;
  }
  if (phase_ != Phase::active) {
    answer_producer_ids(request, ErrorCode::NOT_CONTROLLER, 0, 0);
    return;
  }
  // -1: the coordinator, which is no broker and has no epoch of its own.
  const auto broker = cluster_.brokers.find(asked->broker_id);
  if (asked->broker_epoch != -1) {
    if (broker == cluster_.brokers.end()) {
      answer_producer_ids(request, ErrorCode::BROKER_ID_NOT_REGISTERED, 0, 0);
      return;
    }
    if (broker->second.epoch != asked->broker_epoch) {
      answer_producer_ids(request, ErrorCode::STALE_BROKER_EPOCH, 0, 0);
      return;
    }
  }
  producer_id_requests_.push_back(request);
  take_producer_ids();
}

// One change for all that wait; the next when it is durable.
void Controller::take_producer_ids() {
  if (producer_ids_taking_ != 0 || producer_id_requests_.empty()) return;
  const auto blocks = static_cast<std::int64_t>(producer_id_requests_.size());
  const std::int64_t first = cluster_.next_producer_id;
  if (first > INT64_MAX - blocks * kProducerIdBlock) {
    note("producer_ids_exhausted");
    for (const ProducerIdsRequest& request : std::exchange(producer_id_requests_, {})) {
      answer_producer_ids(request, ErrorCode::UNKNOWN_SERVER_ERROR, 0, 0);
    }
    return;
  }
  producer_ids_taking_ = producer_id_requests_.size();
  const std::int64_t last_block = first + (blocks - 1) * kProducerIdBlock;
  change(TakeProducerIds{first},
         {Set{znodes::kProducerIds,
              znodes::producer_ids_json({options_.node_id, last_block, last_block + kProducerIdBlock - 1}),
              cluster_.producer_id_block_version}});
}

void Controller::on_step(const TakeProducerIds& step, StoreResult& result, const Moment&) {
  if (went_wrong(result, "taking producer ids")) return;
  const bool taken = result.code == StoreCode::ok;
  std::int64_t first = step.first;
  for (; producer_ids_taking_ > 0; --producer_ids_taking_) {
    const ProducerIdsRequest request = producer_id_requests_.front();
    producer_id_requests_.pop_front();
    if (taken) {
      answer_producer_ids(request, ErrorCode::NONE, first, static_cast<std::int32_t>(kProducerIdBlock));
      first += kProducerIdBlock;
    } else {
      answer_producer_ids(request, ErrorCode::KAFKA_STORAGE_ERROR, 0, 0);
    }
  }
  if (taken) {
    cluster_.next_producer_id = first;
    ++cluster_.producer_id_block_version;
  }
  take_producer_ids();
}

void Controller::answer_producer_ids(const ProducerIdsRequest& request, ErrorCode code, std::int64_t first,
                                     std::int32_t count) {
  if (!clients_.contains(request.client)) return;
  kafka::AllocateProducerIdsResponse response;
  response.error_code = kafka::wire(code);
  response.producer_id_start = first;
  response.producer_id_len = count;
  effects_.messages.push_back(
      {request.client, node::ControlType::forward_reply, request.number,
       response_frame(response, kafka::api_key::kAllocateProducerIds, request.version, request.correlation_id)});
}

// -- Requests and time ---------------------------------------------------------------------------------------------

Effects Controller::on_forward(ClientId client, std::uint64_t number, Bytes frame, const Moment& moment) {
  now_ = moment.now;
  clients_[client];
  kafka::RequestHeader header;
  std::size_t body_at = 0;
  if (!kafka::decode_request_header(frame, header, body_at)) {
    refuse_frame(client, number);
    return take();
  }
  const Bytes body = frame.subspan(body_at);
  const std::int16_t key = header.api_key;
  AdminRequest request{client, number, key, header.api_version, header.correlation_id, moment.now, {}, {}};
  if (key == kafka::api_key::kCreateTopics) {
    create_topics(std::move(request), body);
  } else if (key == kafka::api_key::kDeleteTopics) {
    delete_topics(std::move(request), body);
  } else if (key == kafka::api_key::kCreatePartitions) {
    create_partitions(std::move(request), body);
  } else if (key == kafka::api_key::kAlterConfigs || key == kafka::api_key::kIncrementalAlterConfigs ||
             key == kafka::api_key::kAlterClientQuotas) {
    take_alteration(std::move(request), body);
    go_on_altering(moment);
  } else if (key == kafka::api_key::kDescribeClientQuotas) {
    describe_quotas(request, body);
  } else if (key == kafka::api_key::kListConfigResources) {
    list_config_resources(request, body);
  } else if (key == kafka::api_key::kAlterPartitionReassignments) {
    alter_reassignments(request, body);
  } else if (key == kafka::api_key::kListPartitionReassignments) {
    list_reassignments(request, body);
  } else if (key == kafka::api_key::kElectLeaders) {
    elect_leaders(request, body);
  } else if (key == kafka::api_key::kAllocateProducerIds) {
    allocate_producer_ids({client, number, header.api_version, header.correlation_id}, body);
  } else {
    note(fmt::format("forward_refused api={} version={}", kafka::api_name(key), header.api_version));
    refuse_frame(client, number);
  }
  return take();
}

void Controller::refuse_frame(ClientId client, std::uint64_t number) {
  effects_.messages.push_back({client, node::ControlType::forward_reply, number, kafka::Buffer()});
}

std::optional<Instant> Controller::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](Instant at) {
    if (!next || at < *next) next = at;
  };
  for (const auto& [id, request] : requests_) consider(request.deadline);
  for (const auto& [name, deletion] : deletions_) {
    if (deletion.retry) consider(*deletion.retry);
  }
  return next;
}

Effects Controller::on_time(const Moment& moment) {
  now_ = moment.now;
  std::vector<std::uint64_t> late;
  for (const auto& [id, request] : requests_) {
    if (request.deadline <= moment.now) late.push_back(id);
  }
  for (const std::uint64_t id : late) {
    const std::size_t count = requests_[id].outcomes.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (requests_.contains(id) && !requests_[id].outcomes[i].is_decided) {
        decide({id, i}, ErrorCode::REQUEST_TIMED_OUT,
               "The change goes on, and was not complete within the request's time.");
      }
    }
  }
  std::vector<std::string> again;
  for (auto& [name, deletion] : deletions_) {
    if (!deletion.retry || moment.now < *deletion.retry) continue;
    deletion.retry.reset();
    again.push_back(name);
  }
  for (const std::string& name : again) {
    if (deletions_[name].awaited.empty()) {
      replicas_stopped(name);
    } else {
      stop_replicas(name);
    }
  }
  return take();
}

}  // namespace tailrace::zkbridge
