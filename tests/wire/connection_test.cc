// One connection: versions, headers, order, and frames that come in any pieces (kafka.md's traps 1, 2, 17, 18, 20, 24).
#include <algorithm>

#include "services/kafka/messages/api_versions.h"
#include "services/kafka/messages/describe_cluster.h"
#include "services/kafka/messages/find_coordinator.h"
#include "services/kafka/messages/metadata.h"
#include "services/kafka/messages/produce.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using kafka::ApiVersionsRequest;
using kafka::ApiVersionsResponse;

class Connection : public WireTest {};

ApiVersionsRequest known_software() { return {.client_software_name = "wire", .client_software_version = "1.0"}; }

// KIP-511: the body of version 0 whatever was asked, the error, and the one entry that says what to ask instead.
TEST_F(Connection, ApiVersionsOfTheFutureIsAnsweredInVersion0) {
  constexpr std::int16_t kFuture = 9;
  std::string frame = Client::frame(known_software(), 3, 5);
  store_big_endian(reinterpret_cast<std::byte*>(frame.data()) + 6, kFuture);
  ASSERT_TRUE(client.send(frame));
  const auto answer = client.hear<ApiVersionsResponse>(0, 5);
  EXPECT_EQ(answer->error_code, kafka::wire(ErrorCode::UNSUPPORTED_VERSION));
  ASSERT_EQ(answer->api_keys.size(), 1u);
  EXPECT_EQ(answer->api_keys[0].api_key, kafka::api_key::kApiVersions);
  EXPECT_EQ(answer->api_keys[0].min_version, 0);
  EXPECT_GE(answer->api_keys[0].max_version, 3);
  // The connection goes on.
  EXPECT_EQ(client.call<ApiVersionsResponse>(known_software(), 3)->error_code, 0);
}

// The correlation id is all the header there is, although the body is flexible: tagged fields there would shift the
// body.
TEST_F(Connection, ApiVersionsAnswersAlwaysHaveTheHeaderOfVersion0) {
  for (std::int16_t version = 3; version <= 5; ++version) {
    client.ask(known_software(), version);
    const std::optional<std::string> frame = client.receive_frame();
    ASSERT_TRUE(frame);
    const auto body = kafka::decode_exactly<ApiVersionsResponse>(as_bytes(*frame).subspan(4), version);
    ASSERT_TRUE(body);
    EXPECT_EQ(body->error_code, 0);
    EXPECT_GT(body->api_keys.size(), 10u);
  }
}

TEST_F(Connection, ApiVersionsTellsTheTableAndNothingBetweenNodes) {
  const auto answer = client.call<ApiVersionsResponse>(ApiVersionsRequest{}, 0);
  std::size_t advertised = 0;
  for (const kafka::Api& api : kafka::api_table()) advertised += api.advertised() ? 1 : 0;
  ASSERT_EQ(answer->api_keys.size(), advertised);
  std::map<int, std::pair<int, int>> ranges;
  for (const auto& each : answer->api_keys) ranges[each.api_key] = {each.min_version, each.max_version};
  EXPECT_EQ(ranges[kafka::api_key::kProduce].first, 0);  // or librdkafka drops compression
  EXPECT_FALSE(ranges.contains(kafka::api_key::kLeaderAndIsr));
  EXPECT_FALSE(ranges.contains(kafka::api_key::kUpdateMetadata));
  EXPECT_FALSE(ranges.contains(kafka::api_key::kAllocateProducerIds));
  EXPECT_EQ(ranges.contains(71), ranges.contains(72));             // telemetry: both or neither
  EXPECT_TRUE(ranges.contains(kafka::api_key::kDescribeCluster));  // with Metadata 11 and later
}

TEST_F(Connection, ClientSoftwareMustHaveANameThatKafkaAllows) {
  const auto answer = client.call<ApiVersionsResponse>(
      ApiVersionsRequest{.client_software_name = "-bad name", .client_software_version = "1"}, 3);
  EXPECT_EQ(answer->error_code, kafka::wire(ErrorCode::INVALID_REQUEST));
  EXPECT_TRUE(answer->api_keys.empty());
}

