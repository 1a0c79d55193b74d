// Compression of record data: gzip, snappy (the framing of snappy-java, which Java clients write, and bare blocks,
// which others may send), lz4 frames and zstd. Everything here is bounded: a caller says how much output it is prepared
// to hold, and data that unpacks to more gets too_large, whatever the data says about itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/record/batch.h"

namespace tailrace::record {

// Memory that grows and is used again: what was written stays until clear(), and pointers into it live until the next
// grow or clear. It never gives memory back before it dies.
class Scratch {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] Bytes bytes() const { return {data_.get(), size_}; }
  [[nodiscard]] MutableBytes mutable_bytes() { return {data_.get(), size_}; }

  void clear() { size_ = 0; }
  // Forgets what is behind the first `size` bytes.
  void truncate(std::size_t size) { size_ = size < size_ ? size : size_; }
  // Room for `more` bytes behind size(), whose contents are undefined until added; the start of that room.
  std::byte* grow(std::size_t more) {
    if (capacity_ - size_ < more) reallocate(size_ + more);
    return data_.get() + size_;
  }
  // Counts `more` bytes, written where grow() said, as content.
  void add(std::size_t more) { size_ += more; }
  void append(Bytes bytes) {
    if (bytes.empty()) return;
    std::memcpy(grow(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }

 private:
  void reallocate(std::size_t size_min);

  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Appends to `out` what `packed` unpacks to, at most `bytes_max` of it. `magic` is that of the batch: below 2 the
// header checksum of an LZ4 frame is passed over, since old clients computed it wrongly (KAFKA-3160). Compression::none
// copies. Errors: corrupt, too_large (more than bytes_max), unsupported (unknown codec); `out` then has what it had
// before.
Result<void> decompress(Compression codec, Bytes packed, std::int8_t magic, std::size_t bytes_max, Scratch& out);

// Appends `plain`, compressed as Kafka's clients do it: gzip, snappy in snappy-java's framing with blocks of 32 KiB,
// lz4 frames of independent 64 KiB blocks without content checksum, zstd. `level` is one of compression.<codec>.level
// (KIP-390): gzip 1 to 9 or -1 (6), lz4 1 to 17, where 9 is the fast compressor and the others are those of high
// compression, zstd up to 22; without it gzip -1, lz4 9, zstd 3.
Result<void> compress(Compression codec, Bytes plain, Scratch& out, std::optional<int> level = std::nullopt);

// "none", "gzip", "snappy", "lz4", "zstd": Kafka's names (CompressionType).
const char* name(Compression codec);

}  // namespace tailrace::record
