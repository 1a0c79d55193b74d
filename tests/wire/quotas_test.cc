// Quotas and dynamic limits as clients meet them: set while the node runs, told in the answers, and gone again.
#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/get_telemetry_subscriptions.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/metadata.h"
#include "services/kafka/messages/produce.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using kafka::AlterClientQuotasRequest;
using kafka::AlterClientQuotasResponse;

// The client id of all these clients is "wire".
class Quotas : public WireTest {
 protected:
  void TearDown() override {
    for (const char* key :
         {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"})
      set(key, std::nullopt);
    WireTest::TearDown();
  }
  // For the client id "wire"; nothing: not any more.
  void set(std::string_view key, std::optional<double> value, std::string_view type = "client-id",
           std::optional<std::string_view> name = "wire") {
    AlterClientQuotasRequest request;
    request.entries.push_back({.entity = {{.entity_type = type, .entity_name = name}},
                               .ops = {{.key = key, .value = value.value_or(0), .remove = !value}}});
    const auto answer = admin_.call<AlterClientQuotasResponse>(request, 1);
    EXPECT_EQ(answer->entries.at(0).error_code, 0);
  }
  static kafka::CreateTopicsRequest creation(std::vector<std::string_view> names, std::int32_t partitions) {
    kafka::CreateTopicsRequest request{.timeout_ms = 30'000};
    for (const std::string_view name : names) {
      request.topics.push_back({.name = name, .num_partitions = partitions, .replication_factor = 1});
    }
    return request;
  }
  Client admin_{node().port(), "127.0.0.1"};
};

// The broker knows of a quota when the node has answered who set it, or very soon.
template <class Ask>
std::int32_t throttled(Ask ask) {
  std::int32_t ms = 0;
  EXPECT_TRUE(eventually([&] { return (ms = ask()) > 0; }));
  return ms;
}

TEST_F(Quotas, AProducerBeyondItsRateIsToldSoAndNotReadFrom) {
  const std::string topic = fresh("quota");
  make_topic(client, topic);
  set("producer_byte_rate", 20'000);
  Client other(node().port());
  const std::int32_t ms = throttled([&] {
    Client producer(node().port());
    const auto request = produce_frame(topic, batch_of({std::string(100'000, 'x')}), 0, -1, 1);
    producer.send(request);
    (void)producer.hear<kafka::ProduceResponse>(kProduceVersion, 1);
    producer.send(request);
    const auto second = producer.hear<kafka::ProduceResponse>(kProduceVersion, 1);
    EXPECT_EQ(second->responses.at(0).partition_responses.at(0).error_code, 0);  // it is taken all the same
    if (second->throttle_time_ms > 0) {
      producer.send(request);  // which waits
      (void)other.call<kafka::MetadataResponse>(kafka::MetadataRequest{.topics = {{}}}, kMetadataVersion);
      EXPECT_TRUE(producer.is_silent());
    }
    return second->throttle_time_ms;
  });
  EXPECT_GT(ms, 0);
}

// They are not answered, but the connection is muted all the same: what comes next waits.
TEST_F(Quotas, ProducersWithoutAcksAreMutedToo) {
  const std::string topic = fresh("quota");
  make_topic(client, topic);
  set("producer_byte_rate", 1000);
  EXPECT_TRUE(eventually([&] {
    Client producer(node().port());
    producer.send(produce_frame(topic, batch_of({std::string(100'000, 'x')}), 0, 0, 1));
    producer.send(Client::frame(kafka::MetadataRequest{.topics = {{}}}, kMetadataVersion, 2));
    // One round trip of somebody else after the node has the records.
    const Offset end = log_end(client, topic);
    EXPECT_TRUE(eventually([&] { return log_end(client, topic) > end || !producer.is_silent(); }));
    (void)log_end(client, topic);
    return producer.is_silent();
  }));
}

TEST_F(Quotas, AThrottledFetchHasNoRecordsAndBeginsNoSession) {
  const std::string topic = fresh("quota");
  const Uuid id = make_topic(client, topic);
  for (int i = 0; i < 4; ++i) produce(client, topic, batch_of({std::string(10'000, 'x')}));
  set("consumer_byte_rate", 1200);  // 12,000 at once
  kafka::FetchRequest request{.max_bytes = 1 << 20, .session_epoch = 0};
  request.topics.push_back({.topic_id = id, .partitions = {{.partition = 0, .partition_max_bytes = 1 << 20}}});
  const auto records_in = [](const kafka::FetchResponse& response) {
    std::size_t bytes = 0;
    for (const auto& each : response.responses) {
      for (const auto& partition : each.partitions) bytes += partition.records.bytes.value_or(Bytes{}).size();
    }
    return bytes;
  };
  Answer<kafka::FetchResponse> answer;
  ASSERT_TRUE(eventually([&] {
    Client consumer(node().port());
    answer = consumer.call<kafka::FetchResponse>(request, 17);
    EXPECT_EQ(answer->error_code, 0);
    return records_in(*answer) == 0;
  }));
  EXPECT_GT(answer->throttle_time_ms, 0);
  EXPECT_EQ(answer->session_id, 0);  // it was not begun
  EXPECT_TRUE(answer->responses.empty());
}

TEST_F(Quotas, ChangesOfTopicsBeyondTheRateAreRefusedToThoseWhoKnowTheError) {
  const std::string first = fresh("mutation");
  const std::string second = fresh("mutation");
  const std::string old_way = fresh("mutation");
  set("controller_mutation_rate", 0.01);  // a burst of 0.11, so that one topic is a debt
  Answer<kafka::CreateTopicsResponse> answer;
  std::string other;
  ASSERT_TRUE(eventually([&] {
    other = fresh("mutation");
    Client changer(node().port());
    answer = changer.call<kafka::CreateTopicsResponse>(creation({other, first + "!", second}, 2), 7);
    if (answer->throttle_time_ms > 0) return true;
    EXPECT_EQ(answer->topics.at(0).error_code, 0);
    Client cleaner(node().port());
    (void)cleaner.call<kafka::DeleteTopicsResponse>(
        kafka::DeleteTopicsRequest{.topic_names = {second}, .timeout_ms = 30'000}, 3);
    return false;
  }));
  std::map<std::string_view, ErrorCode> errors;
  for (const auto& topic : answer->topics) errors[topic.name] = static_cast<ErrorCode>(topic.error_code);
  EXPECT_EQ(errors[first + "!"], ErrorCode::INVALID_TOPIC_EXCEPTION);  // costs nothing
  EXPECT_EQ(errors[second], ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  Client with_partitions(node().port());
  const auto grown = with_partitions.call<kafka::CreatePartitionsResponse>(
      kafka::CreatePartitionsRequest{.topics = {{.name = other, .count = 5}}, .timeout_ms = 30'000}, 3);
  EXPECT_EQ(grown->results.at(0).error_code, kafka::wire(ErrorCode::THROTTLING_QUOTA_EXCEEDED));
  EXPECT_GT(grown->throttle_time_ms, 0);
  // The old versions do it, and their clients wait afterwards.
  Client old_client(node().port());
  const auto made = old_client.call<kafka::CreateTopicsResponse>(creation({old_way}, 1), 5);
  EXPECT_EQ(made->topics.at(0).error_code, 0);
  EXPECT_GT(made->throttle_time_ms, 0);
}

TEST_F(Quotas, WhoMakesTheBrokerWorkMoreThanItMayIsMuted) {
  set("request_percentage", 0.000001);
  throttled([&] {
    Client asking(node().port());
    return asking.call<kafka::MetadataResponse>(kafka::MetadataRequest{}, kMetadataVersion)->throttle_time_ms;
  });
}

TEST(DynamicLimits, CountAtOnce) {
  const auto node = Node::start({.settings = {"listeners=PLAINTEXT://0.0.0.0:0"}});
  Client admin(node->port());
  const auto set = [&](std::string_view key, std::string_view value) {
    kafka::IncrementalAlterConfigsRequest request;
    request.resources.push_back({.resource_type = 4, .configs = {{.name = key, .value = value}}});
    const auto answer = admin.call<kafka::IncrementalAlterConfigsResponse>(request, 1);
    EXPECT_EQ(answer->responses.at(0).error_code, 0) << *answer->responses.at(0).error_message;
  };
  set("max.connections.per.ip", "1");
  ASSERT_TRUE(eventually([&] { return Client(node->port()).is_closed_by_node(); }));
  set("max.connections.per.ip", "100");
  ASSERT_TRUE(eventually([&] {
    Client another(node->port());
    another.send(Client::frame(kafka::MetadataRequest{}, kMetadataVersion, 1));
    return another.receive_frame().has_value();
  }));
  Client other(node->port());
  EXPECT_FALSE(other.call<kafka::MetadataResponse>(kafka::MetadataRequest{}, kMetadataVersion)->brokers.empty());
  // The one that was used longest ago goes.
  set("max.connections", "1");
  EXPECT_TRUE(other.is_closed_by_node());
  EXPECT_FALSE(admin.call<kafka::MetadataResponse>(kafka::MetadataRequest{}, kMetadataVersion)->brokers.empty());
  Client waiting(node->port());
  const std::int32_t asked = waiting.ask(kafka::MetadataRequest{}, kMetadataVersion);
  (void)admin.call<kafka::MetadataResponse>(kafka::MetadataRequest{}, kMetadataVersion);
  EXPECT_TRUE(waiting.is_silent());
  set("max.connections", "2");
  EXPECT_FALSE(waiting.hear<kafka::MetadataResponse>(kMetadataVersion, asked)->brokers.empty());
}

TEST(DynamicLimits, ASubscriptionToMetricsIsToldToTheClientsThatItChooses) {
  const auto node = Node::start();
  Client admin(node->port());
  kafka::IncrementalAlterConfigsRequest request;
  request.resources.push_back({.resource_type = 16,
                               .resource_name = "basic",
                               .configs = {{.name = "metrics", .value = "org.apache.kafka."},
                                           {.name = "interval.ms", .value = "1000"},
                                           {.name = "match", .value = "client_id=wi.*"}}});
  EXPECT_EQ(admin.call<kafka::IncrementalAlterConfigsResponse>(request, 1)->responses.at(0).error_code, 0);
  EXPECT_TRUE(eventually([&] {
    Client asking(node->port());
    const auto told =
        asking.call<kafka::GetTelemetrySubscriptionsResponse>(kafka::GetTelemetrySubscriptionsRequest{}, 0);
    return told->requested_metrics == std::vector<std::string_view>{"org.apache.kafka."} &&
           told->push_interval_ms == 1000;
  }));
}

}  // namespace
}  // namespace tailrace::wire
