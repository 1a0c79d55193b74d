// TimeIndex: the sparse .timeindex of a segment (Kafka's TimeIndex): the largest timestamp up to a batch and the last
// offset of the batch that has it. Timestamps rise strictly; a message with a larger timestamp than an entry's comes
// after the entry's batch. Owned by its Segment.
#pragma once

#include "engine/log/index_file.h"

namespace tailrace::log {

struct IndexedTimestamp {
  TimestampMs timestamp = kNoTimestamp;
  Offset offset = 0;  // the last one of the batch that has it
};

class TimeIndex {
 public:
  TimeIndex(io::Files& files, const std::string& directory, Offset base_offset)
      : base_offset_(base_offset), file_(files, {&directory, base_offset, kTimeIndexSuffix}, kTimeEntrySize) {}

  Result<void> create();
  // Takes the file that is there, padding left aside. Errors: not_found; corrupt when it breaks its rules.
  Result<void> load();

  // Notes it unless its timestamp is not above the last entry's.
  void maybe_append(TimestampMs timestamp, Offset offset);
  // The last entry; {none, base offset} when there is none.
  [[nodiscard]] IndexedTimestamp last() const { return last_; }
  [[nodiscard]] std::uint32_t count() const { return file_.count(); }
  // The last entry with a timestamp <= `timestamp`; {none, base offset} when there is none.
  Result<IndexedTimestamp> floor(TimestampMs timestamp) const;
  // Drops the entries with an offset >= `offset`.
  Result<void> truncate_to(Offset offset);

  IndexFile& file() { return file_; }
  [[nodiscard]] const IndexFile& file() const { return file_; }

 private:
  [[nodiscard]] IndexedTimestamp decode(const std::byte* entry) const;
  Result<void> load_last();

  Offset base_offset_;
  IndexFile file_;
  IndexedTimestamp last_{kNoTimestamp, base_offset_};
};

}  // namespace tailrace::log
