// Random lives of a log against a model: append, roll, sync, failed writes, truncation, retention, clean stops and
// power cuts. At every step the log holds what the model holds; after a power cut, a prefix of it that has all that was
// durable.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "engine/base/observe.h"
#include "engine/log/log.h"
#include "tests/unit/support/batches.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/memory_disk.h"

namespace tailrace::log {
namespace {

using test::Batch;

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed), disk_(seed * 31 + 7) {
    config_.segment_bytes = 600 + static_cast<std::uint32_t>(below(3000));
    config_.index_interval_bytes = static_cast<std::uint32_t>(below(600));
    config_.index_bytes_max = 80 + static_cast<std::uint32_t>(below(2000));
    if (below(3) == 0) config_.segment_ms = 40;
    auto log = Log::create(disk_, "/d", config_, static_cast<Offset>(below(3)) * 100, kNow);
    EXPECT_TRUE(log.has_value());
    log_ = std::move(*log);
    recovery_point_ = log_start_ = log_->end_offset();
  }

  void live(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    settle();
    check();
  }

 private:
  static constexpr TimestampMs kNow = 1'000'000;

  std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }

  void step() {
    const std::uint64_t dice = below(100);
    if (dice < 45) {
      stage();
    } else if (dice < 65) {
      write();
    } else if (dice < 75) {
      sync();
    } else if (dice < 80) {
      run();
    } else if (dice < 83) {
      settle();
      EXPECT_TRUE(log_->roll(kNow).has_value());
    } else if (dice < 87) {
      truncate();
    } else if (dice < 90) {
      retain();
    } else if (dice < 92) {
      fail_writes();
    } else if (dice < 94) {
      stop_cleanly();
    } else if (dice < 97) {
      cut_power();
    } else if (dice < 98) {
      settle();
      restart();
    } else {
      settle();
      check();
    }
  }

  void stage() {
    for (std::uint64_t i = below(4) + 1; i > 0; --i) {
      test::BatchSpec spec;
      spec.base_offset = log_->end_offset() + (below(8) == 0 ? static_cast<Offset>(below(5)) : 0);
      spec.records = 1 + static_cast<int>(below(5));
      spec.value_bytes = below(12) == 0 ? 400 + below(400) : below(60);
      spec.timestamp = kNow + static_cast<TimestampMs>(below(400)) - 100 + spec.base_offset;
      if (below(15) == 0) ++epoch_;
      spec.epoch = epoch_;
      spec.fill = static_cast<char>('a' + below(26));
      auto batch = std::make_unique<Batch>(test::make_batch(spec));
      const Result<void> rolled = log_->must_roll(batch->header, kNow) ? log_->roll(kNow) : Result<void>();
      EXPECT_TRUE(rolled.has_value());
      const Result<void> staged = log_->stage(batch->header, batch->records());
      ASSERT_TRUE(staged.has_value()) << staged.error().text();
      ASSERT_EQ(log_->end_offset(), batch->header.next_offset());
      batches_.push_back(std::move(batch));
    }
  }

  void write() {
    if (write_.completion.pending || !log_->has_staged()) return;
    write_.ran = false;
    log_->write_staged(write_.completion);
  }

  void sync() {
    if (sync_.completion.pending || !log_->needs_sync()) return;
    log_->sync(sync_.completion);
  }

  void run() {
    disk_.run();
    if (write_.ran && write_.result != 0) {
      // Everything that was staged is gone, and only that.
      EXPECT_EQ(write_.result, -ENOSPC);
      EXPECT_EQ(log_->end_offset(), log_->written_end());
      EXPECT_FALSE(log_->has_staged());
      drop_from(log_->written_end());
      write_.ran = false;
    }
  }

  // Nothing is staged or in flight.
  void settle() {
    run();
    while (log_->has_staged()) {
      write();
      run();
    }
  }

  void fail_writes() {
    disk_.failure_rate = 0.7;
    stage();
    write();
    stage();
    run();
    disk_.failure_rate = 0;
  }

  void drop_from(Offset end) {
    while (!batches_.empty() && batches_.back()->header.next_offset() > end) batches_.pop_back();
    if (!batches_.empty()) epoch_ = std::max(epoch_, batches_.back()->header.partition_leader_epoch);
  }

  void truncate() {
    settle();
    const Offset span = log_->end_offset() - log_->log_start_offset() + 1;
    const Offset offset = log_->log_start_offset() + static_cast<Offset>(below(static_cast<std::uint64_t>(span)));
    // The checkpoint is lowered before the log is cut.
    recovery_point_ = std::min(recovery_point_, offset);
    const bool cuts = offset < log_->end_offset();
    ASSERT_TRUE(log_->truncate_to(offset).has_value());
    EXPECT_EQ(log_->end_offset(), offset);
    EXPECT_TRUE(!cuts || log_->durable_end() == offset);
    drop_from(offset);
  }

  void retain() {
    const Offset span = log_->written_end() - log_->log_start_offset() + 1;
    log_start_ = log_->log_start_offset() + static_cast<Offset>(below(static_cast<std::uint64_t>(span)));
    EXPECT_TRUE(log_->advance_log_start(log_start_).has_value());
    if (below(2) == 0) {
      EXPECT_TRUE(log_->set_old_segments_aside(below(4)).has_value());
    }
  }

  void restart() {
    const Offset offset = static_cast<Offset>(below(static_cast<std::uint64_t>(log_->end_offset()) + 200));
    recovery_point_ = std::min(recovery_point_, offset);
    log_start_ = offset;
    ASSERT_TRUE(log_->restart_at(offset, kNow).has_value());
    EXPECT_EQ(log_->log_start_offset(), offset);
    EXPECT_EQ(log_->end_offset(), offset);
    EXPECT_EQ(log_->size_bytes(), 0u);
    batches_.clear();
  }

  void open(bool clean) {
    OpenHints hints;
    hints.clean_shutdown = clean;
    hints.recovery_point = recovery_point_;
    hints.log_start_offset = log_start_;
    hints.gaps_are_losses = true;
    auto log = Log::open(disk_, "/d", config_, hints, kNow);
    ASSERT_TRUE(log.has_value()) << log.error().text();
    log_ = std::move(*log);
    sync();
    disk_.run();
    EXPECT_EQ(log_->durable_end(), log_->end_offset());
    recovery_point_ = std::min(recovery_point_, log_->end_offset());  // the checkpoint follows before anything else
  }

  void stop_cleanly() {
    settle();
    const Offset end = log_->end_offset();
    const Offset last = batches_.empty() ? kNoOffset : batches_.back()->header.next_offset();
    ASSERT_TRUE(log_->close().has_value());
    EXPECT_EQ(disk_.open_count(), 0u) << "a descriptor is left open";
    recovery_point_ = end;
    log_.reset();
    if (below(2) == 0) disk_.cut_power();  // a clean stop is durable
    open(true);
    // An end above the last batch (after a truncation) is known only by a segment that begins there.
    EXPECT_TRUE(log_->end_offset() == end || log_->end_offset() == std::max(last, log_->active_base_offset()));
    check();
  }

  void cut_power() {
    if (below(2) == 0) run();
    if (below(2) == 0) recovery_point_ = log_->recovery_point();
    const Offset durable = log_->durable_end();
    log_.reset();
    disk_.cut_power();
    write_.completion.pending = sync_.completion.pending = write_.ran = false;
    open(false);
    if (below(4) == 0) {
      // Again at once: recovery itself is durable.
      log_.reset();
      disk_.cut_power();
      open(false);
    }
    const Offset end = log_->end_offset();
    for (const auto& batch : batches_) {
      EXPECT_TRUE(batch->header.next_offset() > durable || batch->header.next_offset() <= end)
          << "a durable batch is lost";
    }
    drop_from(end);
    check();
  }

  std::vector<const Batch*> visible(Offset from) const {
    std::vector<const Batch*> found;
    for (const auto& batch : batches_) {
      if (batch->header.last_offset() >= from) found.push_back(batch.get());
    }
    return found;
  }

  void check() {
    const Offset start = log_->log_start_offset();
    const Offset end = log_->written_end();
    ASSERT_EQ(end, log_->end_offset());
    const std::vector<const Batch*> expected = visible(start);
    std::size_t next = 0;
    const Result<void> walked = log_->for_each_batch(
        start, true, [&](const record::BatchHeader& header, Bytes bytes, const SegmentRef&, Position) {
          if (next >= expected.size()) {
            ADD_FAILURE() << "a batch too many at " << header.base_offset;
            return false;
          }
          EXPECT_TRUE(std::ranges::equal(bytes, expected[next]->bytes)) << "batch at " << header.base_offset;
          EXPECT_EQ(log_->epoch_at(std::max(header.base_offset, start)), header.partition_leader_epoch);
          ++next;
          return true;
        });
    ASSERT_TRUE(walked.has_value()) << walked.error().text();
    ASSERT_EQ(next, expected.size());
    check_reads(expected, start, end);
    check_times(expected, start, end);
  }

  void check_reads(const std::vector<const Batch*>& expected, Offset start, Offset end) {
    EXPECT_EQ(log_->plan_read(end + 1, end, 100, true).error().code, Code::out_of_range);
    EXPECT_EQ(log_->plan_read(start - 1, end, 100, true).error().code, Code::out_of_range);
    Offset bound = end;
    if (!expected.empty() && below(2) == 0)
      bound = std::max(start, expected[below(expected.size())]->header.base_offset);
    for (Offset from = start; from <= bound; ++from) {
      const auto first =
          std::ranges::find_if(expected, [&](const Batch* b) { return b->header.last_offset() >= from; });
      const auto max_bytes = static_cast<std::uint32_t>(below(2000));
      const bool whole = below(2) == 0;
      const Result<Extent> extent = log_->plan_read(from, bound, max_bytes, whole);
      ASSERT_TRUE(extent.has_value()) << extent.error().text();
      if (from == bound || first == expected.end() || (*first)->header.base_offset >= bound) {
        EXPECT_EQ(extent->length, 0u);
        EXPECT_EQ(log_->bytes_between(from, bound), 0u);
        continue;
      }
      EXPECT_EQ(extent->first_batch_offset, (*first)->header.base_offset);
      if (extent->length == 0) {
        EXPECT_TRUE(!whole && max_bytes < (*first)->bytes.size());
        continue;
      }
      EXPECT_LE(extent->length, std::max<std::size_t>(max_bytes, (*first)->bytes.size()));
      std::vector<std::byte> bytes(extent->length);
      ASSERT_EQ(disk_.read(extent->file, bytes, extent->position).value_or(0), bytes.size());
      std::uint64_t between = 0;
      std::size_t at = 0;
      for (auto batch = first; batch != expected.end() && (*batch)->header.base_offset < bound; ++batch) {
        const std::size_t size = std::min(bytes.size() - at, (*batch)->bytes.size());
        EXPECT_TRUE(std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                               bytes.begin() + static_cast<std::ptrdiff_t>(at + size), (*batch)->bytes.begin()));
        at += size;
        between += (*batch)->bytes.size();
      }
      EXPECT_EQ(at, bytes.size()) << "the extent passes the bound";
      EXPECT_EQ(log_->bytes_between(from, bound), between);
    }
  }

  void check_times(const std::vector<const Batch*>& expected, Offset start, Offset end) {
    struct Seen {
      Offset offset;
      TimestampMs timestamp;
    };
    std::vector<Seen> records;
    for (const Batch* batch : expected) {
      for (int i = 0; i < batch->header.record_count; ++i) {
        if (batch->header.base_offset + i >= start)
          records.push_back({batch->header.base_offset + i, batch->header.base_timestamp + i});
      }
    }
    const auto largest = std::ranges::max_element(records, {}, &Seen::timestamp);
    const auto found_largest = log_->find_max_timestamp(end);
    ASSERT_TRUE(found_largest.has_value());
    EXPECT_EQ(found_largest->has_value(), largest != records.end());
    if (*found_largest && largest != records.end()) {
      EXPECT_EQ((*found_largest)->timestamp, largest->timestamp);
      EXPECT_EQ((*found_largest)->offset, largest->offset);
    }
    for (int i = 0; i < 10; ++i) {
      const TimestampMs timestamp = records.empty() || below(4) == 0 ? kNow + static_cast<TimestampMs>(below(2000))
                                                                     : records[below(records.size())].timestamp;
      const auto wanted = std::ranges::find_if(records, [&](const Seen& r) { return r.timestamp >= timestamp; });
      const auto found = log_->find_by_timestamp(timestamp, end);
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->has_value(), wanted != records.end());
      if (!*found) continue;
      EXPECT_EQ((*found)->offset, wanted->offset);
    }
  }

  std::mt19937_64 random_;
  test::MemoryDisk disk_;
  LogConfig config_;
  std::unique_ptr<Log> log_;
  std::vector<std::unique_ptr<Batch>> batches_;  // in the log or staged, oldest first; some lie below the log start
  LeaderEpoch epoch_ = 0;
  Offset recovery_point_ = 0;  // as the checkpoint has it
  Offset log_start_ = 0;
  test::Awaited write_;
  test::Awaited sync_;
};

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// TAILRACE_SEED repeats one life; TAILRACE_LIVES asks for more of them.
TEST(LogProperties, ALogIsItsModelThroughFailuresAndPowerCuts) {
  start_logging("test", LogLevel::error);
  const std::uint64_t first = number_from("TAILRACE_SEED", 1);
  const std::uint64_t lives = std::getenv("TAILRACE_SEED") != nullptr ? 1 : number_from("TAILRACE_LIVES", 150);
  for (std::uint64_t seed = first; seed < first + lives && !HasFailure(); ++seed) {
    SCOPED_TRACE("TAILRACE_SEED=" + std::to_string(seed));
    World(seed).live(120);
  }
}

}  // namespace
}  // namespace tailrace::log
