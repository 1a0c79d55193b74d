// FileLock: one process at a time. A lock of the kernel's on a file of the data directory; it ends with the process,
// however that ends. Kafka's own lock is a POSIX one: the two keep each other out.
#pragma once

#include <chrono>
#include <string>

#include "engine/base/result.h"

namespace tailrace {

class FileLock {
 public:
  // A process that was killed holds its locks until the kernel has taken it apart, which takes a moment; whoever comes
  // right after it should wait that long, and no longer.
  static constexpr std::chrono::milliseconds kPatience{3000};

  // Makes the file where it is not there; blocks for at most `patience`. Errors: locked (another process has it),
  // system failures.
  static Result<FileLock> take(const std::string& path, std::chrono::milliseconds patience = kPatience);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tailrace
