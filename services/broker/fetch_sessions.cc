#include "services/broker/fetch_sessions.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "services/kafka/messages/fetch.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using kafka::FetchRequest;

constexpr std::int32_t kNoSession = 0;
constexpr std::int32_t kInitialEpoch = 0;  // FetchMetadata.INITIAL_EPOCH: asks for a new session
constexpr std::int32_t kFinalEpoch = -1;   // FetchMetadata.FINAL_EPOCH: no session, or the end of one
constexpr std::int16_t kFirstVersionWithTopicIds = 13;
// A session unused for longer may be evicted for any new one, one that is older for a larger one (FetchSession's
// evictionMs).
constexpr Duration kEvictionAge = std::chrono::minutes(2);

std::vector<FetchTarget> targets_of(const FetchRequest& request) {
  std::vector<FetchTarget> targets;
  for (const auto& topic : request.topics) {
    for (const auto& each : topic.partitions) {
      targets.push_back(
          {.topic = std::string(topic.topic),
           .topic_id = topic.topic_id,
           .partition = each.partition,
           .current_leader_epoch = std::max(kNoLeaderEpoch, each.current_leader_epoch),  // any below 0 is none
           .fetch_offset = each.fetch_offset,
           .last_fetched_epoch = each.last_fetched_epoch,
           .max_bytes = each.partition_max_bytes});
    }
  }
  return targets;
}

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

// As a session keeps them: of a partition that is named twice the later wish counts, in the place of the first.
std::vector<FetchTarget> FetchSessions::without_repetitions(const std::vector<FetchTarget>& targets) {
  FetchSession unique;
  for (const FetchTarget& target : targets) unique.put(target);
  std::vector<FetchTarget> kept;
  kept.reserve(unique.size());
  for (FetchSession::Cached& each : unique.partitions()) kept.push_back(std::move(each.target));
  return kept;
}

std::int32_t FetchSessions::epoch_after(std::int32_t epoch) {
  return epoch == std::numeric_limits<std::int32_t>::max() ? 1 : epoch + 1;
}

void FetchSession::touch(Instant now) {
  last_used_ = now;
  is_old_ = now - created_ > kEvictionAge;
}

FetchSessions::Opened FetchSessions::open(const FetchRequest& request, std::int16_t version, Instant now,
                                          std::uint64_t random) {
  const bool uses_topic_ids = version >= kFirstVersionWithTopicIds;
  Opened opened;
  if (request.session_epoch == kInitialEpoch || request.session_epoch == kFinalEpoch) {
    if (request.session_id != kNoSession) sessions_.erase(request.session_id);
    std::vector<FetchTarget> targets = targets_of(request);
    if (request.session_epoch == kInitialEpoch) opened.session = create(targets, uses_topic_ids, now, random);
    if (opened.session == nullptr) opened.full = without_repetitions(targets);
    return opened;
  }
  const auto found = sessions_.find(request.session_id);
  if (found == sessions_.end()) {
    opened.error = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
    return opened;
  }
  FetchSession& session = *found->second;
  // A fetch that still runs looks at the session's partitions, and would be answered with this error in Kafka: the
  // client, who has left it, starts anew.
  const bool is_in_flight = found->second.use_count() > 1;
  if (request.session_epoch != session.next_epoch_ || is_in_flight) {
    opened.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
    return opened;
  }
  if (session.uses_topic_ids_ != uses_topic_ids) {
    opened.error = ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR;
    return opened;
  }
  std::vector<FetchTarget> targets = targets_of(request);
  for (const FetchTarget& target : targets) session.put(target);
  for (const auto& topic : request.forgotten_topics_data) {
    for (const std::int32_t partition : topic.partitions) {
      session.forget({std::string(topic.topic), topic.topic_id, partition});
    }
  }
  if (session.size() == 0) {  // nothing is left of it: the client is told to go on without
    sessions_.erase(found);
    opened.full = std::move(targets);
    return opened;
  }
  session.touch(now);
  session.next_epoch_ = epoch_after(session.next_epoch_);
  opened.session = found->second;
  opened.is_incremental = true;
  return opened;
}

// FetchSessionCacheShard.tryEvict, where all sessions are of consumers: the one unused for longest, if that is long;
// else the smallest of those that were old when last used, if it is smaller than the new one.
bool FetchSessions::make_room(std::size_t partitions, Instant now) {
  if (sessions_.size() < sessions_max_) return true;
  if (sessions_.empty()) return false;
  const auto oldest = std::ranges::min_element(sessions_, {}, [](const auto& each) { return each.second->last_used_; });
  if (now - oldest->second->last_used_ > kEvictionAge) {
    sessions_.erase(oldest);
    return true;
  }
  const auto smallest = std::ranges::min_element(
      sessions_, {}, [](const auto& each) { return std::pair(!each.second->is_old_, each.second->size()); });
  if (!smallest->second->is_old_ || smallest->second->size() >= partitions) return false;
  sessions_.erase(smallest);
  return true;
}

std::shared_ptr<FetchSession> FetchSessions::create(const std::vector<FetchTarget>& targets, bool uses_topic_ids,
                                                    Instant now, std::uint64_t random) {
  auto session = std::make_shared<FetchSession>();
  for (const FetchTarget& target : targets) session->put(target);
  if (!make_room(session->size(), now)) return nullptr;
  do {
    session->id_ = static_cast<std::int32_t>(random++ & 0x7FFFFFFF);
  } while (session->id_ == kNoSession || sessions_.contains(session->id_));
  session->uses_topic_ids_ = uses_topic_ids;
  session->created_ = session->last_used_ = now;
  sessions_[session->id_] = session;
  return session;
}

}  // namespace tailrace::broker
