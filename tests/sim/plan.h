// Plan: what one seed makes of a world: which faults may strike (a random half of them), how many clients of which
// kind, how small the segments are. And the slots: the partitions that clients speak of, whose topics may be deleted
// and made anew.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/types.h"
#include "tests/sim/disk.h"
#include "tests/sim/random.h"

namespace tailrace::sim {

struct Plan {
  explicit Plan(Random& random);

  bool durable;  // tailrace.durability=disk
  // Faults.
  bool kills_engine;
  bool cuts_power;
  bool breaks_sessions;
  bool restarts_clients;
  bool stops_engine;
  bool crashes_midway;
  bool moves_clock;
  bool fills_disk;
  bool fails_writes;
  bool fails_syncs;
  bool fails_metadata;
  bool slows_syncs;
  bool deletes_topics;
  bool raises_epochs;
  bool kills_broker;
  bool resets_connections;
  bool deletes_records;
  [[nodiscard]] bool disk_fails() const {
    return fills_disk || fails_writes || fails_syncs || fails_metadata || crashes_midway;
  }

  // Shape.
  std::int64_t chaos_ms;
  bool even_batches;  // all of one size: what is left of one may end where another ends
  std::size_t slots;
  std::size_t idempotent_producers;
  std::size_t plain_producers;
  std::size_t readers;
  std::size_t clients;
  std::size_t kafka_producers;  // these two through the broker, which runs when there are any
  std::size_t kafka_readers;
  std::uint32_t segment_bytes;
  std::uint32_t index_interval_bytes;
  std::int64_t segment_ms;
  std::int64_t checkpoint_interval_ms;
  std::int64_t retention_ms;     // -1: none
  std::int64_t retention_bytes;  // -1: none
  std::int64_t retention_check_interval_ms;
  [[nodiscard]] bool moves_log_starts() const { return deletes_records || retention_ms >= 0 || retention_bytes >= 0; }
  std::size_t ring_bytes;
  std::int64_t fault_pause_ms;
};

struct Slot {
  std::string topic;
  std::int32_t partition = 0;
  Uuid topic_id;
  bool created = false;
  bool deleting = false;
  bool has_role = false;
  LeaderEpoch epoch = 0;
  [[nodiscard]] TopicIdPartition key() const { return {topic_id, partition}; }
};

Uuid random_topic_id(Random& random);

}  // namespace tailrace::sim
