#include "services/broker/fetch_sessions.h"

#include <algorithm>
#include <limits>

#include "services/kafka/messages/fetch.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using kafka::FetchRequest;

constexpr std::int32_t kNoSession = 0;
constexpr std::int32_t kInitialEpoch = 0;   // FetchMetadata.INITIAL_EPOCH: asks for a new session
constexpr std::int32_t kFinalEpoch = -1;    // FetchMetadata.FINAL_EPOCH: no session, or the end of one
constexpr std::int16_t kFirstVersionWithTopicIds = 13;
// A session unused for this long may be evicted for a new one (FetchSession's evictionMs).
constexpr Duration kEvictionAge = std::chrono::minutes(2);

std::vector<FetchTarget> targets_of(const FetchRequest& request) {
  std::vector<FetchTarget> targets;
  for (const auto& topic : request.topics) {
    for (const auto& each : topic.partitions) {
      targets.push_back({.topic = std::string(topic.topic),
                         .topic_id = topic.topic_id,
                         .partition = each.partition,
                         .current_leader_epoch = each.current_leader_epoch,
                         .fetch_offset = each.fetch_offset,
                         .last_fetched_epoch = each.last_fetched_epoch,
                         .max_bytes = each.partition_max_bytes});
    }
  }
  return targets;
}

std::int32_t epoch_after(std::int32_t epoch) { return epoch == std::numeric_limits<std::int32_t>::max() ? 1 : epoch + 1; }

}  // namespace

void FetchSession::put(const FetchTarget& target) {
  const Key key{target.topic, target.topic_id, target.partition};
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    found->second->target = target;
    return;
  }
  partitions_.push_back({.target = target});
  by_key_[key] = std::prev(partitions_.end());
}

void FetchSession::forget(const Key& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  partitions_.erase(found->second);
  by_key_.erase(found);
}

FetchSessions::Opened FetchSessions::open(const FetchRequest& request, std::int16_t version, Instant now, std::uint64_t random) {
  const bool uses_topic_ids = version >= kFirstVersionWithTopicIds;
  Opened opened;
  if (request.session_epoch == kInitialEpoch || request.session_epoch == kFinalEpoch) {
    if (request.session_id != kNoSession) sessions_.erase(request.session_id);
    std::vector<FetchTarget> targets = targets_of(request);
    if (request.session_epoch == kInitialEpoch && !targets.empty()) {
      opened.session = create(targets, uses_topic_ids, now, random);
    }
    if (opened.session == nullptr) opened.full = std::move(targets);
    return opened;
  }
  const auto found = sessions_.find(request.session_id);
  if (found == sessions_.end()) {
    opened.error = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
    return opened;
  }
  FetchSession& session = *found->second;
  if (session.uses_topic_ids_ != uses_topic_ids) {
    opened.error = ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR;
    return opened;
  }
  if (request.session_epoch != session.next_epoch_) {
    opened.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
    return opened;
  }
  for (const FetchTarget& target : targets_of(request)) session.put(target);
  for (const auto& topic : request.forgotten_topics_data) {
    for (const std::int32_t partition : topic.partitions) {
      session.forget({std::string(topic.topic), topic.topic_id, partition});
    }
  }
  session.last_used_ = now;
  opened.session = found->second;
  if (session.size() == 0) {  // nothing is left of it: the client is told to go on without
    sessions_.erase(found);
    opened.session = nullptr;
    return opened;
  }
  session.next_epoch_ = epoch_after(session.next_epoch_);
  opened.is_incremental = true;
  return opened;
}

bool FetchSessions::make_room(Instant now) {
  if (sessions_.size() < sessions_max_) return true;
  const auto oldest = std::min_element(sessions_.begin(), sessions_.end(), [](const auto& a, const auto& b) {
    return a.second->last_used_ < b.second->last_used_;
  });
  if (oldest == sessions_.end() || now - oldest->second->last_used_ < kEvictionAge) return false;
  sessions_.erase(oldest);
  return true;
}

std::shared_ptr<FetchSession> FetchSessions::create(std::vector<FetchTarget>& targets, bool uses_topic_ids, Instant now,
                                                    std::uint64_t random) {
  if (!make_room(now)) return nullptr;
  auto session = std::make_shared<FetchSession>();
  do {
    session->id_ = static_cast<std::int32_t>(random++ & 0x7FFFFFFF);
  } while (session->id_ == kNoSession || sessions_.contains(session->id_));
  session->uses_topic_ids_ = uses_topic_ids;
  session->last_used_ = now;
  for (const FetchTarget& target : targets) session->put(target);
  sessions_[session->id_] = session;
  return session;
}

}  // namespace tailrace::broker
