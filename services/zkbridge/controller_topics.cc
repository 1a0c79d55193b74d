// The controller's half that makes, enlarges and deletes topics (controller.h).
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "services/kafka/api_table.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/node/describe_configs.h"
#include "services/zkbridge/controller.h"
#include "services/zkbridge/controller_replies.h"
#include "services/zkbridge/taking_over.h"
#include "services/zkbridge/znodes.h"

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;

constexpr Duration kDeletionRetry = std::chrono::seconds(1);
constexpr const char* kUnknownTopic = "This server does not host this topic-partition.";

// How often each name comes in a request; Kafka answers repeated ones once, with an error.
template <class Items, class Name>
std::map<std::string_view, int> count_names(const Items& items, const Name& name_of) {
  std::map<std::string_view, int> counts;
  for (const auto& item : items) ++counts[name_of(item)];
  return counts;
}

}  // namespace

// -- Requests and their outcomes -----------------------------------------------------------------------------------

std::uint64_t Controller::keep(AdminRequest request, std::int32_t timeout_ms) {
  request.deadline = now_ + std::chrono::milliseconds(std::max(timeout_ms, 0));
  const std::uint64_t id = next_request_++;
  requests_.emplace(id, std::move(request));
  return id;
}

void Controller::decide(const OutcomeRef& ref, ErrorCode code, std::optional<std::string> message) {
  const auto request = requests_.find(ref.request);
  if (request == requests_.end()) return;  // answered already, or its client is gone
  Outcome& outcome = request->second.outcomes[ref.index];
  if (outcome.is_decided) return;
  outcome.is_decided = true;
  outcome.code = code;
  outcome.message = std::move(message);
  answer_if_decided(ref.request);
}

void Controller::answer_if_decided(std::uint64_t id) {
  const auto at = requests_.find(id);
  if (at == requests_.end()) return;
  const AdminRequest& request = at->second;
  if (!std::ranges::all_of(request.outcomes, &Outcome::is_decided)) return;
  reply(request, answer(request));
  requests_.erase(at);
}

void Controller::reply(const AdminRequest& request, kafka::Buffer frame) {
  effects_.messages.push_back({request.client, node::ControlType::forward_reply, request.number, std::move(frame)});
}

kafka::Buffer Controller::answer(const AdminRequest& request) const {
  if (!request.body.empty()) return answer_alteration(request);
  if (request.key == kafka::api_key::kDeleteTopics) {
    kafka::DeleteTopicsResponse response;
    for (const Outcome& outcome : request.outcomes) {
      if (outcome.is_left_out) continue;
      auto& result = response.responses.emplace_back();
      if (!outcome.names_nothing) result.name = outcome.name;
      result.topic_id = outcome.id;
      result.error_code = kafka::wire(outcome.code);
      if (outcome.message) result.error_message = *outcome.message;
    }
    return response_frame(response, request.key, request.version, request.correlation_id);
  }
  if (request.key == kafka::api_key::kCreatePartitions) {
    kafka::CreatePartitionsResponse response;
    for (const Outcome& outcome : request.outcomes) {
      auto& result = response.results.emplace_back();
      result.name = outcome.name;
      result.error_code = kafka::wire(outcome.code);
      if (outcome.message) result.error_message = *outcome.message;
    }
    return response_frame(response, request.key, request.version, request.correlation_id);
  }
  kafka::CreateTopicsResponse response;
  std::vector<std::vector<node::ConfigRow>> rows(request.outcomes.size());  // what the response's views point into
  for (std::size_t i = 0; i < request.outcomes.size(); ++i) {
    const Outcome& outcome = request.outcomes[i];
    auto& result = response.topics.emplace_back();
    result.name = outcome.name;
    result.error_code = kafka::wire(outcome.code);
    if (outcome.message) result.error_message = *outcome.message;
    result.configs.emplace();
    if (outcome.code != ErrorCode::NONE) continue;
    result.topic_id = outcome.id;
    result.num_partitions = outcome.partitions;
    result.replication_factor = outcome.replication_factor;
    rows[i] = node::describe_topic(broker_configs(), outcome.configs);
    for (const node::ConfigRow& row : rows[i]) {
      auto& config = result.configs->emplace_back();
      config.name = row.name;
      if (row.value) config.value = *row.value;
      config.read_only = row.read_only;
      config.config_source = static_cast<std::int8_t>(row.source);
      config.is_sensitive = row.sensitive;
    }
  }
  return response_frame(response, request.key, request.version, request.correlation_id);
}

