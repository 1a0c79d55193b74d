// The engine and the broker in simulated worlds.
#include "tests/sim/seeds.h"
#include "tests/sim/world.h"

int main(int argument_count, char** arguments) {
  constexpr std::uint64_t kSeeds = 120;
  return tailrace::sim::run_seeds(argument_count, arguments, kSeeds, [](std::uint64_t seed, bool verbose) {
    return tailrace::sim::World(seed, verbose).run();
  });
}
