// Subscriptions to the metrics of clients: who is chosen, when a push is taken, what is kept; and the metrics
// themselves.
#include "services/broker/client_metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;

Uuid uuid(std::uint32_t n) {
  Uuid id;
  std::memcpy(id.bytes.data() + 4, &n, sizeof n);
  id.bytes[0] = 1;
  return id;
}

MetricsClient client(int connection = 1) {
  MetricsClient client{.client_id = "billing-1",
                       .software_name = "apache-kafka-java",
                       .software_version = "4.4.0",
                       .address = "10.0.0.1",
                       .port = "40123"};
  client.connection = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(connection) * 64);
  return client;
}

std::shared_ptr<const ClientMetrics::Subscriptions> subscriptions(ClientMetrics::Subscriptions all) {
  return std::make_shared<const ClientMetrics::Subscriptions>(std::move(all));
}

class ClientMetricsTest : public ::testing::Test {
 protected:
  ClientMetrics::Answer ask(std::uint32_t n = 1, TimestampMs now = 0, int connection = 1) {
    return metrics_.subscriptions_of(uuid(n), {}, client(connection), now);
  }
  ErrorCode push(std::int32_t subscription, TimestampMs now, bool is_last = false, std::int8_t compression = 0,
                 std::size_t bytes = 10) {
    return metrics_.check_push({uuid(1), subscription, is_last, compression, bytes}, client(), now);
  }
  ClientMetrics metrics_{1000};
};

