// The list of what Tailrace serves: each Kafka API, its versions, and the process that answers. ApiVersions' answer,
// the router and the tests loop over it; a range is raised here only with tests that cover it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tailrace::kafka {

namespace api_key {
constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kFetch = 1;
constexpr std::int16_t kListOffsets = 2;
constexpr std::int16_t kMetadata = 3;
constexpr std::int16_t kLeaderAndIsr = 4;
constexpr std::int16_t kStopReplica = 5;
constexpr std::int16_t kUpdateMetadata = 6;
constexpr std::int16_t kControlledShutdown = 7;
constexpr std::int16_t kOffsetCommit = 8;
constexpr std::int16_t kOffsetFetch = 9;
constexpr std::int16_t kFindCoordinator = 10;
constexpr std::int16_t kJoinGroup = 11;
constexpr std::int16_t kHeartbeat = 12;
constexpr std::int16_t kLeaveGroup = 13;
constexpr std::int16_t kSyncGroup = 14;
constexpr std::int16_t kDescribeGroups = 15;
constexpr std::int16_t kListGroups = 16;
constexpr std::int16_t kApiVersions = 18;
constexpr std::int16_t kCreateTopics = 19;
constexpr std::int16_t kDeleteTopics = 20;
constexpr std::int16_t kDeleteRecords = 21;
constexpr std::int16_t kInitProducerId = 22;
constexpr std::int16_t kOffsetForLeaderEpoch = 23;
constexpr std::int16_t kDescribeConfigs = 32;
constexpr std::int16_t kAlterConfigs = 33;
constexpr std::int16_t kDescribeLogDirs = 35;
constexpr std::int16_t kCreatePartitions = 37;
constexpr std::int16_t kDeleteGroups = 42;
constexpr std::int16_t kElectLeaders = 43;
constexpr std::int16_t kIncrementalAlterConfigs = 44;
constexpr std::int16_t kAlterPartitionReassignments = 45;
constexpr std::int16_t kListPartitionReassignments = 46;
constexpr std::int16_t kOffsetDelete = 47;
constexpr std::int16_t kDescribeClientQuotas = 48;
constexpr std::int16_t kAlterClientQuotas = 49;
constexpr std::int16_t kDescribeUserScramCredentials = 50;
constexpr std::int16_t kAlterPartition = 56;
constexpr std::int16_t kDescribeCluster = 60;
constexpr std::int16_t kDescribeProducers = 61;
constexpr std::int16_t kAllocateProducerIds = 67;
constexpr std::int16_t kConsumerGroupHeartbeat = 68;
constexpr std::int16_t kConsumerGroupDescribe = 69;
constexpr std::int16_t kGetTelemetrySubscriptions = 71;
constexpr std::int16_t kPushTelemetry = 72;
constexpr std::int16_t kListConfigResources = 74;
constexpr std::int16_t kDescribeTopicPartitions = 75;
}  // namespace api_key

enum class Handler : std::uint8_t {
  broker,      // answered by the broker itself
  zkbridge,    // forwarded as received to tailrace-zkbridge
  groupcoord,  // forwarded as received to tailrace-groupcoord
  control,     // between nodes only: refused from clients, never advertised
};

struct Api {
  std::int16_t key = 0;
  std::string_view name;
  // What ApiVersions says. Produce says 0, or librdkafka believes that the broker cannot decompress
  // (apache/kafka#18727), but like Kafka 4 we serve it from 3 on.
  std::int16_t advertised_min = 0;
  std::int16_t advertised_max = 0;
  std::int16_t served_min = 0;
  std::int16_t flexible_from = 0;
  Handler handler = Handler::broker;

  [[nodiscard]] constexpr bool advertised() const { return handler != Handler::control; }
  [[nodiscard]] constexpr bool serves(std::int16_t version) const {
    return version >= served_min && version <= advertised_max;
  }
};

// In the order of their keys.
[[nodiscard]] std::span<const Api> api_table();
// Null: not served.
[[nodiscard]] const Api* find_api(std::int16_t key);

// Of every key that Kafka has had, served or not, for logs and for headers. "" and kAnyVersion (describe.h): no such
// key.
[[nodiscard]] std::string_view api_name(std::int16_t key);
[[nodiscard]] std::int16_t api_flexible_from(std::int16_t key);

}  // namespace tailrace::kafka
