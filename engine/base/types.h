// The numbers and names that every part speaks of, in Kafka's nouns.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tailrace {

using Offset = std::int64_t;       // of a record in its partition; ends are exclusive
using LeaderEpoch = std::int32_t;  // -1: none
using ProducerId = std::int64_t;   // -1: none
using ProducerEpoch = std::int16_t;
using Position = std::uint32_t;    // byte position in a segment file
using TimestampMs = std::int64_t;  // Unix time in milliseconds; -1: none
using BrokerId = std::int32_t;

constexpr Offset kNoOffset = -1;
constexpr LeaderEpoch kNoLeaderEpoch = -1;
constexpr ProducerId kNoProducerId = -1;
constexpr TimestampMs kNoTimestamp = -1;

// Monotonic time of a process (or of a simulated world); microseconds are enough for everything here.
using Duration = std::chrono::microseconds;
struct Instant {
  std::int64_t microseconds = 0;
  friend auto operator<=>(Instant, Instant) = default;
  friend Instant operator+(Instant at, Duration d) { return Instant{at.microseconds + d.count()}; }
  friend Duration operator-(Instant a, Instant b) { return Duration{a.microseconds - b.microseconds}; }
};

// Kafka's Uuid: 16 bytes in network order; text is 22 characters of URL-safe base64 without padding. All zero: none.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
  [[nodiscard]] bool is_zero() const { return *this == Uuid{}; }
  [[nodiscard]] std::string text() const;
  // False (and `out` untouched) unless `text` is 22 characters of URL-safe base64 (padding "==" allowed).
  static bool parse(std::string_view text, Uuid& out);
};

struct UuidHash {
  std::size_t operator()(const Uuid& id) const {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word = word << 8 | std::uint64_t(id.bytes[i] ^ id.bytes[8 + i]);
    return word * 0x9E3779B97F4A7C15u;
  }
};

// A partition as engine and services name it: topics are made anew under the same name, ids are not.
struct TopicIdPartition {
  Uuid topic_id;
  std::int32_t partition = 0;
  friend auto operator<=>(const TopicIdPartition&, const TopicIdPartition&) = default;
};
struct TopicIdPartitionHash {
  std::size_t operator()(const TopicIdPartition& key) const {
    return UuidHash{}(key.topic_id) + static_cast<std::size_t>(key.partition) * 0xC2B2AE3D27D4EB4Fu;
  }
};

}  // namespace tailrace
