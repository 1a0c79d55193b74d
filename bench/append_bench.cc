// What appending costs: stage and write one batch to each of some logs per turn, as a shard's loop does. Bytes per
// second are of batches; reserving space, rolling, index entries and removal of old segments are in it, syncs are not.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/log/log.h"
#include "tests/unit/support/batches.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace {

using namespace tailrace;

constexpr TimestampMs kNow = 1'700'000'000'000;
constexpr std::uint64_t kDiskBytes = 8ull << 30;  // for all logs together

void append(benchmark::State& state) {
  start_logging("bench", LogLevel::error);
  const auto batch_bytes = static_cast<std::size_t>(state.range(0));
  const auto log_count = static_cast<std::size_t>(state.range(1));
  test::TemporaryDirectory directory;
  test::InlineFiles files;
  log::LogConfig config;
  config.segment_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(1u << 30, kDiskBytes / log_count / 2));
  std::vector<std::unique_ptr<log::Log>> logs;
  for (std::size_t i = 0; i < log_count; ++i) {
    const std::string path = directory / ("t-" + std::to_string(i));
    CHECK(files.make_directory(path).has_value());
    auto log = log::Log::create(files, path, config, 0, kNow);
    CHECK(log.has_value());
    logs.push_back(std::move(*log));
  }
  const test::Batch batch = test::make_batch({.records = 10, .value_bytes = batch_bytes / 10});
  std::vector<test::Awaited> written(log_count);
  record::BatchHeader header = batch.header;

  const auto turn = [&] {
    for (std::size_t i = 0; i < log_count; ++i) {
      log::Log& log = *logs[i];
      header.base_offset = log.end_offset();
      if (log.must_roll(header, kNow)) {
        CHECK(log.roll(kNow).has_value());
        CHECK(log.advance_log_start(log.written_end()).has_value());
        const auto gone = log.set_old_segments_aside(9);
        CHECK(gone.has_value());
        for (const Offset base_offset : *gone)
          CHECK(log::remove_set_aside(files, log.directory(), base_offset).has_value());
      }
      CHECK(log.stage(header, batch.records()).has_value());
      log.write_staged(written[i].completion);
    }
    files.run();
  };
  turn();  // the first one also notes the leader epoch in its file
  for (auto _ : state) turn();
  const auto batches = static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(log_count);
  state.SetItemsProcessed(batches);
  state.SetBytesProcessed(batches * static_cast<std::int64_t>(batch.bytes.size()));
}

// The log's own part: nothing goes to a disk.
void append_without_disk(benchmark::State& state) {
  class NoDisk : public test::InlineFiles {
   public:
    void write(io::File, std::span<const iovec> from, std::uint64_t, io::Completion& done) override {
      std::int64_t size = 0;
      for (const iovec& part : from) size += static_cast<std::int64_t>(part.iov_len);
      done.pending = true;
      complete(done, size);
    }
  };
  start_logging("bench", LogLevel::error);
  test::TemporaryDirectory directory;
  NoDisk files;
  auto log = log::Log::create(files, directory.path(), {}, 0, kNow);
  CHECK(log.has_value());
  const test::Batch batch = test::make_batch({.records = 1, .value_bytes = static_cast<std::size_t>(state.range(0))});
  record::BatchHeader header = batch.header;
  test::Awaited written;
  for (auto _ : state) {
    header.base_offset = (*log)->end_offset();
    if ((*log)->must_roll(header, kNow)) {
      state.PauseTiming();
      CHECK((*log)->restart_at(header.base_offset, kNow).has_value());
      state.ResumeTiming();
    }
    CHECK((*log)->stage(header, batch.records()).has_value());
    (*log)->write_staged(written.completion);
    files.run();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

BENCHMARK(append)->ArgsProduct({{16 << 10, 64 << 10}, {1, 6, 500}})->ArgNames({"batch", "logs"})->UseRealTime();
BENCHMARK(append_without_disk)->Arg(100)->Arg(16 << 10)->ArgName("batch");

}  // namespace
