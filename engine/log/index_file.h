// IndexFile: a file of fixed-size entries that only grows at its end; what .index, .timeindex and .txnindex have in
// common. The newest entries are kept in memory and go to the file many at a time; older ones are read on demand, never
// mapped and never loaded whole. Owned by one of the three index classes; all calls on the log's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/io/files.h"
#include "engine/log/format.h"

namespace tailrace::log {

class IndexFile {
 public:
  static constexpr std::uint32_t kFlushEntries = 512;   // so many new ones are due for the file
  static constexpr std::uint32_t kRecentEntries = 512;  // so many written ones stay in memory as well

  IndexFile(io::Files& files, SegmentFileName name, std::uint32_t entry_size)
      : files_(files), name_(name), entry_size_(entry_size) {}
  ~IndexFile() { release(); }
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;

  // Makes the file, empty; one that is there is emptied.
  Result<void> create();
  // Counts the entries of the file that is there. Errors: not_found; corrupt: not a whole number of entries.
  Result<void> load();

  [[nodiscard]] std::uint32_t count() const {
    return recent_first_ + static_cast<std::uint32_t>(recent_.size() / entry_size_);
  }
  // `entry` is entry_size bytes.
  void append(const std::byte* entry);
  [[nodiscard]] bool flush_is_due() const { return count() - in_file_ >= kFlushEntries; }
  [[nodiscard]] bool has_unwritten() const { return count() != in_file_; }
  // Writes what the file does not have yet. After an error nothing is lost; the next flush tries again.
  Result<void> flush();
  // Entry `index` (< count()) to `into`.
  Result<void> read(std::uint32_t index, std::byte* into) const;
  // How many entries at the front `is_before` holds for; it must not hold again behind one it does not hold for. It is
  // taken to hold for the first `given` entries (<= count()).
  template <class Predicate>
  Result<std::uint32_t> count_before(Predicate is_before, std::uint32_t given = 0) const;

  // Keeps the first `count` entries. Also cuts what a preallocated file has behind them.
  Result<void> keep(std::uint32_t count);
  Result<void> sync();  // may be tried again
  [[nodiscard]] io::File file() const { return file_; }
  Result<void> open() const;  // the file, unless it is open
  void release() const;       // closes it; it is opened again when needed
  void rest();                // closes it and gives back memory, once the file has everything
  Result<void> remove();      // not being there is fine
  [[nodiscard]] bool is_there() const;

 private:
  static constexpr std::uint32_t kBlockBytes = 4096;  // a search ends with one read of so much

  io::Files& files_;
  SegmentFileName name_;
  std::uint32_t entry_size_;
  mutable io::File file_;
  std::uint32_t in_file_ = 0;       // entries that the file has
  std::uint32_t recent_first_ = 0;  // index of the first entry in recent_; never above in_file_
  std::vector<std::byte> recent_;
};

template <class Predicate>
Result<std::uint32_t> IndexFile::count_before(Predicate is_before, std::uint32_t given) const {
  std::uint32_t low = given;
  std::uint32_t high = count();
  if (low == high) return low;
  if (!recent_.empty()) {
    if (low > recent_first_ || is_before(recent_.data())) {
      low = std::max(low, recent_first_ + 1);
      while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (is_before(recent_.data() + std::size_t{middle - recent_first_} * entry_size_)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    }
    high = recent_first_;
  }
  std::byte block[kBlockBytes];
  const std::uint32_t block_entries = kBlockBytes / entry_size_;
  while (high - low > block_entries) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (auto got = read(middle, block); !got) return std::unexpected(got.error());
    if (is_before(block)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == high) return low;
  if (auto opened = open(); !opened) return std::unexpected(opened.error());
  const std::uint32_t first = low;
  const std::size_t size = std::size_t{high - low} * entry_size_;
  Result<std::size_t> got = files_.read(file_, MutableBytes(block, size), std::uint64_t{low} * entry_size_);
  if (!got) return std::unexpected(got.error());
  if (*got != size) return failure(Code::corrupt, "reading an index that has become shorter");
  while (low < high && is_before(block + std::size_t{low - first} * entry_size_)) ++low;
  return low;
}

}  // namespace tailrace::log
