// A growing byte buffer that messages are encoded into. It never shrinks, so one that is cleared and used again soon
// stops allocating; new room is not zeroed.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "engine/base/bytes.h"

namespace tailrace::kafka {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t capacity) { reserve(capacity); }

  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Bytes bytes() const { return {data_.get(), size_}; }
  [[nodiscard]] Bytes bytes_from(std::size_t position) const { return bytes().subspan(position); }

  void clear() { size_ = 0; }
  // Cuts the buffer; `size` is at most size().
  void truncate(std::size_t size) { size_ = size; }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow_to(capacity);
  }

  // `count` more bytes, not initialized. The pointer holds until the next change.
  std::byte* extend(std::size_t count) {
    if (capacity_ - size_ < count) grow_to(size_ + count);
    std::byte* at = data_.get() + size_;
    size_ += count;
    return at;
  }
  void append(Bytes bytes) {
    if (!bytes.empty()) std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
  }

 private:
  void grow_to(std::size_t needed);

  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tailrace::kafka
