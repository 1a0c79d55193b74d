#include "services/broker/offsets.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "engine/api/client.h"
#include "services/broker/topics.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/list_offsets.h"
#include "services/kafka/messages/offset_for_leader_epoch.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using kafka::ListOffsetsRequest;
using kafka::ListOffsetsResponse;
using kafka::OffsetForLeaderEpochRequest;
using kafka::OffsetForLeaderEpochResponse;

// ListOffsetsRequest's special timestamps, and the first version that knows each.
constexpr TimestampMs kLatest = -1;
constexpr TimestampMs kEarliest = -2;
constexpr TimestampMs kMaxTimestamp = -3;
constexpr TimestampMs kEarliestLocal = -4;
constexpr TimestampMs kLatestTiered = -5;
constexpr TimestampMs kEarliestPendingUpload = -6;

bool is_known_timestamp(TimestampMs timestamp, std::int16_t version) {
  if (timestamp >= 0 || timestamp == kLatest || timestamp == kEarliest) return true;
  if (timestamp == kMaxTimestamp) return version >= 7;
  if (timestamp == kEarliestLocal) return version >= 8;
  if (timestamp == kLatestTiered) return version >= 9;
  return timestamp == kEarliestPendingUpload && version >= 11;
}

// Nothing is tiered: there is no such offset, which is not an error.
bool is_of_tiered_storage(TimestampMs timestamp) {
  return timestamp == kLatestTiered || timestamp == kEarliestPendingUpload;
}

ErrorCode check_leader(const NodeState& node, const node::TopicImage* topic, std::int32_t index) {
  const node::PartitionImage* const partition = topic == nullptr ? nullptr : topic->find(index);
  if (partition == nullptr) return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  return partition->leader == node.node_id ? ErrorCode::NONE : ErrorCode::NOT_LEADER_OR_FOLLOWER;
}

using PartitionNames = std::set<std::pair<std::string_view, std::int32_t>>;

// Partitions that a request names more than once: Kafka refuses them, each with one answer.
PartitionNames named_twice(const ListOffsetsRequest& message) {
  PartitionNames seen;
  PartitionNames twice;
  for (const auto& topic : message.topics) {
    for (const auto& each : topic.partitions) {
      if (!seen.emplace(topic.name, each.partition_index).second) twice.emplace(topic.name, each.partition_index);
    }
  }
  return twice;
}

}  // namespace

struct Offsets::PendingList {
  struct Question {
    PendingList* pending = nullptr;
    std::size_t topic = 0;
    std::size_t partition = 0;
    api::Call<api::OffsetListed> call;
    void on_listed(const api::OffsetListed& listed, Bytes) {
      ListOffsetsResponse::ListOffsetsPartitionResponse& answer = pending->response.topics[topic].partitions[partition];
      if (listed.code != api::kOk) {
        answer.error_code = static_cast<std::int16_t>(data_path_error(static_cast<Code>(listed.code)));
      } else {
        answer.offset = listed.offset;
        answer.timestamp = listed.timestamp;
        answer.leader_epoch = listed.leader_epoch;
        if (pending->request->header.api_version == 0 && listed.offset != kNoOffset)
          answer.old_style_offsets = {listed.offset};
      }
      --pending->awaited;
      pending->offsets->answer_if_complete(pending->offsets->lists_, *pending);
    }
  };
  Offsets* offsets = nullptr;
  Request* request = nullptr;
  ListOffsetsRequest message;
  ListOffsetsResponse response;
  std::vector<Question> questions;  // sized before the first call
  std::size_t awaited = 0;
};

struct Offsets::PendingEpochs {
  struct Question {
    PendingEpochs* pending = nullptr;
    std::size_t topic = 0;
    std::size_t partition = 0;
    api::Call<api::EpochEnded> call;
    void on_ended(const api::EpochEnded& ended, Bytes) {
      OffsetForLeaderEpochResponse::EpochEndOffset& answer = pending->response.topics[topic].partitions[partition];
      if (ended.code != api::kOk) {
        answer.error_code = static_cast<std::int16_t>(data_path_error(static_cast<Code>(ended.code)));
      } else {
        answer.leader_epoch = ended.leader_epoch;
        answer.end_offset = ended.end_offset;
      }
      --pending->awaited;
      pending->offsets->answer_if_complete(pending->offsets->epochs_, *pending);
    }
  };
  Offsets* offsets = nullptr;
  Request* request = nullptr;
  OffsetForLeaderEpochRequest message;
  OffsetForLeaderEpochResponse response;
  std::vector<Question> questions;
  std::size_t awaited = 0;
};

Offsets::Offsets(NodeState& node) : node_(node) {}
Offsets::~Offsets() = default;

