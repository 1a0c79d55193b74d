#include "services/kafka/buffer.h"

#include <algorithm>

namespace tailrace::kafka {

void Buffer::grow_to(std::size_t needed) {
  constexpr std::size_t kFirst = 256;
  const std::size_t capacity = std::max({needed, 2 * capacity_, kFirst});
  auto data = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (size_ != 0) std::memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = capacity;
}

}  // namespace tailrace::kafka
