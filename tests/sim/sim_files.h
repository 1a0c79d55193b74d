// SimFiles: one process's view of the simulated disk: its open files, and its writes and syncs in flight, which
// complete after a while in no particular order. Bytes of a write get to the file when it starts, or as late as when it
// completes: whoever changes the buffer in between fails the run. When the process is killed, what was in flight is
// done in part.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/files.h"
#include "tests/sim/disk.h"
#include "tests/sim/schedule.h"

namespace tailrace::sim {

class SimFiles final : public io::Files {
 public:
  // `complete` queues a completion of the process and wakes it.
  using Complete = std::function<void(io::Completion&, std::int64_t)>;
  SimFiles(Schedule& schedule, Disk& disk, Complete complete);
  ~SimFiles() override;

  Result<io::File> open(const std::string& path, io::OpenMode mode) override;
  void close(io::File file) override;
  Result<std::uint64_t> size(io::File file) override;
  Result<std::size_t> read(io::File file, MutableBytes into, std::uint64_t position) override;
  Result<void> write(io::File file, Bytes from, std::uint64_t position) override;
  Result<void> truncate(io::File file, std::uint64_t size) override;
  Result<void> allocate(io::File file, std::uint64_t position, std::uint64_t length) override;
  Result<void> sync(io::File file) override;
  void write(io::File file, std::span<const iovec> from, std::uint64_t position, io::Completion& done) override;
  void sync(io::File file, io::Completion& done) override;
  void sync_directory(const std::string& path, io::Completion& done) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> remove_directory(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<std::vector<io::DirectoryEntry>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<TimestampMs> modified_ms(const std::string& path) override;
  Result<io::DiskSpace> disk_space(const std::string& path) override;

  // Passing an open file to another process, as over a socket.
  std::shared_ptr<Inode> inode_of(io::File file) const;
  io::File adopt(std::shared_ptr<Inode> inode);
  [[nodiscard]] std::size_t open_count() const { return open_.size(); }

  // The process is about to hear of the syncs that have failed.
  void tell_failed_syncs();
  // The process is killed: writes in flight have got as far as chance says.
  void abandon();

 private:
  struct Flight {
    std::shared_ptr<Inode> inode;
    std::span<const iovec> from;
    std::uint64_t position = 0;
    io::Completion* done = nullptr;
    bool is_sync = false;
    bool is_written = false;
    std::uint32_t crc = 0;  // of the bytes when the write began
    std::int64_t result = 0;
  };
  static std::vector<std::byte> gather(std::span<const iovec> from);
  bool fails(std::uint64_t odds);
  std::int64_t write_some(Inode& inode, Bytes bytes, std::uint64_t position);
  void start(Flight flight, Duration delay);
  void start_sync(std::shared_ptr<Inode> inode, io::Completion& done);
  void finish(std::list<Flight>::iterator flight);

  Schedule& schedule_;
  Disk& disk_;
  Complete complete_;
  std::map<int, std::shared_ptr<Inode>> open_;
  int next_handle_ = 1000;
  std::list<Flight> flights_;
  std::vector<std::shared_ptr<Inode>> failed_syncs_;
  std::shared_ptr<const void> life_ = std::make_shared<int>(0);
};

}  // namespace tailrace::sim
