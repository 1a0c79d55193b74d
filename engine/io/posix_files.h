// PosixFiles: Files over plain system calls; both loops use it for all that answers at once. The gathered write is done
// in the call itself (measured: cheaper than handing buffered writes to io_uring, docs/limits.md) and only its
// completion is deferred; how a sync runs beside the loop is the loop's choice, so that is left to it.
#pragma once

#include <memory>
#include <vector>

#include "engine/io/completion.h"
#include "engine/io/files.h"

namespace tailrace::io {

class PosixFiles : public Files {
 public:
  using Files::sync;
  using Files::sync_directory;
  using Files::write;

  PosixFiles();
  ~PosixFiles() override;

  Result<File> open(const std::string& path, OpenMode mode) override;
  void close(File file) override;
  Result<std::uint64_t> size(File file) override;
  Result<std::size_t> read(File file, MutableBytes into, std::uint64_t position) override;
  Result<void> write(File file, Bytes from, std::uint64_t position) override;
  Result<void> truncate(File file, std::uint64_t size) override;
  Result<void> allocate(File file, std::uint64_t position, std::uint64_t length) override;
  Result<void> sync(File file) override;

  // Writes all of it before returning; `done` then goes to complete().
  void write(File file, std::span<const iovec> from, std::uint64_t position, Completion& done) override;
  void sync(File file, Completion& done) override;
  void sync_directory(const std::string& path, Completion& done) override;

  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> remove_directory(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<TimestampMs> modified_ms(const std::string& path) override;
  Result<DiskSpace> disk_space(const std::string& path) override;

 protected:
  // Queues `done` (already pending) to run with `result` in the loop; never runs it inside the call.
  virtual void complete(Completion& done, std::int64_t result) = 0;
  // Starts fdatasync (`data_only`) or fsync; complete() with 0 or -errno once it has an answer, on the loop's thread.
  // `done` is pending already.
  virtual void start_sync(int descriptor, bool data_only, Completion& done) = 0;

 private:
  struct DirectorySync;
  std::vector<std::unique_ptr<DirectorySync>> directory_syncs_;  // in flight
};

// Writes all of `from` at `position`, in as many system calls as it takes. Returns the bytes written or -errno.
std::int64_t write_gathered(int descriptor, std::span<const iovec> from, std::uint64_t position);

}  // namespace tailrace::io
