// A partition on a disk that refuses: each refusal is an error that clients retry, reads go on, producers are
// remembered exactly, and when the disk is well so is the partition.
#include <algorithm>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "engine/base/observe.h"
#include "engine/partition/partition.h"
#include "engine/partition/snapshot_files.h"
#include "tests/unit/support/batches.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::partition {
namespace {

constexpr TimestampMs kNow = 1'700'000'000'000;
constexpr std::int64_t kDay = 24 * 3600 * 1000ll;

class StorageErrors : public ::testing::Test {
 protected:
  StorageErrors() { start_logging("test", LogLevel::error); }

  void create(std::uint32_t segment_bytes = 1 << 20) {
    config_.segment_bytes = segment_bytes;
    config_.index_interval_bytes = 1;
    auto made = Partition::create(files_, directory_.path(), config_, kNow);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    partition_ = std::move(*made);
    ASSERT_TRUE(partition_->become_leader(0).has_value());
  }
  void reopen() {
    partition_.reset();
    auto opened = Partition::open(files_, directory_.path(), config_, {.gaps_are_losses = true}, kDay, kNow);
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    partition_ = std::move(*opened);
    ASSERT_TRUE(partition_->become_leader(0).has_value());
    EXPECT_EQ(sync(), 0);
  }

  Result<AppendOutcome> append(ProducerId producer = kNoProducerId, std::int32_t sequence = -1,
                               ProducerEpoch epoch = 0) {
    batches_.push_back(std::make_unique<test::Batch>(test::make_batch({})));
    test::Batch& batch = *batches_.back();
    batch.header.producer_id = producer;
    batch.header.producer_epoch = producer == kNoProducerId ? ProducerEpoch{-1} : epoch;
    batch.header.base_sequence = sequence;
    record::write_header(batch.header, batch.bytes.data());
    batch.header.crc = record::compute_crc(batch.bytes);
    record::write_header(batch.header, batch.bytes.data());
    return partition_->append(batch.bytes, kNoLeaderEpoch, kNow);
  }
  // As the shard does with what is staged: the result of the write, or of the sync behind it.
  std::int64_t store() {
    log::Log& log = partition_->log();
    test::Awaited written;
    log.write_staged(written.completion);
    files_.run();
    if (written.result < 0) {
      partition_->on_write_failed();
      return written.result;
    }
    partition_->on_written();
    return sync();
  }
  std::int64_t sync() {
    log::Log& log = partition_->log();
    if (!log.needs_sync()) return 0;
    test::Awaited synced;
    log.sync(synced.completion);
    files_.run();
    if (synced.result == 0) partition_->on_safe(log.durable_end());
    return synced.result;
  }
  // A whole append: the code that a client would be told, nullopt when it is stored.
  std::optional<Code> produce(ProducerId producer = kNoProducerId, std::int32_t sequence = -1,
                              ProducerEpoch epoch = 0) {
    const Result<AppendOutcome> outcome = append(producer, sequence, epoch);
    if (!outcome) return outcome.error().code;
    if (outcome->duplicate) return std::nullopt;
    const std::int64_t stored = store();
    if (stored == 0) return std::nullopt;
    return stored == -ENOSPC ? Code::disk_full : Code::io_failed;
  }
  void expect_duplicate(ProducerId producer, std::int32_t sequence, Offset offset) {
    const Result<AppendOutcome> outcome = append(producer, sequence);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().text();
    EXPECT_TRUE(outcome->duplicate);
    EXPECT_EQ(outcome->base_offset, offset);
  }
  void expect_readable(Offset end, Offset from = 0) {
    EXPECT_EQ(partition_->high_watermark(), end);
    for (Offset offset = std::max<Offset>(from, 0); offset < end; ++offset) {
      const Result<PlannedRead> plan = partition_->plan_read(offset, 1000, true, false, kNoLeaderEpoch, kNoLeaderEpoch);
      ASSERT_TRUE(plan.has_value()) << plan.error().text();
      EXPECT_EQ(plan->extent.first_batch_offset, offset);
    }
  }
  std::vector<std::string> snapshots() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() == ".snapshot") names.push_back(entry.path().stem().string().substr(17));
    }
    std::ranges::sort(names);
    return names;
  }

  test::TemporaryDirectory directory_;
  test::InlineFiles files_;
  log::LogConfig config_;
  std::unique_ptr<Partition> partition_;
  std::vector<std::unique_ptr<test::Batch>> batches_;
};