// -- CreateTopics --------------------------------------------------------------------------------------------------

void Controller::create_topics(AdminRequest request, Bytes body) {
  using Message = kafka::CreateTopicsRequest;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  const auto asked = kafka::decode<Message>(body, request.version);
  if (!asked || asked->topics.size() > kItemsMax) return refuse_frame(request.client, request.number);
  auto counts = count_names(asked->topics, [](const auto& topic) { return topic.name; });
  std::vector<const Message::CreatableTopic*> wishes;
  for (const auto& wish : asked->topics) {
    if (counts[wish.name] == 0) continue;  // a repeated name, answered already
    request.outcomes.emplace_back().name = wish.name;
    wishes.push_back(counts[wish.name] == 1 ? &wish : nullptr);
    counts[wish.name] = 0;
  }
  const std::uint64_t id = keep(std::move(request), asked->timeout_ms);
  // A request that asks for too much is refused whole.
  std::int64_t partitions = 0;
  for (const Message::CreatableTopic* const wish : wishes) {
    if (wish != nullptr) partitions += partitions_wished(broker_configs(), *wish);
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (phase_ != Phase::active) {
      decide({id, i}, ErrorCode::NOT_CONTROLLER, kNotActive);
      continue;
    }
    if (partitions > kNewPartitionsMax) {
      decide({id, i}, ErrorCode::POLICY_VIOLATION, "Excessively large number of partitions per request.");
      continue;
    }
    if (wishes[i] == nullptr) {
      decide({id, i}, ErrorCode::INVALID_REQUEST, "Duplicate topic name.");
      continue;
    }
    auto topic = plan_topic(cluster_, broker_configs(), *wishes[i], options_.chance);
    if (!topic) {
      decide({id, i}, topic.error().code, topic.error().message);
      continue;
    }
    topic->id = random_id(options_.chance);
    Outcome& outcome = requests_[id].outcomes[i];
    outcome.id = topic->id;
    outcome.partitions = static_cast<std::int32_t>(topic->partitions.size());
    outcome.replication_factor = static_cast<std::int16_t>(topic->partitions.front().replicas.size());
    outcome.configs = topic->configs;
    if (asked->validate_only) {
      decide({id, i}, ErrorCode::NONE);
    } else {
      make_topic(std::string(wishes[i]->name), std::move(*topic), {id, i});
    }
  }
  answer_if_decided(id);  // a request about no topic at all
}

void Controller::make_topic(std::string name, Topic topic, OutcomeRef outcome) {
  choose_first_leaders(cluster_, topic.partitions);
  topic.is_creating = true;
  topic.configs = znodes::as_stored(topic.configs);
  std::vector<Operation> operations = make_topic_nodes(name, topic);
  cluster_.topics[name] = std::move(topic);
  change(MakeTopic{std::move(name), outcome}, std::move(operations));
}

void Controller::on_step(const MakeTopic& step, StoreResult& result, const Moment&) {
  if (went_wrong(result, "making a topic")) return;
  if (result.code != StoreCode::ok) {
    cluster_.topics.erase(step.name);
    decide(step.outcome, ErrorCode::KAFKA_STORAGE_ERROR, kDiskFull);
    return;
  }
  Topic& topic = cluster_.topics[step.name];
  topic.is_creating = false;
  topic.has_config_node = true;
  cluster_.topic_names[topic.id] = step.name;
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    topic.partitions[i].has_node = true;
    numbers.push_back(static_cast<std::int32_t>(i));
  }
  note(fmt::format("topic_created name={} partitions={} id={}", step.name, numbers.size(), topic.id.text()));
  // Settings first: the logs are made with them.
  if (!topic.configs.empty()) send_config(config_image(kafka::kTopicEntity, step.name, topic.configs));
  announce(step.name, std::move(numbers), step.outcome);
}

