// TransactionIndex: the .txnindex of a segment: the aborted transactions whose abort marker is in it, in the order of
// their markers (KIP-98; Kafka's TransactionIndex). Most segments have none and no file. Owned by its Segment.
#pragma once

#include <vector>

#include "engine/log/index_file.h"
#include "engine/log/log.h"

namespace tailrace::log {

class TransactionIndex {
 public:
  TransactionIndex(io::Files& files, const std::string& directory, Offset base_offset)
      : base_offset_(base_offset),
        file_(files, {&directory, base_offset, kTransactionIndexSuffix}, kTransactionEntrySize) {}

  // Takes the file that is there. Errors: not_found; corrupt when it breaks its rules.
  Result<void> load();
  // Empties it and removes the file.
  Result<void> reset();

  // Notes it, unless its marker is not behind the last one's: a replay of the log repeats what is known.
  void append(const AbortedTransaction& aborted);
  [[nodiscard]] std::uint32_t count() const { return file_.count(); }
  // Adds to `into` those that overlap [from, to). The answer is true when none of a later segment can overlap.
  Result<bool> collect(Offset from, Offset to, std::vector<AbortedTransaction>& into) const;
  // Drops those whose marker is at or behind `offset`.
  Result<void> truncate_to(Offset offset);

  IndexFile& file() { return file_; }
  [[nodiscard]] const IndexFile& file() const { return file_; }

 private:
  Result<void> load_last();

  Offset base_offset_;
  IndexFile file_;
  Offset last_marker_ = kNoOffset;
};

}  // namespace tailrace::log
