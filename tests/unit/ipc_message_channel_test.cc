// Messages of any size over two rings in plain memory.
#include "engine/ipc/message_channel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::ipc {
namespace {

constexpr std::size_t kRing = 4096;

struct alignas(128) RingMemory {
  explicit RingMemory(std::size_t capacity) : words((sizeof(RingHeader) + capacity) / sizeof(Line)) {
    new (data()) RingHeader;
  }
  [[nodiscard]] std::byte* data() { return words[0].bytes; }
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  std::vector<Line> words;
};

class PlainLink final : public Link {
 public:
  PlainLink(RingMemory& to, RingMemory& from, int& rings) : rings_(rings) {
    producer_ = RingProducer(to.data(), kRing);
    consumer_ = RingConsumer(from.data(), kRing);
  }
  Result<void> send_file(std::uint64_t, io::File) override { return failure(Code::unsupported); }
  void receive_files() override {}

 private:
  void ring_peer() override { ++rings_; }
  int& rings_;
};

struct Message {
  std::uint32_t type = 0;
  std::string text;
  friend bool operator==(const Message&, const Message&) = default;
};

class MessageChannelTest : public ::testing::Test {
 protected:
  MessageChannelTest() {
    auto link = std::make_unique<PlainLink>(there_, back_, rings_);
    near_link_ = link.get();
    near_ = std::make_unique<MessageChannel>(*io_, std::move(link));
    far_ = std::make_unique<MessageChannel>(*io_, std::make_unique<PlainLink>(back_, there_, rings_));
  }
  void send(std::uint32_t type, std::string_view text) { near_->send(type, {as_bytes(text)}); }
  bool take() {
    return far_->poll(
        [this](std::uint32_t type, Bytes message) { got_.push_back({type, std::string(as_text(message))}); });
  }
  // Both ends go on until nothing moves.
  void settle() {
    for (bool worked = true; worked;) {
      near_->publish();
      worked = take();
      worked |= near_->poll([](std::uint32_t, Bytes) {});
    }
  }
  // A record as a peer could write it.
  void write_record(std::uint32_t record_type, std::string_view payload) {
    std::byte* const space = near_link_->producer().reserve(record_type, payload.size());
    ASSERT_NE(space, nullptr);
    if (!payload.empty()) std::memcpy(space, payload.data(), payload.size());
    near_link_->publish();
  }