TEST_F(StorageErrors, AFailedWriteTakesBackWhatItsBatchesSaidOfTheirProducers) {
  create();
  for (std::int32_t sequence = 0; sequence < 6; ++sequence) ASSERT_EQ(produce(1, sequence), std::nullopt);
  // Of a producer that is known twice, of one that is not, and of one that begins an epoch.
  ASSERT_TRUE(append(1, 6).has_value());
  ASSERT_TRUE(append(2, 40).has_value());
  ASSERT_TRUE(append(1, 7).has_value());
  ASSERT_TRUE(append(1, 0, 1).has_value());
  files_.gathered_write = {.nth = 1, .error = ENOSPC, .bytes_written = 100};
  EXPECT_EQ(store(), -ENOSPC);

  for (std::int32_t sequence = 1; sequence < 6; ++sequence) expect_duplicate(1, sequence, sequence);
  EXPECT_EQ(append(1, 7).error().code, Code::out_of_order_sequence);
  EXPECT_EQ(produce(1, 6), std::nullopt);
  EXPECT_EQ(produce(2, 0), std::nullopt) << "which was not known before";
  EXPECT_EQ(produce(1, 7), std::nullopt);
  expect_readable(9);
}

TEST_F(StorageErrors, WhatWasWrittenBeforeTheFailureStaysKnown) {
  create(170);  // two batches each
  ASSERT_EQ(produce(1, 0), std::nullopt);
  ASSERT_TRUE(append(1, 1).has_value());
  ASSERT_TRUE(append(1, 2).has_value());  // to the next segment, by a write of its own
  files_.gathered_write = {.nth = 2, .error = EIO};
  EXPECT_EQ(store(), -EIO);
  expect_duplicate(1, 1, 1);
  EXPECT_EQ(append(1, 3).error().code, Code::out_of_order_sequence);
  EXPECT_EQ(produce(1, 2), std::nullopt);
  expect_readable(3);
}

TEST_F(StorageErrors, ASnapshotOfBatchesThatWereNeverWrittenIsNotBelieved) {
  create(170);
  ASSERT_EQ(produce(1, 0), std::nullopt);
  ASSERT_TRUE(append(1, 1).has_value());
  ASSERT_TRUE(append(1, 2).has_value());  // rolls; the snapshot knows of 1, which is staged
  EXPECT_EQ(snapshots(), (std::vector<std::string>{"002"}));
  files_.gathered_write = {.nth = 1, .error = EIO};
  EXPECT_EQ(store(), -EIO);
  EXPECT_EQ(snapshots(), std::vector<std::string>{});
  ASSERT_EQ(produce(), std::nullopt);
  ASSERT_EQ(produce(), std::nullopt);
  reopen();
  EXPECT_EQ(produce(1, 1), std::nullopt) << "it was never stored";
}

TEST_F(StorageErrors, NothingIsAppendedWhileSuchASnapshotCannotBeRemoved) {
  create(170);
  ASSERT_EQ(produce(1, 0), std::nullopt);
  ASSERT_TRUE(append(1, 1).has_value());
  ASSERT_TRUE(append(1, 2).has_value());
  files_.refuses_changes = EROFS;
  EXPECT_EQ(store(), -EROFS);
  EXPECT_EQ(snapshots(), (std::vector<std::string>{"002"}));
  EXPECT_EQ(produce(1, 1), Code::io_failed);
  files_.refuses_changes = 0;
  EXPECT_EQ(produce(1, 1), std::nullopt);
  expect_readable(2);
}

// Every call of a roll and of an append fails once, with every kind of refusal.
TEST_F(StorageErrors, EveryRefusalIsRetriableAndLeavesNoTrace) {
  create(170);
  Offset end = 0;
  using Files = test::InlineFiles;
  for (const int error : {ENOSPC, EIO}) {
    const Code expected = error == ENOSPC ? Code::disk_full : Code::io_failed;
    for (Files::Fault Files::* kind : {&Files::gathered_write, &Files::small_write, &Files::allocation,
                                       &Files::truncation, &Files::removal, &Files::opening, &Files::directory_sync}) {
      for (std::uint64_t nth = 1; nth <= 6; ++nth) {
        (files_.*kind) = {.nth = nth, .error = error, .bytes_written = nth * 20};
        for (int i = 0; i < 4; ++i) {
          const std::optional<Code> refused = produce(1, static_cast<std::int32_t>(end));
          EXPECT_EQ(refused.value_or(expected), expected) << "at call " << nth;
          if (!refused) ++end;
          const Files::Fault left = std::exchange(files_.*kind, {});  // reads open files, too
          expect_readable(end, end - 4);
          (files_.*kind) = left;
        }
        (files_.*kind) = {};
        ASSERT_EQ(produce(1, static_cast<std::int32_t>(end)), std::nullopt) << "at call " << nth;
        ++end;
      }
    }
  }
  expect_readable(end);
  reopen();
  expect_readable(end);
  EXPECT_EQ(produce(1, static_cast<std::int32_t>(end)), std::nullopt);
}

