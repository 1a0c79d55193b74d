#include "tests/sim/seeds.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace tailrace::sim {
namespace {

constexpr std::uint64_t kRunTwice = 5;

const char* g_program = "sim_test";
std::uint64_t g_seed = 0;
int g_log = -1;  // what the node writes to stderr: kept aside, and shown only of a seed that fails

void write_all(const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(STDOUT_FILENO, text, size);
    if (written <= 0) return;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

// Also in a process that is dying.
void show_failed_seed() {
  char text[512];
  if (g_log >= 0) {
    ::lseek(g_log, 0, SEEK_SET);
    char log[4096];
    for (ssize_t size = ::read(g_log, log, sizeof log); size > 0; size = ::read(g_log, log, sizeof log)) {
      write_all(log, static_cast<std::size_t>(size));
    }
  }
  const int size =
      std::snprintf(text, sizeof text, "seed %llu failed; replay: %s --first %llu --seeds 1 --verbose\n",
                    static_cast<unsigned long long>(g_seed), g_program, static_cast<unsigned long long>(g_seed));
  write_all(text, static_cast<std::size_t>(size));
}

void on_death(int signal) {
  show_failed_seed();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void keep_log_aside() {
  g_log = ::memfd_create("sim-log", 0);
  if (g_log >= 0) ::dup2(g_log, STDERR_FILENO);
}

std::uint64_t number_from(const char* text) { return std::strtoull(text, nullptr, 0); }

}  // namespace

int run_seeds(int argument_count, char** arguments, std::uint64_t count, const RunSeed& run) {
  g_program = arguments[0];
  std::uint64_t first = 1;
  bool verbose = false;
  bool goes_on = false;
  std::uint64_t failed = 0;
  if (const char* text = std::getenv("TAILRACE_SIM_SEED")) first = number_from(text);
  if (const char* text = std::getenv("TAILRACE_SIM_SEEDS")) count = number_from(text);
  for (int i = 1; i < argument_count; ++i) {
    const bool has_value = i + 1 < argument_count;
    if (std::strcmp(arguments[i], "--first") == 0 && has_value) {
      first = number_from(arguments[++i]);
    } else if (std::strcmp(arguments[i], "--seeds") == 0 && has_value) {
      count = number_from(arguments[++i]);
    } else if (std::strcmp(arguments[i], "--verbose") == 0) {
      verbose = true;
    } else if (std::strcmp(arguments[i], "--go-on") == 0) {
      goes_on = true;
    } else {
      std::fprintf(stderr, "usage: %s [--first SEED] [--seeds COUNT] [--go-on] [--verbose]\n", g_program);
      return 2;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  if (!verbose) keep_log_aside();
  ::signal(SIGABRT, on_death);
#ifndef __SANITIZE_ADDRESS__
  ::signal(SIGSEGV, on_death);
#endif
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(show_failed_seed);
#endif

  std::vector<std::pair<std::string, std::uint64_t>> total;
  for (std::uint64_t i = 0; i < count; ++i) {
    g_seed = first + i;
    if (g_log >= 0 && ::ftruncate(g_log, 0) == 0) ::lseek(g_log, 0, SEEK_SET);
    Outcome outcome = run(g_seed, verbose);
    if (outcome.violation.empty() && i < kRunTwice && !verbose) {
      const Outcome again = run(g_seed, false);
      if (again.trace_hash != outcome.trace_hash) outcome.violation = "two runs of the seed differ";
    }
    if (!outcome.violation.empty()) {
      ++failed;
      if (!goes_on) show_failed_seed();
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(g_seed), outcome.violation.c_str());
      if (!goes_on) return 1;
    }
    total.resize(outcome.counts.size());
    for (std::size_t k = 0; k < total.size(); ++k) {
      total[k].first = outcome.counts[k].first;
      total[k].second += outcome.counts[k].second;
    }
  }
  std::printf("%llu seeds from %llu", static_cast<unsigned long long>(count), static_cast<unsigned long long>(first));
  for (const auto& [what, times] : total) {
    std::printf(", %llu %s", static_cast<unsigned long long>(times), what.c_str());
  }
  std::printf("\n");
  return failed == 0 ? 0 : 1;
}

}  // namespace tailrace::sim