// KIP-1242: a client that took this address for another node's, as after servers were moved, begins anew.
TEST_F(Connection, ApiVersionsIsRefusedToOneWhoLooksForAnotherNode) {
  const auto cluster = client.call<kafka::DescribeClusterResponse>(kafka::DescribeClusterRequest{}, 1);
  const std::int32_t id = cluster->brokers[0].broker_id;
  const auto error_of = [&](std::optional<std::string_view> cluster_id, std::int32_t node_id) {
    ApiVersionsRequest request = known_software();
    request.cluster_id = cluster_id;
    request.node_id = node_id;
    const auto answer = client.call<ApiVersionsResponse>(request, 5);
    EXPECT_EQ(answer->api_keys.empty(), answer->error_code != 0);
    return static_cast<ErrorCode>(answer->error_code);
  };
  EXPECT_EQ(error_of(std::nullopt, -1), ErrorCode::NONE);
  EXPECT_EQ(error_of(cluster->cluster_id, id), ErrorCode::NONE);
  EXPECT_EQ(error_of(cluster->cluster_id, id + 1), ErrorCode::REBOOTSTRAP_REQUIRED);
  EXPECT_EQ(error_of(cluster->cluster_id, -2), ErrorCode::REBOOTSTRAP_REQUIRED);
  EXPECT_EQ(error_of("another", id), ErrorCode::REBOOTSTRAP_REQUIRED);
  EXPECT_EQ(error_of("", id), ErrorCode::REBOOTSTRAP_REQUIRED);
  EXPECT_EQ(error_of(cluster->cluster_id, -1), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of(std::nullopt, id), ErrorCode::INVALID_REQUEST);
}

// kafka-python sends both at once to find out who is there.
TEST_F(Connection, ApiVersionsAndMetadataMayBeSentTogether) {
  ASSERT_TRUE(client.send(Client::frame(ApiVersionsRequest{}, 0, 1) +
                          Client::frame(kafka::MetadataRequest{.topics = {{}}}, 0, 2)));
  EXPECT_EQ(client.hear<ApiVersionsResponse>(0, 1)->error_code, 0);
  EXPECT_EQ(client.hear<kafka::MetadataResponse>(0, 2)->brokers.size(), 1u);
}

TEST_F(Connection, FramesMayComeByteByByte) {
  const std::string bytes =
      Client::frame(known_software(), 3, 1) + Client::frame(kafka::MetadataRequest{}, kMetadataVersion, 2);
  for (const char byte : bytes) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_EQ(client.hear<ApiVersionsResponse>(3, 1)->error_code, 0);
  EXPECT_EQ(client.hear<kafka::MetadataResponse>(kMetadataVersion, 2)->brokers.size(), 1u);
}

TEST_F(Connection, ManyFramesInOneWriteAreAnsweredInTheirOrder) {
  const std::string topic = fresh("order");
  make_topic(client, topic);
  constexpr std::int32_t kRounds = 40;
  std::string bytes;
  for (std::int32_t i = 0; i < kRounds; ++i) {
    bytes += produce_frame(topic, batch_of({"value " + std::to_string(i)}), 0, -1, 3 * i);
    bytes += Client::frame(ApiVersionsRequest{}, 0, 3 * i + 1);
    bytes += produce_frame(topic, batch_of({"more"}), 0, 1, 3 * i + 2);
  }
  ASSERT_TRUE(client.send(bytes));
  for (std::int32_t i = 0; i < kRounds; ++i) {
    const auto first = client.hear<kafka::ProduceResponse>(kProduceVersion, 3 * i);
    EXPECT_EQ(first->responses[0].partition_responses[0].base_offset, 2 * i);
    (void)client.hear<ApiVersionsResponse>(0, 3 * i + 1);
    const auto second = client.hear<kafka::ProduceResponse>(kProduceVersion, 3 * i + 2);
    EXPECT_EQ(second->responses[0].partition_responses[0].base_offset, 2 * i + 1);
  }
}

