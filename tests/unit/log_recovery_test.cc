// Recovery after a crash: torn tails of every kind, indexes that are missing or wrong, what cleaners and removals left
// behind.
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "engine/base/observe.h"
#include "engine/log/format.h"
#include "engine/log/log.h"
#include "tests/unit/support/batches.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::log {
namespace {

namespace fs = std::filesystem;
using test::Batch;
using test::make_batch;

constexpr TimestampMs kNow = 1'700'000'000'000;

class Recovery : public ::testing::Test {
 protected:
  Recovery() {
    start_logging("test", LogLevel::error);
    config_.index_interval_bytes = 200;
  }

  // A log of `segments` segments with `batches` batches of ten records each, closed.
  void make_log(int segments, int batches) {
    auto log = Log::create(files_, directory_.path(), config_, 0, kNow);
    ASSERT_TRUE(log.has_value());
    for (int s = 0; s < segments; ++s) {
      if (s > 0) {
        ASSERT_TRUE((*log)->roll(kNow).has_value());
      }
      for (int b = 0; b < batches; ++b) {
        const Batch batch = make_batch({.base_offset = (*log)->end_offset(),
                                        .records = 10,
                                        .timestamp = kNow + (*log)->end_offset() * 10,
                                        .epoch = s});
        ASSERT_TRUE((*log)->stage(batch.header, batch.records()).has_value());
        test::Awaited written;
        (*log)->write_staged(written.completion);
        files_.run();
        batch_size_ = batch.bytes.size();
      }
    }
    end_ = (*log)->end_offset();
    ASSERT_TRUE((*log)->close().has_value());
  }

  std::unique_ptr<Log> open(bool clean = false, OpenHints hints = {}) {
    hints.clean_shutdown = clean;
    auto log = Log::open(files_, directory_.path(), config_, hints, kNow);
    EXPECT_TRUE(log.has_value()) << (log ? "" : log.error().text());
    return log ? std::move(*log) : nullptr;
  }

  std::string file(Offset base_offset, std::string_view suffix = kLogSuffix) const {
    return directory_ / segment_file_name(base_offset, suffix);
  }
  std::string content(Offset base_offset, std::string_view suffix = kLogSuffix) const {
    return test::read_text(file(base_offset, suffix));
  }
  void put(Offset base_offset, std::string_view suffix, std::string_view bytes) const {
    test::write_text(file(base_offset, suffix), bytes);
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory_.path())) found.insert(entry.path().filename());
    return found;
  }
  // Indexes of a closed log, as they should be.
  void keep_indexes() {
    for (const auto& name : names()) {
      if (name.ends_with("index")) indexes_[name] = test::read_text(directory_ / name);
    }
  }
  void expect_indexes() const {
    for (const auto& [name, bytes] : indexes_) EXPECT_EQ(test::read_text(directory_ / name), bytes) << name;
  }
  void expect_readable(const Log& log) {
    for (Offset from = log.log_start_offset(); from < log.end_offset(); ++from) {
      const auto extent = log.plan_read(from, log.end_offset(), 100, true);
      ASSERT_TRUE(extent.has_value());
      EXPECT_EQ(extent->first_batch_offset, from / 10 * 10);
    }
  }

  test::TemporaryDirectory directory_;
  test::InlineFiles files_;
  LogConfig config_;
  Offset end_ = 0;
  std::size_t batch_size_ = 0;
  std::map<std::string, std::string> indexes_;
};

TEST_F(Recovery, CutsATornBatchAtTheTailAtEveryByte) {
  make_log(1, 5);
  const std::string whole = content(0);
  for (std::size_t size = whole.size() - batch_size_; size < whole.size(); ++size) {
    put(0, kLogSuffix, std::string_view(whole).substr(0, size));
    auto log = open();
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->end_offset(), 40) << "cut at " << size;
    EXPECT_EQ(content(0).size(), whole.size() - batch_size_);
  }
}

// Whatever byte of the last batch is wrong, the batches before it stay. The leader epoch and the low bits of the base
// offset are outside the checksum: a batch that is wrong only there may stay.
TEST_F(Recovery, CutsABatchWithAnyWrongByte) {
  make_log(1, 5);
  const std::string whole = content(0);
  const std::size_t first = whole.size() - batch_size_;
  for (std::size_t at = first; at < whole.size(); ++at) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x41);
    put(0, kLogSuffix, wrong);
    auto log = open();
    ASSERT_NE(log, nullptr);
    const std::size_t in_batch = at - first;
    const bool is_covered = in_batch >= 16;  // magic, CRC, and what it covers
    const bool is_length = in_batch >= 8 && in_batch < 12;
    if (is_covered || is_length) {
      EXPECT_EQ(log->end_offset(), 40) << "byte " << in_batch;
    } else {
      EXPECT_GE(log->end_offset(), 40) << "byte " << in_batch;
    }
  }
}

