// History: the inputs that one long-lived world was given, in order, in a file that is complete whenever the process
// dies. A failure that needs what came before the last input is replayed from it: with TAILRACE_FUZZ_REPLAY naming such
// a file the target runs those inputs before the first one it is given. It is kept only where TAILRACE_FUZZ_HISTORY
// names the file.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace tailrace::fuzz {

class History {
 public:
  History() {
    const char* const path = std::getenv("TAILRACE_FUZZ_HISTORY");
    if (path == nullptr) return;
    const int file = ::open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(file >= 0 && ::ftruncate(file, kBytesMax) == 0);
    void* const memory = ::mmap(nullptr, kBytesMax, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED);
    ::close(file);
    memory_ = static_cast<std::uint8_t*>(memory);
  }

  // A new world begins.
  void clear() {
    if (memory_ != nullptr) std::memset(memory_, 0, at_ + kSizeBytes);
    at_ = 0;
  }
  void add(const std::uint8_t* data, std::size_t size) {
    if (memory_ == nullptr || size > kBytesMax - 2 * kSizeBytes - at_) return;
    const auto stored = static_cast<std::uint32_t>(size + 1);  // 0 ends the file
    std::memcpy(memory_ + at_ + kSizeBytes, data, size);
    std::memcpy(memory_ + at_, &stored, kSizeBytes);
    at_ += kSizeBytes + size;
  }

  // Runs what TAILRACE_FUZZ_REPLAY names, once.
  template <class Run>
  void replay(Run run) {
    if (std::exchange(replayed_, true)) return;
    const char* const path = std::getenv("TAILRACE_FUZZ_REPLAY");
    if (path == nullptr) return;
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::size_t at = 0;
    while (bytes.size() - at >= kSizeBytes) {
      std::uint32_t stored = 0;
      std::memcpy(&stored, bytes.data() + at, kSizeBytes);
      at += kSizeBytes;
      if (stored == 0 || stored - 1 > bytes.size() - at) return;
      const std::vector<std::uint8_t> input(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                            bytes.begin() + static_cast<std::ptrdiff_t>(at + stored - 1));
      at += stored - 1;
      run(input.data(), input.size());
    }
  }

 private:
  static constexpr std::size_t kBytesMax = std::size_t{64} << 20;
  static constexpr std::size_t kSizeBytes = sizeof(std::uint32_t);
  std::uint8_t* memory_ = nullptr;
  std::size_t at_ = 0;
  bool replayed_ = false;
};

}  // namespace tailrace::fuzz
