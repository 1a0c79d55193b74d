// OffsetIndex: the sparse .index of a segment: for a batch every index.interval.bytes, its last offset and its
// position (Kafka's OffsetIndex). Entries rise strictly in both. Owned by its Segment.
#pragma once

#include "engine/log/index_file.h"

namespace tailrace::log {

struct IndexedPosition {
  Offset offset = 0;      // the last one of the batch
  Position position = 0;  // where the batch begins
};

class OffsetIndex {
 public:
  OffsetIndex(io::Files& files, const std::string& directory, Offset base_offset)
      : base_offset_(base_offset), file_(files, {&directory, base_offset, kOffsetIndexSuffix}, kOffsetEntrySize) {}

  Result<void> create();
  // Takes the file that is there, padding (Kafka preallocates) left aside. Errors: not_found; corrupt when it can't be
  // the index of a .log with `log_size` bytes.
  Result<void> load(std::uint64_t log_size);

  // Above the last entry in both, and the offset within kRelativeOffsetMax of the base.
  void append(Offset offset, Position position);
  // The last entry; {base offset, 0} when there is none.
  [[nodiscard]] IndexedPosition last() const { return last_; }
  [[nodiscard]] std::uint32_t count() const { return file_.count(); }
  // The last entry with an offset <= `offset`; {base offset, 0} when there is none.
  Result<IndexedPosition> floor(Offset offset) const;
  // Drops the entries with an offset >= `offset`.
  Result<void> truncate_to(Offset offset);

  IndexFile& file() { return file_; }
  [[nodiscard]] const IndexFile& file() const { return file_; }

 private:
  [[nodiscard]] IndexedPosition decode(const std::byte* entry) const;
  Result<void> load_last();

  Offset base_offset_;
  IndexFile file_;
  IndexedPosition last_{base_offset_, 0};
};

}  // namespace tailrace::log
