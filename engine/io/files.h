// Files: the file half of the io seam. Control paths (start, roll, delete, index look-ups) are plain calls that answer
// at once; what may take long or comes in numbers, writes and syncs, can report to a Completion instead.
// Implementations: PosixFiles (under both loops), and the simulated disk of tests/sim, which forgets what was not
// synced. Rules of durability that callers must keep, because the simulated disk enforces them: a file's bytes and size
// are safe after sync on the file; a new, renamed or removed name is safe after sync_directory on its directory.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"

namespace tailrace::io {

struct Completion;

struct File {
  int handle = -1;  // a file descriptor, except in the simulation
  explicit operator bool() const { return handle >= 0; }
};

enum class OpenMode {
  read,            // must exist
  read_write,      // must exist
  create,          // read and write; must not exist
  open_or_create,  // read and write
};

struct DiskSpace {  // in bytes, of a file system
  std::uint64_t total = 0;
  std::uint64_t usable = 0;  // free, and not kept for root
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
};

class Files {
 public:
  virtual ~Files() = default;

  virtual Result<File> open(const std::string& path, OpenMode mode) = 0;
  virtual void close(File file) = 0;
  virtual Result<std::uint64_t> size(File file) = 0;
  // Reads until `into` is full or the file ends; returns the bytes read.
  virtual Result<std::size_t> read(File file, MutableBytes into, std::uint64_t position) = 0;
  // Writes all of `from`, extending the file where needed.
  virtual Result<void> write(File file, Bytes from, std::uint64_t position) = 0;
  virtual Result<void> truncate(File file, std::uint64_t size) = 0;
  // Reserves disk space without changing the size; a file system that can't do it is not an error.
  virtual Result<void> allocate(File file, std::uint64_t position, std::uint64_t length) = 0;
  // fdatasync. After a failure later syncs of the same bytes prove nothing: see write_again.
  virtual Result<void> sync(File file) = 0;

  // Asynchronous. The buffers behind `from` and `from` itself must stay in place until the completion runs; all of
  // it is written or the completion gets -errno. Several writes to one file may be in flight, to disjoint ranges.
  virtual void write(File file, std::span<const iovec> from, std::uint64_t position, Completion& done) = 0;
  virtual void sync(File file, Completion& done) = 0;
  virtual void sync_directory(const std::string& path, Completion& done) = 0;

  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;  // replaces `to`
  virtual Result<void> remove(const std::string& path) = 0;                         // a file
  virtual Result<void> make_directory(const std::string& path) = 0;
  virtual Result<void> remove_directory(const std::string& path) = 0;  // must be empty
  virtual Result<void> sync_directory(const std::string& path) = 0;
  // Sorted by name.
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;

  // When the file was last written to.
  virtual Result<TimestampMs> modified_ms(const std::string& path) = 0;

  // Of the file system that holds `path`.
  virtual Result<DiskSpace> disk_space(const std::string& path) = 0;
};

// Whole small files. Both are built on the calls above.
Result<std::string> read_file(Files& files, const std::string& path);
// Writes `path`.tmp, syncs it, renames it over `path` and syncs the directory: after success the new content is
// durable, after a crash there is the old content or the new.
Result<void> replace_file(Files& files, const std::string& path, std::string_view content);
// The same without the syncs. A kill leaves the old content or the new; a power cut may leave anything until `path` and
// its directory are synced.
Result<void> put_file(Files& files, const std::string& path, std::string_view content);

// After a sync of `file` has failed. Linux then takes the bytes that it could not write for written: they stay in the
// page cache, a later sync passes them over and succeeds. This writes all from `position` to the end of the file once
// more, as it reads now, so that whoever syncs it next, also another process, makes it durable or hears of it.
// (Dropping the cached pages instead is advice that the kernel need not take, and would take records from readers that
// a partition with tailrace.durability=memory has acknowledged.)
Result<void> write_again(Files& files, File file, std::uint64_t position);

}  // namespace tailrace::io
