#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <nlohmann/json.hpp>

namespace tailrace::cli {

void write_out(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const nlohmann::ordered_json& value) {
  write_out(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void note(std::string_view command, std::string_view text) {
  const std::string line = fmt::format("tailrace {}: {}\n", command, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int fail(std::string_view command, std::string_view text) {
  note(command, text);
  return kExitFailed;
}

int misuse(std::string_view command, std::string_view text) {
  fail(command, text);
  return kExitMisuse;
}

void end_when_nobody_reads() {
  std::signal(SIGPIPE, [](int) { _exit(kExitDone); });
}

int finish_output(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  if (errno == EPIPE || status != kExitDone) return status;  // a failure has been told already
  const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : std::string();
  const std::string line = "tailrace: the output could not be written" + why + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return kExitFailed;
}

}  // namespace tailrace::cli
