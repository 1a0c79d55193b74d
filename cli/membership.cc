#include "cli/membership.h"

#include <algorithm>
#include <deque>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "services/kafka/consumer_protocol.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::cli {
namespace {

using kafka::ErrorCode;
using kafka::wire;

// The defaults of Kafka's consumer.
constexpr std::chrono::milliseconds kSessionTimeout{45'000};
constexpr std::chrono::milliseconds kRebalanceTimeout{300'000};
constexpr std::chrono::milliseconds kBeatInterval{3'000};
constexpr std::chrono::milliseconds kAskAgain{100};
constexpr std::string_view kConsumers = "consumer";
constexpr std::string_view kRange = "range";
constexpr std::int16_t kProtocolVersion = 1;
constexpr std::int16_t kOffsetCommitVersionMax = 9;  // the last that names topics by name

}  // namespace

std::map<std::string, std::vector<PartitionKey>> assign_ranges(std::vector<Subscriber> subscribers,
                                                               const std::map<std::string, std::int32_t>& partitions) {
  std::sort(subscribers.begin(), subscribers.end(), [](const Subscriber& a, const Subscriber& b) {
    const auto order = [](const Subscriber& one) { return std::tie(one.instance_id, one.member_id); };
    if (a.instance_id.has_value() != b.instance_id.has_value()) return a.instance_id.has_value();
    return order(a) < order(b);
  });
  std::map<std::string, std::vector<PartitionKey>> assignments;
  for (const Subscriber& one : subscribers) assignments[one.member_id];
  for (const auto& [topic, count] : partitions) {
    std::vector<const Subscriber*> readers;
    for (const Subscriber& one : subscribers) {
      if (std::find(one.topics.begin(), one.topics.end(), topic) != one.topics.end()) readers.push_back(&one);
    }
    std::int32_t next = 0;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const auto all = static_cast<std::size_t>(count);
      const std::size_t share = all / readers.size() + (i < all % readers.size() ? 1 : 0);
      for (std::size_t k = 0; k < share; ++k) assignments[readers[i]->member_id].push_back({topic, next++});
    }
  }
  return assignments;
}

void Membership::forget_coordinator() {
  if (coordinator_ >= 0) client_.forget(coordinator_);
  coordinator_ = -1;
}

Outcome<Connection*> Membership::coordinator() {
  if (coordinator_ < 0) {
    auto found = find_coordinator(client_, group_);
    if (!found) return std::unexpected(found.error());
    coordinator_ = *found;
  }
  return client_.broker(coordinator_);
}

bool Membership::must_join_again(std::int16_t code) {
  const auto is = [&](ErrorCode one) { return code == wire(one); };
  if (is(ErrorCode::NOT_COORDINATOR) || is(ErrorCode::COORDINATOR_NOT_AVAILABLE)) forget_coordinator();
  if (is(ErrorCode::UNKNOWN_MEMBER_ID)) member_id_.clear();
  return is(ErrorCode::UNKNOWN_MEMBER_ID) || is(ErrorCode::ILLEGAL_GENERATION) ||
         is(ErrorCode::REBALANCE_IN_PROGRESS) || is(ErrorCode::NOT_COORDINATOR) ||
         is(ErrorCode::COORDINATOR_NOT_AVAILABLE) || is(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
}

Outcome<std::map<std::string, std::vector<PartitionKey>>> Membership::share_out(std::vector<Subscriber> subscribers) {
  std::set<std::string> names;
  for (const Subscriber& one : subscribers) names.insert(one.topics.begin(), one.topics.end());
  const std::vector<std::string> topics(names.begin(), names.end());
  auto cluster = client_.describe(&topics, false);
  if (!cluster) return std::unexpected(cluster.error());
  std::map<std::string, std::int32_t> partitions;
  for (const Topic& topic : cluster->topics) {
    if (topic.error_code == 0) partitions[topic.name] = static_cast<std::int32_t>(topic.partitions.size());
  }
  return assign_ranges(std::move(subscribers), partitions);
}

Outcome<std::vector<std::int32_t>> Membership::join() {
  const auto failure = [&](std::int16_t code) {
    return std::unexpected(fmt::format("group {}: {}", group_, describe_error(code)));
  };
  kafka::ConsumerProtocolSubscription subscription;
  subscription.topics.emplace_back(topic_);
  kafka::Buffer metadata;
  if (!kafka::encode_consumer_protocol(subscription, kProtocolVersion, metadata)) {
    return std::unexpected(std::string("the topic's name is too long"));
  }
  auto give_up = client_.deadline();  // for what has to pass; others may take longer
  for (bool is_first = true;; is_first = false) {
    if (!is_first) {
      if (Connection::Clock::now() >= give_up) return std::unexpected(fmt::format("group {} does not settle", group_));
      std::this_thread::sleep_for(kAskAgain);
    }
    auto connection = coordinator();
    if (!connection) return std::unexpected(connection.error());
    kafka::JoinGroupRequest request;
    request.group_id = group_;
    request.session_timeout_ms = static_cast<std::int32_t>(kSessionTimeout.count());
    request.rebalance_timeout_ms = static_cast<std::int32_t>(kRebalanceTimeout.count());
    request.member_id = member_id_;
    request.protocol_type = kConsumers;
    request.protocols.emplace_back();
    request.protocols.back().name = kRange;
    request.protocols.back().metadata = metadata.bytes();
    const auto began = Connection::Clock::now();
    auto joined = ask<kafka::JoinGroupResponse>(**connection, request, client_.timeout() + kRebalanceTimeout);
    if (!joined) return std::unexpected(joined.error());
    give_up += Connection::Clock::now() - began;
    const kafka::JoinGroupResponse& group = joined->message;
    if (group.error_code == wire(ErrorCode::MEMBER_ID_REQUIRED)) {  // KIP-394
      member_id_ = group.member_id;
      continue;
    }
    if (must_join_again(group.error_code)) continue;
    if (group.error_code != 0) return failure(group.error_code);
    member_id_ = group.member_id;
    generation_ = group.generation_id;

    kafka::SyncGroupRequest sync;
    sync.group_id = group_;
    sync.generation_id = generation_;
    sync.member_id = member_id_;
    sync.protocol_type = kConsumers;
    sync.protocol_name = kRange;
    std::map<std::string, std::vector<PartitionKey>> shares;  // the request borrows from these two
    std::deque<kafka::Buffer> encoded;
    if (group.leader == member_id_) {
      std::vector<Subscriber> subscribers;
      for (const auto& one : group.members) {
        Subscriber& subscriber = subscribers.emplace_back(
            Subscriber{.member_id = std::string(one.member_id), .instance_id = {}, .topics = {}});
        if (one.group_instance_id) subscriber.instance_id = std::string(*one.group_instance_id);
        const auto its = kafka::decode_consumer_protocol<kafka::ConsumerProtocolSubscription>(one.metadata);
        if (!its) return std::unexpected(fmt::format("group {}: a member's subscription does not decode", group_));
        for (const std::string_view name : its->topics) subscriber.topics.emplace_back(name);
      }
      auto shared = share_out(std::move(subscribers));
      if (!shared) return std::unexpected(shared.error());
      shares = std::move(*shared);
      for (const auto& [member, keys] : shares) {
        kafka::ConsumerProtocolAssignment assignment;
        for (const PartitionKey& key : keys) {
          auto& topics = assignment.assigned_partitions;
          if (topics.empty() || topics.back().topic != key.topic) topics.emplace_back().topic = key.topic;
          topics.back().partitions.push_back(key.partition);
        }
        if (!kafka::encode_consumer_protocol(assignment, kProtocolVersion, encoded.emplace_back())) {
          return std::unexpected(std::string("a topic's name is too long"));
        }
        auto& one = sync.assignments.emplace_back();
        one.member_id = member;
        one.assignment = encoded.back().bytes();
      }
    }
    connection = coordinator();
    if (!connection) return std::unexpected(connection.error());
    auto synced = ask<kafka::SyncGroupResponse>(**connection, sync, client_.timeout() + kRebalanceTimeout);
    if (!synced) return std::unexpected(synced.error());
    if (must_join_again(synced->message.error_code)) continue;
    if (synced->message.error_code != 0) return failure(synced->message.error_code);
    next_beat_ = Connection::Clock::now() + kBeatInterval;
    std::vector<std::int32_t> partitions;
    if (synced->message.assignment.empty()) return partitions;
    const auto assignment =
        kafka::decode_consumer_protocol<kafka::ConsumerProtocolAssignment>(synced->message.assignment);
    if (!assignment) return std::unexpected(fmt::format("group {}: our assignment does not decode", group_));
    for (const auto& topic : assignment->assigned_partitions) {
      if (topic.topic == topic_) partitions.insert(partitions.end(), topic.partitions.begin(), topic.partitions.end());
    }
    return partitions;
  }
}

Outcome<bool> Membership::beat() {
  const auto now = Connection::Clock::now();
  if (now < next_beat_) return true;
  next_beat_ = now + kBeatInterval;
  auto connection = coordinator();
  if (!connection) return std::unexpected(connection.error());
  kafka::HeartbeatRequest request;
  request.group_id = group_;
  request.generation_id = generation_;
  request.member_id = member_id_;
  auto reply = ask<kafka::HeartbeatResponse>(**connection, request, client_.timeout());
  if (!reply) {  // it may be back, or another one be there, when we join
    forget_coordinator();
    return false;
  }
  const std::int16_t code = reply->message.error_code;
  if (must_join_again(code)) return false;
  if (code != 0) return std::unexpected(fmt::format("group {}: {}", group_, describe_error(code)));
  return true;
}

Outcome<std::map<std::int32_t, Offset>> Membership::committed() {
  auto all = committed_offsets(client_, group_);
  if (!all) return std::unexpected(fmt::format("group {}: {}", group_, all.error()));
  std::map<std::int32_t, Offset> offsets;
  for (const auto& [key, one] : *all) {
    if (key.topic == topic_) offsets[key.partition] = one.offset;
  }
  return offsets;
}

Outcome<bool> Membership::commit(const std::map<std::int32_t, Offset>& offsets) {
  if (offsets.empty()) return true;
  auto connection = coordinator();
  if (!connection) return std::unexpected(connection.error());
  kafka::OffsetCommitRequest request;
  request.group_id = group_;
  request.generation_id_or_member_epoch = generation_;
  request.member_id = member_id_;
  request.topics.emplace_back();
  request.topics[0].name = topic_;
  for (const auto& [partition, offset] : offsets) {
    auto& one = request.topics[0].partitions.emplace_back();
    one.partition_index = partition;
    one.committed_offset = offset;
  }
  auto reply = ask<kafka::OffsetCommitResponse>(**connection, request, client_.timeout(), kOffsetCommitVersionMax);
  if (!reply) {
    forget_coordinator();
    return false;
  }
  for (const auto& topic : reply->message.topics) {
    for (const auto& one : topic.partitions) {
      if (must_join_again(one.error_code)) return false;
      if (one.error_code != 0) {
        return std::unexpected(
            fmt::format("group {}, {}-{}: {}", group_, topic_, one.partition_index, describe_error(one.error_code)));
      }
    }
  }
  return true;
}

void Membership::leave() {
  auto connection = coordinator();
  if (!connection || member_id_.empty()) return;
  kafka::LeaveGroupRequest request;  // one of the two is sent, by the version
  request.group_id = group_;
  request.member_id = member_id_;
  request.members.emplace_back();
  request.members[0].member_id = member_id_;
  static_cast<void>(ask<kafka::LeaveGroupResponse>(**connection, request, client_.timeout()));
}

}  // namespace tailrace::cli