TEST_F(ClientMetricsTest, WithoutASubscriptionNothingIsAskedFor) {
  const ClientMetrics::Answer answer = metrics_.subscriptions_of({}, uuid(7), client(), 0);
  EXPECT_EQ(answer.error, ErrorCode::NONE);
  EXPECT_EQ(answer.instance, uuid(7));
  EXPECT_EQ(answer.push_interval_ms, 300'000);
  EXPECT_TRUE(answer.metrics.empty());
}

TEST_F(ClientMetricsTest, SelectorsMustAllMatchAsAWhole) {
  const struct {
    const char* match;
    bool is_chosen;
  } cases[] = {
      {"", true},
      {"client_id=billing-.*", true},
      {"client_id=billing", false},
      {"client_software_name=apache-kafka-java,client_software_version=4\\..*", true},
      {"client_software_name = apache-kafka-java, client_software_version = 3.*", false},
      {"client_source_address=10\\.0\\.0\\.[0-9]+,client_source_port=40[0-9]{3}", true},
      {"client_instance_id="
       "AQAAAAEAAAAAAAAAAAAAAA",
       true},
      {"client_id=(", false},        // no pattern
      {"client_id=(?!x).*", false},  // of Java's, which RE2 does not have
      {"something_else=.*", false},
      {"client_id", false},
  };
  std::uint32_t n = 1;
  for (const auto& each : cases) {
    SCOPED_TRACE(each.match);
    metrics_.use(subscriptions({{"s", {{"metrics", "a.,b."}, {"interval.ms", "1000"}, {"match", each.match}}}}));
    const Uuid id = std::strstr(each.match, "instance") != nullptr ? uuid(1) : uuid(++n);
    const ClientMetrics::Answer answer = metrics_.subscriptions_of(id, {}, client(), 0);
    EXPECT_EQ(answer.metrics.size(), each.is_chosen ? 2u : 0u);
    EXPECT_EQ(answer.push_interval_ms, each.is_chosen ? 1000 : 300'000);
  }
}

TEST_F(ClientMetricsTest, SubscriptionsAddUpWithTheShortestInterval) {
  metrics_.use(subscriptions({{"x", {{"metrics", "a.,b."}, {"interval.ms", "60000"}}},
                              {"y", {{"metrics", "b.,c."}, {"interval.ms", "5000"}}}}));
  const ClientMetrics::Answer both = ask();
  EXPECT_EQ(both.metrics, (std::vector<std::string>{"a.", "b.", "c."}));
  EXPECT_EQ(both.push_interval_ms, 5000);
  metrics_.use(subscriptions({{"x", {{"metrics", "a."}}}, {"y", {{"metrics", "*"}}}}));
  const ClientMetrics::Answer all = ask();  // a change is told at once
  EXPECT_EQ(all.error, ErrorCode::NONE);
  EXPECT_EQ(all.metrics, (std::vector<std::string>{"*"}));
  EXPECT_NE(all.subscription_id, both.subscription_id);
  EXPECT_NE(all.subscription_id, ask(2).subscription_id);
}

TEST_F(ClientMetricsTest, AClientThatAsksOrPushesTooEarlyIsThrottled) {
  metrics_.use(subscriptions({{"s", {{"metrics", "*"}, {"interval.ms", "1000"}}}}));
  const std::int32_t id = ask(1, 0).subscription_id;
  EXPECT_EQ(ask(1, 10).error, ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  EXPECT_EQ(push(id, 20), ErrorCode::NONE);  // the first after the question
  EXPECT_EQ(push(id, 900), ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  EXPECT_EQ(push(id, 1020), ErrorCode::NONE);
  EXPECT_EQ(ask(1, 1500).error, ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  EXPECT_EQ(ask(1, 2020).error, ErrorCode::NONE);
}

TEST_F(ClientMetricsTest, WhatIsWrongWithAPushIsSaid) {
  metrics_.use(subscriptions({{"s", {{"metrics", "*"}, {"interval.ms", "1000"}}}}));
  const std::int32_t id = ask(1, 0).subscription_id;
  EXPECT_EQ(metrics_.check_push({}, client(), 0), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(push(id + 1, 0), ErrorCode::UNKNOWN_SUBSCRIPTION_ID);
  EXPECT_EQ(ask(1, 1).error, ErrorCode::NONE);  // it may ask at once what the right one is
  EXPECT_EQ(push(id, 2, false, 5), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  EXPECT_EQ(push(id, 2000, false, -1), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  EXPECT_EQ(push(id, 4000, false, 4, 1001), ErrorCode::TELEMETRY_TOO_LARGE);
  EXPECT_EQ(push(id, 6000, false, 4, 1000), ErrorCode::NONE);
}

TEST_F(ClientMetricsTest, TheLastPushMayComeEarlyAndNoneAfterIt) {
  metrics_.use(subscriptions({{"s", {{"metrics", "*"}, {"interval.ms", "1000"}}}}));
  const std::int32_t id = ask(1, 0).subscription_id;
  EXPECT_EQ(push(id, 1), ErrorCode::NONE);
  EXPECT_EQ(push(id, 2, true), ErrorCode::NONE);
  EXPECT_EQ(push(id, 5000), ErrorCode::INVALID_REQUEST);
}

TEST_F(ClientMetricsTest, InstancesGoWithTheirConnectionOrWhenTheyAreSilent) {
  ask(1, 0, 1);
  ask(2, 0, 2);
  metrics_.closed(client(1).connection);
  EXPECT_EQ(metrics_.instances().size(), 1u);
  metrics_.forget_silent(900'000);
  EXPECT_EQ(metrics_.instances().size(), 1u);
  metrics_.forget_silent(900'001);
  EXPECT_EQ(metrics_.instances().size(), 0u);
}

TEST_F(ClientMetricsTest, ManyInstancesDoNotTakeMoreThanTheirShareOfMemory) {
  const std::vector<MetricSeries> series(ClientMetrics::kSeriesMax + 1, {.name = std::string(400, 'n'), .value = 1});
  for (std::uint32_t n = 1; n < 5000; ++n) {
    ask(n, n, static_cast<int>(n));
    metrics_.keep(uuid(n), series, 10, n);
    ASSERT_LE(metrics_.instances().size(), ClientMetrics::kInstancesMax);
  }
  std::size_t bytes = 0;
  for (const auto& [id, instance] : metrics_.instances()) {
    EXPECT_LE(instance.series.size(), ClientMetrics::kSeriesMax);
    for (const MetricSeries& each : instance.series) bytes += each.name.size();
  }
  EXPECT_LE(bytes, ClientMetrics::kShownBytesMax);
  EXPECT_GT(bytes, ClientMetrics::kShownBytesMax / 2);
  // One connection that gives itself many names has one.
  for (std::uint32_t n = 10'000; n < 10'100; ++n) ask(n, n, 7777);
  std::size_t of_it = 0;
  for (const auto& [id, instance] : metrics_.instances())
    of_it += instance.client.connection == client(7777).connection;
  EXPECT_EQ(of_it, 1u);
}

// -- OTLP ----------------------------------------------------------------------------------------------------------

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string field(std::uint32_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string fixed(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3 | 1) + std::string(reinterpret_cast<const char*>(&value), 8);
}
std::string attribute(std::string_view key, std::string_view value) {
  return field(1, key) + field(2, field(1, value));
}
std::string metrics_data(std::string_view metric) { return field(1, field(2, field(2, metric))); }

std::string example() {
  const std::string gauge =
      field(1, "rate") +
      field(5, field(1, fixed(4, std::bit_cast<std::uint64_t>(2.5)) + field(7, attribute("node", "1"))));
  const std::string sum = field(1, "total") + field(7, field(1, fixed(6, static_cast<std::uint64_t>(-3))));
  const std::string histogram =
      field(1, "time") +
      field(9, field(1, fixed(5, std::bit_cast<std::uint64_t>(7.0)) + field(9, attribute("a", "b"))));
  return field(1, field(1, "resource") + field(2, field(2, gauge) + field(2, sum))) + metrics_data(histogram);
}

TEST(Otlp, TheLastValuesAreRead) {
  const auto series = read_otlp(as_bytes(example()), 10);
  ASSERT_TRUE(series);
  ASSERT_EQ(series->size(), 3u);
  EXPECT_EQ((*series)[0].name, "rate{node=1}");
  EXPECT_EQ((*series)[0].value, 2.5);
  EXPECT_EQ((*series)[1].name, "total");
  EXPECT_EQ((*series)[1].value, -3);
  EXPECT_EQ((*series)[2].name, "time{a=b}");
  EXPECT_EQ((*series)[2].value, 7);
  EXPECT_EQ(read_otlp(as_bytes(example()), 2)->size(), 2u);
  EXPECT_TRUE(read_otlp({}, 10)->empty());
}

// Each of many points has a name as long as it may be kept, and no room for more.
TEST(Otlp, LongTextsTakeNoMemoryForEachPoint) {
  const std::string vast(1 << 20, 'x');
  const std::string points = field(1, field(7, attribute(vast, vast))) + field(1, fixed(6, 1));
  const auto series = read_otlp(as_bytes(metrics_data(field(1, vast) + field(7, points) + field(9, points))), 10);
  ASSERT_TRUE(series);
  ASSERT_EQ(series->size(), 4u);
  for (const MetricSeries& each : *series) {
    EXPECT_EQ(each.name.size(), 512u);
    EXPECT_LE(each.name.capacity(), 1024u);
  }
}

TEST(Otlp, WhatIsCutOrDamagedIsCorruptOrSomethingElseButNeverWorse) {
  const std::string whole = example();
  std::size_t corrupt = 0;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    corrupt += !read_otlp(as_bytes(std::string_view(whole).substr(0, size)), 10).has_value();
  }
  EXPECT_GT(corrupt, whole.size() * 3 / 4);
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int changes = 0; changes < 3; ++changes) bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)read_otlp(as_bytes(bytes), 10);
  }
  EXPECT_FALSE(read_otlp(as_bytes(std::string(20, '\xFF')), 10));
  EXPECT_FALSE(read_otlp(as_bytes(field(0, "x")), 10));
}

}  // namespace
}  // namespace tailrace::broker
