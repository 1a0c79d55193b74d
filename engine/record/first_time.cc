#include "engine/record/first_time.h"

#include "engine/record/records.h"

namespace tailrace::record {

Result<FirstTime> first_time(Bytes batch, Offset from, Scratch& scratch, std::size_t bytes_max) {
  Result<Records> records = Records::open(batch, scratch, bytes_max);
  if (!records) return std::unexpected(records.error());
  FirstTime first{.time = std::nullopt, .next_offset = records->header().next_offset()};
  if (records->header().is_control()) return first;
  Record record;
  for (;;) {
    const Result<bool> more = records->next(record);
    if (!more) return std::unexpected(more.error());
    if (!*more) return first;
    if (record.offset < from) continue;
    first.time = record.timestamp;
    return first;
  }
}

}  // namespace tailrace::record
