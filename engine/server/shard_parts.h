// The two kinds of objects that a Shard owns, its sessions and its partitions, and what the files that implement it
// share: shard.cc (turns, sessions, start and stop), partitions.cc (making and removing partitions), appends.cc,
// reads.cc and retention.cc (log starts, expired segments).
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/server/shard.h"

namespace tailrace::server {

// Of aborted transactions one plan names at most this many; a read that overlaps more is cut shorter.
inline constexpr std::size_t kAbortedMax = 512;
inline constexpr std::size_t kReplyBytesMax =
    ipc::record_space(sizeof(api::ReadPlan) + kAbortedMax * sizeof(api::AbortedRange));
// The answer to an append comes later and has its room in the ring kept from the start.
inline constexpr std::size_t kOwedBytes = ipc::record_space(sizeof(api::Appended));
// So have the answers to what makes or removes a partition: a RoleSet or a Done.
inline constexpr std::size_t kOwedSettledBytes = ipc::record_space(sizeof(api::RoleSet));
static_assert(sizeof(api::RoleSet) >= sizeof(api::Done));

inline constexpr std::size_t kOwedDeletedBytes = ipc::record_space(sizeof(api::RecordsDeleted));
// A page of them fits where a read plan does.
inline constexpr std::size_t kProducersPerPage = 200;
static_assert(sizeof(api::ProducersDescribed) + kProducersPerPage * sizeof(api::DescribedProducer) <= kReplyBytesMax);

// Batches are written from the arena of the session that they came over, which must stay as it is meanwhile: partitions
// hold the sessions from which they have batches staged or being written. With the last holder the link goes, and only
// then the client sees the end of its session and may use the memory again (engine/ipc/session.h).
struct Shard::Session : std::enable_shared_from_this<Shard::Session> {
  std::uint64_t id = 0;
  std::unique_ptr<ipc::Link> link;
  bool identified = false;
  std::size_t owed_bytes = 0;  // of ring space, for appends whose answers are still to come
  std::unordered_set<std::uint64_t> files_passed;
  // No room is kept for the answers to watches: they may wait for ever, and what would make room (an append, a cancel)
  // waits in the ring. Those that have fired are answered when there is room.
  std::unordered_map<std::uint64_t, api::Read> watched;  // by request
  std::deque<api::Read> fired;
  std::vector<std::uint64_t> gone_files;  // to be told when there is room
};

// Making one takes a fraction of a millisecond for its files, which the appends of other partitions must not wait for
// in numbers.
inline constexpr int kMadePerTurnMax = 16;
// So many partitions that were found or made have their syncs in flight: enough to share the commits of the file
// system's journal, few enough for the process's descriptors and for the syncs of appends, which come behind them.
inline constexpr std::size_t kSettledTogetherMax = 64;
// Where a file could not be opened to be synced, there may be descriptors or memory for it later.
inline constexpr Duration kSyncRetryPause{500'000};

// Who gets a RoleSet or a Done.
struct Shard::Asker {
  std::uint64_t session = 0;
  std::uint64_t request = 0;
  std::uint16_t last_code = 0;  // of the attempt before: what is told again is not logged again
};

// A DeleteRecords that waits until the log start is durable.
struct Shard::Deletion {
  std::uint64_t session = 0;
  std::uint64_t request = 0;
  Offset end = kNoOffset;
};

// A partition that is being made, given its topic's id, or removed, and whose new files or names are not durable yet.
// Nobody but those who asked for it sees it meanwhile.
struct Shard::Settling {
  bool is_new = false;  // the partition goes again when this fails
  std::size_t syncs_left = 0;
  std::int64_t error = 0;  // the first one, as -errno
  io::File metadata;
  io::Completion metadata_synced;
  io::Completion directory_synced;
  std::vector<Asker> askers;
};

// The producer snapshot of the segment that holds the log start is being made durable.
struct Shard::SnapshotSync {
  Offset base_offset = 0;
  io::File file;
  io::Completion content_synced;
  io::Completion name_synced;
};

struct Shard::Hosted {
  Shard* shard = nullptr;
  TopicIdPartition key;
  std::string name;  // "<topic>-<partition>", for people
  std::string topic;
  std::unique_ptr<partition::Partition> partition;
  std::vector<std::shared_ptr<Session>> staged_from;
  std::vector<std::shared_ptr<Session>> writing_from;
  io::Completion written;
  io::Completion synced;
  bool in_staged_list = false;
  bool in_unsynced_list = false;
  bool writing = false;
  bool syncing = false;
  bool has_waited_for_write = false;  // its next sync
  bool has_topic_id = true;           // false: adopted, under an id that stands in for the topic's
  bool is_id_unsynced = false;        // found after a kill
  bool deleted = false;               // renamed to removed_path, which is to be made durable
  std::string removed_path;
  std::unique_ptr<Settling> settling;
  log::RetentionRules retention;
  std::int64_t file_delete_delay_ms = 60'000;
  // The log start that is to be; it is the log's when its checkpoint is durable.
  Offset wanted_log_start = kNoOffset;
  Offset saving_log_start = kNoOffset;  // what the checkpoint says that is being written
  std::vector<Deletion> deletions;
  bool in_trim_list = false;
  Offset durable_snapshot = 0;  // base offset of the segment that holds the log start, whose snapshot is durable
  std::unique_ptr<SnapshotSync> snapshot_sync;

  // Something refers to it that has to end before it can go.
  [[nodiscard]] bool is_busy() const {
    return writing || syncing || in_staged_list || settling != nullptr || snapshot_sync != nullptr;
  }

  void hold_staged(Session& session) {
    for (const std::shared_ptr<Session>& each : staged_from) {
      if (each.get() == &session) return;
    }
    staged_from.push_back(session.shared_from_this());
  }
  void on_written(std::int64_t result) { shard->on_written(*this, result); }
  void on_synced(std::int64_t result) { shard->on_synced(*this, result); }
  void on_snapshot_content_synced(std::int64_t result) { shard->on_snapshot_content_synced(*this, result); }
  void on_snapshot_name_synced(std::int64_t result) { shard->on_snapshot_name_synced(*this, result); }
  void on_metadata_synced(std::int64_t result) {
    // As it is not known what of it is on the disk: whoever syncs it next is to find out.
    if (result < 0) static_cast<void>(io::write_again(shard->io_.files(), settling->metadata, 0));
    on_file_settled(result);
  }
  void on_file_settled(std::int64_t result) {
    --shard->in_flight_;
    shard->on_settled(*this, result);
  }
};

template <class T>
bool Shard::reply(Session& session, const T& record) {
  std::byte* const space =
      session.link->producer().reserve(static_cast<std::uint32_t>(api::type_of<T>()), sizeof record);
  if (space == nullptr) return false;
  std::memcpy(space, &record, sizeof record);
  return true;
}

}  // namespace tailrace::server
