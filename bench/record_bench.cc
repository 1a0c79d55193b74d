// Building, iterating, validating and unpacking batches of 100-byte records, in bytes of keys and values per second.
#include <benchmark/benchmark.h>

#include <string>

#include "engine/record/builder.h"
#include "engine/record/records.h"
#include "engine/record/validate.h"

namespace {

using namespace tailrace;
using namespace tailrace::record;

constexpr int kRecords = 10'000;

// Values that compress about as logs do: half text that repeats, half digits.
std::string value_of(int i) {
  std::string value =
      "user=" + std::to_string(i * 7919) + " action=view page=/products/" + std::to_string(i % 977) + " ";
  while (value.size() < 100) value += std::to_string(static_cast<unsigned>(i) * 2654435761u);
  value.resize(100);
  return value;
}

std::string batch_of(Compression codec) {
  BatchBuilder builder({.compression = codec});
  for (int i = 0; i < kRecords; ++i) (void)builder.add(1'700'000'000'000 + i, std::nullopt, as_bytes(value_of(i)));
  return std::string(as_text(*builder.finish()));
}

void count(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * kRecords * 100);
  state.SetItemsProcessed(state.iterations() * kRecords);
}

void BuildBatch(benchmark::State& state) {
  const std::string value = value_of(1);
  BatchBuilder builder;
  const auto codec = static_cast<Compression>(state.range(0));
  for (auto _ : state) {
    builder.start({.compression = codec});
    for (int i = 0; i < kRecords; ++i) (void)builder.add(1'700'000'000'000 + i, std::nullopt, as_bytes(value));
    benchmark::DoNotOptimize(builder.finish());
  }
  count(state);
}
BENCHMARK(BuildBatch)->DenseRange(0, 4);

void IterateBatch(benchmark::State& state) {
  const std::string batch = batch_of(static_cast<Compression>(state.range(0)));
  Scratch scratch;
  for (auto _ : state) {
    auto records = Records::open(as_bytes(batch), scratch, 1 << 24);
    Record record;
    std::size_t bytes = 0;
    while (records->next(record).value_or(false)) bytes += record.value->size();
    benchmark::DoNotOptimize(bytes);
  }
  count(state);
}
BENCHMARK(IterateBatch)->DenseRange(0, 4);

void ValidateBatch(benchmark::State& state) {
  const std::string batch = batch_of(static_cast<Compression>(state.range(0)));
  const RecordRules rules{.now_ms = 1'700'000'000'000, .uncompressed_bytes_max = 1 << 24};
  Scratch scratch;
  for (auto _ : state) benchmark::DoNotOptimize(validate_records(as_bytes(batch), rules, scratch));
  count(state);
}
BENCHMARK(ValidateBatch)->DenseRange(0, 4);

void CheckProduced(benchmark::State& state) {
  const std::string batch = batch_of(Compression::none);
  for (auto _ : state) benchmark::DoNotOptimize(check_produced(as_bytes(batch)));
  count(state);
}
BENCHMARK(CheckProduced);

}  // namespace
