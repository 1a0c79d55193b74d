// The .snapshot files of a partition: a producer snapshot named after the offset that it is true for. The newest that
// still fits the log is where recovery starts; files beyond the log's end are removed (Kafka's
// ProducerStateManager.truncateAndReload).
#pragma once

#include <string>

#include "engine/base/result.h"
#include "engine/io/files.h"
#include "engine/partition/producers.h"

namespace tailrace::partition {

// Loads the newest sound snapshot at an offset in [log_start, log_end] and returns its offset; log_start when there is
// none. Unsound ones and those beyond log_end are removed.
Result<Offset> load_newest_snapshot(io::Files& files, const std::string& directory, Offset log_start, Offset log_end,
                                    Producers& producers);

// Writes the snapshot of `offset`.
Result<void> save_snapshot(io::Files& files, const std::string& directory, Offset offset, const Producers& producers);

}  // namespace tailrace::partition
