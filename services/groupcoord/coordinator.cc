#include "services/groupcoord/coordinator.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "services/groupcoord/image_change.h"
#include "services/kafka/api_table.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/sync_group.h"
#include "services/node/metadata_image.h"
#include "services/node/offsets_topic.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

Coordinator::Coordinator(io::Io& io, api::Client& engine, ipc::Arena& arena, const Settings& settings,
                         Answerer& answerer)
    : io_(io), engine_(engine), arena_(arena), settings_(settings), answerer_(answerer), chance_([&io] {
        return io.random();
      }) {
  due_.bind<&Coordinator::on_due>(this);
}

Coordinator::~Coordinator() { io_.disarm(due_); }

Moment Coordinator::moment() const { return {io_.now(), io_.wall_clock_ms()}; }

// -- Which partitions are ours -------------------------------------------------------------------------------------

void Coordinator::use_image(std::shared_ptr<const node::MetadataImage> image, BrokerId broker) {
  const auto before = image_ == nullptr ? node::MetadataImage::empty() : image_;
  image_ = std::move(image);
  const node::TopicImage* const topic = image_->find(node::kOffsetsTopic);
  const Uuid id = topic == nullptr ? Uuid{} : topic->id;
  partitions_ = topic == nullptr ? 0 : static_cast<std::int32_t>(topic->partitions.size());
  for (auto at = hosted_.begin(); at != hosted_.end();) {
    const node::PartitionImage* const partition = topic == nullptr ? nullptr : topic->find(at->first);
    if (id == topic_id_ && partition != nullptr && partition->leader == broker) {
      ++at;
      continue;
    }
    log_info("groups given up topic={} partition={}", node::kOffsetsTopic, at->first);
    std::unique_ptr<HostedShard> shard = std::move(at->second);
    at = hosted_.erase(at);
    shard->give_up();
    if (shard->is_busy()) ended_.push_back(std::move(shard));
  }
  topic_id_ = id;
  if (topic == nullptr) return;
  for (const auto& [index, partition] : topic->partitions) {
    if (partition.leader != broker) continue;
    std::unique_ptr<HostedShard>& shard = hosted_[index];
    if (shard == nullptr) {
      shard = std::make_unique<HostedShard>(Surroundings{io_, engine_, arena_, settings_, chance_},
                                            TopicIdPartition{id, index}, *this);
    }
    shard->use_epoch(partition.leader_epoch);
  }
  const ImageChange change = ImageChange::between(*before, *image_);
  for (const auto& [index, shard] : hosted_) shard->use_image(image_, change);
}

