#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "engine/ipc/ring.h"

namespace tailrace::ipc {
namespace {

constexpr std::size_t kCapacity = 1024;

struct Memory {
  alignas(128) std::byte bytes[sizeof(RingHeader) + kCapacity] = {};
  Memory() { new (bytes) RingHeader; }
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(bytes); }
};

TEST(Ring, KeepsOrderAndBytesOfRecordsOfEverySize) {
  Memory memory;
  RingProducer producer(memory.bytes, kCapacity);
  RingConsumer consumer(memory.bytes, kCapacity);
  std::mt19937 random(7);
  std::deque<std::string> expected;
  for (int step = 0; step < 200'000; ++step) {
    if (random() % 2 == 0) {
      const std::string payload(random() % (producer.payload_max() + 1), static_cast<char>('a' + random() % 26));
      std::byte* const space = producer.reserve(1 + static_cast<std::uint32_t>(payload.size()), payload.size());
      if (space != nullptr) {
        std::memcpy(space, payload.data(), payload.size());
        expected.push_back(payload);
      }
      if (random() % 3 == 0) (void)producer.publish();
    } else {
      const RingRecord record = consumer.next();
      ASSERT_FALSE(consumer.violated());
      if (record.type == kPaddingType) {
        consumer.release();
        (void)producer.publish();
        continue;
      }
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(record.type, 1 + expected.front().size());
      ASSERT_EQ(as_text(record.payload), expected.front());
      expected.pop_front();
      if (random() % 4 == 0) consumer.release();
    }
  }
}

TEST(Ring, AnEmptyRingTakesTheLargestRecordAtEveryPosition) {
  for (std::size_t shift = 0; shift < kCapacity; shift += 8) {
    Memory memory;
    RingProducer producer(memory.bytes, kCapacity);
    RingConsumer consumer(memory.bytes, kCapacity);
    for (std::size_t moved = 0; moved < shift; moved += 8) {
      ASSERT_NE(producer.reserve(1, 0), nullptr);
      (void)producer.publish();
      (void)consumer.next();
      consumer.release();
    }
    ASSERT_NE(producer.reserve(1, producer.payload_max()), nullptr) << shift;
  }
}

TEST(Ring, ASleeperIsClaimedByOnePublishOnly) {
  Memory memory;
  RingProducer producer(memory.bytes, kCapacity);
  RingConsumer consumer(memory.bytes, kCapacity);
  EXPECT_TRUE(consumer.prepare_to_sleep());
  ASSERT_NE(producer.reserve(1, 4), nullptr);
  EXPECT_TRUE(producer.publish());
  ASSERT_NE(producer.reserve(1, 4), nullptr);
  EXPECT_FALSE(producer.publish());
  EXPECT_FALSE(producer.publish());  // nothing new
  EXPECT_FALSE(consumer.prepare_to_sleep());
}

TEST(Ring, GarbageFromThePeerIsAViolationAndNeverFollowed) {
  std::mt19937_64 random(11);
  int violations = 0;
  for (int round = 0; round < 20'000; ++round) {
    Memory memory;
    for (std::size_t i = sizeof(RingHeader); i < sizeof memory.bytes; ++i) {
      // Small numbers often, so that some records look sound.
      memory.bytes[i] = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 2);
    }
    memory.header().tail = random() % 3 == 0 ? random() : random() % (2 * kCapacity);
    RingConsumer consumer(memory.bytes, kCapacity);
    for (int i = 0; i < 1000; ++i) {
      const RingRecord record = consumer.next();
      if (record.type == kPaddingType) break;
      ASSERT_GE(record.payload.data(), memory.bytes + sizeof(RingHeader));
      ASSERT_LE(record.payload.data() + record.payload.size(), memory.bytes + sizeof memory.bytes);
    }
    violations += consumer.violated() ? 1 : 0;
  }
  EXPECT_GT(violations, 1000);
}

TEST(Ring, AProducerDoesNotBelieveAHeadAheadOfItsTail) {
  Memory memory;
  RingProducer producer(memory.bytes, kCapacity);
  memory.header().head = 1u << 20;
  std::size_t taken = 0;
  while (producer.reserve(1, 56) != nullptr) taken += 64;
  EXPECT_LE(taken, kCapacity);
}

}  // namespace
}  // namespace tailrace::ipc
