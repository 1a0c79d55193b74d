// Pages of lag over an engine that answers by hand: how much is asked at a time, and what becomes of a page where the
// engine is away, silent, or says no.
#include "services/groupcoord/lag_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/builder.h"
#include "services/groupcoord/shard.h"
#include "tests/unit/support/plain_link.h"
#include "tests/unit/support/set_clock_io.h"
#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

constexpr std::uint64_t kFile = 5;

class LagReaderTest : public ShardWorld {
 protected:
  void SetUp() override {
    ShardWorld::SetUp();
    cluster_.add("many", 3, 100);
    image(cluster_.image());
    attach();
  }
  void attach() {
    auto [near, far] = test::PlainLink::make_pair(1 << 16);
    near_ = near.get();
    far_ = std::move(far);
    engine_.attach(std::move(near));
  }
  void commit_to_many(int partitions, Offset offset) {
    for (std::int32_t i = 0; i < partitions; ++i) {
      ASSERT_EQ(commit("g", {.topic = "many", .partition = i, .offset = offset}), ErrorCode::NONE);
    }
  }
  void start(std::uint64_t asker) {
    auto page = std::make_unique<LagPage>(1000);
    page->add(*shard_, {});
    reader_.start(asker, std::move(page));
    work();
  }
  void work() {
    engine_.poll();
    reader_.work();
    engine_.publish();
  }
  // What has come to the engine, which is of this kind.
  template <class Request>
  std::vector<Request> asked() {
    std::vector<Request> requests;
    for (;;) {
      const ipc::RingRecord record = far_->consumer().next();
      if (record.type == ipc::kPaddingType) break;
      EXPECT_EQ(record.type, static_cast<std::uint32_t>(api::type_of<Request>()));
      std::memcpy(static_cast<void*>(&requests.emplace_back()), record.payload.data(), sizeof(Request));
    }
    far_->consumer().release();
    return requests;
  }
  template <class Answer>
  void answer(const Answer& answer) {
    std::memcpy(far_->producer().reserve(static_cast<std::uint32_t>(api::type_of<Answer>()), sizeof answer), &answer,
                sizeof answer);
    static_cast<void>(far_->producer().publish());
    work();
  }
  // The one partition of the one group that is asked for ends at 20: the read that follows.
  api::Read end_at_20() {
    const auto ends = asked<api::ListOffset>();
    EXPECT_EQ(ends.size(), 1u);
    answer(api::OffsetListed{.request = ends.at(0).request, .offset = 20});
    return next_read();
  }
  api::Read next_read() {
    const auto reads = asked<api::Read>();
    EXPECT_EQ(reads.size(), 1u);
    return reads.at(0);
  }
  // A file with these bytes, as the engine passes it.
  void pass_file(Bytes bytes, std::uint64_t id = kFile) {
    const int file = ::memfd_create("segment", MFD_CLOEXEC);
    EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), std::ssize(bytes));
    near_->on_file(id, io::File{file});
  }
  static std::vector<std::byte> batch_of(Offset base, TimestampMs time, std::size_t value_size = 5,
                                         bool is_control = false) {
    record::BatchBuilder builder({.base_offset = base, .is_transactional = is_control, .is_control = is_control});
    const std::string value(value_size, 'v');
    EXPECT_TRUE(builder.add(time, std::nullopt, as_bytes(value)));
    EXPECT_TRUE(builder.add(time + 50, std::nullopt, as_bytes(value)));
    const Bytes bytes = *builder.finish();
    return {bytes.begin(), bytes.end()};
  }
  static api::ReadPlan plan(const api::Read& read, std::size_t length, std::uint64_t position = 0) {
    return {.request = read.request,
            .length = static_cast<std::uint32_t>(length),
            .first_batch_length = static_cast<std::uint32_t>(length),
            .file_id = kFile,
            .position = position};
  }
  [[nodiscard]] const kafka::GroupLagResponse::Partition& first_row(std::uint64_t asker) const {
    return pages_.at(asker).at(0);
  }

  test::SetClockIo io_;
  api::Client engine_{io_, 4};
  std::map<std::uint64_t, std::vector<kafka::GroupLagResponse::Partition>> pages_;
  LagReader reader_{io_, engine_, [this](std::uint64_t asker, const LagPage& page) {
                      auto& rows = pages_[asker];
                      EXPECT_TRUE(rows.empty()) << "answered twice";
                      for (const auto& group : page.response().groups) {
                        for (const auto& topic : group.topics) {
                          rows.insert(rows.end(), topic.partitions.begin(), topic.partitions.end());
                        }
                      }
                    }};
  std::unique_ptr<test::PlainLink> far_;
  test::PlainLink* near_ = nullptr;
};

