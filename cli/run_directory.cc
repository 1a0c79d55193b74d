#include "cli/run_directory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <xxhash.h>

namespace tailrace::cli {
namespace {

// The process id in the lock file; 0 when it is empty or no longer that of a living process.
int living_holder(int descriptor) {
  char text[16] = {};
  if (pread(descriptor, text, sizeof text - 1, 0) <= 0) return 0;
  const int process = std::atoi(text);
  return process > 0 && (kill(process, 0) == 0 || errno == EPERM) ? process : 0;
}

}  // namespace

Result<std::string> default_data_directory() {
  if (geteuid() == 0) return "/var/lib/tailrace";
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/') {
    return std::string(data) + "/tailrace";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.local/share/tailrace";
  }
  return failure(Code::not_found, "looking for a home directory; name a data directory with --data");
}

std::string absolute_log_dirs(std::string_view log_dirs) {
  std::string out;
  while (!log_dirs.empty()) {
    const std::size_t comma = log_dirs.find(',');
    const std::string_view one = log_dirs.substr(0, comma);
    log_dirs = comma == std::string_view::npos ? std::string_view() : log_dirs.substr(comma + 1);
    std::error_code error;
    std::filesystem::path path = std::filesystem::absolute(std::filesystem::path(one), error).lexically_normal();
    if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();  // "data/" is "data"
    if (!out.empty()) out += ',';
    out += path.string();
  }
  return out;
}

std::string default_run_directory(std::string_view absolute_log_dirs) {
  const char* base = std::getenv("XDG_RUNTIME_DIR");
  if (base == nullptr || base[0] != '/') base = "/tmp";
  return fmt::format("{}/tailrace-{}-{:016x}", base, geteuid(),
                     XXH3_64bits(absolute_log_dirs.data(), absolute_log_dirs.size()));
}

Result<void> prepare_run_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_failure(errno, "making the run directory");
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return system_failure(errno, "looking at the run directory");
  if (!S_ISDIR(status.st_mode)) {
    return failure(Code::invalid_argument, "checking the run directory: it is not a directory (a link is refused too)");
  }
  if (status.st_uid != geteuid()) {
    return failure(Code::invalid_argument, "checking the run directory: it belongs to another user");
  }
  if ((status.st_mode & 0077) != 0 && chmod(path.c_str(), 0700) != 0) {
    return system_failure(errno, "closing the run directory to others");
  }
  return {};
}

Result<RunLock> RunLock::take(const std::string& run_directory, int wait_ms, int& holder) {
  const std::string path = run_directory + "/up.lock";
  // Without O_CLOEXEC: the children shall hold it too.
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);  // NOLINT
  if (descriptor < 0) return system_failure(errno, "opening the lock of the run directory");
  RunLock lock(descriptor);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_failure(errno, "locking the run directory");
    holder = living_holder(descriptor);
    if (holder != 0 || std::chrono::steady_clock::now() >= give_up) return failure(Code::locked);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const std::string text = fmt::format("{}\n", getpid());
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text.data(), text.size(), 0) < 0) {
    return system_failure(errno, "writing the lock of the run directory");
  }
  return lock;
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tailrace::cli