// Brokers are told to open the partitions; when they have, everybody is told of them, and the client that asked.
void Controller::announce(std::string name, std::vector<std::int32_t> partitions, OutcomeRef outcome) {
  const auto topic = cluster_.topics.find(name);
  std::map<BrokerId, std::vector<std::int32_t>> hosted;
  for (const std::int32_t number : partitions) {
    for (const BrokerId id : topic->second.partitions[static_cast<std::size_t>(number)].replicas) {
      hosted[id].push_back(number);
    }
  }
  Announcement announcement{name, std::move(partitions), {}, outcome, next_control_, std::nullopt};
  for (auto& [id, numbers] : hosted) {
    if (!cluster_.brokers.contains(id)) continue;
    announcement.awaited.insert(id);
    send_control(id, kafka::api_key::kLeaderAndIsr, {{topic->first, &topic->second, std::move(numbers)}}, false);
  }
  if (announcement.awaited.empty()) {  // they left meanwhile, and will be told when they are back
    for (const auto& [id, numbers] : hosted) announcement.awaited.insert(id);
  }
  announcements_.push_back(std::move(announcement));
}

void Controller::on_leader_and_isr_reply(const Control& control, std::uint64_t number, Bytes body,
                                         std::int16_t version) {
  const auto response = kafka::decode<kafka::LeaderAndIsrResponse>(body, version);
  if (!response || response->error_code != 0) {
    note(fmt::format("leader_and_isr_refused broker={} code={}", control.broker,
                     response ? kafka::error_name(response->error_code) : "unreadable"));
    return;
  }
  std::map<std::string, std::map<std::int32_t, std::int16_t>, std::less<>> errors;
  for (const auto& topic : response->topics) {
    const auto name = cluster_.topic_names.find(topic.topic_id);
    if (name == cluster_.topic_names.end()) continue;
    for (const auto& partition : topic.partition_errors) {
      const auto index = static_cast<std::size_t>(partition.partition_index);
      Topic& known = cluster_.topics[name->second];
      if (index >= known.partitions.size()) continue;
      if (partition.error_code == 0) {
        if (known.partitions[index].leader == control.broker) known.partitions[index].is_known = true;
        continue;
      }
      errors[name->second][partition.partition_index] = partition.error_code;
      note(fmt::format("partition_not_opened topic={} partition={} broker={} code={}", name->second,
                       partition.partition_index, control.broker, kafka::error_name(partition.error_code)));
    }
  }
  for (Announcement& announcement : announcements_) {
    if (number < announcement.first_control || !control.topics.contains(announcement.name)) continue;
    if (announcement.awaited.erase(control.broker) == 0) continue;
    for (const auto& [partition, code] : errors[announcement.name]) {
      if (std::ranges::find(announcement.partitions, partition) == announcement.partitions.end()) continue;
      announcement.trouble = Refusal{ErrorCode{code}, fmt::format("The topic is there, but broker {} could not open "
                                                                  "partition {}: {}",
                                                                  control.broker, partition, kafka::error_text(code))};
    }
  }
  for (std::size_t i = 0; i < announcements_.size();) {
    if (!announcements_[i].awaited.empty()) {
      ++i;
      continue;
    }
    Announcement ready = std::move(announcements_[i]);
    announcements_.erase(announcements_.begin() + static_cast<std::ptrdiff_t>(i));
    partitions_ready(ready);
  }
}

void Controller::partitions_ready(Announcement& announcement) {
  const auto topic = cluster_.topics.find(announcement.name);
  if (topic != cluster_.topics.end() && !topic->second.is_deleting) {
    send_metadata({{topic->first, &topic->second, announcement.partitions}});
  }
  if (announcement.trouble) {
    decide(announcement.outcome, announcement.trouble->code, announcement.trouble->message);
  } else {
    decide(announcement.outcome, ErrorCode::NONE);
  }
}

// -- CreatePartitions ----------------------------------------------------------------------------------------------

