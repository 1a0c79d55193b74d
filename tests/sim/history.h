// History: what the clients of a world know, and the rules that the node must keep towards them. Every batch that was
// ever sent has an identity in its payload; the history notes where it was acknowledged or seen, and fails the run when
//   - an acknowledged or seen batch is missing, elsewhere, or changed after a restart (durability=memory: after a
//   kill),
//   - a batch is in the log twice, or one that was refused is there at all,
//   - offsets are not dense, a producer's sequence has a gap, or the log shows what nobody sent,
//   - a reader sees a batch beyond the high watermark,
//   - a log start goes back after it was acknowledged or seen, or what lies above it is missing.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "engine/record/batch.h"
#include "tests/sim/disk.h"
#include "tests/sim/schedule.h"

namespace tailrace::sim {

struct SentBatch {
  std::uint64_t id = 0;
  TopicIdPartition partition;
  std::int32_t record_count = 0;
  std::uint32_t crc = 0;
  ProducerId producer_id = kNoProducerId;
  std::int32_t base_sequence = -1;

  Offset offset = kNoOffset;  // where it was acknowledged or seen
  bool acknowledged = false;
  bool may_be_there = false;    // an attempt ended without telling what became of it
  bool refused = false;         // the last attempt was refused before it could be stored
  std::uint64_t failed_in = 0;  // the engine's incarnation that could not store it
};

// How the engine came to an end before the restart that is looked at.
enum class Ending { killed, power_cut, stopped };

class History {
 public:
  History(Schedule& schedule, bool durable, bool moves_log_starts)
      : schedule_(schedule), durable_(durable), moves_log_starts_(moves_log_starts) {}

  SentBatch& add_batch(const TopicIdPartition& partition, Bytes batch);
  static constexpr std::size_t kIdSize = 8;  // at the start of each record's value
  static std::uint64_t id_of(std::uint64_t batch_number) { return batch_number * 0x9E3779B97F4A7C15u; }
  [[nodiscard]] std::uint64_t next_id() const { return id_of(batches_.size() + 1); }

  void on_attempt(SentBatch& batch);
  void on_acknowledged(SentBatch& batch, Offset base_offset, bool duplicate);
  void on_outcome_unknown(SentBatch& batch);
  void on_refused(SentBatch& batch);
  void on_not_stored(SentBatch& batch);  // by a full or failing disk: until a restart it is not there

  void on_created(const TopicIdPartition& partition) { partitions_[partition].created = true; }
  void on_deleting(const TopicIdPartition& partition) { partitions_[partition].deleting = true; }
  void on_deleted(const TopicIdPartition& partition) { partitions_[partition].deleted = true; }
  void on_high_watermark(const TopicIdPartition& partition, Offset high_watermark);
  // Told by the engine; `known_before` is what log_start() was when it was asked.
  void on_log_start(const TopicIdPartition& partition, Offset log_start, Offset known_before);
  [[nodiscard]] Offset log_start(const TopicIdPartition& partition) const;
  // Bytes that a reader got for a fetch at `position`: whole batches and perhaps a cut one. Returns the offset to go on
  // with.
  Offset on_read(const TopicIdPartition& partition, Offset position, Offset high_watermark, Bytes bytes);

  // Looks through the data directory that an engine has just opened (or closed).
  void audit(Disk& disk, const std::string& data_directory, Ending ending);
  void on_engine_started() { ++incarnation_; }
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  [[nodiscard]] bool is_durable() const { return durable_; }

  // Offsets below it were told to be readable.
  [[nodiscard]] Offset visible_end(const TopicIdPartition& partition) const;
  [[nodiscard]] std::uint64_t acknowledged_count() const { return acknowledged_count_; }
  [[nodiscard]] std::uint64_t read_count() const { return read_count_; }

 private:
  struct Partition {
    bool created = false;
    bool deleting = false;  // was asked for: it may be there or not
    bool deleted = false;
    std::map<Offset, SentBatch*> seen;
    Offset visible_end = 0;
    Offset log_start = 0;      // the largest that was told
    Offset recovered_end = 0;  // of the last restart: durable from there on
  };
  SentBatch* identify(const TopicIdPartition& partition, const record::BatchHeader& header, Bytes batch,
                      const char* where);
  void see(Partition& partition, SentBatch& batch, Offset base_offset, const char* where);
  void audit_partition(Partition& history, const TopicIdPartition& key, const Inode& directory, const std::string& name,
                       Offset log_start, Ending ending);

  Schedule& schedule_;
  bool durable_;
  bool moves_log_starts_;
  std::uint64_t incarnation_ = 0;
  std::deque<SentBatch> batches_;
  std::map<std::uint64_t, SentBatch*> by_id_;
  std::map<TopicIdPartition, Partition> partitions_;
  std::uint64_t acknowledged_count_ = 0;
  std::uint64_t read_count_ = 0;
};

}  // namespace tailrace::sim