// More than may be in flight at once, with acks that are fulfilled at different times.
TEST_F(Connection, PipelinedProduceKeepsItsOrder) {
  const std::string topic = fresh("pipeline");
  make_topic(client, topic);
  constexpr std::int32_t kRequests = 200;
  std::string bytes;
  for (std::int32_t i = 0; i < kRequests; ++i) {
    bytes += produce_frame(topic, batch_of({std::to_string(i)}), 0, i % 2 == 0 ? std::int16_t{-1} : std::int16_t{1}, i);
  }
  ASSERT_TRUE(client.send(bytes));
  for (std::int32_t i = 0; i < kRequests; ++i) {
    const auto answer = client.hear<kafka::ProduceResponse>(kProduceVersion, i);
    ASSERT_EQ(answer->responses.size(), 1u);
    EXPECT_EQ(answer->responses[0].partition_responses[0].error_code, 0);
    EXPECT_EQ(answer->responses[0].partition_responses[0].base_offset, i);
  }
}

TEST_F(Connection, ProduceWithoutAcksIsNotAnswered) {
  const std::string topic = fresh("silent");
  make_topic(client, topic);
  ASSERT_TRUE(client.send(produce_frame(topic, batch_of({"one", "two"}), 0, 0, 1)));
  // The first answer is that of the next request, which sees the records: order is kept without answers, too.
  const Produced next = produce(client, topic, batch_of({"three"}));
  EXPECT_EQ(next.error, ErrorCode::NONE);
  EXPECT_EQ(next.base_offset, 2);
  EXPECT_TRUE(client.is_silent());
}

TEST_F(Connection, ProduceWithoutAcksClosesTheConnectionOnAnError) {
  ASSERT_TRUE(client.send(produce_frame("nobody-made-this", batch_of({"lost"}), 0, 0, 1)));
  EXPECT_TRUE(client.is_closed_by_node());
}

TEST_F(Connection, AcksThatKafkaDoesNotHaveAreRefused) {
  const std::string topic = fresh("acks");
  make_topic(client, topic);
  EXPECT_EQ(produce(client, topic, batch_of({"x"}), 0, 2).error, ErrorCode::INVALID_REQUIRED_ACKS);
  EXPECT_EQ(produce(client, topic, batch_of({"x"}), 0, -2).error, ErrorCode::INVALID_REQUIRED_ACKS);
  EXPECT_EQ(log_end(client, topic), 0);
}

// Produce is advertised from version 0, and closed on below 3, as by Kafka 4.
TEST_F(Connection, VersionsThatAreNotServedCloseTheConnection) {
  for (const kafka::Api& api : kafka::api_table()) {
    if (api.key == kafka::api_key::kApiVersions) continue;
    for (const int version : {-1, api.served_min - 1, api.advertised_max + 1, 32767}) {
      SCOPED_TRACE(std::string(api.name) + " " + std::to_string(version));
      std::string frame(18, '\0');
      auto* const bytes = reinterpret_cast<std::byte*>(frame.data());
      store_big_endian(bytes, std::int32_t{14});
      store_big_endian(bytes + 4, api.key);
      store_big_endian(bytes + 6, static_cast<std::int16_t>(version));
      Client other(node().port());
      ASSERT_TRUE(other.send(frame));
      EXPECT_TRUE(other.is_closed_by_node());
    }
  }
}

TEST_F(Connection, ApisThatAreNotServedCloseTheConnection) {
  for (const int key : {-1, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 21, 58, 67, 95, 1000, 32767}) {
    SCOPED_TRACE(key);
    std::string frame(16, '\0');
    auto* const bytes = reinterpret_cast<std::byte*>(frame.data());
    store_big_endian(bytes, std::int32_t{12});
    store_big_endian(bytes + 4, static_cast<std::int16_t>(key));
    Client other(node().port());
    ASSERT_TRUE(other.send(frame));
    EXPECT_TRUE(other.is_closed_by_node());
  }
}

