#include "engine/base/file_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tailrace {
namespace {

constexpr std::chrono::milliseconds kStep{20};

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, std::chrono::milliseconds patience) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return system_failure(errno, "opening a lock file");
  FileLock lock(descriptor);
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  // Of the open file, not of the process: closing another descriptor of the file does not end it.
  while (::fcntl(descriptor, F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) return system_failure(errno, "locking a file");
    if (patience <= kStep) return failure(Code::locked, "locking a file");
    ::poll(nullptr, 0, static_cast<int>(kStep.count()));
    patience -= kStep;
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tailrace
