// Consumer groups in simulated worlds.
#include "tests/sim/groups_world.h"

int main(int argument_count, char** arguments) {
  constexpr std::uint64_t kSeeds = 60;
  return tailrace::sim::run_seeds(argument_count, arguments, kSeeds, [](std::uint64_t seed, bool verbose) {
    return tailrace::sim::GroupsWorld(seed, verbose).run();
  });
}