TEST_F(StorageErrors, ADirectoryThatBecomesReadOnlyOrFullRefusesAppendsAndNothingElse) {
  create(170);
  Offset end = 0;
  for (const int error : {EROFS, ENOSPC}) {
    for (int round = 0; round < 4; ++round) {  // at every place of a segment
      files_.refuses_changes = error;
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(produce(1, static_cast<std::int32_t>(end)), error == ENOSPC ? Code::disk_full : Code::io_failed);
        expect_readable(end);
      }
      files_.refuses_changes = 0;
      ASSERT_EQ(produce(1, static_cast<std::int32_t>(end)), std::nullopt);
      ++end;
    }
  }
  reopen();
  expect_readable(end);
}

TEST_F(StorageErrors, AfterAFailedSyncAppendsAreRefusedAndReadsGoOnUntilARestart) {
  create();
  ASSERT_EQ(produce(1, 0), std::nullopt);
  files_.async_sync = {.nth = 1, .error = EIO};
  EXPECT_EQ(produce(1, 1), Code::io_failed);
  EXPECT_EQ(produce(1, 2), Code::io_failed);
  EXPECT_TRUE(partition_->failed());
  expect_readable(1);
  reopen();
  expect_readable(2);
  EXPECT_EQ(produce(1, 2), std::nullopt);
}

// As Kafka 4.4 leaves them, where nothing lies beyond the end; but the one where the first segment begins stays.
TEST_F(StorageErrors, SnapshotsStayByKafkasRule) {
  const auto remaining = [&](const std::vector<Offset>& at, const std::vector<Offset>& bases, Offset start, Offset end,
                             Offset unsound = kNoOffset) {
    test::TemporaryDirectory directory;
    Producers producers;
    for (const Offset offset : at) EXPECT_TRUE(save_snapshot(files_, directory.path(), offset, producers).has_value());
    if (unsound != kNoOffset)
      std::filesystem::resize_file(directory / (std::string(18, '0') + std::to_string(unsound) + ".snapshot"), 5);
    std::vector<log::SegmentInfo> segments;
    for (const Offset base : bases) segments.push_back({.base_offset = base});
    const Result<Offset> loaded = load_newest_snapshot(files_, directory.path(), start, end, segments, producers);
    std::vector<Offset> left;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
      left.push_back(std::stoll(entry.path().stem().string()));
    std::ranges::sort(left);
    EXPECT_EQ(loaded.value_or(kNoOffset), left.empty() ? start : left.back());
    return left;
  };
  using Offsets = std::vector<Offset>;
  EXPECT_EQ(remaining({0, 3, 5, 8, 10, 12, 14, 20}, {0, 5, 10}, 0, 20), (Offsets{5, 10, 20}));
  EXPECT_EQ(remaining({3, 5, 8}, {0, 5, 10}, 0, 13), (Offsets{5}));
  EXPECT_EQ(remaining({3, 5, 8}, {0, 5, 8, 10}, 5, 13), (Offsets{5, 8}));
  EXPECT_EQ(remaining({3, 5, 10, 12}, {0, 5, 8, 10}, 0, 13, 12), (Offsets{5, 10}));
  EXPECT_EQ(remaining({3, 5, 10, 12}, {0, 5, 8, 10}, 0, 5), (Offsets{5}));
  EXPECT_EQ(remaining({3, 12}, {0}, 0, 13, 12), (Offsets{})) << "the stray before it was gone by then";
  // Kafka would keep 20 as the newest, and then remove it.
  EXPECT_EQ(remaining({10, 12, 20}, {0, 10}, 0, 13), (Offsets{10, 12}));
}

// Each stop leaves one; the next start takes the one before away.
TEST_F(StorageErrors, SnapshotsOfStopsDoNotGather) {
  create();
  for (std::int32_t sequence = 0; sequence < 4; ++sequence) {
    ASSERT_EQ(produce(1, sequence), std::nullopt);
    ASSERT_TRUE(partition_->close().has_value());
    reopen();
    EXPECT_EQ(snapshots().size(), 1u);
    expect_duplicate(1, sequence, sequence);
  }
}

}  // namespace
}  // namespace tailrace::partition
