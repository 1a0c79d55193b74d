// AnswerRoom: how much one answer may hold, and texts that were made for it. A request can name the same thing as often
// as its bytes allow, and each time gets all that is known of it: without a bound a small request would fill the
// memory. One for each request, until its answer is encoded. PURE.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace tailrace::groupcoord {

class AnswerRoom {
 public:
  // What an honest answer is far from: 200,000 partitions of a group take 26 MB.
  static constexpr std::size_t kBytesMax = std::size_t{256} << 20;

  // False: no more goes into the answer.
  [[nodiscard]] bool take(std::size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  std::size_t left_ = kBytesMax;
  std::deque<std::string> texts_;
};

}  // namespace tailrace::groupcoord
