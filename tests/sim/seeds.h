// The seeds of a simulation: which ones a test program runs, and what it says of one that fails.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::sim {

struct Outcome {
  std::string violation;  // empty: all rules were kept
  std::uint64_t trace_hash = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counts;  // what happened, and how often
};

using RunSeed = std::function<Outcome(std::uint64_t seed, bool verbose)>;

// The main of a test: `[--first SEED] [--seeds COUNT] [--go-on] [--verbose]`, or TAILRACE_SIM_SEED and
// TAILRACE_SIM_SEEDS. A seed that fails is printed with the command that replays it; the first few are run twice, and
// must leave the same trace. Returns the exit status.
int run_seeds(int argument_count, char** arguments, std::uint64_t count, const RunSeed& run);

}  // namespace tailrace::sim
