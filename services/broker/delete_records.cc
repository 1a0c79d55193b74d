#include "services/broker/delete_records.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/api/client.h"
#include "engine/base/check.h"
#include "services/broker/topics.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/delete_records.h"

namespace tailrace::broker {
namespace {

using kafka::DeleteRecordsRequest;
using kafka::DeleteRecordsResponse;
using kafka::ErrorCode;

constexpr std::int64_t kNoLowWatermark = -1;
// Kafka has moved a log start before it looks at the time; here that takes a sync, also for who allows no time at all.
constexpr std::int32_t kTimeoutMinMs = 1000;

// In the order in which KafkaApis, ReplicaManager and Partition look.
ErrorCode check(const NodeState& node, const node::TopicImage* topic, std::int32_t index) {
  const node::PartitionImage* const partition = topic == nullptr ? nullptr : topic->find(index);
  if (partition == nullptr) return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  if (is_internal_topic(topic->name)) return ErrorCode::INVALID_TOPIC_EXCEPTION;
  if (partition->leader != node.node_id) return ErrorCode::NOT_LEADER_OR_FOLLOWER;
  return topic->config.cleanup_delete ? ErrorCode::NONE : ErrorCode::POLICY_VIOLATION;
}

}  // namespace

struct DeleteRecords::Pending {
  struct Question {
    Pending* pending = nullptr;
    std::size_t topic = 0;
    std::size_t partition = 0;
    api::Call<api::RecordsDeleted> call;
    void on_deleted(const api::RecordsDeleted& deleted, Bytes) {
      DeleteRecordsResponse::DeleteRecordsPartitionResult& answer =
          pending->response.topics[topic].partitions[partition];
      if (deleted.code == api::kOk) {
        answer.low_watermark = deleted.low_watermark;
        answer.error_code = 0;
      } else {
        answer.error_code = kafka::wire(data_path_error(static_cast<Code>(deleted.code)));
      }
      --pending->awaited;
      pending->owner->end_if_over(*pending);
    }
  };
  DeleteRecords* owner = nullptr;
  Request* request = nullptr;  // null: answered, and what is still in flight is waited for
  DeleteRecordsRequest message;
  DeleteRecordsResponse response;
  std::vector<Question> questions;  // sized before the first call
  std::size_t awaited = 0;
  io::Timer timer;
  void on_due() { owner->answer(*this); }
};

DeleteRecords::DeleteRecords(NodeState& node) : node_(node) {}
DeleteRecords::~DeleteRecords() {
  for (const std::unique_ptr<Pending>& each : running_) node_.io.disarm(each->timer);
}

void DeleteRecords::start(Request& request) {
  Result<DeleteRecordsRequest> message = kafka::decode<DeleteRecordsRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  running_.push_back(std::make_unique<Pending>());
  Pending& pending = *running_.back();
  pending.owner = this;
  pending.request = &request;
  pending.message = std::move(*message);
  pending.timer.bind<&Pending::on_due>(&pending);
  std::size_t count = 0;
  for (const auto& topic : pending.message.topics) count += topic.partitions.size();
  pending.questions.resize(count);
  pending.response.topics.resize(pending.message.topics.size());
  pending.awaited = 1;
  std::size_t next = 0;
  for (std::size_t t = 0; t < pending.message.topics.size(); ++t) {
    const auto& asked = pending.message.topics[t];
    auto& answers = pending.response.topics[t];
    answers.name = asked.name;
    answers.partitions.resize(asked.partitions.size());
    const node::TopicImage* const topic = node_.image->find(asked.name);
    for (std::size_t p = 0; p < asked.partitions.size(); ++p) {
      auto& answer = answers.partitions[p];
      answer.partition_index = asked.partitions[p].partition_index;
      answer.low_watermark = kNoLowWatermark;
      const ErrorCode error = check(node_, topic, answer.partition_index);
      // What an answer does not come for in time.
      answer.error_code = kafka::wire(error == ErrorCode::NONE ? ErrorCode::REQUEST_TIMED_OUT : error);
      if (error != ErrorCode::NONE) continue;
      Pending::Question& question = pending.questions[next++];
      question.pending = &pending;
      question.topic = t;
      question.partition = p;
      question.call.bind<&Pending::Question::on_deleted>(&question);
      ++pending.awaited;
      node_.engine.delete_records(
          {.request = 0, .partition = {topic->id, answer.partition_index}, .offset = asked.partitions[p].offset},
          question.call);
    }
  }
  --pending.awaited;
  if (pending.awaited > 0) {
    const std::int32_t timeout_ms = std::max(pending.message.timeout_ms, kTimeoutMinMs);
    node_.io.arm(pending.timer, node_.io.now() + std::chrono::milliseconds(timeout_ms));
  }
  end_if_over(pending);
}

void DeleteRecords::answer(Pending& pending) {
  node_.io.disarm(pending.timer);
  std::exchange(pending.request, nullptr)->respond(pending.response);
}

void DeleteRecords::end_if_over(Pending& pending) {
  if (pending.awaited != 0) return;
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const auto& each) { return each.get() == &pending; });
  CHECK(found != running_.end());
  const std::unique_ptr<Pending> done = std::move(*found);
  running_.erase(found);
  if (done->request != nullptr) answer(*done);
}

}  // namespace tailrace::broker
