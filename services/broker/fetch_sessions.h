// PURE. Fetch sessions (KIP-227; Kafka's FetchSession): the broker remembers what a client reads, the client sends only
// what changes, and is answered only what is new. A session is one client's; requests of it come one at a time, in
// order of their epochs.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/types.h"
#include "services/kafka/errors.h"

namespace tailrace::kafka {
struct FetchRequest;
}

namespace tailrace::broker {

// One partition as a client wants it. Topics go by name or by id for the life of a session.
struct FetchTarget {
  std::string topic;  // empty where the client speaks of ids
  Uuid topic_id;
  std::int32_t partition = 0;
  LeaderEpoch current_leader_epoch = kNoLeaderEpoch;
  Offset fetch_offset = 0;
  LeaderEpoch last_fetched_epoch = kNoLeaderEpoch;
  std::int32_t max_bytes = 0;
};

class FetchSession {
 public:
  struct Cached {
    FetchTarget target;
    // As last answered; a change of these is news even without records.
    Offset high_watermark = -1;
    Offset log_start_offset = -1;
  };
  using Partitions = std::list<Cached>;

  [[nodiscard]] std::int32_t id() const { return id_; }
  [[nodiscard]] std::size_t size() const { return partitions_.size(); }
  Partitions& partitions() { return partitions_; }
  // Puts a partition behind all others, so that one that always has much does not starve them.
  void move_to_end(Partitions::iterator partition) { partitions_.splice(partitions_.end(), partitions_, partition); }

 private:
  friend class FetchSessions;
  struct Key {
    std::string topic;
    Uuid topic_id;
    std::int32_t partition = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string>{}(key.topic) * 31 + TopicIdPartitionHash{}({key.topic_id, key.partition});
    }
  };
  void put(const FetchTarget& target);
  void forget(const Key& key);
  void touch(Instant now);

  std::int32_t id_ = 0;
  std::int32_t next_epoch_ = 1;
  bool uses_topic_ids_ = false;
  Instant created_;
  Instant last_used_;
  bool is_old_ = false;  // when last used: then a larger session may have its place
  Partitions partitions_;
  std::unordered_map<Key, Partitions::iterator, KeyHash> by_key_;
};

class FetchSessions {
 public:
  // max.incremental.fetch.session.cache.slots
  explicit FetchSessions(std::size_t sessions_max) : sessions_max_(sessions_max) {}

  struct Opened {
    kafka::ErrorCode error = kafka::ErrorCode::NONE;
    // Null: a full fetch without one. The fetch holds it until it is answered: it may outlive the session, and no other
    // request of the session is served meanwhile.
    std::shared_ptr<FetchSession> session;
    bool is_incremental = false;    // only news are answered
    std::vector<FetchTarget> full;  // without a session: what to fetch
  };
  // `random` names a new session.
  Opened open(const kafka::FetchRequest& request, std::int16_t version, Instant now, std::uint64_t random);
  // Nobody can go on with it.
  void close(const FetchSession& session) { sessions_.erase(session.id()); }
  [[nodiscard]] std::size_t size() const { return sessions_.size(); }
  // FetchMetadata.nextEpoch
  [[nodiscard]] static std::int32_t epoch_after(std::int32_t epoch);

 private:
  static std::vector<FetchTarget> without_repetitions(const std::vector<FetchTarget>& targets);
  std::shared_ptr<FetchSession> create(const std::vector<FetchTarget>& targets, bool uses_topic_ids, Instant now,
                                       std::uint64_t random);
  bool make_room(std::size_t partitions, Instant now);

  std::size_t sessions_max_;
  std::unordered_map<std::int32_t, std::shared_ptr<FetchSession>> sessions_;
};

}  // namespace tailrace::broker
