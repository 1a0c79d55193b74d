// CRC-32C over a batch of typical sizes: the cost that every produced byte pays once.
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/base/crc32c.h"

namespace {

void crc32c(benchmark::State& state) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5A});
  for (auto _ : state) benchmark::DoNotOptimize(tailrace::crc32c(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(crc32c)->Arg(100)->Arg(1000)->Arg(16 << 10)->Arg(1 << 20);

}  // namespace