template <class Pending>
void Offsets::answer_if_complete(std::vector<std::unique_ptr<Pending>>& running, Pending& pending) {
  if (pending.awaited != 0) return;
  const auto found =
      std::find_if(running.begin(), running.end(), [&](const auto& each) { return each.get() == &pending; });
  const std::unique_ptr<Pending> done = std::move(*found);
  running.erase(found);
  done->request->respond(done->response);
}

void Offsets::start_list(Request& request) {
  const std::int16_t version = request.header.api_version;
  Result<ListOffsetsRequest> message = kafka::decode<ListOffsetsRequest>(request.body, version);
  if (!message) return request.refuse();
  lists_.push_back(std::make_unique<PendingList>());
  PendingList& pending = *lists_.back();
  pending.offsets = this;
  pending.request = &request;
  pending.message = std::move(*message);
  std::size_t count = 0;
  for (const auto& topic : pending.message.topics) count += topic.partitions.size();
  pending.questions.resize(count);
  pending.response.topics.resize(pending.message.topics.size());
  pending.awaited = 1;
  const PartitionNames twice = named_twice(pending.message);
  PartitionNames told;
  std::size_t next = 0;
  for (std::size_t t = 0; t < pending.message.topics.size(); ++t) {
    const auto& asked = pending.message.topics[t];
    auto& answers = pending.response.topics[t];
    answers.name = asked.name;
    answers.partitions.reserve(asked.partitions.size());
    const node::TopicImage* const topic = node_.image->find(asked.name);
    for (const auto& each : asked.partitions) {
      const auto refused = twice.find({asked.name, each.partition_index});
      if (refused != twice.end() && !told.insert(*refused).second) continue;
      auto& answer = answers.partitions.emplace_back();
      answer.partition_index = each.partition_index;
      ErrorCode error = check_leader(node_, topic, each.partition_index);
      if (refused != twice.end()) error = ErrorCode::INVALID_REQUEST;
      if (!is_known_timestamp(each.timestamp, version)) error = ErrorCode::UNSUPPORTED_VERSION;
      answer.error_code = static_cast<std::int16_t>(error);
      if (error != ErrorCode::NONE || is_of_tiered_storage(each.timestamp)) continue;
      PendingList::Question& question = pending.questions[next++];
      question.pending = &pending;
      question.topic = t;
      question.partition = answers.partitions.size() - 1;
      question.call.bind<&PendingList::Question::on_listed>(&question);
      ++pending.awaited;
      node_.engine.list_offset({.request = 0,
                                .partition = {topic->id, each.partition_index},
                                .current_leader_epoch = each.current_leader_epoch,
                                .timestamp = each.timestamp,
                                .isolation = static_cast<api::Isolation>(pending.message.isolation_level == 1)},
                               question.call);
    }
  }
  --pending.awaited;
  answer_if_complete(lists_, pending);
}

void Offsets::start_epochs(Request& request) {
  Result<OffsetForLeaderEpochRequest> message =
      kafka::decode<OffsetForLeaderEpochRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  epochs_.push_back(std::make_unique<PendingEpochs>());
  PendingEpochs& pending = *epochs_.back();
  pending.offsets = this;
  pending.request = &request;
  pending.message = std::move(*message);
  std::size_t count = 0;
  for (const auto& topic : pending.message.topics) count += topic.partitions.size();
  pending.questions.resize(count);
  pending.response.topics.resize(pending.message.topics.size());
  pending.awaited = 1;
  std::size_t next = 0;
  for (std::size_t t = 0; t < pending.message.topics.size(); ++t) {
    const auto& asked = pending.message.topics[t];
    auto& answers = pending.response.topics[t];
    answers.topic = asked.topic;
    answers.partitions.resize(asked.partitions.size());
    const node::TopicImage* const topic = node_.image->find(asked.topic);
    for (std::size_t p = 0; p < asked.partitions.size(); ++p) {
      const auto& each = asked.partitions[p];
      auto& answer = answers.partitions[p];
      answer.partition = each.partition;
      const ErrorCode error = check_leader(node_, topic, each.partition);
      answer.error_code = static_cast<std::int16_t>(error);
      if (error != ErrorCode::NONE) continue;
      PendingEpochs::Question& question = pending.questions[next++];
      question.pending = &pending;
      question.topic = t;
      question.partition = p;
      question.call.bind<&PendingEpochs::Question::on_ended>(&question);
      ++pending.awaited;
      node_.engine.end_of_epoch({.request = 0,
                                 .partition = {topic->id, each.partition},
                                 .current_leader_epoch = each.current_leader_epoch,
                                 .leader_epoch = each.leader_epoch},
                                question.call);
    }
  }
  --pending.awaited;
  answer_if_complete(epochs_, pending);
}

}  // namespace tailrace::broker
