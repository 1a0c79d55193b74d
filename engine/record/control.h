// Control records: the markers that end a transaction (KIP-98; EndTransactionMarker, ControlRecordType). Consumers
// never see them, but each takes an offset.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"

namespace tailrace::record {

struct Record;
class BatchBuilder;

// The types of control records that there are; others, from newer versions, are kept but mean nothing to us.
enum class ControlType : std::int16_t {
  abort = 0,
  commit = 1,
  leader_change = 2,  // 2 to 6: only in logs of KRaft quorums
  snapshot_header = 3,
  snapshot_footer = 4,
  kraft_version = 5,
  kraft_voters = 6,
};

// The type in a control record's key, unknown ones as their number. Error: corrupt (key too short or missing).
Result<ControlType> control_type(const Record& record);

struct EndMarker {
  bool aborts = false;
  std::int32_t coordinator_epoch = 0;
};
// What the control record says of a transaction; nullopt when it is of another type. Error: corrupt (key or value too
// short).
Result<std::optional<EndMarker>> end_marker(const Record& record);
// The same for a whole stored control batch; nullopt also for one that compaction emptied. Errors: as Records has.
Result<std::optional<EndMarker>> end_marker_of_batch(Bytes batch);

// A control batch that ends the producer's transaction, in `builder`'s memory.
Result<Bytes> build_end_marker(BatchBuilder& builder, ProducerId producer_id, ProducerEpoch producer_epoch,
                               EndMarker marker, TimestampMs timestamp);

}  // namespace tailrace::record
