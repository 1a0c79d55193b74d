#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "cli/text.h"

namespace tailrace::cli {

Progress::Progress() : is_terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

void Progress::show(std::uint64_t records, std::uint64_t bytes) {
  if (!is_terminal_) return;
  const auto now = Clock::now();
  if (now - last_ < std::chrono::seconds(1)) return;
  const double seconds = std::chrono::duration<double>(now - last_).count();
  fmt::print(stderr, "\r\033[K{} records, {}, {}/s", human_count(records), human_bytes(static_cast<double>(bytes)),
             human_bytes(static_cast<double>(bytes - last_bytes_) / seconds));
  std::fflush(stderr);
  last_ = now;
  last_bytes_ = bytes;
}

void Progress::finish(std::uint64_t records, std::uint64_t bytes) {
  if (!is_terminal_) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  fmt::print(stderr, "\r\033[K{} records, {} in {:.2f} s, {}/s\n", human_count(records),
             human_bytes(static_cast<double>(bytes)), seconds,
             human_bytes(seconds > 0 ? static_cast<double>(bytes) / seconds : 0));
}

}  // namespace tailrace::cli