void Controller::create_partitions(AdminRequest request, Bytes body) {
  using Message = kafka::CreatePartitionsRequest;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  const auto asked = kafka::decode<Message>(body, request.version);
  if (!asked || asked->topics.size() > kItemsMax) return refuse_frame(request.client, request.number);
  auto counts = count_names(asked->topics, [](const auto& topic) { return topic.name; });
  std::vector<const Message::CreatePartitionsTopic*> wishes;
  for (const auto& wish : asked->topics) {
    if (counts[wish.name] == 0) continue;
    request.outcomes.emplace_back().name = wish.name;
    wishes.push_back(counts[wish.name] == 1 ? &wish : nullptr);
    counts[wish.name] = 0;
  }
  const std::uint64_t id = keep(std::move(request), asked->timeout_ms);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (phase_ != Phase::active) {
      decide({id, i}, ErrorCode::NOT_CONTROLLER, kNotActive);
      continue;
    }
    if (wishes[i] == nullptr) {
      decide({id, i}, ErrorCode::INVALID_REQUEST, "Duplicate topic name.");
      continue;
    }
    auto added = plan_growth(cluster_, *wishes[i], options_.chance);
    if (!added) {
      decide({id, i}, added.error().code,
             added.error().message.empty() ? std::nullopt : std::optional(added.error().message));
      continue;
    }
    if (asked->validate_only) {
      decide({id, i}, ErrorCode::NONE);
      continue;
    }
    const std::string name(wishes[i]->name);
    Topic& topic = cluster_.topics[name];
    if (topic.is_growing) {
      decide({id, i}, ErrorCode::REASSIGNMENT_IN_PROGRESS, "Another request is adding partitions to the topic.");
      continue;
    }
    topic.is_growing = true;
    choose_first_leaders(cluster_, *added);
    Topic larger = topic;
    larger.partitions.insert(larger.partitions.end(), added->begin(), added->end());
    std::vector<Operation> operations = {Set{znodes::topic(name), znodes::topic_json(larger), topic.version}};
    for (std::size_t n = topic.partitions.size(); n < larger.partitions.size(); ++n) {
      const auto number = static_cast<std::int32_t>(n);
      operations.push_back(Create{znodes::partition(name, number), std::nullopt});
      operations.push_back(
          Create{znodes::partition_state(name, number), znodes::partition_state_json(larger.partitions[n])});
    }
    change(Grow{name, std::move(*added), {id, i}}, std::move(operations));
  }
  answer_if_decided(id);
}

void Controller::on_step(Grow& step, StoreResult& result, const Moment&) {
  if (went_wrong(result, "adding partitions")) return;
  Topic& topic = cluster_.topics[step.name];
  topic.is_growing = false;
  if (result.code != StoreCode::ok) {
    decide(step.outcome, ErrorCode::KAFKA_STORAGE_ERROR, kDiskFull);
    return;
  }
  ++topic.version;
  std::vector<std::int32_t> numbers;
  for (PartitionState& state : step.added) {
    numbers.push_back(static_cast<std::int32_t>(topic.partitions.size()));
    state.has_node = true;
    topic.partitions.push_back(std::move(state));
  }
  note(fmt::format("partitions_added topic={} partitions={}", step.name, topic.partitions.size()));
  if (topic.is_deleting) {  // the intention came in between: what was just made goes with the rest
    decide(step.outcome, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, kUnknownTopic);
    return;
  }
  announce(step.name, std::move(numbers), step.outcome);
}

// -- DeleteTopics --------------------------------------------------------------------------------------------------

