// What planning a read costs: at the tail, within the last batches, in the middle of the active segment, and in sealed
// segments, beside the time to find a timestamp. The log has batches of 16 KiB in segments of 64 MiB, all in the page
// cache.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/log/log.h"
#include "tests/unit/support/batches.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace {

using namespace tailrace;

constexpr TimestampMs kNow = 1'700'000'000'000;

struct World {
  test::TemporaryDirectory directory;
  test::InlineFiles files;
  std::unique_ptr<log::Log> log;

  World() {
    start_logging("bench", LogLevel::error);
    log::LogConfig config;
    config.segment_bytes = 64u << 20;
    log = std::move(*log::Log::create(files, directory.path(), config, 0, kNow));
    const test::Batch batch = test::make_batch({.records = 10, .value_bytes = 1600});
    test::Awaited written;
    for (int i = 0; i < 14'000; ++i) {  // three sealed segments and 36 MiB
      record::BatchHeader header = batch.header;
      header.base_offset = log->end_offset();
      header.base_timestamp = kNow + i;
      header.max_timestamp = kNow + i + 9;
      if (log->must_roll(header, kNow)) CHECK(log->roll(kNow).has_value());
      CHECK(log->stage(header, batch.records()).has_value());
      log->write_staged(written.completion);
      files.run();
    }
  }
};

World& world() {
  static World one;
  return one;
}

void plan(benchmark::State& state, Offset first, Offset last) {
  const log::Log& log = *world().log;
  std::mt19937_64 random(1);
  std::uniform_int_distribution<Offset> offsets(first, last);
  for (auto _ : state) {
    const auto extent = log.plan_read(offsets(random), log.written_end(), 1 << 20, true);
    CHECK(extent.has_value());
    benchmark::DoNotOptimize(extent->position);
  }
}

void plan_at_end(benchmark::State& state) { plan(state, world().log->written_end(), world().log->written_end()); }
void plan_in_last_batches(benchmark::State& state) {
  plan(state, world().log->written_end() - 300, world().log->written_end() - 1);
}
void plan_in_active_segment(benchmark::State& state) {
  plan(state, world().log->active_base_offset(), world().log->written_end() - 400);
}
void plan_in_sealed_segments(benchmark::State& state) { plan(state, 0, world().log->active_base_offset() - 1); }

void plan_below_a_bound(benchmark::State& state) {
  const log::Log& log = *world().log;
  const Offset bound = (log.active_base_offset() + log.written_end()) / 2 / 10 * 10;
  for (auto _ : state) {
    const auto extent = log.plan_read(bound - 10, bound, 1 << 20, true);
    CHECK(extent.has_value());
    benchmark::DoNotOptimize(extent->length);
  }
}

void find_by_timestamp(benchmark::State& state) {
  const log::Log& log = *world().log;
  std::mt19937_64 random(1);
  std::uniform_int_distribution<TimestampMs> times(kNow, kNow + 13'000);
  for (auto _ : state) {
    const auto found = log.find_by_timestamp(times(random), log.written_end());
    CHECK(found.has_value());
    benchmark::DoNotOptimize(found->has_value());
  }
}

BENCHMARK(plan_at_end);
BENCHMARK(plan_in_last_batches);
BENCHMARK(plan_in_active_segment);
BENCHMARK(plan_in_sealed_segments);
BENCHMARK(plan_below_a_bound);
BENCHMARK(find_by_timestamp);

}  // namespace
