#include "engine/io/posix_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace tailrace::io {
namespace {

// Runs a system call again for as long as signals interrupt it.
template <class Call>
auto retried(Call call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

Result<void> answer(int status, const char* context) {
  if (status < 0) return system_failure(errno, context);
  return {};
}

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY;
    case OpenMode::read_write:
      return O_RDWR;
    case OpenMode::create:
      return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::open_or_create:
      return O_RDWR | O_CREAT;
  }
  return O_RDONLY;
}

bool is_directory(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_DIR;
  struct stat status{};
  return fstatat(directory, entry.d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

// A directory is opened for its sync alone.
struct PosixFiles::DirectorySync {
  PosixFiles& files;
  int descriptor;
  Completion* done;
  Completion synced;

  DirectorySync(PosixFiles& of, int opened, Completion& to_tell) : files(of), descriptor(opened), done(&to_tell) {
    synced.bind<&DirectorySync::on_synced>(this);
    synced.pending = true;
  }
  ~DirectorySync() { ::close(descriptor); }
  void on_synced(std::int64_t result) {
    Completion& told = *done;
    std::erase_if(files.directory_syncs_, [this](const auto& each) { return each.get() == this; });
    told.pending = false;
    told.function(told.owner, result);
  }
};

PosixFiles::PosixFiles() = default;
PosixFiles::~PosixFiles() = default;

std::int64_t write_gathered(int descriptor, std::span<const iovec> from, std::uint64_t position) {
  constexpr std::size_t kPartsMax = 1024;  // IOV_MAX of Linux
  std::array<iovec, kPartsMax> parts;
  std::uint64_t written = 0;
  std::size_t skip = 0;  // bytes of from[0] that are written
  while (true) {
    while (!from.empty() && from[0].iov_len == skip) {
      from = from.subspan(1);
      skip = 0;
    }
    if (from.empty()) return static_cast<std::int64_t>(written);
    const std::size_t count = std::min(from.size(), kPartsMax);
    std::copy_n(from.begin(), count, parts.begin());
    parts[0].iov_base = static_cast<char*>(parts[0].iov_base) + skip;
    parts[0].iov_len -= skip;
    const ssize_t size = retried([&] {
      return ::pwritev(descriptor, parts.data(), static_cast<int>(count), static_cast<off_t>(position + written));
    });
    if (size < 0) return -errno;
    if (size == 0) return -EIO;  // POSIX forbids it; without this line it would be an endless loop
    written += static_cast<std::uint64_t>(size);
    std::size_t left = static_cast<std::size_t>(size);
    while (left > 0 && left >= from[0].iov_len - skip) {
      left -= from[0].iov_len - skip;
      from = from.subspan(1);
      skip = 0;
    }
    skip += left;
  }
}

Result<File> PosixFiles::open(const std::string& path, OpenMode mode) {
  const int descriptor = retried([&] { return ::open(path.c_str(), flags_of(mode) | O_CLOEXEC, 0644); });
  if (descriptor < 0) return system_failure(errno, "opening a file");
  return File{descriptor};
}

void PosixFiles::close(File file) {
  if (file) ::close(file.handle);
}

Result<std::uint64_t> PosixFiles::size(File file) {
  struct stat status{};
  if (::fstat(file.handle, &status) < 0) return system_failure(errno, "asking for the size of a file");
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::size_t> PosixFiles::read(File file, MutableBytes into, std::uint64_t position) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t size = retried([&] {
      return ::pread(file.handle, into.data() + done, into.size() - done, static_cast<off_t>(position + done));
    });
    if (size < 0) return system_failure(errno, "reading a file");
    if (size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  return done;
}

Result<void> PosixFiles::write(File file, Bytes from, std::uint64_t position) {
  const iovec part{const_cast<std::byte*>(from.data()), from.size()};
  const std::int64_t size = write_gathered(file.handle, {&part, 1}, position);
  if (size < 0) return system_failure(static_cast<int>(-size), "writing a file");
  return {};
}

Result<void> PosixFiles::truncate(File file, std::uint64_t size) {
  return answer(retried([&] { return ::ftruncate(file.handle, static_cast<off_t>(size)); }), "truncating a file");
}

Result<void> PosixFiles::allocate(File file, std::uint64_t position, std::uint64_t length) {
  if (length == 0) return {};
  const int status = retried([&] {
    return ::fallocate(file.handle, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(position), static_cast<off_t>(length));
  });
  // A file system without fallocate allocates as it is written.
  if (status < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) return {};
  return answer(status, "reserving disk space");
}

Result<void> PosixFiles::sync(File file) {
  return answer(retried([&] { return ::fdatasync(file.handle); }), "syncing a file");
}

void PosixFiles::write(File file, std::span<const iovec> from, std::uint64_t position, Completion& done) {
  CHECK(!done.pending);
  done.pending = true;
  complete(done, write_gathered(file.handle, from, position));
}

void PosixFiles::sync(File file, Completion& done) {
  CHECK(!done.pending);
  done.pending = true;
  start_sync(file.handle, true, done);
}

void PosixFiles::sync_directory(const std::string& path, Completion& done) {
  CHECK(!done.pending);
  done.pending = true;
  const int descriptor = retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) return complete(done, -errno);
  directory_syncs_.push_back(std::make_unique<DirectorySync>(*this, descriptor, done));
  start_sync(descriptor, false, directory_syncs_.back()->synced);
}

Result<void> PosixFiles::rename(const std::string& from, const std::string& to) {
  return answer(::rename(from.c_str(), to.c_str()), "renaming");
}

Result<void> PosixFiles::remove(const std::string& path) { return answer(::unlink(path.c_str()), "removing a file"); }

Result<void> PosixFiles::make_directory(const std::string& path) {
  return answer(::mkdir(path.c_str(), 0755), "making a directory");
}

Result<void> PosixFiles::remove_directory(const std::string& path) {
  return answer(::rmdir(path.c_str()), "removing a directory");
}

Result<void> PosixFiles::sync_directory(const std::string& path) {
  const int descriptor = retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) return system_failure(errno, "opening a directory");
  Result<void> done = answer(retried([&] { return ::fsync(descriptor); }), "syncing a directory");
  ::close(descriptor);
  return done;
}

Result<std::vector<DirectoryEntry>> PosixFiles::list(const std::string& path) {
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return system_failure(errno, "listing a directory");
  std::vector<DirectoryEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view entry_name = entry->d_name;
    if (entry_name != "." && entry_name != "..") {
      entries.push_back({std::string(entry_name), is_directory(::dirfd(directory), *entry)});
    }
    errno = 0;
  }
  const int failed = errno;
  ::closedir(directory);
  if (failed != 0) return system_failure(failed, "listing a directory");
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

bool PosixFiles::exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<TimestampMs> PosixFiles::modified_ms(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) < 0) return system_failure(errno, "asking when a file was modified");
  return static_cast<TimestampMs>(status.st_mtim.tv_sec) * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

Result<DiskSpace> PosixFiles::disk_space(const std::string& path) {
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) < 0) return system_failure(errno, "asking for disk space");
  const std::uint64_t unit = status.f_frsize;
  return DiskSpace{.total = status.f_blocks * unit, .usable = status.f_bavail * unit};
}

}  // namespace tailrace::io