void Controller::delete_topics(AdminRequest request, Bytes body) {
  using Message = kafka::DeleteTopicsRequest;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  const auto asked = kafka::decode<Message>(body, request.version);
  if (!asked || asked->topics.size() + asked->topic_names.size() > kItemsMax) {
    return refuse_frame(request.client, request.number);
  }
  std::vector<Message::DeleteTopicState> wishes = asked->topics;
  for (const std::string_view name : asked->topic_names) wishes.push_back({.name = name});
  const bool by_state = request.version >= 6;
  // What is named twice is answered once, and not deleted: nobody knows what was meant.
  std::map<std::pair<std::optional<std::string_view>, Uuid>, int> counts;
  for (const auto& wish : wishes) ++counts[{wish.name, wish.topic_id}];
  std::set<std::pair<std::optional<std::string_view>, Uuid>> seen;
  std::erase_if(wishes, [&](const auto& wish) { return !seen.insert({wish.name, wish.topic_id}).second; });
  for (const auto& wish : wishes) {
    Outcome& outcome = request.outcomes.emplace_back();
    outcome.names_nothing = !wish.name.has_value();
    outcome.name = wish.name.value_or("");
    outcome.id = wish.topic_id;
  }
  const std::uint64_t id = keep(std::move(request), asked->timeout_ms);
  if (wishes.empty()) return answer_if_decided(id);
  const std::int16_t version = requests_[id].version;

  std::vector<std::string> names(wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    Outcome& outcome = requests_[id].outcomes[i];
    const auto undecided = [&](ErrorCode code, std::string message) {
      outcome.code = code;
      outcome.message = std::move(message);
      outcome.is_decided = true;
    };
    const bool is_repeated = counts[{wishes[i].name, wishes[i].topic_id}] > 1;
    if (phase_ != Phase::active) {
      undecided(ErrorCode::NOT_CONTROLLER, kNotActive);
    } else if (!options_.config->boolean("delete.topic.enable")) {
      undecided(version < 3 ? ErrorCode::INVALID_REQUEST : ErrorCode::TOPIC_DELETION_DISABLED,
                "Topic deletion is disabled.");
    } else if (by_state && wishes[i].name && !wishes[i].topic_id.is_zero()) {
      undecided(ErrorCode::INVALID_REQUEST, "You may not specify both topic name and topic id.");
    } else if (by_state && !wishes[i].name && wishes[i].topic_id.is_zero()) {
      undecided(ErrorCode::INVALID_REQUEST, "Neither topic name nor id were specified.");
    } else if (is_repeated) {
      undecided(ErrorCode::INVALID_REQUEST, wishes[i].name ? "Duplicate topic name." : "Duplicate topic id.");
    } else if (!wishes[i].name) {
      const auto name = cluster_.topic_names.find(wishes[i].topic_id);
      if (name == cluster_.topic_names.end()) {
        undecided(ErrorCode::UNKNOWN_TOPIC_ID, "This server does not host this topic ID.");
      } else {
        names[i] = outcome.name = name->second;
        outcome.names_nothing = false;
      }
    } else {
      const auto topic = cluster_.topics.find(*wishes[i].name);
      if (topic == cluster_.topics.end() || topic->second.is_creating) {
        undecided(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, kUnknownTopic);
      } else {
        names[i] = topic->first;
        outcome.id = topic->second.id;
      }
    }
  }
  // By its name and by its id: answered at the name.
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!wishes[i].name || names[i].empty()) continue;
    for (std::size_t j = 0; j < wishes.size(); ++j) {
      if (wishes[j].name || names[j] != names[i]) continue;
      Outcome& outcome = requests_[id].outcomes[i];
      outcome.is_decided = true;
      outcome.code = ErrorCode::INVALID_REQUEST;
      outcome.message = "The provided topic name maps to an ID that was already supplied.";
      requests_[id].outcomes[j].is_left_out = requests_[id].outcomes[j].is_decided = true;
    }
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!requests_[id].outcomes[i].is_decided) delete_topic(names[i], {id, i});
  }
  answer_if_decided(id);
}

void Controller::delete_topic(const std::string& name, OutcomeRef outcome) {
  const auto [deletion, is_new] = deletions_.try_emplace(name);
  deletion->second.outcomes.push_back(outcome);
  if (!is_new) return;  // under way: this client waits for it too
  cluster_.topics[name].is_deleting = true;
  change(IntendDeletion{name, outcome}, {Create{znodes::deletion(name), std::nullopt}});
}

void Controller::on_step(const IntendDeletion& step, StoreResult& result, const Moment&) {
  if (went_wrong(result, "deleting a topic")) return;
  if (result.code != StoreCode::ok) {
    cluster_.topics[step.name].is_deleting = false;
    const std::vector<OutcomeRef> outcomes = std::move(deletions_[step.name].outcomes);
    deletions_.erase(step.name);
    for (const OutcomeRef& outcome : outcomes) decide(outcome, ErrorCode::KAFKA_STORAGE_ERROR, kDiskFull);
    return;
  }
  deletions_[step.name].is_in_store = true;
  stop_replicas(step.name);
}

