#include "engine/base/observe.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tailrace {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Before start_logging (and in tests) only warnings and errors are shown.
std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("tailrace", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return instance;
}

}  // namespace

void start_logging(std::string_view process, LogLevel least) {
  if (const char* wanted = std::getenv("TAILRACE_LOG")) {
    const std::string_view text = wanted;
    if (text == "debug") least = LogLevel::debug;
    if (text == "info") least = LogLevel::info;
    if (text == "warning") least = LogLevel::warning;
    if (text == "error") least = LogLevel::error;
  }
  logger() = std::make_shared<spdlog::logger>(std::string(process), std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger()->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n %v");
  logger()->set_level(to_spdlog(least));
}

bool log_enabled(LogLevel level) { return logger()->should_log(to_spdlog(level)); }

void log_line(LogLevel level, std::string_view line) { logger()->log(to_spdlog(level), line); }

}  // namespace tailrace
