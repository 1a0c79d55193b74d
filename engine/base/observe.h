// What a process tells people: log lines on stderr, `level event key=value ...`, one line per event and none per
// request. (Counters that `tailrace stat` reads are in counters.h.)
#pragma once

#include <string_view>

#include <fmt/core.h>

namespace tailrace {

enum class LogLevel { debug, info, warning, error };

// Once, at the start of main: the name that stands in each line ("engine"), and the least level shown
// (TAILRACE_LOG=debug|info|warning|error overrides it).
void start_logging(std::string_view process, LogLevel least = LogLevel::info);

void log_line(LogLevel level, std::string_view line);
bool log_enabled(LogLevel level);

template <class... T>
void log_debug(fmt::format_string<T...> format, T&&... args) {
  if (log_enabled(LogLevel::debug)) log_line(LogLevel::debug, fmt::format(format, std::forward<T>(args)...));
}
template <class... T>
void log_info(fmt::format_string<T...> format, T&&... args) {
  if (log_enabled(LogLevel::info)) log_line(LogLevel::info, fmt::format(format, std::forward<T>(args)...));
}
template <class... T>
void log_warning(fmt::format_string<T...> format, T&&... args) {
  if (log_enabled(LogLevel::warning)) log_line(LogLevel::warning, fmt::format(format, std::forward<T>(args)...));
}
template <class... T>
void log_error(fmt::format_string<T...> format, T&&... args) {
  log_line(LogLevel::error, fmt::format(format, std::forward<T>(args)...));
}

}  // namespace tailrace
