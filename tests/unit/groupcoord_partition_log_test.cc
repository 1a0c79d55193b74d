// The log of a coordinator over an engine that answers by hand: when it counts as read, what it takes for its own, and
// what becomes of answers that nobody waits for any more.
#include "services/groupcoord/partition_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/unit/support/plain_link.h"
#include "tests/unit/support/set_clock_io.h"

namespace tailrace::groupcoord {
namespace {

class PartitionLogTest : public ::testing::Test, public PartitionLog::Reader {
 protected:
  PartitionLogTest() {
    auto [near, far] = test::PlainLink::make_pair(1 << 12);
    far_ = std::move(far);
    engine_.attach(std::move(near));
  }

  void on_record(Bytes, std::optional<Bytes>, ProducerId) override {}
  void on_transaction_end(ProducerId, bool) override {}
  void on_read() override { ++reads_; }
  void on_lost(std::vector<Reply> unsent) override {
    ++losses_;
    unsent_ += unsent.size();
  }
  void on_durable(Reply) override { ++durable_; }

  // The next request, which is one of these.
  template <class Request>
  Request asked() {
    engine_.publish();
    const ipc::RingRecord record = far_->consumer().next();
    Request request;
    EXPECT_EQ(record.type, static_cast<std::uint32_t>(api::type_of<Request>()));
    if (record.payload.size() < sizeof request) return request;
    std::memcpy(static_cast<void*>(&request), record.payload.data(), sizeof request);
    far_->consumer().release();
    return request;
  }
  template <class Answer>
  void answer(const Answer& answer) {
    std::memcpy(far_->producer().reserve(static_cast<std::uint32_t>(api::type_of<Answer>()), sizeof answer), &answer,
                sizeof answer);
    static_cast<void>(far_->producer().publish());
    engine_.poll();
  }
  // All up to the high watermark is read, which is at 0: what is asked then.
  api::Read read_to_the_end() {
    log_.read();
    answer(api::OffsetListed{.request = asked<api::ListOffset>().request, .offset = 0});
    return end_of_reading();
  }
  api::Read end_of_reading() {
    const auto read = asked<api::Read>();
    EXPECT_EQ(read.fetch_offset, 0);
    answer(api::ReadPlan{.request = read.request, .high_watermark = 0});
    return asked<api::Read>();
  }
  void nothing_behind(const api::Read& read) {
    answer(api::ReadPlan{.request = read.request, .code = static_cast<std::uint16_t>(Code::out_of_range)});
  }
  api::Append append_one() {
    std::vector<Reply> replies(1);
    log_.append({{.key = std::vector<std::byte>(4), .value = std::nullopt}}, std::move(replies));
    log_.flush();
    return asked<api::Append>();
  }

  test::SetClockIo io_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 16);
  ipc::Arena arena_{memory_};
  api::Client engine_{io_, 1};
  PartitionLog log_{io_, engine_, arena_, {Uuid{}, 0}, *this};
  std::unique_ptr<test::PlainLink> far_;
  int reads_ = 0;
  int losses_ = 0;
  int durable_ = 0;
  std::size_t unsent_ = 0;
};

// What the coordinator before had sent when it died.
TEST_F(PartitionLogTest, WaitsForWhatIsWrittenAndNotDurableYet) {
  api::Read behind = read_to_the_end();
  EXPECT_EQ(behind.fetch_offset, 1);
  answer(api::ReadPlan{.request = behind.request, .high_watermark = 0});
  EXPECT_EQ(reads_, 0);

  io_.pass(std::chrono::seconds(1));
  io_.turn(true);
  behind = end_of_reading();
  nothing_behind(behind);
  EXPECT_EQ(reads_, 1);
}

TEST_F(PartitionLogTest, IsLostWhenSomebodyElseHasWritten) {
  nothing_behind(read_to_the_end());
  answer(api::Appended{.request = append_one().request, .base_offset = 0});
  EXPECT_EQ(durable_, 1);
  answer(api::Appended{.request = append_one().request, .base_offset = 1});
  EXPECT_EQ(durable_, 2);

  answer(api::Appended{.request = append_one().request, .base_offset = 3});
  EXPECT_EQ(durable_, 2);
  EXPECT_EQ(losses_, 1);
  EXPECT_EQ(unsent_, 1u);
}

TEST_F(PartitionLogTest, TakesNoAnswerWhenItIsGivenUp) {
  log_.read();
  const auto list = asked<api::ListOffset>();
  log_.lose();
  EXPECT_TRUE(log_.is_busy());
  answer(api::OffsetListed{.request = list.request, .offset = 0});
  EXPECT_FALSE(log_.is_busy());

  const api::Read behind = read_to_the_end();
  log_.lose();
  nothing_behind(behind);
  EXPECT_EQ(reads_, 0);

  nothing_behind(read_to_the_end());
  const api::Append append = append_one();
  log_.lose();
  EXPECT_EQ(unsent_, 1u);
  answer(api::Appended{.request = append.request, .base_offset = 0});
  EXPECT_EQ(durable_, 0);
  EXPECT_FALSE(log_.is_busy());
  // Its memory is free again: all of the arena can be had.
  EXPECT_TRUE(arena_.allocate(memory_.size()).has_value());
}

}  // namespace
}  // namespace tailrace::groupcoord
