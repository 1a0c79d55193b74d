// Metrics that clients push, over the wire.
#include <bit>
#include <cstring>

#include "engine/record/compression.h"
#include "services/kafka/messages/get_telemetry_subscriptions.h"
#include "services/kafka/messages/push_telemetry.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using kafka::GetTelemetrySubscriptionsRequest;
using kafka::GetTelemetrySubscriptionsResponse;
using kafka::PushTelemetryRequest;
using kafka::PushTelemetryResponse;

class Telemetry : public WireTest {
 protected:
  static ErrorCode push(Client& client, const PushTelemetryRequest& request) {
    return static_cast<ErrorCode>(client.call<PushTelemetryResponse>(request, 0)->error_code);
  }
};

// A gauge "m" of 1.5, in OTLP.
std::string gauge() {
  const double value = 1.5;
  std::string point = "\x21";
  point.append(reinterpret_cast<const char*>(&value), sizeof value);
  std::string text = point;
  const auto wrap = [&](char number, std::string_view before = {}) {
    text = std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(text.size()) + text;
    text = std::string(before) + text;
  };
  wrap(1);
  wrap(5, "\x0A\x01m");
  wrap(2);
  wrap(2);
  wrap(1);
  return text;
}

TEST_F(Telemetry, AClientGetsAnIdAndPushesWhatItHas) {
  const auto node = Node::start();  // whom no other story has told of subscriptions
  Client pusher(node->port());
  const auto told = pusher.call<GetTelemetrySubscriptionsResponse>(GetTelemetrySubscriptionsRequest{}, 0);
  EXPECT_EQ(told->error_code, 0);
  EXPECT_FALSE(told->client_instance_id.is_zero());
  EXPECT_EQ(told->accepted_compression_types, (std::vector<std::int8_t>{4, 3, 1, 2}));
  EXPECT_EQ(told->push_interval_ms, 300'000);
  EXPECT_EQ(told->telemetry_max_bytes, 1 << 20);
  EXPECT_TRUE(told->delta_temporality);
  EXPECT_TRUE(told->requested_metrics.empty());
  const std::uint64_t before = node->counter("broker", "client_metrics_pushes");
  const std::string plain = gauge();
  record::Scratch packed;
  ASSERT_TRUE(record::compress(record::Compression::zstd, as_bytes(plain), packed));
  PushTelemetryRequest request{.client_instance_id = told->client_instance_id,
                               .subscription_id = told->subscription_id,
                               .compression_type = 4,
                               .metrics = packed.bytes()};
  EXPECT_EQ(push(pusher, request), ErrorCode::NONE);
  EXPECT_EQ(node->counter("broker", "client_metrics_pushes"), before + 1);
  EXPECT_EQ(push(pusher, request), ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  request.subscription_id += 1;
  request.terminating = true;
  EXPECT_EQ(push(pusher, request), ErrorCode::UNKNOWN_SUBSCRIPTION_ID);
  // It is shown for as long as the client is there.
  std::string shown;
  ASSERT_TRUE(eventually([&] {
    shown = node->run_file("client_metrics.json");
    return shown.contains("\"m\":1.5");
  })) << shown;
  EXPECT_NE(shown.find(told->client_instance_id.text()), std::string::npos) << shown;
}

TEST_F(Telemetry, WhatCannotBeReadIsInvalid) {
  for (const auto& [compression, bytes] : std::vector<std::pair<std::int8_t, std::string>>{
           {std::int8_t{0}, "not protobuf"}, {std::int8_t{4}, "not zstd"}, {std::int8_t{1}, std::string(3, '\x1F')}}) {
    Client pusher(node().port());
    const auto told = pusher.call<GetTelemetrySubscriptionsResponse>(GetTelemetrySubscriptionsRequest{}, 0);
    EXPECT_EQ(push(pusher, {.client_instance_id = told->client_instance_id,
                            .subscription_id = told->subscription_id,
                            .compression_type = compression,
                            .metrics = as_bytes(bytes)}),
              ErrorCode::INVALID_RECORD);
  }
  Client nobody(node().port());
  EXPECT_EQ(push(nobody, {}), ErrorCode::INVALID_REQUEST);
}

}  // namespace
}  // namespace tailrace::wire