TEST_F(Recovery, CutsZerosAndGarbageBehindTheLastBatch) {
  make_log(1, 5);
  const std::string whole = content(0);
  std::string garbage;
  for (int i = 0; i < 5000; ++i) garbage += static_cast<char>(i * 7919 >> 3);
  for (const std::string& tail : {std::string(1, '\0'), std::string(61, '\0'), std::string(100'000, '\0'), garbage,
                                  garbage.substr(0, 7), whole.substr(0, batch_size_)}) {
    put(0, kLogSuffix, whole + tail);
    auto log = open();
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->end_offset(), end_);
    EXPECT_EQ(content(0), whole);
  }
}

TEST_F(Recovery, ACutRemovesTheSegmentsBehindIt) {
  make_log(4, 3);
  std::string second = content(30);
  second[batch_size_ + 70] = static_cast<char>(second[batch_size_ + 70] ^ 1);
  put(30, kLogSuffix, second);
  auto log = open();
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), 40);
  EXPECT_EQ(log->segment_count(), 2u);
  EXPECT_EQ(log->latest_epoch(), 1) << "the epochs of what was removed are gone";
  EXPECT_EQ(names(), (std::set<std::string>{"00000000000000000000.index", "00000000000000000000.log",
                                            "00000000000000000000.timeindex", "00000000000000000030.index",
                                            "00000000000000000030.log", "00000000000000000030.timeindex",
                                            "leader-epoch-checkpoint"}));
}

TEST_F(Recovery, SegmentsThatEndBelowTheRecoveryPointAreNotScanned) {
  make_log(4, 3);
  std::string first = content(0);
  first[70] = static_cast<char>(first[70] ^ 1);
  put(0, kLogSuffix, first);
  auto log = open(false, {.recovery_point = 61});
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), end_);
  EXPECT_EQ(log->scanned_from(), 60);
  log = open(false, {.recovery_point = 60});
  EXPECT_EQ(log->scanned_from(), 30) << "a segment that ends at the recovery point may have been sealed after it";
  log = open(false, {.recovery_point = 30});
  EXPECT_EQ(log->end_offset(), 0);
}

TEST_F(Recovery, AHoleBetweenSegmentsIsALossWhereTheCleanerCannotHaveMadeIt) {
  make_log(3, 3);
  const std::string second = content(30);
  put(30, kLogSuffix, second.substr(0, 2 * batch_size_));
  {
    auto log = open();
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->end_offset(), 90) << "Kafka's rule";
  }
  auto log = open(false, {.gaps_are_losses = true});
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), 50);
}

TEST_F(Recovery, ASegmentThatBeginsBelowTheEndOfTheOneBeforeGoes) {
  make_log(2, 3);
  fs::rename(file(30), file(25));
  auto log = open();
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), 30);
  EXPECT_FALSE(fs::exists(file(25)));
}

TEST_F(Recovery, IndexesAreRebuiltWhateverIsWrongWithThem) {
  make_log(2, 12);
  keep_indexes();
  const auto corrupt = [&](auto change) {
    for (const bool clean : {true, false}) {
      for (const auto& [name, bytes] : indexes_) {
        change(directory_ / name, bytes);
        auto log = open(clean, {.recovery_point = 121});
        ASSERT_NE(log, nullptr);
        EXPECT_EQ(log->end_offset(), end_);
        expect_readable(*log);
        ASSERT_TRUE(log->close().has_value());
        expect_indexes();
      }
    }
  };
  corrupt([](const std::string& path, const std::string&) { fs::remove(path); });
  corrupt([](const std::string& path, const std::string& bytes) {
    test::write_text(path, bytes.substr(0, bytes.size() - 3));
  });
  corrupt([](const std::string& path, const std::string& bytes) {
    std::string wrong = bytes;
    wrong.replace(wrong.size() - 4, 4, "\xff\xff\xff\xff", 4);
    test::write_text(path, wrong);
  });
  // Kafka preallocates the indexes of the active segment.
  corrupt([](const std::string& path, const std::string& bytes) {
    const std::size_t entry = path.ends_with(".timeindex") ? 12 : 8;
    test::write_text(path, bytes + std::string(entry * 1000, '\0'));
  });
}

TEST_F(Recovery, ASealedOffsetIndexThatLacksEntriesIsRebuiltAfterACrash) {
  make_log(2, 12);
  keep_indexes();
  put(0, kOffsetIndexSuffix, content(0, kOffsetIndexSuffix).substr(0, 16));
  auto log = open(false, {.recovery_point = 121});
  ASSERT_NE(log, nullptr);
  ASSERT_TRUE(log->close().has_value());
  expect_indexes();
}

