// InlineFiles: the real file system without a loop, for unit tests: what is asynchronous is done at once and its
// completion waits for run(). Faults can be ordered: the nth call of a kind fails with an errno, before it does
// anything or half way.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "engine/io/posix_files.h"

namespace tailrace::test {

class InlineFiles : public io::PosixFiles {
 public:
  using io::PosixFiles::sync;
  using io::PosixFiles::sync_directory;
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
  Fault plain_sync;
  Fault directory_sync;
  Fault removal;
  Fault opening;

  int refuses_changes = 0;  // an errno: every change of a file or a name fails with it

  struct Range {
    std::uint64_t position = 0;
    std::uint64_t size = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Range> small_write_ranges;
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
    if (!fails(gathered_write)) return io::PosixFiles::write(file, from, position, done);
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
    complete(done, -error_of(gathered_write));
  }
  Result<void> write(io::File file, Bytes from, std::uint64_t position) override {
    ++small_writes;
    if (fails(small_write)) return system_failure(error_of(small_write), "writing (ordered)");
    small_write_ranges.push_back({position, from.size()});
    return io::PosixFiles::write(file, from, position);
  }
  void sync(io::File file, io::Completion& done) override {
    ++async_syncs;
    done.pending = true;
    complete(done, async_sync.strikes() ? -async_sync.error : 0 * file.handle);
  }
  // Tests must not wait for the disk; what is not synced is the business of MemoryDisk.
  Result<void> sync(io::File) override {
    if (plain_sync.strikes()) return system_failure(plain_sync.error, "syncing (ordered)");
    return {};
  }
  Result<void> sync_directory(const std::string&) override {
    if (directory_sync.strikes()) return system_failure(directory_sync.error, "syncing a directory (ordered)");
    return {};
  }
  void sync_directory(const std::string&, io::Completion& done) override {
    done.pending = true;
    complete(done, directory_sync.strikes() ? -directory_sync.error : 0);
  }
  Result<void> allocate(io::File file, std::uint64_t position, std::uint64_t length) override {
    ++allocations;
    if (fails(allocation)) return system_failure(error_of(allocation), "reserving (ordered)");
    return io::PosixFiles::allocate(file, position, length);
  }
  Result<void> truncate(io::File file, std::uint64_t size) override {
    if (fails(truncation)) return system_failure(error_of(truncation), "truncating (ordered)");
    return io::PosixFiles::truncate(file, size);
  }
  Result<void> remove(const std::string& path) override {
    if (fails(removal)) return system_failure(error_of(removal), "removing (ordered)");
    return io::PosixFiles::remove(path);
  }
  Result<io::File> open(const std::string& path, io::OpenMode mode) override {
    if (opening.strikes()) return system_failure(opening.error, "opening (ordered)");
    const bool makes = mode == io::OpenMode::create || (mode == io::OpenMode::open_or_create && !exists(path));
    if (refuses_changes != 0 && makes) return system_failure(refuses_changes, "making a file (ordered)");
    return io::PosixFiles::open(path, mode);
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (refuses_changes != 0) return system_failure(refuses_changes, "renaming (ordered)");
    return io::PosixFiles::rename(from, to);
  }

 protected:
  void complete(io::Completion& done, std::int64_t result) override { queue_.push(done, result); }
  void start_sync(int, bool, io::Completion& done) override { complete(done, 0); }

 private:
  bool fails(Fault& fault) { return fault.strikes() || refuses_changes != 0; }
  [[nodiscard]] int error_of(const Fault& fault) const { return refuses_changes != 0 ? refuses_changes : fault.error; }

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
