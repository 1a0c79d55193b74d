// When the first record that somebody has not read yet was written: the time of the first record at an offset or after
// it, as one stored batch tells it.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/record/compression.h"

namespace tailrace::record {

struct FirstTime {
  // Of the record; kNoTimestamp: it has none (magic 0). Nothing: consumers see no such record in this batch, because it
  // is a control batch, ends before, or compaction has emptied it.
  std::optional<TimestampMs> time;
  Offset next_offset = 0;  // behind the batch: where to look on
};

// `batch` is one whole v2 batch or one entry of magic 0 or 1 (what follows is ignored); `scratch` and `bytes_max` as in
// Records::open. Errors: those of Records.
Result<FirstTime> first_time(Bytes batch, Offset from, Scratch& scratch, std::size_t bytes_max);

}  // namespace tailrace::record