  std::unique_ptr<io::Io> io_ = std::move(*io::make_io());
  RingMemory there_{kRing};
  RingMemory back_{kRing};
  int rings_ = 0;
  PlainLink* near_link_ = nullptr;
  std::unique_ptr<MessageChannel> near_;
  std::unique_ptr<MessageChannel> far_;
  std::vector<Message> got_;
};

TEST_F(MessageChannelTest, JoinsThePartsAndKeepsTheType) {
  near_->send(7, {as_bytes("one "), {}, as_bytes("two")});
  near_->send(0, {});
  near_->send((1u << 30) - 1, {as_bytes("x")});
  EXPECT_FALSE(take());  // not published
  near_->publish();
  EXPECT_TRUE(take());
  EXPECT_EQ(got_, (std::vector<Message>{{7, "one two"}, {0, ""}, {(1u << 30) - 1, "x"}}));
  EXPECT_FALSE(take());
  EXPECT_FALSE(far_->is_broken());
}

TEST_F(MessageChannelTest, MessagesLargerThanTheRingTravelInPieces) {
  std::string large(100 * kRing + 13, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 999);
  send(1, "before");
  send(2, large);
  send(3, "after");
  EXPECT_TRUE(near_->has_waiting());
  settle();
  EXPECT_FALSE(near_->has_waiting());
  EXPECT_EQ(got_, (std::vector<Message>{{1, "before"}, {2, large}, {3, "after"}}));
}

TEST_F(MessageChannelTest, EverySizeAroundAPieceArrives) {
  const std::size_t piece = near_link_->producer().payload_max();
  std::vector<Message> sent;
  for (const std::size_t pieces : {1, 2, 3}) {
    for (int difference = -9; difference <= 9; ++difference) {
      sent.push_back(
          {static_cast<std::uint32_t>(sent.size()), std::string(pieces * piece + static_cast<std::size_t>(difference),
                                                                static_cast<char>('a' + sent.size() % 26))});
      send(sent.back().type, sent.back().text);
    }
  }
  settle();
  EXPECT_EQ(got_, sent);
}

TEST_F(MessageChannelTest, WhatWaitsKeepsItsOrderWithWhatComesLater) {
  std::mt19937 random(1);
  std::vector<Message> sent;
  for (int i = 0; i < 3000; ++i) {
    Message message{static_cast<std::uint32_t>(i), std::string(random() % (random() % 10 == 0 ? 3 * kRing : 200), 'm')};
    for (char& each : message.text) each = static_cast<char>(random());
    send(message.type, message.text);
    sent.push_back(std::move(message));
    if (random() % 3 == 0) near_->publish();
    if (random() % 5 == 0) take();
    if (random() % 5 == 0) near_->poll([](std::uint32_t, Bytes) {});
  }
  settle();
  EXPECT_EQ(got_.size(), sent.size());
  EXPECT_TRUE(got_ == sent);
}

// A loop that sleeps on messages that wait for room is woken to look for it, and not in every turn.
TEST_F(MessageChannelTest, WaitingForRoomIsSleepThatEnds) {
  send(1, std::string(2 * kRing, 'x'));
  near_->publish();
  EXPECT_TRUE(near_->has_waiting());
  std::uint64_t wakes = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(near_->prepare_to_sleep());
    for (std::uint64_t ran = 0; ran == 0;) ran = io_->turn(false);  // would hang if nothing woke it
    near_->wake();
    near_->poll([](std::uint32_t, Bytes) {});
    ++wakes;
  }
  EXPECT_EQ(wakes, 5u);
  // The peer is heard meanwhile.
  ASSERT_TRUE(near_->prepare_to_sleep());
  far_->send(9, {as_bytes("y")});
  far_->publish();
  EXPECT_EQ(rings_, 1);
  settle();
  EXPECT_FALSE(near_->has_waiting());
  EXPECT_TRUE(near_->prepare_to_sleep());
  near_->wake();
}

TEST_F(MessageChannelTest, TheLongerNothingMovesTheLongerItSleeps) {
  send(1, std::string(2 * kRing, 'x'));
  near_->publish();
  const Instant start = io_->now();
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(near_->prepare_to_sleep());
    for (std::uint64_t ran = 0; ran == 0;) ran = io_->turn(false);
    near_->wake();
    near_->poll([](std::uint32_t, Bytes) {});
  }
  EXPECT_GE(io_->now() - start, Duration{500 * 127});  // 1 + 2 + 4 + ... times the first pause
}

TEST_F(MessageChannelTest, ASleeperIsRungForOnce) {
  EXPECT_TRUE(far_->prepare_to_sleep());
  send(1, "a");
  near_->publish();
  EXPECT_EQ(rings_, 1);
  send(2, "b");
  near_->publish();
  EXPECT_EQ(rings_, 1);  // it is awake
  EXPECT_FALSE(far_->prepare_to_sleep());
  take();
  EXPECT_EQ(got_.size(), 2u);
}

TEST_F(MessageChannelTest, AnswersMayBeSentFromWithin) {
  for (int i = 0; i < 500; ++i) send(static_cast<std::uint32_t>(i), std::string(300, 'q'));
  std::uint32_t answered = 0;
  for (int round = 0; round < 2000 && answered < 500; ++round) {
    near_->publish();
    far_->poll([this](std::uint32_t type, Bytes message) { far_->send(type, {message, message}); });
    far_->publish();
    near_->poll([&](std::uint32_t type, Bytes message) {
      EXPECT_EQ(type, answered++);
      EXPECT_EQ(message.size(), 600u);
    });
  }
  EXPECT_EQ(answered, 500u);
}

