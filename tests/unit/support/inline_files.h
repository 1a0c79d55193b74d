// InlineFiles: the real file system without a loop, for unit tests: what is asynchronous is done at once and its
// completion waits for run(). Faults can be ordered: the nth call of a kind fails with an errno, before it does
// anything or half way.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "engine/io/posix_files.h"

namespace tailrace::test {

class InlineFiles : public io::PosixFiles {
 public:
  using io::PosixFiles::sync;
  using io::PosixFiles::write;

  // Fails the nth call from now on (1: the next one); 0: none.
  struct Fault {
    std::uint64_t nth = 0;
    int error = EIO;
    std::uint64_t bytes_written = 0;  // of a gathered write: so many bytes get to the file before it fails
    bool strikes() { return nth != 0 && --nth == 0; }
  };
  Fault gathered_write;
  Fault small_write;
  Fault allocation;
  Fault truncation;
  Fault async_sync;
  Fault directory_sync;
  Fault removal;
  Fault opening;

  std::uint64_t gathered_writes = 0;
  std::uint64_t small_writes = 0;
  std::uint64_t async_syncs = 0;
  std::uint64_t allocations = 0;

  // Runs the completions that wait, and those that they lead to.
  void run() {
    while (!queue_.empty()) queue_.run();
  }
  // Runs only those that wait now.
  void run_once() { queue_.run(); }
  [[nodiscard]] bool has_completions() const { return !queue_.empty(); }

  void write(io::File file, std::span<const iovec> from, std::uint64_t position, io::Completion& done) override {
    ++gathered_writes;
    if (!gathered_write.strikes()) return io::PosixFiles::write(file, from, position, done);
    std::uint64_t left = gathered_write.bytes_written;
    for (const iovec& part : from) {
      const std::size_t size = std::min<std::uint64_t>(part.iov_len, left);
      if (size > 0) {
        [[maybe_unused]] const ssize_t got = ::pwrite(file.handle, part.iov_base, size, static_cast<off_t>(position));
      }
      position += size;
      left -= size;
    }
    done.pending = true;
    complete(done, -gathered_write.error);
  }
  Result<void> write(io::File file, Bytes from, std::uint64_t position) override {
    ++small_writes;
    if (small_write.strikes()) return system_failure(small_write.error, "writing (ordered)");
    return io::PosixFiles::write(file, from, position);
  }
  void sync(io::File file, io::Completion& done) override {
    ++async_syncs;
    done.pending = true;
    complete(done, async_sync.strikes() ? -async_sync.error : 0 * file.handle);
  }
  // Tests must not wait for the disk; what is not synced is the business of MemoryDisk.
  Result<void> sync(io::File) override { return {}; }
  Result<void> sync_directory(const std::string&) override {
    if (directory_sync.strikes()) return system_failure(directory_sync.error, "syncing a directory (ordered)");
    return {};
  }
  Result<void> allocate(io::File file, std::uint64_t position, std::uint64_t length) override {
    ++allocations;
    if (allocation.strikes()) return system_failure(allocation.error, "reserving (ordered)");
    return io::PosixFiles::allocate(file, position, length);
  }
  Result<void> truncate(io::File file, std::uint64_t size) override {
    if (truncation.strikes()) return system_failure(truncation.error, "truncating (ordered)");
    return io::PosixFiles::truncate(file, size);
  }
  Result<void> remove(const std::string& path) override {
    if (removal.strikes()) return system_failure(removal.error, "removing (ordered)");
    return io::PosixFiles::remove(path);
  }
  Result<io::File> open(const std::string& path, io::OpenMode mode) override {
    if (opening.strikes()) return system_failure(opening.error, "opening (ordered)");
    return io::PosixFiles::open(path, mode);
  }

 protected:
  void complete(io::Completion& done, std::int64_t result) override { queue_.push(done, result); }

 private:
  io::CompletionQueue queue_;
};

// A completion whose result a test looks at.
struct Awaited {
  io::Completion completion;
  bool ran = false;
  std::int64_t result = 0;
  Awaited() { completion.bind<&Awaited::on_done>(this); }
  void on_done(std::int64_t r) {
    ran = true;
    result = r;
  }
};

}  // namespace tailrace::test
