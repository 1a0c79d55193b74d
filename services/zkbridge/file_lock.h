// FileLock: one process at a time. A lock of the kernel's on a file of the data directory; it ends with the process,
// however that ends. Taken in main, before the store is opened.
#pragma once

#include <string>

#include "engine/base/result.h"

namespace tailrace::zkbridge {

class FileLock {
 public:
  // Makes the file where it is not there. Errors: locked (another process has it), system failures.
  static Result<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tailrace::zkbridge