TEST_F(LagReaderTest, APageWithoutQuestionsIsAnsweredAtOnce) {
  start(1);
  EXPECT_TRUE(pages_.contains(1));
}

TEST_F(LagReaderTest, AsksAFewQuestionsAtATime) {
  commit_to_many(30, 10);
  start(1);
  start(2);
  std::size_t answered = 0;
  while (!pages_.contains(2)) {
    const auto ends = asked<api::ListOffset>();
    ASSERT_FALSE(ends.empty());
    ASSERT_LE(ends.size(), LagReader::kQuestionsMax);
    for (const auto& each : ends) {
      EXPECT_EQ(pages_.contains(1), answered >= 30) << "one page after the other";
      answer(api::OffsetListed{.request = each.request, .offset = 10});
      ++answered;
    }
  }
  EXPECT_EQ(answered, 60u);
  ASSERT_EQ(pages_.at(1).size(), 30u);
  for (const auto& row : pages_.at(1)) EXPECT_EQ(row.end_offset, 10);
}

TEST_F(LagReaderTest, TheTimeIsThatOfTheRecord) {
  ASSERT_EQ(commit("g", {.offset = 11}), ErrorCode::NONE);
  start(1);
  const api::Read read = end_at_20();
  EXPECT_EQ(read.fetch_offset, 11);
  const auto batch = batch_of(10, 1000);
  pass_file(batch);
  answer(plan(read, batch.size()));
  EXPECT_EQ(first_row(1).end_offset, 20);
  EXPECT_EQ(first_row(1).oldest_unread_timestamp, 1050);
}

