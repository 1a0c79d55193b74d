// PosixFiles: Files over plain system calls; both loops use it for all that answers at once. The gathered write is done
// in the call itself (measured: cheaper than handing buffered writes to io_uring, docs/limits.md) and only its
// completion is deferred; how a sync runs beside the loop is the loop's choice, so that call is left to it.
#pragma once

#include "engine/io/completion.h"
#include "engine/io/files.h"

namespace tailrace::io {

class PosixFiles : public Files {
 public:
  using Files::sync;
  using Files::write;

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
  // The implementer sets done.pending and calls complete() once fdatasync has an answer, on the loop's thread.
  void sync(File file, Completion& done) override = 0;

  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> remove_directory(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;

 protected:
  // Queues `done` (already pending) to run with `result` in the loop; never runs it inside the call.
  virtual void complete(Completion& done, std::int64_t result) = 0;
};

// Writes all of `from` at `position`, in as many system calls as it takes. Returns the bytes written or -errno.
std::int64_t write_gathered(int descriptor, std::span<const iovec> from, std::uint64_t position);

}  // namespace tailrace::io
