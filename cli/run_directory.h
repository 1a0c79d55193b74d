// Where the processes of one node meet: the run directory, with their sockets and counter files, and who holds it.
// There is one per data directory; a second `up` on the same data is refused here, before anything is started.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace tailrace::cli {

// Where a node keeps its data when nobody says: /var/lib/tailrace for root, else $XDG_DATA_HOME/tailrace or
// ~/.local/share/tailrace. Error: not_found when there is no home.
Result<std::string> default_data_directory();

// `log_dirs` (one path, or several with commas) with each path made absolute from the working directory.
std::string absolute_log_dirs(std::string_view log_dirs);

// $XDG_RUNTIME_DIR or /tmp, then /tailrace-<uid>-<16 hex digits of XXH3 over `absolute_log_dirs`>.
std::string default_run_directory(std::string_view absolute_log_dirs);

// Makes `path` with mode 0700 or checks what is there: it must be a directory, no symbolic link, owned by us, and
// closed to others (it is closed when it is not). Errors: io_failed, invalid_argument with the rule that it breaks as
// context.
Result<void> prepare_run_directory(const std::string& path);

// The lock file of a run directory. Children inherit it, so it is held until the last process of the node is gone.
class RunLock {
 public:
  // Waits up to `wait_ms` for the processes of an `up` that has died. Errors: locked, with `holder` set to the process
  // id of a living `up`, or to 0 when only its processes are left; io_failed.
  static Result<RunLock> take(const std::string& run_directory, int wait_ms, int& holder);

  RunLock(RunLock&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

 private:
  explicit RunLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tailrace::cli
