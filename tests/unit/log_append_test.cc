// Appending: staging, gathered writes, syncs, rolls, index entries, leader epochs, and what happens when the disk says
// no.
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "engine/base/observe.h"
#include "engine/log/format.h"
#include "engine/log/log.h"
#include "tests/unit/support/batches.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::log {
namespace {

using test::Batch;
using test::BatchSpec;
using test::make_batch;

constexpr TimestampMs kNow = 1'700'000'000'000;

class Append : public ::testing::Test {
 protected:
  Append() { start_logging("test", LogLevel::error); }

  void create(Offset start = 0) {
    auto log = Log::create(files_, directory_.path(), config_, start, kNow);
    ASSERT_TRUE(log.has_value()) << log.error().text();
    log_ = std::move(*log);
    log_->on_file_gone = [this](std::uint64_t id) { gone_.push_back(id); };
  }

  void reopen(bool clean) {
    log_.reset();
    OpenHints hints;
    hints.clean_shutdown = clean;
    auto log = Log::open(files_, directory_.path(), config_, hints, kNow);
    ASSERT_TRUE(log.has_value()) << log.error().text();
    log_ = std::move(*log);
  }

  // Keeps the batch in place and stages it; its offset is the log's end.
  Result<void> stage(BatchSpec spec) {
    spec.base_offset = std::max(spec.base_offset, log_->end_offset());
    kept_.push_back(std::make_unique<Batch>(make_batch(spec)));
    return log_->stage(kept_.back()->header, kept_.back()->records());
  }

  // The result of writing all that is staged.
  std::int64_t write() {
    test::Awaited written;
    log_->write_staged(written.completion);
    EXPECT_FALSE(written.ran) << "a completion ran inside the call";
    files_.run();
    EXPECT_TRUE(written.ran);
    return written.result;
  }

  std::int64_t sync() {
    test::Awaited synced;
    log_->sync(synced.completion);
    EXPECT_FALSE(synced.ran) << "a completion ran inside the call";
    files_.run();
    EXPECT_TRUE(synced.ran);
    return synced.result;
  }

  void append(BatchSpec spec = {}) {
    ASSERT_TRUE(stage(spec).has_value());
    ASSERT_EQ(write(), 0);
  }

