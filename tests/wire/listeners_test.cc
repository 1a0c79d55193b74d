// Several listeners: what a client is told depends on the one that it came through.
#include "services/kafka/messages/describe_cluster.h"
#include "services/kafka/messages/describe_topic_partitions.h"
#include "services/kafka/messages/metadata.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using kafka::DescribeClusterRequest;
using kafka::DescribeClusterResponse;
using kafka::MetadataRequest;
using kafka::MetadataResponse;

constexpr const char* kNames = "listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT,HIDDEN:PLAINTEXT";

std::string told_address(Client& client) {
  const auto cluster = client.call<DescribeClusterResponse>(DescribeClusterRequest{}, 1);
  const auto metadata = client.call<MetadataResponse>(MetadataRequest{.topics = {{}}}, kMetadataVersion);
  if (cluster->brokers.empty() || metadata->brokers.empty()) return "";
  EXPECT_EQ(cluster->brokers[0].host, metadata->brokers[0].host);
  EXPECT_EQ(cluster->brokers[0].port, metadata->brokers[0].port);
  return std::string(cluster->brokers[0].host) + " " + std::to_string(cluster->brokers[0].port);
}

TEST(Listeners, WithNothingAdvertisedEachClientIsToldTheAddressThatItUsed) {
  const auto node = Node::start({.settings = {kNames, "listeners=IN://127.0.0.1:0,OUT://[::]:0,HIDDEN://[::1]:0"}});
  const std::uint16_t in = node->port_of("IN");
  const std::uint16_t out = node->port_of("OUT");
  const std::uint16_t hidden = node->port_of("HIDDEN");
  ASSERT_TRUE(in != 0 && out != 0 && hidden != 0) << node->said();
  Client four(in);
  EXPECT_EQ(told_address(four), "127.0.0.1 " + std::to_string(in));
  Client six(hidden, "::1");
  EXPECT_EQ(told_address(six), "::1 " + std::to_string(hidden));
  Client every_six(out, "::1");
  EXPECT_EQ(told_address(every_six), "::1 " + std::to_string(out));
  Client every_four(out, "127.0.0.2");  // [::] takes both
  EXPECT_EQ(told_address(every_four), "127.0.0.2 " + std::to_string(out));
  // It is one node behind all of them.
  make_topic(four, "topic");
  EXPECT_EQ(produce(six, "topic", batch_of({"value"})).error, ErrorCode::NONE);
  EXPECT_EQ(log_end(every_four, "topic"), 1);
}

TEST(Listeners, EveryInterfaceOfIpv4) {
  const auto node = Node::start({.settings = {"listeners=PLAINTEXT://0.0.0.0:0"}});
  Client client(node->port(), "127.0.0.3");
  EXPECT_EQ(told_address(client), "127.0.0.3 " + std::to_string(node->port()));
}

TEST(Listeners, WhatIsAdvertisedIsToldPerListenerAndOneThatIsNotShowsNoBroker) {
  const auto node =
      Node::start({.settings = {kNames, "listeners=IN://127.0.0.1:0,OUT://localhost:0,HIDDEN://[::1]:0",
                                "advertised.listeners=IN://inside.example:9092,OUT://[2001:db8::7]:9093"}});
  Client in(node->port_of("IN"));
  EXPECT_EQ(told_address(in), "inside.example 9092");
  Client hidden(node->port_of("HIDDEN"), "::1");
  EXPECT_EQ(told_address(hidden), "");
  make_topic(in, "topic");
  const auto leader_error = [](Client& client, std::int16_t version) {
    const auto answer = client.call<MetadataResponse>(MetadataRequest{.topics = {{{.name = "topic"}}}}, version);
    return static_cast<ErrorCode>(answer->topics.at(0).partitions.at(0).error_code);
  };
  EXPECT_EQ(leader_error(in, kMetadataVersion), ErrorCode::NONE);
  EXPECT_EQ(leader_error(hidden, kMetadataVersion), ErrorCode::LISTENER_NOT_FOUND);
  EXPECT_EQ(leader_error(hidden, 5), ErrorCode::LEADER_NOT_AVAILABLE);
  const auto described = hidden.call<kafka::DescribeTopicPartitionsResponse>(
      kafka::DescribeTopicPartitionsRequest{.topics = {{.name = "topic"}}}, 0);
  EXPECT_EQ(described->topics.at(0).partitions.at(0).error_code, kafka::wire(ErrorCode::LISTENER_NOT_FOUND));
  EXPECT_EQ(described->topics.at(0).partitions.at(0).leader_id, -1);
  const std::uint16_t out = node->port_of("OUT");
  for (const char* host : {"127.0.0.1", "::1"}) {
    // Whichever of the two this machine's localhost is first.
    if (node->said().find(std::string("listener=OUT address=") + (host[0] == ':' ? "[::1]" : host)) ==
        std::string::npos) {
      continue;
    }
    Client client(out, host);
    EXPECT_EQ(told_address(client), "2001:db8::7 9093");
  }
}

}  // namespace
}  // namespace tailrace::wire