// Clients lose sight of the topic first, then its brokers delete what they have.
void Controller::stop_replicas(const std::string& name) {
  Deletion& deletion = deletions_[name];
  const auto topic = cluster_.topics.find(name);
  if (topic == cluster_.topics.end()) return replicas_stopped(name);
  std::vector<std::int32_t> all;
  std::map<BrokerId, std::vector<std::int32_t>> hosted;
  for (std::size_t i = 0; i < topic->second.partitions.size(); ++i) {
    all.push_back(static_cast<std::int32_t>(i));
    for (const BrokerId id : topic->second.partitions[i].replicas) hosted[id].push_back(all.back());
  }
  deletion.awaited.clear();
  for (const auto& [id, numbers] : hosted) deletion.awaited.insert(id);
  if (deletion.awaited.empty()) return replicas_stopped(name);
  send_metadata({{topic->first, &topic->second, all}});
  for (auto& [id, numbers] : hosted) {
    send_control(id, kafka::api_key::kStopReplica, {{topic->first, &topic->second, std::move(numbers)}}, false);
  }
}

void Controller::on_stop_replica_reply(const Control& control, Bytes body, std::int16_t version) {
  const auto response = kafka::decode<kafka::StopReplicaResponse>(body, version);
  std::int16_t code = response ? response->error_code : kafka::wire(ErrorCode::UNKNOWN_SERVER_ERROR);
  if (response) {
    for (const auto& partition : response->partition_errors) {
      // A partition that the broker does not have needs no deleting.
      if (partition.error_code != 0 && partition.error_code != kafka::wire(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)) {
        code = partition.error_code;
      }
    }
  }
  for (const std::string& name : control.topics) {
    const auto deletion = deletions_.find(name);
    if (deletion == deletions_.end()) continue;
    if (code != 0) {
      note(fmt::format("deletion_failed topic={} broker={} code={}", name, control.broker, kafka::error_name(code)));
      deletion->second.retry = now_ + kDeletionRetry;
      continue;
    }
    deletion->second.awaited.erase(control.broker);
    if (deletion->second.awaited.empty()) replicas_stopped(name);
  }
}

// All data is gone: now the nodes may go, in one change.
void Controller::replicas_stopped(const std::string& name) {
  Deletion& deletion = deletions_[name];
  const auto topic = cluster_.topics.find(name);
  if (deletion.is_finishing) return;
  if (topic != cluster_.topics.end() && topic->second.is_growing) {  // its change is still on the way
    deletion.retry = now_ + kDeletionRetry;
    return;
  }
  deletion.is_finishing = true;
  submit(ListDeleted{name}, GetTree{znodes::topic(name)});
}

void Controller::on_step(const ListDeleted& step, StoreResult& result, const Moment&) {
  std::vector<Operation> operations;
  for (auto node = result.tree.rbegin(); node != result.tree.rend(); ++node) operations.push_back(Remove{node->path});
  const auto topic = cluster_.topics.find(step.name);
  if (topic != cluster_.topics.end() && topic->second.has_config_node) {
    operations.push_back(Remove{znodes::topic_config(step.name)});
  }
  operations.push_back(Remove{znodes::deletion(step.name)});
  change(FinishDeletion{step.name}, std::move(operations));
}

void Controller::on_step(const FinishDeletion& step, StoreResult& result, const Moment&) {
  if (went_wrong(result, "removing a deleted topic")) return;
  Deletion& deletion = deletions_[step.name];
  if (result.code != StoreCode::ok) {
    deletion.is_finishing = false;
    deletion.retry = now_ + kDeletionRetry;
    return;
  }
  const std::vector<OutcomeRef> outcomes = std::move(deletion.outcomes);
  deletions_.erase(step.name);
  if (const auto topic = cluster_.topics.find(step.name); topic != cluster_.topics.end()) {
    cluster_.topic_names.erase(topic->second.id);
    if (!topic->second.configs.empty()) send_config(config_image(kafka::kTopicEntity, step.name, {}));
    cluster_.topics.erase(topic);
  }
  std::erase_if(announcements_, [&](const Announcement& a) {
    if (a.name != step.name) return false;
    decide(a.outcome, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, kUnknownTopic);
    return true;
  });
  note(fmt::format("topic_deleted name={}", step.name));
  for (const OutcomeRef& outcome : outcomes) decide(outcome, ErrorCode::NONE);
}

}  // namespace tailrace::zkbridge
