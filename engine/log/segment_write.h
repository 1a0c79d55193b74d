// SegmentWrite and SyncPart: what the log has in flight, one per file. They are owned by the log and used again, so
// that appending allocates nothing once it is warm.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/io/completion.h"
#include "engine/log/log.h"
#include "engine/log/recent_batches.h"
#include "engine/record/batch.h"

namespace tailrace::log {

// One batch between stage() and the end of its write: our own copy of the header, the records where the caller has
// them.
struct StagedBatch {
  std::array<std::byte, record::kBatchHeaderSize> header;
  Bytes records;
  BatchPlace place;
  TimestampMs max_timestamp = kNoTimestamp;
  LeaderEpoch noted_epoch = kNoLeaderEpoch;  // the epoch that began with this batch
};

// The batches of one gathered write to one segment.
struct SegmentWrite {
  explicit SegmentWrite(Log& to) : log(to) { completion.bind<&SegmentWrite::on_written>(this); }
  void on_written(std::int64_t bytes_or_error) {
    result = bytes_or_error;
    log.on_segment_written();
  }

  Log& log;
  Segment* segment = nullptr;  // none: of the directory or the leader epochs
  std::vector<StagedBatch> batches;
  std::vector<iovec> parts;
  io::Completion completion;
  std::int64_t result = 0;
};

// One file of a sync.
struct SyncPart {
  explicit SyncPart(Log& to) : log(to) { completion.bind<&SyncPart::on_synced>(this); }
  void on_synced(std::int64_t result) { log.on_part_synced(segment, result); }

  Log& log;
  Segment* segment = nullptr;  // none: of the directory or the leader epochs
  io::Completion completion;
};

}  // namespace tailrace::log