TEST_F(LagReaderTest, OfALargeBatchOnlyTheHeaderIsRead) {
  ASSERT_EQ(commit("g", {.offset = 11}), ErrorCode::NONE);
  start(1);
  const api::Read read = end_at_20();
  const auto batch = batch_of(10, 1000, 40'000);
  pass_file(Bytes(batch).first(record::kBatchHeaderSize));
  answer(plan(read, batch.size()));
  EXPECT_EQ(first_row(1).oldest_unread_timestamp, 1000);
}

TEST_F(LagReaderTest, LooksBehindBatchesThatNobodySees) {
  ASSERT_EQ(commit("g", {.offset = 10}), ErrorCode::NONE);
  start(1);
  const api::Read first = end_at_20();
  auto bytes = batch_of(10, 1000, 5, true);
  const std::size_t marker = bytes.size();
  const auto data = batch_of(12, 2000);
  bytes.insert(bytes.end(), data.begin(), data.end());
  pass_file(bytes);
  answer(plan(first, marker));
  const api::Read second = next_read();
  EXPECT_EQ(second.fetch_offset, 12);
  answer(plan(second, data.size(), marker));
  EXPECT_EQ(first_row(1).oldest_unread_timestamp, 2000);
}

TEST_F(LagReaderTest, ButNotForEver) {
  ASSERT_EQ(commit("g", {.offset = 10}), ErrorCode::NONE);
  start(1);
  api::Read read = end_at_20();
  for (int reads = 1; !pages_.contains(1); ++reads) {
    ASSERT_LE(reads, 16);
    const auto marker = batch_of(read.fetch_offset, 1000, 5, true);
    pass_file(marker, kFile + static_cast<std::uint64_t>(reads));
    api::ReadPlan planned = plan(read, marker.size());
    planned.file_id = kFile + static_cast<std::uint64_t>(reads);
    answer(planned);
    if (!pages_.contains(1)) {
      for (;;) {  // files that had to make room are told of
        const ipc::RingRecord record = far_->consumer().next();
        ASSERT_NE(record.type, ipc::kPaddingType);
        if (record.type == static_cast<std::uint32_t>(api::Type::forget_file)) continue;
        std::memcpy(static_cast<void*>(&read), record.payload.data(), sizeof read);
        break;
      }
      far_->consumer().release();
    }
  }
  EXPECT_EQ(first_row(1).end_offset, 20);
  EXPECT_EQ(first_row(1).oldest_unread_timestamp, -1);
}

TEST_F(LagReaderTest, PlansAgainWhereTheFileIsNotAtHand) {
  ASSERT_EQ(commit("g", {.offset = 10}), ErrorCode::NONE);
  start(1);
  api::Read read = end_at_20();
  const auto batch = batch_of(10, 1000);
  answer(plan(read, batch.size()));  // it was dropped meanwhile
  read = next_read();
  answer(api::ReadPlan{.request = read.request, .code = static_cast<std::uint16_t>(Code::retry)});
  read = next_read();
  pass_file(batch);
  answer(plan(read, batch.size()));
  EXPECT_EQ(first_row(1).oldest_unread_timestamp, 1000);
}

TEST_F(LagReaderTest, WhatTheEngineRefusesIsNotKnown) {
  ASSERT_EQ(commit("g", {.offset = 10}), ErrorCode::NONE);
  start(1);
  answer(api::OffsetListed{.request = asked<api::ListOffset>().at(0).request,
                           .code = static_cast<std::uint16_t>(Code::unknown_partition)});
  EXPECT_EQ(first_row(1).end_offset, -1);
  start(2);
  const api::Read read = end_at_20();  // the log begins behind what was committed
  answer(api::ReadPlan{.request = read.request, .code = static_cast<std::uint16_t>(Code::out_of_range)});
  EXPECT_EQ(first_row(2).end_offset, 20);
  EXPECT_EQ(first_row(2).oldest_unread_timestamp, -1);
}

TEST_F(LagReaderTest, WithoutAnEngineNothingIsKnownAtOnce) {
  commit_to_many(30, 10);
  start(1);
  engine_.detach();
  work();
  work();
  ASSERT_EQ(pages_.at(1).size(), 30u);
  EXPECT_EQ(first_row(1).end_offset, -1);
  start(2);
  EXPECT_EQ(first_row(2).end_offset, -1);
  attach();
  start(3);
  EXPECT_FALSE(asked<api::ListOffset>().empty());
}

TEST_F(LagReaderTest, ASilentEngineIsNotWaitedForLong) {
  commit_to_many(30, 10);
  start(1);
  auto ends = asked<api::ListOffset>();
  answer(api::OffsetListed{.request = ends.at(0).request, .offset = 10});
  ends.erase(ends.begin());
  ends.push_back(asked<api::ListOffset>().at(0));
  io_.pass(LagReader::kPatience - Duration{1});
  io_.turn(true);
  EXPECT_FALSE(pages_.contains(1));
  io_.pass(Duration{1});
  io_.turn(true);
  ASSERT_EQ(pages_.at(1).size(), 30u);
  EXPECT_EQ(pages_.at(1)[0].end_offset, 10);
  EXPECT_EQ(pages_.at(1)[1].end_offset, -1);
  // Who comes then does not wait, and asks nothing more.
  start(2);
  EXPECT_EQ(first_row(2).end_offset, -1);
  EXPECT_TRUE(asked<api::ListOffset>().empty());
  // It is back: old answers are of no interest, and make room for new questions.
  for (const auto& each : ends) answer(api::OffsetListed{.request = each.request, .offset = 99});
  start(3);
  while (!pages_.contains(3)) {
    for (const auto& each : asked<api::ListOffset>()) {
      answer(api::OffsetListed{.request = each.request, .offset = 10});
    }
  }
  for (const auto& row : pages_.at(3)) EXPECT_EQ(row.end_offset, 10);
}

TEST_F(LagReaderTest, WhoIsGoneIsNotAskedForAnyMore) {
  commit_to_many(30, 10);
  start(1);
  start(2);
  start(3);
  const auto old = asked<api::ListOffset>();
  EXPECT_EQ(old.size(), LagReader::kQuestionsMax);
  reader_.forget(1);
  reader_.forget(3);
  work();
  EXPECT_TRUE(asked<api::ListOffset>().empty()) << "more than a few at a time";
  EXPECT_TRUE(pages_.empty());
  for (const auto& each : old) answer(api::OffsetListed{.request = each.request, .offset = 99});
  while (!pages_.contains(2)) {
    for (const auto& each : asked<api::ListOffset>()) {
      answer(api::OffsetListed{.request = each.request, .offset = 10});
    }
  }
  for (const auto& row : pages_.at(2)) EXPECT_EQ(row.end_offset, 10);
  EXPECT_EQ(pages_.size(), 1u);
}

}  // namespace
}  // namespace tailrace::groupcoord
