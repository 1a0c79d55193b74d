#include "tests/sim/sim_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/crc32c.h"
#include "engine/io/completion.h"

namespace tailrace::sim {

SimFiles::SimFiles(Schedule& schedule, Disk& disk, Complete complete)
    : schedule_(schedule), disk_(disk), complete_(std::move(complete)) {}
SimFiles::~SimFiles() = default;

Result<io::File> SimFiles::open(const std::string& path, io::OpenMode mode) {
  std::string name;
  const std::shared_ptr<Inode> parent = disk_.parent_of(path, name);
  if (parent == nullptr) return system_failure(ENOENT, "opening a file");
  const auto found = parent->names.find(name);
  const bool is_there = found != parent->names.end();
  if (is_there && found->second->is_directory) return system_failure(EISDIR, "opening a file");
  if (is_there && mode == io::OpenMode::create) return system_failure(EEXIST, "opening a file");
  if (is_there) return adopt(found->second);
  if (mode == io::OpenMode::read || mode == io::OpenMode::read_write) return system_failure(ENOENT, "opening a file");
  if (fails(disk_.faults.metadata_error)) return system_failure(EIO, "opening a file");
  auto inode = std::make_shared<Inode>(disk_, false);
  disk_.change_names(*parent, {{{name, inode}}});
  return adopt(std::move(inode));
}

void SimFiles::close(io::File file) {
  if (!file) return;
  CHECK(open_.erase(file.handle) == 1);
}

std::shared_ptr<Inode> SimFiles::inode_of(io::File file) const {
  const auto found = open_.find(file.handle);
  CHECK(found != open_.end());
  return found->second;
}

io::File SimFiles::adopt(std::shared_ptr<Inode> inode) {
  open_[next_handle_] = std::move(inode);
  return io::File{next_handle_++};
}

Result<std::uint64_t> SimFiles::size(io::File file) { return inode_of(file)->content.size(); }

Result<std::size_t> SimFiles::read(io::File file, MutableBytes into, std::uint64_t position) {
  const std::vector<std::byte>& content = inode_of(file)->content;
  if (position >= content.size()) return std::size_t{0};
  const std::size_t size = std::min<std::size_t>(into.size(), content.size() - position);
  std::memcpy(into.data(), content.data() + position, size);
  return size;
}

bool SimFiles::fails(std::uint64_t odds) { return !disk_.may_change() || disk_.strikes(odds); }

std::int64_t SimFiles::write_some(Inode& inode, Bytes bytes, std::uint64_t position) {
  if (!disk_.may_change()) return -EIO;
  if (disk_.strikes(disk_.faults.write_error)) {
    disk_.write(inode, bytes.first(schedule_.random.below(bytes.size() + 1)), position);
    if (!disk_.changes_left && disk_.strikes(disk_.faults.crash_behind)) disk_.changes_left = schedule_.random.below(6);
    return -EIO;
  }
  const std::size_t written = disk_.write(inode, bytes, position);
  return written < bytes.size() ? -ENOSPC : static_cast<std::int64_t>(written);
}

Result<void> SimFiles::write(io::File file, Bytes from, std::uint64_t position) {
  const std::int64_t written = write_some(*inode_of(file), from, position);
  if (written < 0) return system_failure(static_cast<int>(-written), "writing a file");
  return {};
}

Result<void> SimFiles::truncate(io::File file, std::uint64_t size) {
  const std::shared_ptr<Inode> inode = inode_of(file);
  if (fails(disk_.faults.metadata_error)) return system_failure(EIO, "truncating a file");
  disk_.truncate(*inode, size);
  return {};
}

Result<void> SimFiles::allocate(io::File file, std::uint64_t position, std::uint64_t length) {
  if (length == 0 || disk_.allocate(*inode_of(file), position + length)) return {};
  return system_failure(ENOSPC, "reserving disk space");
}

Result<void> SimFiles::sync(io::File file) {
  const std::shared_ptr<Inode> inode = inode_of(file);
  if (fails(disk_.faults.sync_error)) {
    disk_.fail_sync(*inode);
    return system_failure(EIO, "syncing a file");
  }
  disk_.sync(*inode);
  return {};
}

std::vector<std::byte> SimFiles::gather(std::span<const iovec> from) {
  std::vector<std::byte> bytes;
  for (const iovec& part : from) {
    const auto* const data = static_cast<const std::byte*>(part.iov_base);
    bytes.insert(bytes.end(), data, data + part.iov_len);
  }
  return bytes;
}

void SimFiles::write(io::File file, std::span<const iovec> from, std::uint64_t position, io::Completion& done) {
  CHECK(!done.pending);
  done.pending = true;
  const std::vector<std::byte> bytes = gather(from);
  Flight flight{.inode = inode_of(file), .from = from, .position = position, .done = &done};
  flight.crc = crc32c(bytes);
  if (schedule_.random.one_in(2)) {
    flight.is_written = true;
    flight.result = write_some(*flight.inode, bytes, position);
  }
  const Duration delay{schedule_.random.one_in(20) ? schedule_.random.between(100, 20'000)
                                                   : schedule_.random.between(1, 100)};
  start(std::move(flight), delay);
}

void SimFiles::sync(io::File file, io::Completion& done) { start_sync(inode_of(file), done); }

void SimFiles::sync_directory(const std::string& path, io::Completion& done) {
  const std::shared_ptr<Inode> inode = disk_.find(path);
  if (inode != nullptr && inode->is_directory) return start_sync(inode, done);
  CHECK(!done.pending);
  done.pending = true;
  complete_(done, -ENOENT);
}

void SimFiles::start_sync(std::shared_ptr<Inode> inode, io::Completion& done) {
  CHECK(!done.pending);
  done.pending = true;
  const std::uint64_t odds = disk_.faults.slow_sync;
  const bool slow = odds != 0 && schedule_.random.one_in(odds);
  const Duration delay{slow ? schedule_.random.between(10'000, 500'000) : schedule_.random.between(20, 3000)};
  start({.inode = std::move(inode), .from = {}, .done = &done, .is_sync = true}, delay);
}

void SimFiles::start(Flight flight, Duration delay) {
  const auto at = flights_.insert(flights_.end(), std::move(flight));
  schedule_.after(delay, life_, [this, at] { finish(at); });
}

void SimFiles::finish(std::list<Flight>::iterator flight) {
  if (flight->is_sync) {
    const DiskFaults& faults = disk_.faults;
    const bool is_directory = flight->inode->is_directory;
    const bool failed = fails(is_directory ? faults.metadata_error : faults.sync_error);
    if (!failed) {
      disk_.sync(*flight->inode);
    } else if (!is_directory) {
      failed_syncs_.push_back(flight->inode);
    }
    flight->result = failed ? -EIO : 0;
  } else {
    const std::vector<std::byte> bytes = gather(flight->from);
    if (crc32c(bytes) != flight->crc) schedule_.fail("bytes were changed while they were being written");
    if (!flight->is_written) flight->result = write_some(*flight->inode, bytes, flight->position);
  }
  complete_(*flight->done, flight->result);
  flights_.erase(flight);
}

void SimFiles::tell_failed_syncs() {
  for (const std::shared_ptr<Inode>& inode : failed_syncs_) disk_.fail_sync(*inode);
  failed_syncs_.clear();
}

void SimFiles::abandon() {
  failed_syncs_.clear();
  for (const Flight& flight : flights_) {
    if (flight.is_sync || flight.is_written || schedule_.random.one_in(3)) continue;
    const std::vector<std::byte> bytes = gather(flight.from);
    disk_.write(*flight.inode, Bytes(bytes).first(schedule_.random.below(bytes.size() + 1)), flight.position);
  }
  flights_.clear();
  life_ = std::make_shared<int>(0);
}

Result<void> SimFiles::rename(const std::string& from, const std::string& to) {
  std::string from_name;
  std::string to_name;
  const std::shared_ptr<Inode> parent = disk_.parent_of(from, from_name);
  const std::shared_ptr<Inode> to_parent = disk_.parent_of(to, to_name);
  CHECK(parent == to_parent);  // nothing here is moved between directories
  if (parent == nullptr || !parent->names.contains(from_name)) return system_failure(ENOENT, "renaming");
  const auto target = parent->names.find(to_name);
  if (target != parent->names.end() && target->second->is_directory && !target->second->names.empty()) {
    return system_failure(ENOTEMPTY, "renaming");
  }
  if (fails(disk_.faults.metadata_error)) return system_failure(EIO, "renaming");
  const std::shared_ptr<Inode> inode = parent->names[from_name];
  disk_.change_names(*parent, {{{from_name, nullptr}, {to_name, inode}}});
  return {};
}

Result<void> SimFiles::remove(const std::string& path) {
  std::string name;
  const std::shared_ptr<Inode> parent = disk_.parent_of(path, name);
  if (parent == nullptr || !parent->names.contains(name)) return system_failure(ENOENT, "removing a file");
  if (parent->names[name]->is_directory) return system_failure(EISDIR, "removing a file");
  if (fails(disk_.faults.metadata_error)) return system_failure(EIO, "removing a file");
  disk_.change_names(*parent, {{{name, nullptr}}});
  return {};
}

Result<void> SimFiles::make_directory(const std::string& path) {
  std::string name;
  const std::shared_ptr<Inode> parent = disk_.parent_of(path, name);
  if (parent == nullptr) return system_failure(ENOENT, "making a directory");
  if (parent->names.contains(name)) return system_failure(EEXIST, "making a directory");
  if (fails(disk_.faults.metadata_error)) return system_failure(EIO, "making a directory");
  disk_.change_names(*parent, {{{name, std::make_shared<Inode>(disk_, true)}}});
  return {};
}

Result<void> SimFiles::remove_directory(const std::string& path) {
  std::string name;
  const std::shared_ptr<Inode> parent = disk_.parent_of(path, name);
  if (parent == nullptr || !parent->names.contains(name)) return system_failure(ENOENT, "removing a directory");
  if (!parent->names[name]->names.empty()) return system_failure(ENOTEMPTY, "removing a directory");
  if (fails(disk_.faults.metadata_error)) return system_failure(EIO, "removing a directory");
  disk_.change_names(*parent, {{{name, nullptr}}});
  return {};
}

Result<void> SimFiles::sync_directory(const std::string& path) {
  const std::shared_ptr<Inode> inode = disk_.find(path);
  if (inode == nullptr || !inode->is_directory) return system_failure(ENOENT, "syncing a directory");
  if (fails(disk_.faults.metadata_error)) return system_failure(EIO, "syncing a directory");
  disk_.sync(*inode);
  return {};
}

Result<std::vector<io::DirectoryEntry>> SimFiles::list(const std::string& path) {
  const std::shared_ptr<Inode> inode = disk_.find(path);
  if (inode == nullptr || !inode->is_directory) return system_failure(ENOENT, "listing a directory");
  std::vector<io::DirectoryEntry> entries;
  for (const auto& [name, child] : inode->names) entries.push_back({name, child->is_directory});
  return entries;
}

bool SimFiles::exists(const std::string& path) { return disk_.find(path) != nullptr; }

Result<TimestampMs> SimFiles::modified_ms(const std::string&) { return failure(Code::unsupported, "no times here"); }
Result<io::DiskSpace> SimFiles::disk_space(const std::string&) {
  return io::DiskSpace{.total = disk_.free_bytes(), .usable = disk_.free_bytes()};
}

}  // namespace tailrace::sim
