// What the engine and its clients say to each other over the rings: fixed-size, trivially copyable records without
// versions, since all processes of a node come from one build (the session's handshake checks that). `request` is the
// client's own number and comes back in the answer. The receiver copies a record out of the ring before it looks at it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/base/result.h"
#include "engine/base/types.h"

namespace tailrace::api {

enum class Type : std::uint32_t {
  // client -> engine
  identify = 1,
  set_role = 2,
  delete_partition = 3,
  append = 4,
  read = 5,
  cancel = 6,
  list_offset = 7,
  end_of_epoch = 8,
  forget_file = 9,
  delete_records = 10,
  describe_log = 11,
  describe_producers = 12,
  // engine -> client
  done = 101,
  role_set = 102,
  appended = 103,
  read_plan = 104,
  offset_listed = 105,
  epoch_ended = 106,
  file_gone = 107,
  records_deleted = 108,
  log_described = 109,
  producers_described = 110,
};

constexpr std::uint16_t kOk = 0xFFFF;  // in a `code` field; otherwise a Code

struct Partition {
  Uuid topic_id;
  std::int32_t partition = 0;
};

// The first record of a session: whose data this is. Answer: done; mismatch when the directory belongs to another
// cluster or node.
struct Identify {
  std::uint64_t request = 0;
  BrokerId node_id = 0;
  std::uint32_t cluster_id_size = 0;
  char cluster_id[64] = {};
};

// This node leads the partition from now on, or, with the epoch it knows, has other settings. Made when it is not there
// yet (`create`). Answer: role_set. Errors: fenced_epoch, not_found (and not to be created), disk_full, io_failed.
struct SetRole {
  std::uint64_t request = 0;
  Partition partition;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::uint32_t segment_bytes = 0;
  std::uint32_t index_bytes_max = 0;
  std::uint32_t index_interval_bytes = 0;
  std::int64_t segment_ms = 0;
  std::int64_t segment_jitter_ms = 0;
  std::int64_t retention_ms = -1;     // -1: no bound
  std::int64_t retention_bytes = -1;  // -1: no bound
  std::int64_t file_delete_delay_ms = 60'000;
  std::uint8_t deletes_segments = 0;  // cleanup.policy has delete: both bounds count
  std::uint16_t topic_name_size = 0;
  std::uint16_t last_code = kOk;  // of the last try, where this is another: the engine does not say the same again
  std::uint8_t create = 0;
  char topic_name[249] = {};
};

// The partition's directory gets its -delete suffix, durably, and is removed later. Answer: done, also when it is not
// there.
struct DeletePartition {
  std::uint64_t request = 0;
  Partition partition;
  std::uint16_t last_code = kOk;  // as in SetRole
};

struct Done {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
};

struct RoleSet {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  Offset log_start_offset = 0;
  Offset end_offset = 0;
};

// When an append is answered. Also for acks=0, where the client of the client hears nothing: until then the bytes are
// needed.
enum class Wait : std::uint8_t {
  local = 0,           // when this node has it, as safe as tailrace.durability says
  high_watermark = 1,  // when all in-sync replicas have it
};

// One checked record batch of v2, as sent, in the client's arena. The bytes stay untouched until the answer.
// Answer: appended. Errors: not_leader, fenced_epoch, unknown_partition, corrupt, the sequence errors, disk_full,
// io_failed.
struct Append {
  std::uint64_t request = 0;
  Partition partition;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;  // the client's view; none: whatever is current
  std::uint64_t arena_offset = 0;
  std::uint32_t length = 0;
  Wait wait = Wait::local;
};

struct Appended {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  std::uint8_t duplicate = 0;  // the batch was there already; base_offset and timestamp are the old ones
  Offset base_offset = kNoOffset;
  Offset log_start_offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
};

enum class Isolation : std::uint8_t { read_uncommitted = 0, read_committed = 1 };

// Plans a read. Where there is nothing at fetch_offset yet and `watch_from` is given, the answer comes with `watching`
// set and a second one (with `moved`) follows as soon as the readable end is beyond watch_from; cancel ends that.
// Answer: read_plan. Errors: not_leader, fenced_epoch, unknown_epoch, unknown_partition, out_of_range, retry (the file
// could not be passed just now).
struct Read {
  std::uint64_t request = 0;
  Partition partition;
  LeaderEpoch current_leader_epoch = kNoLeaderEpoch;
  LeaderEpoch last_fetched_epoch = kNoLeaderEpoch;  // KIP-595: the answer may name where the logs diverge
  Offset fetch_offset = 0;
  Offset watch_from = kNoOffset;
  std::uint32_t max_bytes = 0;
  Isolation isolation = Isolation::read_uncommitted;
  std::uint8_t whole_first_batch = 0;
};

struct Cancel {
  std::uint64_t request = 0;
  Partition partition;
};

struct AbortedRange {
  ProducerId producer_id = 0;
  Offset first_offset = 0;
};

// Followed by aborted_count AbortedRanges. The extent's file is known to the client by its id: it was sent over the
// session's socket before this record was published, unless the client has it.
struct ReadPlan {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  std::uint8_t watching = 0;
  std::uint8_t moved = 0;
  std::uint32_t length = 0;              // bytes of the extent
  std::uint32_t first_batch_length = 0;  // of these, what the first batch takes whole
  std::uint64_t file_id = 0;
  std::uint64_t position = 0;
  std::uint64_t available = 0;  // bytes from fetch_offset to the readable end, whatever max_bytes was
  Offset high_watermark = kNoOffset;
  Offset last_stable_offset = kNoOffset;
  Offset log_start_offset = kNoOffset;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  LeaderEpoch diverging_epoch = kNoLeaderEpoch;
  Offset diverging_end_offset = kNoOffset;
  Offset readable_end = kNoOffset;  // for the next watch_from
  std::uint32_t aborted_count = 0;
};

// timestamp: -1 latest (high watermark, or last stable offset), -2 earliest, -3 of the largest timestamp, -4 earliest
// local, else the first record at or after it. Answer: offset_listed; nothing found: offset -1. Errors: as for Read.
struct ListOffset {
  std::uint64_t request = 0;
  Partition partition;
  LeaderEpoch current_leader_epoch = kNoLeaderEpoch;
  TimestampMs timestamp = -1;
  Isolation isolation = Isolation::read_uncommitted;
};

struct OffsetListed {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  Offset offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
};

struct EndOfEpoch {
  std::uint64_t request = 0;
  Partition partition;
  LeaderEpoch current_leader_epoch = kNoLeaderEpoch;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
};

struct EpochEnded {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  Offset end_offset = kNoOffset;
};

// Records below `offset` (-1: the high watermark) are gone for readers, also after a crash, once it is answered.
// Answer: records_deleted. Errors: not_leader, unknown_partition, out_of_range (above the high watermark), disk_full,
// io_failed.
struct DeleteRecords {
  std::uint64_t request = 0;
  Partition partition;
  Offset offset = -1;
};

struct RecordsDeleted {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  Offset low_watermark = kNoOffset;  // the log start now
};

// Answer: log_described. Errors: unknown_partition.
struct DescribeLog {
  std::uint64_t request = 0;
  Partition partition;
};

struct LogDescribed {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  std::uint64_t size_bytes = 0;  // of all segments
};

// The producers that a partition remembers, by id and a page at a time: those above `after`. Answer:
// producers_described. Errors: not_leader, unknown_partition.
struct DescribeProducers {
  std::uint64_t request = 0;
  Partition partition;
  ProducerId after = kNoProducerId;
};

struct DescribedProducer {
  ProducerId producer_id = 0;
  TimestampMs last_timestamp = kNoTimestamp;
  Offset transaction_first_offset = kNoOffset;  // of the open transaction
  std::int32_t last_sequence = -1;
  std::int32_t producer_epoch = -1;
  std::int32_t coordinator_epoch = -1;
};

// Followed by `count` DescribedProducers.
struct ProducersDescribed {
  std::uint64_t request = 0;
  std::uint16_t code = kOk;
  std::uint8_t has_more = 0;
  std::uint32_t count = 0;
};

// The client closed its descriptor of this file; it is to be sent again when a plan needs it.
struct ForgetFile {
  std::uint64_t file_id = 0;
};
// The file was deleted; the client should close its descriptor, so that the space comes back.
struct FileGone {
  std::uint64_t file_id = 0;
};

template <class T>
constexpr bool kRingRecord = std::is_trivially_copyable_v<T>;
static_assert(kRingRecord<Identify> && kRingRecord<SetRole> && kRingRecord<DeletePartition> && kRingRecord<Done>);
static_assert(kRingRecord<RoleSet> && kRingRecord<Append> && kRingRecord<Appended> && kRingRecord<Read>);
static_assert(kRingRecord<Cancel> && kRingRecord<ReadPlan> && kRingRecord<ListOffset> && kRingRecord<OffsetListed>);
static_assert(kRingRecord<DeleteRecords> && kRingRecord<RecordsDeleted> && kRingRecord<DescribeLog>);
static_assert(kRingRecord<LogDescribed> && kRingRecord<DescribeProducers> && kRingRecord<DescribedProducer>);
static_assert(kRingRecord<ProducersDescribed>);
static_assert(kRingRecord<EndOfEpoch> && kRingRecord<EpochEnded> && kRingRecord<ForgetFile> && kRingRecord<FileGone>);

// A record's type, from its struct.
template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, Identify>)
    return Type::identify;
  else if constexpr (std::is_same_v<T, SetRole>)
    return Type::set_role;
  else if constexpr (std::is_same_v<T, DeletePartition>)
    return Type::delete_partition;
  else if constexpr (std::is_same_v<T, Append>)
    return Type::append;
  else if constexpr (std::is_same_v<T, Read>)
    return Type::read;
  else if constexpr (std::is_same_v<T, Cancel>)
    return Type::cancel;
  else if constexpr (std::is_same_v<T, ListOffset>)
    return Type::list_offset;
  else if constexpr (std::is_same_v<T, EndOfEpoch>)
    return Type::end_of_epoch;
  else if constexpr (std::is_same_v<T, ForgetFile>)
    return Type::forget_file;
  else if constexpr (std::is_same_v<T, Done>)
    return Type::done;
  else if constexpr (std::is_same_v<T, RoleSet>)
    return Type::role_set;
  else if constexpr (std::is_same_v<T, Appended>)
    return Type::appended;
  else if constexpr (std::is_same_v<T, ReadPlan>)
    return Type::read_plan;
  else if constexpr (std::is_same_v<T, OffsetListed>)
    return Type::offset_listed;
  else if constexpr (std::is_same_v<T, EpochEnded>)
    return Type::epoch_ended;
  else if constexpr (std::is_same_v<T, DeleteRecords>)
    return Type::delete_records;
  else if constexpr (std::is_same_v<T, RecordsDeleted>)
    return Type::records_deleted;
  else if constexpr (std::is_same_v<T, DescribeLog>)
    return Type::describe_log;
  else if constexpr (std::is_same_v<T, LogDescribed>)
    return Type::log_described;
  else if constexpr (std::is_same_v<T, DescribeProducers>)
    return Type::describe_producers;
  else if constexpr (std::is_same_v<T, ProducersDescribed>)
    return Type::producers_described;
  else {
    static_assert(std::is_same_v<T, FileGone>);
    return Type::file_gone;
  }
}

inline std::uint16_t to_code(const Result<void>& result) {
  return result ? kOk : static_cast<std::uint16_t>(result.error().code);
}

}  // namespace tailrace::api
