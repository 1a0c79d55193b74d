// Limits of connections, as they look from outside.
#include <deque>

#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/api_versions.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using kafka::ApiVersionsRequest;
using kafka::ApiVersionsResponse;

bool is_served(Client& client) { return client.call<ApiVersionsResponse>(ApiVersionsRequest{}, 0)->error_code == 0; }

TEST(ConnectionLimits, BeyondThemOfTheNodeTheNextOneWaits) {
  const auto node = Node::start({.settings = {"max.connections=2"}});
  auto one = std::make_unique<Client>(node->port());
  Client two(node->port());
  EXPECT_TRUE(is_served(*one));
  EXPECT_TRUE(is_served(two));
  Client three(node->port());
  const std::int32_t asked = three.ask(ApiVersionsRequest{}, 0);
  EXPECT_TRUE(is_served(two));
  EXPECT_TRUE(three.is_silent());
  one.reset();
  EXPECT_EQ(three.hear<ApiVersionsResponse>(0, asked)->error_code, 0);
  EXPECT_EQ(node->counter("broker", "connections"), 2u);
}

TEST(ConnectionLimits, OneMoreOfAnAddressIsClosed) {
  const auto node = Node::start({.settings = {"listeners=PLAINTEXT://0.0.0.0:0", "max.connections.per.ip=1",
                                              "max.connections.per.ip.overrides=127.0.0.2:2"}});
  auto one = std::make_unique<Client>(node->port());
  EXPECT_TRUE(is_served(*one));
  Client two(node->port());
  EXPECT_TRUE(two.is_closed_by_node());
  EXPECT_EQ(node->counter("broker", "connections_refused"), 1u);
  one.reset();
  ASSERT_TRUE(eventually([&] { return node->counter("broker", "connections") == 0; }));
  Client three(node->port());
  EXPECT_TRUE(is_served(three));
}

TEST(ConnectionLimits, AListenerHasItsOwnAndTheInnerOneDoesNotWaitForOthers) {
  const auto node =
      Node::start({.settings = {"listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT",
                                "listeners=IN://127.0.0.1:0,OUT://127.0.0.1:0", "inter.broker.listener.name=IN",
                                "max.connections=2", "listener.name.out.max.connections=1"}});
  Client first(node->port_of("OUT"));
  EXPECT_TRUE(is_served(first));
  Client waiting(node->port_of("OUT"));
  const std::int32_t asked = waiting.ask(ApiVersionsRequest{}, 0);
  Client inner(node->port_of("IN"));
  EXPECT_TRUE(is_served(inner));
  EXPECT_TRUE(waiting.is_silent());
  // A third one, for whom the one of the other listener has to go, and with it the one that waits comes in.
  Client another(node->port_of("IN"));
  EXPECT_TRUE(is_served(another));
  EXPECT_TRUE(first.is_closed_by_node());
  EXPECT_TRUE(is_served(inner));
  EXPECT_TRUE(waiting.is_silent());  // there are two now
  (void)asked;
}

TEST(ConnectionLimits, ThoseThatComeTooFastAreLetInLater) {
  const auto node = Node::start({.settings = {"max.connection.creation.rate=2", "quota.window.num=2"}});
  std::deque<Client> clients;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_served(clients.emplace_back(node->port())));
}

TEST(ConnectionLimits, IdleOnesAreClosedAndNegativeMeansNever) {
  const auto node = Node::start({.settings = {"connections.max.idle.ms=200"}});
  Client client(node->port());
  EXPECT_TRUE(is_served(client));
  EXPECT_TRUE(client.is_closed_by_node());
  const auto patient = Node::start({.settings = {"connections.max.idle.ms=-1"}});
  Client kept(patient->port());
  EXPECT_TRUE(is_served(kept));
  Client other(patient->port());
  EXPECT_TRUE(is_served(other));
  EXPECT_TRUE(is_served(kept));
}

// What it has sent meanwhile takes room that others wait for, and it may be long gone.
TEST(ConnectionLimits, AThrottledOneIsIdleEvenIfItsNextRequestWaits) {
  const auto node = Node::start({.settings = {"connections.max.idle.ms=2000"}});
  Client client(node->port());
  make_topic(client, "topic");
  kafka::AlterClientQuotasRequest quotas;
  quotas.entries.push_back({.entity = {{.entity_type = "client-id", .entity_name = std::nullopt}},
                            .ops = {{.key = "producer_byte_rate", .value = 1}}});
  EXPECT_EQ(client.call<kafka::AlterClientQuotasResponse>(quotas, 1)->entries.at(0).error_code, 0);
  EXPECT_TRUE(client.send(produce_frame("topic", batch_of({std::string(10'000, 'x')}), 0, -1, 7) +
                          Client::frame(ApiVersionsRequest{}, 0, 8)));
  EXPECT_TRUE(client.receive_frame().has_value());
  EXPECT_TRUE(client.is_closed_by_node());
}

// "For ever", as people write it.
TEST(ConnectionLimits, TheLongestIdleTimeIsNotNone) {
  const auto node = Node::start({.settings = {"connections.max.idle.ms=9223372036854775807"}});
  Client client(node->port());
  EXPECT_TRUE(is_served(client));
  Client other(node->port());
  make_topic(other, "topic");
  fetch(other, "topic", 0, {.max_wait_ms = 500, .min_bytes = 1});  // some of the pauses after which they are looked for
  EXPECT_TRUE(is_served(client));
}

TEST(ConnectionLimits, AFrameLargerThanAllowedClosesTheConnection) {
  const auto node = Node::start({.settings = {"socket.request.max.bytes=1000"}});
  Client client(node->port());
  EXPECT_TRUE(is_served(client));
  client.send(produce_frame("topic", std::string(2000, 'x'), 0, -1, 7));
  EXPECT_TRUE(client.is_closed_by_node());
}

// Whoever asked before the end is answered, and then the connections are closed.
TEST(ConnectionLimits, AStopAnswersWhatIsInFlight) {
  const auto node = Node::start();
  Client client(node->port());
  make_topic(client, "topic");
  std::string frames;
  for (std::int32_t i = 0; i < 16; ++i) frames += produce_frame("topic", batch_of({"value"}), 0, -1, i);
  ASSERT_TRUE(client.send(frames));
  (void)client.receive_frame();
  EXPECT_EQ(node->stop(), 0);
  int answered = 1;
  while (client.receive_frame()) ++answered;
  EXPECT_GE(answered, 1);
}

}  // namespace
}  // namespace tailrace::wire