std::expected<HostedShard*, ErrorCode> Coordinator::find(std::string_view group) {
  if (image_ == nullptr) return std::unexpected(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
  if (partitions_ == 0) return std::unexpected(ErrorCode::COORDINATOR_NOT_AVAILABLE);
  const auto found = hosted_.find(node::offsets_partition_of(group, partitions_));
  if (found == hosted_.end()) return std::unexpected(ErrorCode::NOT_COORDINATOR);
  if (found->second->shard() == nullptr) return std::unexpected(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
  return found->second.get();
}

// -- Requests ------------------------------------------------------------------------------------------------------

// While a group is loaded its members live on (GroupCoordinatorService.heartbeat).
void Coordinator::refuse(const Call& call, ErrorCode error) {
  if (call.api_key != kafka::api_key::kHeartbeat || error != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) {
    return answerer_.fail(call.token, error);
  }
  kafka::Buffer response;
  kafka::encode(kafka::HeartbeatResponse{}, call.api_version, response);
  answerer_.answer(call.token, response.bytes());
}

// A request about one group, which its shard answers.
template <class Request, class Serve>
void Coordinator::serve_one(const Call& call, Bytes body, Serve serve) {
  const Result<Request> request = kafka::decode<Request>(body, call.api_version);
  if (!request) return answerer_.refuse(call.token);
  const auto hosted = find(request->group_id);
  if (!hosted) return refuse(call, hosted.error());
  open_[call.token].partition = (*hosted)->partition();
  (*hosted)->carry_out(serve(*(*hosted)->shard(), *request));
}

bool Coordinator::serve(const Call& call, const Client& client, Bytes body) {
  const Moment now = moment();
  switch (call.api_key) {
    case kafka::api_key::kJoinGroup:
      serve_one<kafka::JoinGroupRequest>(
          call, body, [&](Shard& shard, const auto& request) { return shard.join(call, client, request, now); });
      return true;
    case kafka::api_key::kSyncGroup:
      serve_one<kafka::SyncGroupRequest>(
          call, body, [&](Shard& shard, const auto& request) { return shard.sync(call, request, now); });
      return true;
    case kafka::api_key::kHeartbeat:
      serve_one<kafka::HeartbeatRequest>(
          call, body, [&](Shard& shard, const auto& request) { return shard.heartbeat(call, request, now); });
      return true;
    case kafka::api_key::kLeaveGroup:
      serve_one<kafka::LeaveGroupRequest>(
          call, body, [&](Shard& shard, const auto& request) { return shard.leave(call, request, now); });
      return true;
    case kafka::api_key::kOffsetCommit:
      serve_one<kafka::OffsetCommitRequest>(
          call, body, [&](Shard& shard, const auto& request) { return shard.commit(call, request, now); });
      return true;
    case kafka::api_key::kOffsetDelete:
      serve_one<kafka::OffsetDeleteRequest>(
          call, body, [&](Shard& shard, const auto& request) { return shard.delete_offsets(call, request, now); });
      return true;
    case kafka::api_key::kConsumerGroupHeartbeat:
      serve_one<kafka::ConsumerGroupHeartbeatRequest>(call, body, [&](Shard& shard, const auto& request) {
        return shard.consumer_heartbeat(call, client, request, now);
      });
      return true;
    case kafka::api_key::kOffsetFetch:
      offset_fetch(call, body);
      return true;
    case kafka::api_key::kDescribeGroups:
      describe_groups(call, body);
      return true;
    case kafka::api_key::kConsumerGroupDescribe:
      consumer_group_describe(call, body);
      return true;
    case kafka::api_key::kDeleteGroups:
      delete_groups(call, body);
      return true;
    case kafka::api_key::kListGroups:
      list_groups(call, body);
      return true;
    default:
      return false;
  }
}

// -- Answers -------------------------------------------------------------------------------------------------------

void Coordinator::on_reply(Reply reply) {
  const auto found = open_.find(reply.call.token);
  if (found == open_.end()) return;  // another of its shards was lost meanwhile
  Open& open = found->second;
  if (--open.shares != 0) return;
  const kafka::Buffer body = open.partition < 0 ? std::move(open.body) : std::move(reply.body);
  open_.erase(found);
  answerer_.answer(reply.call.token, body.bytes());
}

void Coordinator::on_lost(std::int32_t partition, std::vector<Reply> unsent) {
  std::vector<std::uint64_t> lost;
  for (const Reply& reply : unsent) {
    if (open_.contains(reply.call.token)) lost.push_back(reply.call.token);
  }
  for (const auto& [token, open] : open_) {
    if (open.partition == partition) lost.push_back(token);
  }
  for (const std::uint64_t token : lost) {
    if (open_.erase(token) != 0) answerer_.fail(token, ErrorCode::COORDINATOR_NOT_AVAILABLE);
  }
}

// -- The loop ------------------------------------------------------------------------------------------------------

void Coordinator::work() {
  std::optional<Instant> first;
  for (const auto& [index, shard] : hosted_) {
    std::optional<Instant> due = shard->next_deadline();
    if (due && *due <= io_.now()) shard->on_time();
    shard->work();
    due = shard->next_deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  std::erase_if(ended_, [](const auto& shard) { return !shard->is_busy(); });
  if (first) {
    io_.arm(due_, *first);
  } else {
    io_.disarm(due_);
  }
}

}  // namespace tailrace::groupcoord
