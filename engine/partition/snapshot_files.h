// The .snapshot files of a partition: a producer snapshot named after the offset that it is true for. The newest that
// still fits the log is where recovery starts; which others stay is Kafka's rule
// (ProducerStateManager.removeStraySnapshots and truncateAndReload).
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/io/files.h"
#include "engine/log/log.h"
#include "engine/partition/producers.h"

namespace tailrace::partition {

// Loads the newest sound snapshot at an offset in [first, log_end] and returns its offset; `first`, the base offset of
// a segment at or below the log start, when there is none. (Kafka passes over what is at or below the log start, and
// then no longer knows producers whose records were deleted.) Removed are: those at other offsets, durably where they
// are beyond log_end; of those that are at no segment's base offset all but the newest, and that one, too, below the
// last segment's; unsound ones newer than the one that was loaded.
Result<Offset> load_newest_snapshot(io::Files& files, const std::string& directory, Offset first, Offset log_end,
                                    const std::vector<log::SegmentInfo>& segments, Producers& producers);

// Removes the snapshots at offsets above `log_end`, durably: the log may grow past them with other batches.
Result<void> remove_snapshots_beyond(io::Files& files, const std::string& directory, Offset log_end);

// The snapshot of `offset`, to be synced. Error: not_found.
Result<io::File> open_snapshot(io::Files& files, const std::string& directory, Offset offset);

// Writes the snapshot of `offset`.
Result<void> save_snapshot(io::Files& files, const std::string& directory, Offset offset, const Producers& producers);

}  // namespace tailrace::partition