  std::string file(Offset base_offset, std::string_view suffix) const {
    return directory_ / segment_file_name(base_offset, suffix);
  }
  std::string content(Offset base_offset, std::string_view suffix = kLogSuffix) const {
    return test::read_text(file(base_offset, suffix));
  }
  bool exists(Offset base_offset, std::string_view suffix = kLogSuffix) const {
    return std::filesystem::exists(file(base_offset, suffix));
  }
  std::uint64_t disk_bytes(Offset base_offset) const {
    struct stat status{};
    EXPECT_EQ(::stat(file(base_offset, kLogSuffix).c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  std::string epochs() const { return test::read_text(directory_ / "leader-epoch-checkpoint"); }

  test::TemporaryDirectory directory_;
  test::InlineFiles files_;
  LogConfig config_;
  std::unique_ptr<Log> log_;
  std::vector<std::unique_ptr<Batch>> kept_;
  std::vector<std::uint64_t> gone_;
};

TEST_F(Append, ANewLogHasOneEmptySegmentWithItsIndexes) {
  create(42);
  EXPECT_EQ(log_->log_start_offset(), 42);
  EXPECT_EQ(log_->durable_end(), 42);
  for (const auto suffix : {kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix}) EXPECT_TRUE(exists(42, suffix));
  EXPECT_FALSE(exists(42, kTransactionIndexSuffix));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "leader-epoch-checkpoint")) << "it comes with the first epoch";
  EXPECT_TRUE(log_->needs_sync()) << "its names";
  EXPECT_EQ(sync(), 0);
  EXPECT_FALSE(log_->needs_sync());
}

TEST_F(Append, WhatIsStagedGoesInOneWriteAsItIs) {
  create();
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(stage({.records = 3, .fill = static_cast<char>('a' + i % 26)}).has_value());
    expected += as_text(kept_.back()->bytes);
  }
  EXPECT_EQ(log_->end_offset(), 6000);
  EXPECT_EQ(log_->written_end(), 0);
  ASSERT_EQ(write(), 0);
  EXPECT_EQ(files_.gathered_writes, 1u);
  EXPECT_EQ(log_->written_end(), 6000);
  EXPECT_EQ(log_->durable_end(), 0);
  EXPECT_EQ(content(0), expected);
  ASSERT_EQ(sync(), 0);
  EXPECT_EQ(log_->durable_end(), 6000);
  EXPECT_FALSE(log_->needs_sync());
}

TEST_F(Append, StagingGoesOnWhileAWriteIsInFlight) {
  create();
  ASSERT_TRUE(stage({.records = 2}).has_value());
  test::Awaited first;
  log_->write_staged(first.completion);
  ASSERT_TRUE(stage({.records = 5}).has_value());
  EXPECT_TRUE(log_->has_staged());
  EXPECT_EQ(log_->end_offset(), 7);
  files_.run();
  EXPECT_EQ(log_->written_end(), 2);
  ASSERT_EQ(write(), 0);
  EXPECT_EQ(log_->written_end(), 7);
}

TEST_F(Append, ASyncCoversWhatWasWrittenWhenItBegan) {
  create();
  append();
  test::Awaited synced;
  log_->sync(synced.completion);
  ASSERT_TRUE(stage({}).has_value());
  test::Awaited written;
  log_->write_staged(written.completion);
  files_.run();
  EXPECT_EQ(log_->written_end(), 2);
  EXPECT_EQ(log_->durable_end(), 1);
  EXPECT_TRUE(log_->needs_sync());
}

TEST_F(Append, BatchesThatBreakTheContractAreRefused) {
  create();
  Batch batch = make_batch({.base_offset = 5});
  ASSERT_TRUE(log_->stage(batch.header, batch.records()).has_value());
  EXPECT_EQ(log_->stage(batch.header, batch.records()).error().code, Code::invalid_argument) << "below the end";
  Batch next = make_batch({.base_offset = 6});
  EXPECT_EQ(log_->stage(next.header, next.records().first(3)).error().code, Code::invalid_argument) << "size";
  next.header.magic = 1;
  EXPECT_EQ(log_->stage(next.header, next.records()).error().code, Code::invalid_argument) << "magic";
  const Batch far = make_batch({.base_offset = 1ll << 40});
  EXPECT_TRUE(log_->must_roll(far.header, kNow));
  EXPECT_EQ(log_->stage(far.header, far.records()).error().code, Code::too_large) << "relative offset";
  EXPECT_EQ(log_->end_offset(), 6);
}

// .index: {last offset of the batch, its position}; one per more than index.interval.bytes, never for the first batch.
// .timeindex: {largest timestamp so far, last offset of its batch}.
TEST_F(Append, IndexEntriesAreKafkas) {
  config_.index_interval_bytes = 300;
  create(1000);
  std::string offsets;
  std::string times;
  const auto put = [](std::string& to, auto value) {
    std::byte bytes[sizeof value];
    store_big_endian(bytes, value);
    to += as_text(bytes);
  };
  std::uint64_t position = 0;
  std::uint64_t indexed = 0;
  TimestampMs largest = -1;
  TimestampMs last_time = -1;
  Offset largest_offset = 0;
  for (int i = 0; i < 3000; ++i) {
    const TimestampMs timestamp = 1'000'000 + (i % 7 == 0 ? i * 10 : -i);
    ASSERT_TRUE(stage({.records = 1 + i % 4, .value_bytes = 20, .timestamp = timestamp}).has_value());
    const record::BatchHeader& header = kept_.back()->header;
    if (header.max_timestamp > largest) {
      largest = header.max_timestamp;
      largest_offset = header.last_offset();
    }
    if (position - indexed > 300) {
      put(offsets, static_cast<std::int32_t>(header.last_offset() - 1000));
      put(offsets, static_cast<std::int32_t>(position));
      if (largest > last_time) {
        put(times, largest);
        put(times, static_cast<std::int32_t>(largest_offset - 1000));
        last_time = largest;
      }
      indexed = position;
    }
    position += header.size_bytes();
    if (i % 50 == 49) {
      ASSERT_EQ(write(), 0);
    }
  }
  // Not one write per entry.
  EXPECT_LE(files_.small_writes, 6u);
  ASSERT_TRUE(log_->close().has_value());
  if (largest > last_time) {
    put(times, largest);
    put(times, static_cast<std::int32_t>(largest_offset - 1000));
  }
  EXPECT_EQ(content(1000, kOffsetIndexSuffix), offsets);
  EXPECT_EQ(content(1000, kTimeIndexSuffix), times);
}

TEST_F(Append, SpaceIsReservedAheadAndGivenBack) {
  create();
  append({.value_bytes = 1000});
  const std::uint64_t allocations = files_.allocations;
  EXPECT_GE(disk_bytes(0), 64u << 10);
  for (int i = 0; i < 20; ++i) append({.value_bytes = 1000});
  EXPECT_EQ(files_.allocations, allocations) << "reserved once, used many times";
  const std::uint64_t size = log_->size_bytes();
  EXPECT_EQ(std::filesystem::file_size(file(0, kLogSuffix)), size) << "what is reserved does not count";
  ASSERT_TRUE(log_->roll(kNow).has_value());
  EXPECT_LT(disk_bytes(0), size + 8192);
}

TEST_F(Append, RollsAsKafkaDoes) {
  config_.segment_bytes = 1000;
  config_.segment_ms = 1000;
  create();
  const auto must_roll = [&](std::size_t value_bytes, TimestampMs timestamp, TimestampMs now) {
    return log_->must_roll(
        make_batch({.base_offset = log_->end_offset(), .value_bytes = value_bytes, .timestamp = timestamp}).header,
        now);
  };
  EXPECT_FALSE(must_roll(5000, kNow, kNow + 100'000)) << "an empty segment takes anything";
  ASSERT_TRUE(stage({.value_bytes = 500, .timestamp = kNow}).has_value());
  const std::size_t left = 1000 - kept_.back()->bytes.size() - make_batch({.value_bytes = 0}).bytes.size();
  EXPECT_FALSE(must_roll(left - 2, kNow, kNow)) << "what is staged counts";
  EXPECT_TRUE(must_roll(left + 1, kNow, kNow));
  EXPECT_FALSE(must_roll(10, kNow + 1000, kNow + 100'000)) << "by the time of records, not by the clock";
  EXPECT_TRUE(must_roll(10, kNow + 1001, kNow));
  ASSERT_EQ(write(), 0);
  EXPECT_TRUE(must_roll(10, kNow + 1001, kNow));
  reopen(false);
  EXPECT_TRUE(must_roll(10, kNow + 1001, kNow)) << "the first batch's time is read again";
  ASSERT_TRUE(log_->roll(kNow).has_value());
  EXPECT_EQ(log_->active_base_offset(), 1);
  append({.timestamp = -1});
  EXPECT_FALSE(must_roll(10, kNow, kNow + 1000));
  EXPECT_TRUE(must_roll(10, kNow, kNow + 1001)) << "without a time the segment's age counts";
}

TEST_F(Append, RollsWhenAnIndexIsFull) {
  config_.index_interval_bytes = 0;
  config_.index_bytes_max = 100;  // 12 offset entries, 8 time entries
  create();
  int batches = 0;
  while (batches < 100) {
    const BatchSpec spec{.timestamp = kNow + 10 * batches};
    if (log_->must_roll(make_batch({.base_offset = log_->end_offset()}).header, kNow)) break;
    ASSERT_TRUE(stage(spec).has_value());
    ++batches;
  }
  EXPECT_EQ(batches, 8) << "seven entries and one kept for the end of the segment";
  ASSERT_EQ(write(), 0);
  ASSERT_TRUE(log_->roll(kNow).has_value());
  EXPECT_LE(content(0, kTimeIndexSuffix).size(), 100u);
}

TEST_F(Append, ARollSealsTheSegmentAndTheSyncCoversIt) {
  create();
  append({.records = 4});
  ASSERT_EQ(sync(), 0);
  append({.records = 4});
  ASSERT_TRUE(log_->roll(kNow).has_value());
  EXPECT_EQ(content(0, kTimeIndexSuffix).size(), 12u) << "the final entry";
  append({.records = 1});
  const std::uint64_t before = files_.async_syncs;
  ASSERT_EQ(sync(), 0);
  EXPECT_EQ(files_.async_syncs - before, 4u) << "the sealed .log and its two indexes, the new .log";
  EXPECT_EQ(log_->durable_end(), 9);
  append({.records = 1});
  ASSERT_EQ(sync(), 0);
  EXPECT_EQ(files_.async_syncs - before, 5u) << "only what was touched since";
}

TEST_F(Append, BatchesStagedAcrossARollAreOneWritePerSegment) {
  create();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stage({}).has_value());
  ASSERT_TRUE(log_->roll(kNow).has_value());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stage({}).has_value());
  EXPECT_EQ(content(0, kTimeIndexSuffix).size(), 0u) << "not sealed before it is written";
  ASSERT_EQ(write(), 0);
  EXPECT_EQ(files_.gathered_writes, 2u);
  EXPECT_EQ(content(0, kTimeIndexSuffix).size(), 12u);
  EXPECT_EQ(content(0).size(), content(3).size());
  EXPECT_EQ(log_->written_end(), 6);
  EXPECT_EQ(log_->segments().size(), 2u);
}

TEST_F(Append, AFailedWritePutsTheEndBack) {
  create();
  append({.records = 2, .epoch = 1});
  const std::string before = content(0);
  ASSERT_TRUE(stage({.records = 3, .epoch = 1}).has_value());
  ASSERT_TRUE(stage({.records = 3, .epoch = 2}).has_value());
  EXPECT_EQ(epochs(), "0\n2\n1 0\n2 5\n");
  files_.gathered_write = {.nth = 1, .error = ENOSPC, .bytes_written = 150};
  EXPECT_EQ(write(), -ENOSPC);
  EXPECT_EQ(log_->end_offset(), 2);
  EXPECT_EQ(log_->written_end(), 2);
  EXPECT_FALSE(log_->has_staged());
  EXPECT_EQ(content(0), before) << "the half that was written is cut";
  EXPECT_EQ(log_->latest_epoch(), 1) << "the epoch of a batch that is not there";
  append({.records = 7, .epoch = 2});
  EXPECT_EQ(log_->written_end(), 9);
  reopen(false);
  EXPECT_EQ(log_->end_offset(), 9);
  EXPECT_EQ(log_->latest_epoch(), 2);
}

TEST_F(Append, AFailedWriteAlsoDropsWhatWasStagedSince) {
  create();
  ASSERT_TRUE(stage({}).has_value());
  test::Awaited written;
  files_.gathered_write = {.nth = 1, .error = EIO};
  log_->write_staged(written.completion);
  ASSERT_TRUE(stage({}).has_value());
  files_.run();
  EXPECT_EQ(written.result, -EIO);
  EXPECT_FALSE(log_->has_staged());
  EXPECT_EQ(log_->end_offset(), 0);
}

TEST_F(Append, AFailedWriteTakesBackTheRollsBehindIt) {
  create();
  append();
  ASSERT_TRUE(stage({}).has_value());
  ASSERT_TRUE(log_->roll(kNow).has_value());
  ASSERT_TRUE(stage({}).has_value());
  ASSERT_TRUE(log_->roll(kNow).has_value());
  ASSERT_TRUE(stage({}).has_value());
  EXPECT_EQ(log_->segment_count(), 3u);
  files_.gathered_write = {.nth = 1, .error = EIO};
  EXPECT_EQ(write(), -EIO);
  EXPECT_EQ(log_->segment_count(), 1u);
  EXPECT_FALSE(exists(2) || exists(3) || exists(2, kOffsetIndexSuffix));
  EXPECT_EQ(gone_.size(), 2u);
  EXPECT_EQ(log_->end_offset(), 1);
  append();
  EXPECT_EQ(log_->end_offset(), 2);
}

TEST_F(Append, OfTwoSegmentsTheFirstMayBeWrittenAlone) {
  create();
  ASSERT_TRUE(stage({}).has_value());
  ASSERT_TRUE(log_->roll(kNow).has_value());
  ASSERT_TRUE(stage({}).has_value());
  files_.gathered_write = {.nth = 2, .error = ENOSPC, .bytes_written = 10};
  EXPECT_EQ(write(), -ENOSPC);
  EXPECT_EQ(log_->written_end(), 1);
  EXPECT_EQ(log_->active_base_offset(), 1);
  EXPECT_EQ(content(1), "");
  append();
  EXPECT_EQ(log_->written_end(), 2);
}

// Old bytes behind the end could pass for batches after a crash, so nothing is appended before they are cut.
TEST_F(Append, NothingIsAppendedUntilTheRestOfAFailedWriteIsCut) {
  create();
  ASSERT_TRUE(stage({.epoch = -1}).has_value());
  files_.gathered_write = {.nth = 1, .error = EIO, .bytes_written = 1000};
  files_.truncation = {.nth = 1, .error = EIO};
  EXPECT_EQ(write(), -EIO);
  EXPECT_NE(content(0), "");
  files_.truncation = {.nth = 1, .error = EIO};
  EXPECT_EQ(stage({.epoch = -1}).error().code, Code::io_failed);
  ASSERT_TRUE(stage({.epoch = -1}).has_value());
  EXPECT_EQ(content(0), "");
  ASSERT_EQ(write(), 0);
  EXPECT_EQ(log_->written_end(), 1);
}

TEST_F(Append, WithoutSpaceStagingFailsAndChangesNothing) {
  create();
  append();
  files_.allocation = {.nth = 1, .error = ENOSPC};
  ASSERT_TRUE(stage({.value_bytes = 100'000}).has_value()) << "a smaller step was enough";
  files_.allocation = {.nth = 0};
  ASSERT_EQ(write(), 0);
  const Offset end = log_->end_offset();
  class NoSpace : public test::InlineFiles {
   public:
    Result<void> allocate(io::File, std::uint64_t, std::uint64_t) override {
      return system_failure(ENOSPC, "reserving");
    }
  } no_space;
  test::TemporaryDirectory other;
  auto log = Log::create(no_space, other.path(), config_, 0, kNow);
  ASSERT_TRUE(log.has_value());
  const Batch batch = make_batch({});
  EXPECT_EQ((*log)->stage(batch.header, batch.records()).error().code, Code::disk_full);
  EXPECT_EQ((*log)->end_offset(), 0);
  EXPECT_FALSE((*log)->has_staged());
  EXPECT_EQ(log_->end_offset(), end);
}

// Linux marks pages clean whose writing failed: a later sync that succeeds proves nothing.
TEST_F(Append, AfterAFailedSyncNothingBecomesDurable) {
  create();
  append();
  ASSERT_EQ(sync(), 0);
  const Offset durable = log_->durable_end();
  append();
  files_.async_sync = {.nth = 1, .error = EIO};
  EXPECT_EQ(sync(), -EIO);
  append();
  EXPECT_EQ(sync(), -EIO);
  EXPECT_EQ(log_->durable_end(), durable);
  EXPECT_FALSE(log_->close().has_value()) << "nor is it closed cleanly";
}

TEST_F(Append, WhatCouldNotBeOpenedForASyncIsSyncedByTheNextOne) {
  create();
  append({.epoch = 1});
  ASSERT_EQ(sync(), 0);
  for (std::uint64_t nth = 1;; ++nth) {
    ASSERT_TRUE(log_->roll(kNow).has_value());
    append({.epoch = static_cast<LeaderEpoch>(1 + nth)});
    const Offset durable = log_->durable_end();
    files_.opening = {.nth = nth, .error = EMFILE};
    const std::int64_t result = sync();
    const bool was_ordered = std::exchange(files_.opening.nth, 0) == 0;
    EXPECT_EQ(result, was_ordered ? -EMFILE : 0);
    if (!was_ordered) break;
    EXPECT_FALSE(log_->has_failed_sync());
    EXPECT_EQ(log_->durable_end(), durable);
    ASSERT_TRUE(log_->needs_sync());
    const std::uint64_t syncs = files_.async_syncs;
    EXPECT_EQ(sync(), 0);
    EXPECT_GE(files_.async_syncs - syncs, 3u) << "both segments and the epochs";
    EXPECT_EQ(log_->durable_end(), log_->end_offset());
    ASSERT_LT(nth, 10u);
  }
  // The directory is opened by the files.
  ASSERT_TRUE(log_->roll(kNow).has_value());
  append();
  files_.directory_sync = {.nth = 1, .error = EMFILE};
  EXPECT_EQ(sync(), -EMFILE);
  EXPECT_FALSE(log_->has_failed_sync());
  EXPECT_EQ(sync(), 0);
  EXPECT_TRUE(log_->close().has_value());
}

// Else the recovery of the next process would find in the page cache what the disk does not have, and its sync would
// pass it over.
TEST_F(Append, WhatAFailedSyncWasToCoverIsWrittenAgain) {
  create();
  append();
  ASSERT_EQ(sync(), 0);
  const std::uint64_t durable_size = content(0).size();
  append({.records = 3});
  append();
  const std::uint64_t size = content(0).size();
  files_.small_write_ranges.clear();
  files_.async_sync = {.nth = 1, .error = EIO};
  EXPECT_EQ(sync(), -EIO);
  const std::vector<test::InlineFiles::Range> expected{{durable_size, size - durable_size}};
  EXPECT_EQ(files_.small_write_ranges, expected);
  const Offset end = log_->end_offset();
  reopen(false);
  EXPECT_EQ(log_->end_offset(), end) << "the same bytes";
}

// A file system may throw away what it could not write.
TEST_F(Append, ReadersBelowABoundAreNotTroubledByWhatIsBehindIt) {
  create();
  for (int i = 0; i < 3; ++i) append({.timestamp = kNow + i});
  const Offset bound = log_->end_offset();
  const std::uint64_t size = content(0).size();
  append({.timestamp = kNow + 9});
  ASSERT_TRUE(log_->roll(kNow).has_value());  // what was in memory of the tail is forgotten
  const std::string zeros(content(0).size() - size, '\0');
  std::fstream(file(0, kLogSuffix), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(size))
      .write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
  const auto extent = log_->plan_read(0, bound, 100'000, true);
  ASSERT_TRUE(extent.has_value()) << extent.error().text();
  EXPECT_EQ(extent->length, size);
  EXPECT_EQ(log_->bytes_between(0, bound), size);
  const auto by_time = log_->find_by_timestamp(kNow + 1, bound);
  ASSERT_TRUE(by_time.has_value()) << by_time.error().text();
  EXPECT_EQ((*by_time)->offset, 1);
  const auto later = log_->find_by_timestamp(kNow + 5, bound);
  ASSERT_TRUE(later.has_value()) << later.error().text();
  EXPECT_FALSE(later->has_value());
  const auto largest = log_->find_max_timestamp(bound);
  ASSERT_TRUE(largest.has_value()) << largest.error().text();
  EXPECT_EQ((*largest)->offset, bound - 1);
}

TEST_F(Append, SealedSegmentsAreWrittenAgainWithTheirIndexes) {
  config_.index_interval_bytes = 1;
  create();
  append();
  append();
  ASSERT_TRUE(log_->roll(kNow).has_value());
  append();
  files_.small_write_ranges.clear();
  files_.async_sync = {.nth = 1, .error = EIO};
  EXPECT_EQ(sync(), -EIO);
  std::vector<test::InlineFiles::Range> expected;
  for (const std::string_view suffix : {kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix})
    expected.push_back({0, content(0, suffix).size()});
  EXPECT_EQ(files_.small_write_ranges, expected);
}

TEST_F(Append, AnIndexWhoseSyncFailedIsSyncedAgainOnlyAfterItWasWrittenAgain) {
  create();
  append();
  ASSERT_EQ(sync(), 0);
  config_.index_interval_bytes = 1;
  log_->set_config(config_);
  // A segment that begins below the durable end syncs the indexes of the one before at once.
  for (int i = 0; i < 3; ++i) append();
  ASSERT_EQ(sync(), 0);
  const Offset end = log_->end_offset();
  ASSERT_TRUE(log_->truncate_to(end - 1).has_value());
  append({.base_offset = end + 5});
  ASSERT_EQ(sync(), 0);
  ASSERT_TRUE(log_->truncate_to(end + 3).has_value());
  ASSERT_EQ(log_->end_offset(), end + 3);
  files_.plain_sync = {.nth = 1, .error = EIO};
  files_.small_write_ranges.clear();
  EXPECT_FALSE(log_->roll(kNow).has_value());
  const std::uint64_t index_size = content(0, kOffsetIndexSuffix).size();
  ASSERT_GT(index_size, 0u);
  EXPECT_EQ(files_.small_write_ranges.back(), (test::InlineFiles::Range{0, index_size}));
  EXPECT_TRUE(log_->roll(kNow).has_value());
}

TEST_F(Append, ASegmentMadeInVainIsGoneBeforeACleanStop) {
  create();
  append();
  files_.directory_sync = {.nth = 1, .error = EIO};
  files_.removal = {.nth = 2, .error = EIO};  // the first is of a .txnindex that might be there
  const Offset base = log_->end_offset();
  EXPECT_FALSE(log_->roll(kNow).has_value());
  ASSERT_TRUE(exists(base)) << "it could not be removed";
  append();
  ASSERT_TRUE(log_->close().has_value());
  EXPECT_FALSE(exists(base));
  const Offset end = log_->end_offset();
  reopen(true);
  EXPECT_EQ(log_->end_offset(), end);
}

TEST_F(Append, ASegmentMadeInVainHidesNothingAfterACrash) {
  create();
  append();
  files_.directory_sync = {.nth = 1, .error = EIO};
  files_.removal = {.nth = 2, .error = EIO};
  const Offset base = log_->end_offset();
  EXPECT_FALSE(log_->roll(kNow).has_value());
  append();
  ASSERT_TRUE(log_->roll(kNow).has_value());
  append();
  ASSERT_EQ(sync(), 0);
  const Offset end = log_->end_offset();
  log_.reset();
  auto log = Log::open(files_, directory_.path(), config_, {.recovery_point = end, .gaps_are_losses = true}, kNow);
  ASSERT_TRUE(log.has_value()) << log.error().text();
  const auto extent = (*log)->plan_read(base, end, 100'000, true);
  ASSERT_TRUE(extent.has_value()) << extent.error().text();
  EXPECT_EQ(extent->first_batch_offset, base);
}

TEST_F(Append, AFailedRollLeavesTheLogAsItWas) {
  create();
  append();
  for (std::uint64_t nth = 1; nth <= 3; ++nth) {
    files_.opening = {.nth = nth, .error = EMFILE};
    EXPECT_FALSE(log_->roll(kNow).has_value());
    EXPECT_EQ(log_->segment_count(), 1u);
    EXPECT_FALSE(exists(1));
  }
  files_.directory_sync = {.nth = 1, .error = EIO};
  EXPECT_FALSE(log_->roll(kNow).has_value());
  EXPECT_EQ(log_->segment_count(), 1u);
  append();
  EXPECT_TRUE(log_->roll(kNow).has_value());
  EXPECT_EQ(log_->active_base_offset(), 2);
}

TEST_F(Append, AFailedSyncMovesNothing) {
  create();
  append();
  ASSERT_TRUE(log_->roll(kNow).has_value());
  append();
  files_.async_sync = {.nth = 3, .error = EIO};
  EXPECT_EQ(sync(), -EIO);
  EXPECT_EQ(log_->durable_end(), 0);
  EXPECT_EQ(log_->recovery_point(), 0);
  EXPECT_TRUE(log_->needs_sync());
  reopen(false);
  EXPECT_EQ(log_->durable_end(), 0) << "what a scan has read may never have been synced";
  ASSERT_TRUE(log_->needs_sync());
  EXPECT_EQ(sync(), 0);
  EXPECT_EQ(log_->durable_end(), 2);
}

// The recovery point stays at a sealed segment until its indexes are durable: they are not scanned for below it.
TEST_F(Append, TheRecoveryPointWaitsForTheIndexesOfSealedSegments) {
  create();
  append({.records = 5});
  ASSERT_EQ(sync(), 0);
  EXPECT_EQ(log_->recovery_point(), 5);
  ASSERT_TRUE(log_->roll(kNow).has_value());
  EXPECT_EQ(log_->durable_end(), 5);
  EXPECT_EQ(log_->recovery_point(), 0);
  test::Awaited synced;
  log_->sync(synced.completion);
  EXPECT_EQ(log_->recovery_point(), 0);
  files_.run();
  EXPECT_EQ(log_->recovery_point(), 5);
}

TEST_F(Append, AbortedTransactionsAreFoundWhereTheyOverlap) {
  create();
  append({.records = 10});
  ASSERT_TRUE(log_->append_aborted({7, 2, 9, 4}).has_value());
  EXPECT_EQ(log_->append_aborted({7, 2, 10, 4}).error().code, Code::invalid_argument) << "its marker is not in the log";
  ASSERT_TRUE(log_->roll(kNow).has_value());
  append({.records = 10});
  ASSERT_TRUE(log_->append_aborted({8, 4, 15, 16}).has_value());
  ASSERT_TRUE(log_->append_aborted({9, 17, 19, 20}).has_value());
  ASSERT_TRUE(log_->append_aborted({9, 17, 19, 20}).has_value()) << "a replay repeats it";
  const auto producers = [&](Offset from, Offset to) {
    std::vector<ProducerId> ids;
    const auto found = log_->aborted_transactions(from, to);
    EXPECT_TRUE(found.has_value());
    for (const AbortedTransaction& aborted : *found) ids.push_back(aborted.producer_id);
    return ids;
  };
  const auto expect_all = [&] {
    EXPECT_EQ(producers(0, 20), (std::vector<ProducerId>{7, 8, 9}));
    EXPECT_EQ(producers(0, 3), (std::vector<ProducerId>{7}));
    EXPECT_EQ(producers(0, 2), (std::vector<ProducerId>{}));
    EXPECT_EQ(producers(10, 16), (std::vector<ProducerId>{8}));
    EXPECT_EQ(producers(16, 18), (std::vector<ProducerId>{9}));
  };
  expect_all();
  ASSERT_TRUE(log_->close().has_value());
  EXPECT_EQ(content(0, kTransactionIndexSuffix).size(), 34u);
  EXPECT_EQ(content(10, kTransactionIndexSuffix).size(), 68u);
  reopen(true);
  expect_all();
  EXPECT_EQ(log_->scanned_from(), 20);
  // After a crash the partition replays what was scanned.
  reopen(false);
  EXPECT_EQ(log_->scanned_from(), 0);
  EXPECT_EQ(producers(0, 20), (std::vector<ProducerId>{}));
  ASSERT_TRUE(log_->append_aborted({7, 2, 9, 4}).has_value());
  ASSERT_TRUE(log_->append_aborted({8, 4, 15, 16}).has_value());
  ASSERT_TRUE(log_->append_aborted({9, 17, 19, 20}).has_value());
  expect_all();
  EXPECT_EQ(content(0, kTransactionIndexSuffix).size(), 34u);
}

TEST_F(Append, LeaderEpochsAnswerAsKIP101Asks) {
  create();
  EXPECT_EQ(log_->end_of_epoch(0).leader_epoch, kNoLeaderEpoch);
  log_->assign_epoch(2);
  append({.records = 10, .epoch = 2});
  append({.records = 10, .epoch = 2});
  append({.records = 10, .epoch = 5});
  log_->assign_epoch(7);
  log_->assign_epoch(6);  // older than the latest: nothing happens
  EXPECT_EQ(epochs(), "0\n2\n2 0\n5 20\n") << "the latest comes with its first batch";
  EXPECT_EQ(log_->latest_epoch(), 7);
  const auto end_of = [&](LeaderEpoch epoch) {
    const EpochEnd end = log_->end_of_epoch(epoch);
    return std::pair(end.leader_epoch, end.end_offset);
  };
  EXPECT_EQ(end_of(7), std::pair(7, Offset{30})) << "the latest ends at the log's end";
  EXPECT_EQ(end_of(6), std::pair(5, Offset{30}));
  EXPECT_EQ(end_of(5), std::pair(5, Offset{30}));
  EXPECT_EQ(end_of(4), std::pair(2, Offset{20}));
  EXPECT_EQ(end_of(2), std::pair(2, Offset{20}));
  EXPECT_EQ(end_of(1), std::pair(1, Offset{0})) << "older than all: where the first known begins";
  EXPECT_EQ(end_of(8), std::pair(kNoLeaderEpoch, kNoOffset)) << "newer than all";
  EXPECT_EQ(log_->epoch_at(19), 2);
  EXPECT_EQ(log_->epoch_at(20), 5);
  ASSERT_TRUE(log_->advance_log_start(12).has_value());
  EXPECT_EQ(epochs(), "0\n3\n2 12\n5 20\n7 30\n");
  ASSERT_TRUE(log_->truncate_to(20).has_value());
  EXPECT_EQ(epochs(), "0\n1\n2 12\n");
}

TEST_F(Append, AnEpochIsInTheFileBeforeItsBatch) {
  create();
  append({.epoch = 1});
  // The file system of the log can't replace the checkpoint: the batch is not staged.
  ASSERT_EQ(std::filesystem::remove(directory_ / "leader-epoch-checkpoint"), true);
  std::filesystem::create_directory(directory_ / "leader-epoch-checkpoint");
  EXPECT_FALSE(stage({.epoch = 2}).has_value());
  EXPECT_EQ(log_->end_offset(), 1);
  EXPECT_EQ(log_->latest_epoch(), 1);
  ASSERT_TRUE(stage({.epoch = 1}).has_value());
}

TEST_F(Append, TruncationCutsTheBatchThatContainsTheOffset) {
  config_.index_interval_bytes = 100;
  create();
  for (int i = 0; i < 10; ++i) append({.records = 10, .timestamp = kNow + i});
  ASSERT_TRUE(log_->roll(kNow).has_value());
  for (int i = 0; i < 10; ++i) append({.records = 10});
  ASSERT_TRUE(log_->truncate_to(150).has_value());
  EXPECT_EQ(log_->end_offset(), 150);
  EXPECT_TRUE(gone_.empty());
  ASSERT_TRUE(log_->truncate_to(55).has_value());
  EXPECT_EQ(log_->end_offset(), 55);
  EXPECT_EQ(log_->segment_count(), 1u);
  EXPECT_EQ(gone_.size(), 1u);
  EXPECT_EQ(content(0).size(), 5 * kept_[0]->bytes.size());
  EXPECT_EQ(log_->plan_read(50, 55, 1000, true)->length, 0u) << "55 is the end, 50 to 54 are gone";
  append({.records = 5});
  reopen(false);
  EXPECT_EQ(log_->end_offset(), 60);
  ASSERT_TRUE(log_->truncate_to(1000).has_value()) << "above the end: nothing happens";
  EXPECT_EQ(log_->end_offset(), 60);
}

TEST_F(Append, RestartingAtAnOffsetForgetsEverything) {
  create(100);
  for (const Offset start : {Offset{500}, Offset{50}, Offset{50}}) {
    append({.records = 10, .epoch = 3});
    ASSERT_TRUE(log_->roll(kNow).has_value());
    append({.records = 10, .epoch = 3});
    ASSERT_TRUE(log_->restart_at(start, kNow).has_value());
    EXPECT_EQ(log_->log_start_offset(), start);
    EXPECT_EQ(log_->end_offset(), start);
    EXPECT_EQ(log_->segment_count(), 1u);
    EXPECT_EQ(log_->size_bytes(), 0u);
    EXPECT_EQ(log_->latest_epoch(), kNoLeaderEpoch);
    EXPECT_EQ(gone_.size() % 2, start == 50 && gone_.size() > 4 ? 1u : 0u);
  }
}

TEST_F(Append, OldSegmentsGoOnceTheLogStartHasPassedThem) {
  create();
  for (int i = 0; i < 4; ++i) {
    append({.records = 10});
    ASSERT_TRUE(log_->roll(kNow).has_value());
  }
  ASSERT_TRUE(log_->advance_log_start(25).has_value());
  EXPECT_EQ(log_->plan_read(24, 40, 100, true).error().code, Code::out_of_range);
  EXPECT_EQ(log_->set_old_segments_aside(9)->size(), 2u);
  EXPECT_EQ(gone_.size(), 2u);
  EXPECT_FALSE(exists(0) || exists(10, kTimeIndexSuffix));
  EXPECT_TRUE(exists(20));
  EXPECT_EQ(log_->plan_read(25, 40, 100, true)->first_batch_offset, 20);
  EXPECT_EQ(log_->advance_log_start(41).error().code, Code::out_of_range);
  ASSERT_TRUE(log_->advance_log_start(40).has_value());
  EXPECT_EQ(log_->set_old_segments_aside(9)->size(), 2u);
  EXPECT_EQ(log_->segment_count(), 1u);
}

TEST_F(Append, ASegmentThatASyncIsBusyWithStays) {
  create();
  append({.records = 10});
  ASSERT_TRUE(log_->roll(kNow).has_value());
  test::Awaited synced;
  log_->sync(synced.completion);
  ASSERT_TRUE(log_->advance_log_start(10).has_value());
  EXPECT_EQ(log_->set_old_segments_aside(9)->size(), 0u);
  files_.run();
  EXPECT_EQ(log_->set_old_segments_aside(9)->size(), 1u);
}

TEST_F(Append, TheDirectoryMayBeRenamed) {
  create();
  append({.records = 10});
  ASSERT_TRUE(log_->roll(kNow).has_value());
  ASSERT_TRUE(log_->close().has_value());
  reopen(true);
  const std::string moved = directory_.path() + "-moved";
  std::filesystem::rename(directory_.path(), moved);
  log_->set_directory(moved);
  append({.records = 10});
  ASSERT_TRUE(log_->roll(kNow).has_value());
  EXPECT_EQ(log_->plan_read(3, 20, 1000, true)->first_batch_offset, 0) << "opened by its new name";
  ASSERT_TRUE(log_->close().has_value());
  std::filesystem::rename(moved, directory_.path());
}

TEST_F(Append, FileIdsAreUniqueAcrossLogs) {
  create();
  append();
  test::TemporaryDirectory other;
  auto second = Log::create(files_, other.path(), config_, 0, kNow);
  ASSERT_TRUE(second.has_value());
  const Batch batch = make_batch({});
  ASSERT_TRUE((*second)->stage(batch.header, batch.records()).has_value());
  test::Awaited written;
  (*second)->write_staged(written.completion);
  files_.run();
  EXPECT_NE(log_->plan_read(0, 1, 1, true)->segment.file_id, (*second)->plan_read(0, 1, 1, true)->segment.file_id);
}

}  // namespace
}  // namespace tailrace::log
