// What is served, and the facts about every key of Kafka that a request header needs.
#include "services/kafka/api_table.h"

#include <array>

#include "services/kafka/describe.h"

namespace tailrace::kafka {
namespace {

struct KafkaApi {
  std::string_view name;
  std::int16_t flexible_from;
};

// Kafka 3.9 and 4.4 together, by key.
constexpr std::array kKafkaApis = {
    KafkaApi{"Produce", 9},                                // 0
    KafkaApi{"Fetch", 12},                                 // 1
    KafkaApi{"ListOffsets", 6},                            // 2
    KafkaApi{"Metadata", 9},                               // 3
    KafkaApi{"LeaderAndIsr", 4},                           // 4
    KafkaApi{"StopReplica", 2},                            // 5
    KafkaApi{"UpdateMetadata", 6},                         // 6
    KafkaApi{"ControlledShutdown", 3},                     // 7
    KafkaApi{"OffsetCommit", 8},                           // 8
    KafkaApi{"OffsetFetch", 6},                            // 9
    KafkaApi{"FindCoordinator", 3},                        // 10
    KafkaApi{"JoinGroup", 6},                              // 11
    KafkaApi{"Heartbeat", 4},                              // 12
    KafkaApi{"LeaveGroup", 4},                             // 13
    KafkaApi{"SyncGroup", 4},                              // 14
    KafkaApi{"DescribeGroups", 5},                         // 15
    KafkaApi{"ListGroups", 3},                             // 16
    KafkaApi{"SaslHandshake", kAnyVersion},                // 17
    KafkaApi{"ApiVersions", 3},                            // 18
    KafkaApi{"CreateTopics", 5},                           // 19
    KafkaApi{"DeleteTopics", 4},                           // 20
    KafkaApi{"DeleteRecords", 2},                          // 21
    KafkaApi{"InitProducerId", 2},                         // 22
    KafkaApi{"OffsetForLeaderEpoch", 4},                   // 23
    KafkaApi{"AddPartitionsToTxn", 3},                     // 24
    KafkaApi{"AddOffsetsToTxn", 3},                        // 25
    KafkaApi{"EndTxn", 3},                                 // 26
    KafkaApi{"WriteTxnMarkers", 1},                        // 27
    KafkaApi{"TxnOffsetCommit", 3},                        // 28
    KafkaApi{"DescribeAcls", 2},                           // 29
    KafkaApi{"CreateAcls", 2},                             // 30
    KafkaApi{"DeleteAcls", 2},                             // 31
    KafkaApi{"DescribeConfigs", 4},                        // 32
    KafkaApi{"AlterConfigs", 2},                           // 33
    KafkaApi{"AlterReplicaLogDirs", 2},                    // 34
    KafkaApi{"DescribeLogDirs", 2},                        // 35
    KafkaApi{"SaslAuthenticate", 2},                       // 36
    KafkaApi{"CreatePartitions", 2},                       // 37
    KafkaApi{"CreateDelegationToken", 2},                  // 38
    KafkaApi{"RenewDelegationToken", 2},                   // 39
    KafkaApi{"ExpireDelegationToken", 2},                  // 40
    KafkaApi{"DescribeDelegationToken", 2},                // 41
    KafkaApi{"DeleteGroups", 2},                           // 42
    KafkaApi{"ElectLeaders", 2},                           // 43
    KafkaApi{"IncrementalAlterConfigs", 1},                // 44
    KafkaApi{"AlterPartitionReassignments", 0},            // 45
    KafkaApi{"ListPartitionReassignments", 0},             // 46
    KafkaApi{"OffsetDelete", kAnyVersion},                 // 47
    KafkaApi{"DescribeClientQuotas", 1},                   // 48
    KafkaApi{"AlterClientQuotas", 1},                      // 49
    KafkaApi{"DescribeUserScramCredentials", 0},           // 50
    KafkaApi{"AlterUserScramCredentials", 0},              // 51
    KafkaApi{"Vote", 0},                                   // 52
    KafkaApi{"BeginQuorumEpoch", 1},                       // 53
    KafkaApi{"EndQuorumEpoch", 1},                         // 54
    KafkaApi{"DescribeQuorum", 0},                         // 55
    KafkaApi{"AlterPartition", 0},                         // 56
    KafkaApi{"UpdateFeatures", 0},                         // 57
    KafkaApi{"Envelope", 0},                               // 58
    KafkaApi{"FetchSnapshot", 0},                          // 59
    KafkaApi{"DescribeCluster", 0},                        // 60
    KafkaApi{"DescribeProducers", 0},                      // 61
    KafkaApi{"BrokerRegistration", 0},                     // 62
    KafkaApi{"BrokerHeartbeat", 0},                        // 63
    KafkaApi{"UnregisterBroker", 0},                       // 64
    KafkaApi{"DescribeTransactions", 0},                   // 65
    KafkaApi{"ListTransactions", 0},                       // 66
    KafkaApi{"AllocateProducerIds", 0},                    // 67
    KafkaApi{"ConsumerGroupHeartbeat", 0},                 // 68
    KafkaApi{"ConsumerGroupDescribe", 0},                  // 69
    KafkaApi{"ControllerRegistration", 0},                 // 70
    KafkaApi{"GetTelemetrySubscriptions", 0},              // 71
    KafkaApi{"PushTelemetry", 0},                          // 72
    KafkaApi{"AssignReplicasToDirs", 0},                   // 73
    KafkaApi{"ListConfigResources", 0},                    // 74
    KafkaApi{"DescribeTopicPartitions", 0},                // 75
    KafkaApi{"ShareGroupHeartbeat", 0},                    // 76
    KafkaApi{"ShareGroupDescribe", 0},                     // 77
    KafkaApi{"ShareFetch", 0},                             // 78
    KafkaApi{"ShareAcknowledge", 0},                       // 79
    KafkaApi{"AddRaftVoter", 0},                           // 80
    KafkaApi{"RemoveRaftVoter", 0},                        // 81
    KafkaApi{"UpdateRaftVoter", 0},                        // 82
    KafkaApi{"InitializeShareGroupState", 0},              // 83
    KafkaApi{"ReadShareGroupState", 0},                    // 84
    KafkaApi{"WriteShareGroupState", 0},                   // 85
    KafkaApi{"DeleteShareGroupState", 0},                  // 86
    KafkaApi{"ReadShareGroupStateSummary", 0},             // 87
    KafkaApi{"StreamsGroupHeartbeat", 0},                  // 88
    KafkaApi{"StreamsGroupDescribe", 0},                   // 89
    KafkaApi{"DescribeShareGroupOffsets", 0},              // 90
    KafkaApi{"AlterShareGroupOffsets", 0},                 // 91
    KafkaApi{"DeleteShareGroupOffsets", 0},                // 92
    KafkaApi{"StreamsGroupTopologyDescriptionUpdate", 0},  // 93
    KafkaApi{"UnregisterController", 0},                   // 94
};

constexpr Api api(std::int16_t key, std::int16_t advertised_min, std::int16_t advertised_max, Handler handler,
                  std::int16_t served_min) {
  const KafkaApi& kafka = kKafkaApis[static_cast<std::size_t>(key)];
  return Api{key, kafka.name, advertised_min, advertised_max, served_min, kafka.flexible_from, handler};
}
constexpr Api api(std::int16_t key, std::int16_t min, std::int16_t max, Handler handler) {
  return api(key, min, max, handler, min);
}

constexpr std::array kApiTable = {
    api(api_key::kProduce, 0, 13, Handler::broker, 3),
    api(api_key::kFetch, 4, 18, Handler::broker),
    api(api_key::kListOffsets, 0, 11, Handler::broker),
    api(api_key::kMetadata, 0, 13, Handler::broker),
    api(api_key::kLeaderAndIsr, 0, 7, Handler::control),
    api(api_key::kStopReplica, 0, 4, Handler::control),
    api(api_key::kUpdateMetadata, 0, 8, Handler::control),
    api(api_key::kOffsetCommit, 2, 10, Handler::groupcoord),
    api(api_key::kOffsetFetch, 1, 10, Handler::groupcoord),
    api(api_key::kFindCoordinator, 0, 6, Handler::broker),
    api(api_key::kJoinGroup, 0, 9, Handler::groupcoord),
    api(api_key::kHeartbeat, 0, 4, Handler::groupcoord),
    api(api_key::kLeaveGroup, 0, 5, Handler::groupcoord),
    api(api_key::kSyncGroup, 0, 5, Handler::groupcoord),
    api(api_key::kDescribeGroups, 0, 6, Handler::groupcoord),
    api(api_key::kListGroups, 0, 5, Handler::groupcoord),
    api(api_key::kApiVersions, 0, 5, Handler::broker),
    api(api_key::kCreateTopics, 0, 7, Handler::zkbridge),
    api(api_key::kDeleteTopics, 0, 6, Handler::zkbridge),
    api(api_key::kDeleteRecords, 0, 2, Handler::broker),
    api(api_key::kInitProducerId, 0, 5, Handler::groupcoord),
    api(api_key::kOffsetForLeaderEpoch, 0, 4, Handler::broker),
    api(api_key::kDescribeConfigs, 0, 4, Handler::broker),
    api(api_key::kAlterConfigs, 0, 2, Handler::zkbridge),
    api(api_key::kDescribeLogDirs, 0, 5, Handler::broker),
    api(api_key::kCreatePartitions, 0, 3, Handler::zkbridge),
    api(api_key::kDeleteGroups, 0, 3, Handler::groupcoord),
    api(api_key::kElectLeaders, 0, 2, Handler::zkbridge),
    api(api_key::kIncrementalAlterConfigs, 0, 1, Handler::zkbridge),
    api(api_key::kAlterPartitionReassignments, 0, 1, Handler::zkbridge),
    api(api_key::kListPartitionReassignments, 0, 0, Handler::zkbridge),
    api(api_key::kOffsetDelete, 0, 0, Handler::groupcoord),
    api(api_key::kDescribeClientQuotas, 0, 1, Handler::zkbridge),
    api(api_key::kAlterClientQuotas, 0, 1, Handler::zkbridge),
    api(api_key::kDescribeUserScramCredentials, 0, 0, Handler::broker),
    api(api_key::kDescribeCluster, 0, 2, Handler::broker),
    api(api_key::kDescribeProducers, 0, 0, Handler::broker),
    api(api_key::kAllocateProducerIds, 0, 0, Handler::control),
    api(api_key::kConsumerGroupHeartbeat, 0, 1, Handler::groupcoord),
    api(api_key::kConsumerGroupDescribe, 0, 1, Handler::groupcoord),
    api(api_key::kGetTelemetrySubscriptions, 0, 0, Handler::broker),
    api(api_key::kPushTelemetry, 0, 0, Handler::broker),
    api(api_key::kListConfigResources, 0, 1, Handler::zkbridge),
    api(api_key::kDescribeTopicPartitions, 0, 0, Handler::broker),
};

constexpr bool in_order() {
  for (std::size_t i = 1; i < kApiTable.size(); ++i) {
    if (kApiTable[i - 1].key >= kApiTable[i].key) return false;
  }
  return true;
}
static_assert(in_order());

const KafkaApi* kafka_api(std::int16_t key) {
  if (key < 0 || key >= static_cast<int>(kKafkaApis.size())) return nullptr;
  return &kKafkaApis[static_cast<std::size_t>(key)];
}

}  // namespace

std::span<const Api> api_table() { return kApiTable; }

const Api* find_api(std::int16_t key) {
  for (const Api& row : kApiTable) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

std::string_view api_name(std::int16_t key) {
  const KafkaApi* kafka = kafka_api(key);
  return kafka != nullptr ? kafka->name : std::string_view{};
}

std::int16_t api_flexible_from(std::int16_t key) {
  const KafkaApi* kafka = kafka_api(key);
  return kafka != nullptr ? kafka->flexible_from : kAnyVersion;
}

}  // namespace tailrace::kafka
