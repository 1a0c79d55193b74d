// The values that `perf produce` sends: pieces of a store of random letters, or of a file. Owns their memory. Pure but
// for reading the file.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cli/connection.h"

namespace tailrace::cli {

class Payloads {
 public:
  static Payloads random(std::size_t size, std::uint64_t seed);
  // Error: the text has no value that is not empty, or the delimiter is empty.
  static Outcome<Payloads> from_text(std::string text, std::string_view delimiter, std::uint64_t seed);

  // Lives as long as this object.
  [[nodiscard]] std::string_view next();

 private:
  explicit Payloads(std::uint64_t seed) : chance_(seed) {}
  std::minstd_rand chance_;
  std::string store_;
  std::size_t size_ = 0;                                     // of each value; 0: values are `pieces_`
  std::vector<std::pair<std::size_t, std::size_t>> pieces_;  // begin and size in the store
};

// "\n", "\t", "\0", "\\" as in C; everything else stands for itself.
std::string unescape_delimiter(std::string_view text);

}  // namespace tailrace::cli
