#include "engine/log/index_file.h"

#include <cstring>

#include "engine/base/check.h"

namespace tailrace::log {

Result<void> IndexFile::create() {
  release();
  Result<io::File> file = files_.open(name_.path(), io::OpenMode::open_or_create);
  if (!file) return std::unexpected(file.error());
  file_ = *file;
  return keep(0);
}

Result<void> IndexFile::load() {
  release();
  in_file_ = recent_first_ = 0;
  recent_.clear();
  if (auto opened = open(); !opened) return opened;
  Result<std::uint64_t> size = files_.size(file_);
  if (!size) return std::unexpected(size.error());
  if (*size % entry_size_ != 0 || *size > kSegmentBytesMax) return failure(Code::corrupt, "size of an index");
  in_file_ = recent_first_ = static_cast<std::uint32_t>(*size / entry_size_);
  return {};
}

void IndexFile::append(const std::byte* entry) { recent_.insert(recent_.end(), entry, entry + entry_size_); }

Result<void> IndexFile::flush() {
  if (!has_unwritten()) return {};
  if (!file_) {
    // A .txnindex comes into being with its first entry.
    Result<io::File> file = files_.open(name_.path(), io::OpenMode::open_or_create);
    if (!file) return std::unexpected(file.error());
    file_ = *file;
  }
  const Bytes unwritten = Bytes(recent_).subspan(std::size_t{in_file_ - recent_first_} * entry_size_);
  if (auto done = files_.write(file_, unwritten, std::uint64_t{in_file_} * entry_size_); !done) return done;
  in_file_ = count();
  if (const std::uint32_t recent = count() - recent_first_; recent > kRecentEntries) {
    const std::uint32_t drop = recent - kRecentEntries;
    recent_.erase(recent_.begin(), recent_.begin() + std::ptrdiff_t{drop} * entry_size_);
    recent_first_ += drop;
  }
  return {};
}

Result<void> IndexFile::read(std::uint32_t index, std::byte* into) const {
  DCHECK(index < count());
  if (index >= recent_first_) {
    std::memcpy(into, recent_.data() + std::size_t{index - recent_first_} * entry_size_, entry_size_);
    return {};
  }
  if (auto opened = open(); !opened) return opened;
  Result<std::size_t> got = files_.read(file_, MutableBytes(into, entry_size_), std::uint64_t{index} * entry_size_);
  if (!got) return std::unexpected(got.error());
  if (*got != entry_size_) return failure(Code::corrupt, "reading an index that has become shorter");
  return {};
}

Result<void> IndexFile::keep(std::uint32_t count) {
  if (file_ || count < in_file_) {
    if (auto opened = open(); !opened) return opened;
    const std::uint32_t left = std::min(count, in_file_);
    if (auto done = files_.truncate(file_, std::uint64_t{left} * entry_size_); !done) return done;
    in_file_ = left;
  }
  if (count <= recent_first_) {
    recent_.clear();
    recent_first_ = count;
  } else {
    recent_.resize(std::size_t{count - recent_first_} * entry_size_);
  }
  return {};
}

Result<void> IndexFile::sync() {
  if (auto opened = open(); !opened) return opened;
  Result<void> done = files_.sync(file_);
  if (!done) static_cast<void>(io::write_again(files_, file_, 0));  // so that the next sync tells the truth
  return done;
}

Result<void> IndexFile::open() const {
  if (file_) return {};
  Result<io::File> file = files_.open(name_.path(), io::OpenMode::read_write);
  if (!file) return std::unexpected(file.error());
  file_ = *file;
  return {};
}

void IndexFile::release() const {
  if (file_) files_.close(file_);
  file_ = io::File{};
}

void IndexFile::rest() {
  if (has_unwritten()) return;
  recent_first_ = count();
  recent_ = {};
  release();
}

Result<void> IndexFile::remove() {
  release();
  Result<void> done = files_.remove(name_.path());
  if (!done && done.error().code == Code::not_found) return {};
  return done;
}

bool IndexFile::is_there() const { return file_ || files_.exists(name_.path()); }

}  // namespace tailrace::log
