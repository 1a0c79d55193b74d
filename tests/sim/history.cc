#include "tests/sim/history.h"

#include <cstring>
#include <set>

#include "engine/log/checkpoint.h"
#include "engine/log/directory_files.h"
#include "engine/log/format.h"
#include "engine/record/compression.h"
#include "engine/record/records.h"

namespace tailrace::sim {
namespace {

constexpr std::size_t kUnpackedMax = 1 << 20;

}  // namespace

SentBatch& History::add_batch(const TopicIdPartition& partition, Bytes batch) {
  const record::BatchHeader header = record::read_header(batch.data());
  const std::uint64_t id = next_id();
  SentBatch& sent = batches_.emplace_back();
  sent.id = id;
  sent.partition = partition;
  sent.record_count = header.record_count;
  sent.crc = header.crc;
  sent.producer_id = header.producer_id;
  sent.base_sequence = header.base_sequence;
  by_id_[id] = &sent;
  return sent;
}

void History::on_attempt(SentBatch& batch) {
  batch.refused = false;
  batch.failed_in = 0;
}

void History::see(Partition& partition, SentBatch& batch, Offset base_offset, const char* where) {
  if (batch.offset != kNoOffset && batch.offset != base_offset) {
    return schedule_.fail("{}: batch {:x} is at offset {} and at {}", where, batch.id, batch.offset, base_offset);
  }
  batch.offset = base_offset;
  const auto next = partition.seen.lower_bound(base_offset);
  if (next != partition.seen.end() && next->first == base_offset) {
    if (next->second != &batch) {
      schedule_.fail("{}: offset {} holds batch {:x} where {:x} was", where, base_offset, batch.id, next->second->id);
    }
    return;
  }
  const bool reaches_next = next != partition.seen.end() && base_offset + batch.record_count > next->first;
  const bool is_in_last =
      next != partition.seen.begin() && std::prev(next)->first + std::prev(next)->second->record_count > base_offset;
  if (reaches_next || is_in_last)
    return schedule_.fail("{}: batch {:x} at {} overlaps another one", where, batch.id, base_offset);
  partition.seen[base_offset] = &batch;
}

void History::on_acknowledged(SentBatch& batch, Offset base_offset, bool duplicate) {
  schedule_.note("acknowledged batch={:x} offset={} duplicate={}", batch.id, base_offset, duplicate);
  if (batch.acknowledged && !duplicate) {
    schedule_.fail("a retry of batch {:x}, acknowledged at {}, was appended again at {}", batch.id, batch.offset,
                   base_offset);
  }
  Partition& partition = partitions_[batch.partition];
  if (duplicate && batch.offset == kNoOffset && !batch.may_be_there && batch.failed_in == 0) {
    schedule_.fail("batch {:x} was sent once and is called a duplicate", batch.id);
  }
  see(partition, batch, base_offset, "acknowledgement");
  partition.visible_end = std::max(partition.visible_end, base_offset + batch.record_count);
  if (!batch.acknowledged) ++acknowledged_count_;
  batch.acknowledged = true;
}

void History::on_outcome_unknown(SentBatch& batch) { batch.may_be_there = true; }
void History::on_refused(SentBatch& batch) { batch.refused = !batch.may_be_there && !batch.acknowledged; }
void History::on_not_stored(SentBatch& batch) {
  // What a failing disk was to store may be found by the next start.
  if (!batch.may_be_there) batch.failed_in = incarnation_;
  batch.may_be_there = true;
}

void History::on_high_watermark(const TopicIdPartition& key, Offset high_watermark) {
  Partition& partition = partitions_[key];
  partition.visible_end = std::max(partition.visible_end, high_watermark);
}

void History::on_log_start(const TopicIdPartition& key, Offset log_start, Offset known_before) {
  if (log_start > 0 && !moves_log_starts_)
    return schedule_.fail("the log start is {}, and nobody has moved it", log_start);
  if (log_start < known_before) return schedule_.fail("the log start was {} and is {}", known_before, log_start);
  Partition& partition = partitions_[key];
  partition.log_start = std::max(partition.log_start, log_start);
}

Offset History::log_start(const TopicIdPartition& partition) const {
  const auto found = partitions_.find(partition);
  return found == partitions_.end() ? 0 : found->second.log_start;
}

Offset History::visible_end(const TopicIdPartition& partition) const {
  const auto found = partitions_.find(partition);
  return found == partitions_.end() ? 0 : found->second.visible_end;
}

// The batch that these bytes are; null, after a failure, when nobody sent them.
SentBatch* History::identify(const TopicIdPartition& key, const record::BatchHeader& header, Bytes batch,
                             const char* where) {
  const auto unknown = [&](const char* why) -> SentBatch* {
    schedule_.fail("{}: the batch at offset {} ({} bytes) {}", where, header.base_offset, batch.size(), why);
    return nullptr;
  };
  if (header.magic != record::kMagicV2 || header.size_bytes() != batch.size()) return unknown("has no sound header");
  if (record::compute_crc(batch) != header.crc) return unknown("has a wrong checksum");
  record::Scratch scratch;
  Result<record::Records> records = record::Records::open(batch, scratch, kUnpackedMax);
  record::Record first;
  if (!records || !records->next(first).value_or(false) || !first.value || first.value->size() < kIdSize) {
    return unknown("cannot be read");
  }
  std::uint64_t id = 0;
  std::memcpy(&id, first.value->data(), sizeof id);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return unknown("was never sent");
  SentBatch& sent = *found->second;
  if (sent.crc != header.crc || sent.record_count != header.record_count) return unknown("differs from what was sent");
  if (sent.partition != key) return unknown("belongs to another partition");
  if (sent.refused) return unknown("was refused");
  return &sent;
}

Offset History::on_read(const TopicIdPartition& key, Offset position, Offset high_watermark, Bytes bytes) {
  Partition& partition = partitions_[key];
  bool is_first = true;
  while (bytes.size() >= record::kBatchHeaderSize) {
    const record::BatchHeader header = record::read_header(bytes.data());
    if (header.batch_length <= 0 || header.size_bytes() > bytes.size()) break;  // cut by the size asked for
    const Bytes batch = bytes.first(header.size_bytes());
    bytes = bytes.subspan(batch.size());
    if (is_first ? header.base_offset > position || header.last_offset() < position : header.base_offset != position) {
      schedule_.fail("a read at offset {} got a batch of {} to {}", position, header.base_offset, header.last_offset());
      return position;
    }
    if (header.last_offset() >= high_watermark) {
      schedule_.fail("a reader saw offset {} beyond the high watermark {}", header.last_offset(), high_watermark);
      return position;
    }
    SentBatch* const sent = identify(key, header, batch, "read");
    if (sent == nullptr) return position;
    if (sent->failed_in == incarnation_ && sent->offset == kNoOffset) {
      schedule_.fail("a reader saw batch {:x}, which the engine said it could not store", sent->id);
    }
    see(partition, *sent, header.base_offset, "read");
    ++read_count_;
    position = header.next_offset();
    is_first = false;
  }
  return position;
}

void History::audit_partition(Partition& history, const TopicIdPartition& key, const Inode& directory,
                              const std::string& name, Offset log_start, Ending ending) {
  std::map<ProducerId, std::int64_t> next_sequences;
  std::set<const SentBatch*> found;
  if (log_start < history.log_start)
    return schedule_.fail("audit: {} starts at {}, and {} was told", name, log_start, history.log_start);
  if (log_start > 0 && !moves_log_starts_) return schedule_.fail("audit: {} starts at {}", name, log_start);
  Offset end = 0;
  bool has_all = true;                                      // from the very first batch on
  for (const auto& [file_name, inode] : directory.names) {  // segments in order: names are zero-padded
    const std::optional<Offset> base_offset = log::parse_segment_file_name(file_name, log::kLogSuffix);
    if (!base_offset) continue;
    if (*base_offset > end && *base_offset <= log_start) {  // segments went, or came back in part after a power cut
      end = *base_offset;
      next_sequences.clear();
      has_all = false;
    }
    if (*base_offset != end) return schedule_.fail("audit: segment {}/{} follows offset {}", name, file_name, end);
    Bytes bytes = inode->content;
    while (!bytes.empty()) {
      record::BatchHeader header;
      if (bytes.size() >= record::kBatchHeaderSize) header = record::read_header(bytes.data());
      if (header.batch_length <= 0 || header.size_bytes() > bytes.size()) {
        // Torn, in a segment that nobody reads any more: the next one says whether it lies below the log start whole.
        if (!durable_ && ending == Ending::power_cut && end < log_start) break;
        return schedule_.fail("audit: {}/{} has {} bytes that are no batch behind offset {}", name, file_name,
                              bytes.size(), end);
      }
      const Bytes batch = bytes.first(header.size_bytes());
      bytes = bytes.subspan(batch.size());
      // As torn, with pages missing before its end.
      const bool is_below = !durable_ && ending == Ending::power_cut && header.next_offset() <= log_start;
      if (is_below && record::compute_crc(batch) != header.crc) break;
      if (header.base_offset != end)
        return schedule_.fail("audit: {} has offset {} after {}", name, header.base_offset, end);
      SentBatch* const sent = identify(key, header, batch, "audit");
      if (sent == nullptr) return;
      if (!found.insert(sent).second) return schedule_.fail("audit: {} has batch {:x} twice", name, sent->id);
      if (sent->producer_id != kNoProducerId) {
        const bool is_first = !next_sequences.contains(sent->producer_id);
        std::int64_t& next = next_sequences[sent->producer_id];
        if (is_first && !has_all) next = sent->base_sequence;
        if (sent->base_sequence != next) {
          return schedule_.fail("audit: {} has sequence {} of producer {} at offset {} where {} is due", name,
                                sent->base_sequence, sent->producer_id, end, next);
        }
        next += sent->record_count;
      }
      const auto at = history.seen.find(end);
      if (at != history.seen.end() && at->second != sent) {
        return schedule_.fail("audit: {} has batch {:x} at offset {} where {:x} was", name, sent->id, end,
                              at->second->id);
      }
      see(history, *sent, end, "audit");
      end = header.next_offset();
    }
  }
  // Without the disk's promise a power cut takes the end of the log, never a part of its middle.
  if (!durable_ && ending == Ending::power_cut) {
    auto lost = history.seen.lower_bound(end);
    // Where all is gone up to the log start, one may reach over it.
    if (lost != history.seen.begin() && std::prev(lost)->first + std::prev(lost)->second->record_count > end) --lost;
    for (auto each = lost; each != history.seen.end(); each = history.seen.erase(each)) {
      each->second->offset = kNoOffset;
      each->second->acknowledged = false;
      each->second->may_be_there = true;
    }
    history.visible_end = std::min(history.visible_end, end);
    if (end < history.recovered_end)
      schedule_.fail("audit: {} ends at {}, what was recovered before ended at {}", name, end, history.recovered_end);
  }
  if (end < history.visible_end) {
    return schedule_.fail("audit: {} ends at {}, but offsets up to {} were acknowledged or readable", name, end,
                          history.visible_end);
  }
  history.recovered_end = history.visible_end = end;
  schedule_.note("audit {} end={}", name, end);
}

void History::audit(Disk& disk, const std::string& data_directory, Ending ending) {
  const std::shared_ptr<Inode> data = disk.find(data_directory);
  log::OffsetCheckpoint log_starts;
  if (const auto file = data->names.find(std::string(log::kLogStartOffsetFile)); file != data->names.end()) {
    const Result<log::OffsetCheckpoint> parsed = log::parse_offset_checkpoint(as_text(file->second->content));
    if (!parsed) return schedule_.fail("audit: the log starts cannot be read");
    log_starts = *parsed;
  }
  std::set<TopicIdPartition> found;
  for (const auto& [name, inode] : data->names) {
    const std::optional<log::PartitionDirectory> parsed = log::parse_partition_directory_name(name);
    if (!inode->is_directory || !parsed || parsed->state != log::DirectoryState::current) continue;
    const auto metadata = inode->names.find(std::string(log::kPartitionMetadataFile));
    TopicIdPartition key{{}, parsed->partition};
    if (metadata != inode->names.end()) {
      const Result<Uuid> id = log::parse_partition_metadata(as_text(metadata->second->content));
      if (id) key.topic_id = *id;
    }
    if (key.topic_id.is_zero()) continue;  // its creation was not finished
    found.insert(key);
    Partition& history = partitions_[key];
    if (history.deleted) return schedule_.fail("audit: {} was deleted and is there", name);
    const auto log_start = log_starts.find({parsed->topic, parsed->partition});
    audit_partition(history, key, *inode, name, log_start == log_starts.end() ? 0 : log_start->second, ending);
  }
  for (const auto& [key, history] : partitions_) {
    if (history.created && !history.deleting && !found.contains(key)) {
      return schedule_.fail("audit: partition {}-{} is missing", key.topic_id.text(), key.partition);
    }
  }
}

}  // namespace tailrace::sim
