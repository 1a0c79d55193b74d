// BatchScanner: walks the stored batches of a .log file in order, of any magic, checking only that each one is whole:
// enough bytes for its header, a length that fits, offsets that make sense. CRCs are the caller's to check. It borrows
// the file and holds one window of it in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/io/files.h"
#include "engine/record/batch.h"

namespace tailrace::log {

class BatchScanner {
 public:
  // Walks [position, end) of the file, reading `window` bytes at a time (more for a larger batch that is wanted whole).
  BatchScanner(io::Files& files, io::File file, std::uint64_t position, std::uint64_t end, std::size_t window)
      : files_(files), file_(file), next_(position), end_(end), window_(window) {}

  // The next batch's header, nullopt at the end. Entries of magic 0 and 1 are told as record::shallow_batch_header
  // does. Error: corrupt: what is at position() is not a batch that ends by `end`; the walk is over.
  Result<std::optional<record::BatchHeader>> next();
  // Where the batch that next() returned begins; after an error or at the end, where the next one should have begun.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  // All of the batch that next() returned, until the next call of next(). Error: the file is not readable.
  Result<Bytes> whole();
  // The same for its header alone (61 bytes; magic 2).
  Result<Bytes> header() { return bytes_at(position_, record::kBatchHeaderSize); }

 private:
  Result<Bytes> bytes_at(std::uint64_t position, std::size_t size);
  Result<record::BatchHeader> legacy_header(std::int32_t length);

  io::Files& files_;
  io::File file_;
  std::uint64_t position_ = 0;
  std::uint64_t next_;
  std::uint64_t end_;
  std::size_t window_;
  std::size_t batch_size_ = 0;

  std::unique_ptr<std::byte[]> buffer_;
  std::size_t buffer_size_ = 0;
  std::uint64_t buffered_from_ = 0;
  std::size_t buffered_ = 0;
};

// Whether the CRC of a whole batch of any magic is right.
bool crc_is_valid(const record::BatchHeader& header, Bytes batch);

}  // namespace tailrace::log