TEST_F(Recovery, ACleanLogIsBelievedButItsTailIsLookedAt) {
  make_log(1, 5);
  put(0, kLogSuffix, content(0) + "torn");
  auto log = open(true);
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), end_);
  EXPECT_EQ(log->scanned_from(), 0) << "the segment was scanned after all";
  EXPECT_EQ(content(0).size(), 5 * batch_size_);
}

TEST_F(Recovery, ALostLeaderEpochCheckpointIsRebuilt) {
  make_log(3, 2);
  const std::string path = directory_ / "leader-epoch-checkpoint";
  const std::string right = test::read_text(path);
  EXPECT_EQ(right, "0\n3\n0 0\n1 20\n2 40\n");
  for (const char* wrong :
       {"", "0\n", "1\n3\n0 0\n1 20\n2 40\n", "0\n4\n0 0\n1 20\n2 40\n", "0\n1\nx 0\n", "\xff\xff"}) {
    test::write_text(path, wrong);
    auto log = open(true);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(test::read_text(path), right);
  }
  fs::remove(path);
  auto log = open(true);
  EXPECT_EQ(test::read_text(path), right);
}

TEST_F(Recovery, EpochsThatTheCheckpointLacksAreFoundByTheScan) {
  make_log(3, 2);
  test::write_text(directory_ / "leader-epoch-checkpoint", "0\n1\n0 0\n");
  auto log = open();
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(test::read_text(directory_ / "leader-epoch-checkpoint"), "0\n3\n0 0\n1 20\n2 40\n");
}

TEST_F(Recovery, ALogThatEndsBelowItsStartBeginsAnew) {
  make_log(2, 3);
  auto log = open(true, {.log_start_offset = 100});
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->log_start_offset(), 100);
  EXPECT_EQ(log->end_offset(), 100);
  EXPECT_EQ(log->size_bytes(), 0u);
  log = open(true, {.log_start_offset = 100});
  EXPECT_EQ(log->end_offset(), 100);
}

TEST_F(Recovery, AnEmptyDirectoryBecomesALog) {
  auto log = open(false, {.log_start_offset = 7});
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), 7);
  EXPECT_TRUE(fs::exists(file(7)));
}

TEST_F(Recovery, LeftoversOfRemovalsAndOfTheCleanerGo) {
  make_log(2, 3);
  const auto before = names();
  for (const char* name :
       {"00000000000000000000.log.deleted", "00000000000000000005.index.deleted",
        "00000000000000000030.snapshot.deleted", "00000000000000000000.log.cleaned",
        "00000000000000000000.timeindex.cleaned", "00000000000000000000.log.swap", "00000000000000000050.index",
        "00000000000000000050.timeindex", "00000000000000000050.txnindex"})
    test::write_text(directory_ / name, "x");
  auto kept = before;
  for (const char* name : {"00000000000000000030.snapshot", "partition.metadata", "something.else"}) {
    test::write_text(directory_ / name, "x");
    kept.insert(name);
  }
  auto log = open();
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), end_);
  EXPECT_EQ(names(), kept);
}

// The cleaner had put 0 and 30 together as 0 and had renamed some of its files when the power went.
TEST_F(Recovery, ASwapIsFinished) {
  make_log(3, 3);
  const std::string joined = content(0) + content(30).substr(batch_size_);
  put(0, ".log.swap", joined);
  put(0, ".index.swap", "");
  put(0, ".timeindex.swap", "");
  put(30, kSnapshotSuffix, "x");
  auto log = open(false, {.recovery_point = 61});
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->segment_count(), 2u);
  EXPECT_EQ(log->end_offset(), end_);
  EXPECT_EQ(content(0), joined);
  EXPECT_FALSE(fs::exists(file(30)) || fs::exists(file(30, kSnapshotSuffix)));
  EXPECT_EQ(log->plan_read(30, end_, 1000, true)->first_batch_offset, 40) << "30 to 39 were cleaned away";
}

TEST_F(Recovery, RecoveryOfARecoveredLogChangesNothing) {
  make_log(2, 6);
  put(60, kLogSuffix, content(60) + std::string(500, 'z'));
  std::map<std::string, std::string> first;
  for (int i = 0; i < 3; ++i) {
    auto log = open();
    ASSERT_NE(log, nullptr);
    log.reset();
    std::map<std::string, std::string> files;
    for (const auto& name : names()) files[name] = test::read_text(directory_ / name);
    EXPECT_TRUE(i == 0 || files == first);
    first = files;
  }
}

TEST_F(Recovery, ErrorsOfTheDiskAreErrorsNotLosses) {
  make_log(2, 6);
  for (std::uint64_t nth = 1; nth < 12; ++nth) {
    files_.opening = {.nth = nth, .error = EIO};
    auto log = Log::open(files_, directory_.path(), config_, {}, kNow);
    files_.opening = {.nth = 0};
    EXPECT_TRUE(log || log.error().code == Code::io_failed);
  }
  auto log = open();
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->end_offset(), end_);
}

}  // namespace
}  // namespace tailrace::log
