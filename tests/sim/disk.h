// Disk: a file system in memory that knows what is durable. Each file has the content that processes see and the
// content that was synced, with the changes in between in order; each directory the same for its names. A power cut
// keeps what was synced and, of the rest, what chance keeps: any pages of the writes, torn at any byte, a size without
// its bytes (zeros), some names and not others. It also gives out space against a budget, and errors by the odds that
// the world sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "tests/sim/random.h"

namespace tailrace::sim {

// What goes wrong now, in chances of 1 in N (0: never).
struct DiskFaults {
  std::uint64_t write_error = 0;   // EIO, after a part was written
  std::uint64_t crash_behind = 0;  // of a failed write: a few changes later somebody is killed
  std::uint64_t sync_error = 0;    // EIO, see Disk::fail_sync
  // Of a failed sync: the bytes also go from the cache (a file system that reads them from the disk again).
  std::uint64_t cache_lost = 0;
  std::uint64_t metadata_error = 0;  // EIO: truncate, rename, sync_directory, creating a file
  std::uint64_t slow_sync = 0;
};

class Disk;

struct Inode {
  Inode(Disk& of, bool directory) : disk(of), is_directory(directory) {}
  ~Inode();
  Inode(const Inode&) = delete;

  struct Change {
    bool truncates = false;
    std::uint64_t position = 0;  // or the size to truncate to
    std::vector<std::byte> bytes;
  };
  struct NameChange {                                                   // one atomic step: a rename is two names
    std::vector<std::pair<std::string, std::shared_ptr<Inode>>> names;  // null: the name goes
  };

  Disk& disk;
  bool is_directory;
  // A file.
  std::vector<std::byte> content;
  std::vector<std::byte> durable;
  std::vector<Change> unsynced;
  std::uint64_t allocated = 0;  // bytes of disk space, at least the size
  // A directory.
  std::map<std::string, std::shared_ptr<Inode>> names;
  std::map<std::string, std::shared_ptr<Inode>> durable_names;
  std::vector<NameChange> unsynced_names;

  void set_allocated(std::uint64_t bytes);
};

class Disk {
 public:
  explicit Disk(Random& random);
  ~Disk();

  std::shared_ptr<Inode> find(const std::string& path) const;
  // The directory of `path` and the last part of it. Null: no such directory.
  std::shared_ptr<Inode> parent_of(const std::string& path, std::string& name) const;

  // Plain changes, seen by all processes at once.
  void change_names(Inode& directory, Inode::NameChange change);
  // Writes as much as there is space for; returns that.
  std::size_t write(Inode& file, Bytes from, std::uint64_t position);
  void truncate(Inode& file, std::uint64_t size);
  bool allocate(Inode& file, std::uint64_t end);  // false: no space, nothing changed
  void sync(Inode& inode);
  // A sync of a file that fails, as on Linux: some of what was unsynced is on the disk and some is not, but all of it
  // counts as clean. Later syncs do nothing for it; processes see it until the power goes, or the cache loses it.
  // (Names are not like that: a journal that fails fails for good. Their failed sync leaves them unsynced.) Whoever
  // asked must be alive to hear of it, else nobody ever would: a process that is killed in that very moment is not
  // simulated.
  void fail_sync(Inode& file);
  std::uint64_t syncs_failed = 0;

  // The power goes: content and names become what was durable and what chance kept.
  void cut_power();
  // The system writes something back by itself.
  void write_back_some();

  [[nodiscard]] std::uint64_t free_bytes() const {
    return used_bytes_ >= budget_bytes ? 0 : budget_bytes - used_bytes_;
  }
  // True by the odds given; counts what it said yes to.
  bool strikes(std::uint64_t odds);
  [[nodiscard]] std::uint64_t faults_struck() const { return faults_struck_; }

  DiskFaults faults;
  std::uint64_t budget_bytes = ~0ull;
  // A crash in the middle of a turn: after so many more changes nothing changes any more, and then somebody is killed.
  std::optional<std::uint64_t> changes_left;
  bool may_change();  // false: every change fails from here on

 private:
  friend struct Inode;
  void each_inode(const std::function<void(Inode&)>& visit);
  void cut_power_of_file(Inode& file);
  void cut_power_of_directory(Inode& directory);

  Random& random_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t faults_struck_ = 0;
  std::shared_ptr<Inode> root_;
};

}  // namespace tailrace::sim