// Some versions of librdkafka leave bytes over behind a request, and Kafka does not look at them.
TEST_F(Connection, BytesBehindARequestAreIgnored) {
  std::string frame = Client::frame(kafka::MetadataRequest{.topics = {{}}}, kMetadataVersion, 8);
  frame += std::string(3, '\0');
  store_big_endian(reinterpret_cast<std::byte*>(frame.data()), static_cast<std::int32_t>(frame.size() - 4));
  ASSERT_TRUE(client.send(frame));
  EXPECT_EQ(client.hear<kafka::MetadataResponse>(kMetadataVersion, 8)->brokers.size(), 1u);
}

TEST_F(Connection, DescribeClusterTellsWhatMetadataTells) {
  const auto metadata = client.call<kafka::MetadataResponse>(kafka::MetadataRequest{.topics = {{}}}, kMetadataVersion);
  const auto cluster = client.call<kafka::DescribeClusterResponse>(kafka::DescribeClusterRequest{}, 1);
  EXPECT_EQ(cluster->cluster_id, metadata->cluster_id);
  EXPECT_EQ(cluster->cluster_id.size(), 22u);
  EXPECT_EQ(cluster->controller_id, metadata->controller_id);
  ASSERT_EQ(cluster->brokers.size(), 1u);
  EXPECT_EQ(cluster->brokers[0].port, node().port());
  EXPECT_EQ(cluster->brokers[0].host, "127.0.0.1");
  EXPECT_EQ(cluster->cluster_authorized_operations, kafka::kInt32Min);  // not asked for
}

// The first question makes __consumer_offsets, and its answer is a whole one already. Transactional ids are nobody's,
// and there are no other types of coordinators.
TEST_F(Connection, FindCoordinatorIsAnsweredInAllVersions) {
  for (std::int16_t version = 0; version <= 6; ++version) {
    SCOPED_TRACE(version);
    kafka::FindCoordinatorRequest request{.key = "group"};
    if (version >= 4) request.coordinator_keys = {"group", "other"};
    const auto answer = client.call<kafka::FindCoordinatorResponse>(request, version);
    if (version < 4) {
      EXPECT_EQ(answer->error_code, 0);
      EXPECT_EQ(answer->host, "127.0.0.1");
      EXPECT_EQ(answer->port, node().port());
    } else {
      ASSERT_EQ(answer->coordinators.size(), 2u);
      EXPECT_EQ(answer->coordinators[1].key, "other");
      EXPECT_EQ(answer->coordinators[1].error_code, 0);
      EXPECT_EQ(answer->coordinators[1].port, node().port());
    }
    if (version == 0) continue;
    const auto error_of = [&](std::int8_t key_type) {
      request.key_type = key_type;
      const auto refused = client.call<kafka::FindCoordinatorResponse>(request, version);
      return version < 4 ? refused->error_code : refused->coordinators.at(0).error_code;
    };
    EXPECT_EQ(error_of(1), kafka::wire(kafka::ErrorCode::COORDINATOR_NOT_AVAILABLE));
    for (const int other : {-1, 2, 3, 127}) {
      EXPECT_EQ(error_of(static_cast<std::int8_t>(other)), kafka::wire(kafka::ErrorCode::INVALID_REQUEST)) << other;
    }
  }
  const kafka::MetadataRequest about{.topics = {{{.name = "__consumer_offsets"}}}};
  const auto metadata = client.call<kafka::MetadataResponse>(about, 12);
  ASSERT_EQ(metadata->topics.size(), 1u);
  EXPECT_EQ(metadata->topics[0].name, "__consumer_offsets");
  EXPECT_TRUE(metadata->topics[0].is_internal);
  EXPECT_EQ(metadata->topics[0].partitions.size(), 50u);
}

}  // namespace
}  // namespace tailrace::wire