TEST_F(MessageChannelTest, AMessageWhoseEndNeverComesIsNotDelivered) {
  write_record((5 + 1) << 1 | 1, "the beginning");
  EXPECT_TRUE(take());
  EXPECT_TRUE(got_.empty());
  write_record((5 + 1) << 1, ", the end");
  take();
  EXPECT_EQ(got_, (std::vector<Message>{{5, "the beginning, the end"}}));
}

TEST_F(MessageChannelTest, ARingThatLiesBreaksTheChannel) {
  send(1, "sound");
  near_->publish();
  auto* const header = reinterpret_cast<RingHeader*>(there_.data());
  header->tail.store(10 * kRing);
  take();
  EXPECT_TRUE(far_->is_broken());
  const std::size_t delivered = got_.size();
  take();
  EXPECT_EQ(got_.size(), delivered);
  far_->send(1, {as_bytes("no more")});
  EXPECT_FALSE(far_->has_waiting());
}

TEST_F(MessageChannelTest, ARecordThatLiesBreaksTheChannel) {
  for (const std::uint32_t size : {std::uint32_t{kRing}, 0xFFFFFFFFu, 100u}) {
    RingMemory memory(kRing);
    MessageChannel victim(*io_, std::make_unique<PlainLink>(back_, memory, rings_));
    const RecordHeader lie{size, 4};
    std::memcpy(memory.data() + sizeof(RingHeader), &lie, sizeof lie);
    reinterpret_cast<RingHeader*>(memory.data())->tail.store(16);
    victim.poll([](std::uint32_t, Bytes) { ADD_FAILURE(); });
    EXPECT_TRUE(victim.is_broken()) << size;
  }
}

// Pages that nobody writes cost nothing.
Bytes untouched(std::size_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return {static_cast<const std::byte*>(memory), size};
}

TEST_F(MessageChannelTest, AMessageBeyondTheBoundIsNotSent) {
  const Bytes large = untouched(MessageChannel::kMessageBytesMax + 1);
  near_->send(1, {large.first(MessageChannel::kMessageBytesMax)});
  EXPECT_FALSE(near_->is_broken());
  near_->send(1, {large.first(1), large.first(MessageChannel::kMessageBytesMax)});
  EXPECT_TRUE(near_->is_broken());
}

TEST_F(MessageChannelTest, MoreThanMayWaitBreaksTheChannel) {
  const Bytes large = untouched(MessageChannel::kMessageBytesMax);
  for (std::size_t waiting = 0; waiting < MessageChannel::kWaitingBytesMax; waiting += large.size())
    near_->send(1, {large});
  EXPECT_FALSE(near_->is_broken());
  near_->send(1, {large.first(1)});
  EXPECT_TRUE(near_->is_broken());
}

TEST_F(MessageChannelTest, AMessageWithoutEndBreaksTheChannel) {
  const std::string piece(near_link_->producer().payload_max(), 'p');
  std::size_t sent = 0;
  for (; sent <= MessageChannel::kMessageBytesMax && !far_->is_broken(); sent += piece.size()) {
    write_record(3 << 1 | 1, piece);
    take();
  }
  EXPECT_TRUE(far_->is_broken());
  EXPECT_GT(sent, MessageChannel::kMessageBytesMax);
  EXPECT_TRUE(got_.empty());
}

// Whatever a peer writes into its ring, nothing is read outside it (the sanitizers watch) and nothing hangs.
TEST_F(MessageChannelTest, GarbageInTheRingIsSurvived) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    RingMemory memory(kRing);
    MessageChannel victim(*io_, std::make_unique<PlainLink>(back_, memory, rings_));
    std::byte* const ring = memory.data() + sizeof(RingHeader);
    for (std::size_t i = 0; i < kRing; i += 4) {
      const auto word = static_cast<std::uint32_t>(random() % 4 == 0 ? random() : random() % 64);
      std::memcpy(ring + i, &word, sizeof word);
    }
    reinterpret_cast<RingHeader*>(memory.data())->tail.store(random() % 3 == 0 ? random() : random() % (kRing + 1));
    for (int i = 0; i < 3; ++i) victim.poll([](std::uint32_t, Bytes) {});
  }
}

}  // namespace
}  // namespace tailrace::ipc
