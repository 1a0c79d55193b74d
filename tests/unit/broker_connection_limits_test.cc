// Limits of connections on a clock that is given, as Kafka's ConnectionQuotas keeps them.
#include "services/broker/connection_limits.h"

#include <gtest/gtest.h>

#include "services/node/listeners.h"

namespace tailrace::broker {
namespace {

constexpr QuotaWindows kWindows{.count = 11, .window_ms = 1000};

ConnectionSettings settings_of(std::size_t listeners = 1) {
  ConnectionSettings settings;
  settings.listeners.resize(listeners);
  return settings;
}

ConnectionLimits with(ConnectionSettings settings, std::optional<std::size_t> protected_listener = {},
                      std::size_t hard_max = 1000) {
  ConnectionLimits limits(kWindows, protected_listener, hard_max);
  limits.use(std::move(settings));
  return limits;
}

TEST(ConnectionLimits, TheNodeAndAListenerHaveRoomForSoMany) {
  ConnectionSettings settings = settings_of(2);
  settings.max = 3;
  settings.listeners[1].max = 1;
  ConnectionLimits limits = with(settings);
  ConnectionLimits::Address* const one = limits.let_in(1, "10.0.0.1", 0).address;
  ASSERT_NE(one, nullptr);
  EXPECT_FALSE(limits.has_room(1));
  EXPECT_TRUE(limits.has_room(0));
  ASSERT_NE(limits.let_in(0, "10.0.0.1", 0).address, nullptr);
  ASSERT_NE(limits.let_in(0, "10.0.0.2", 0).address, nullptr);
  EXPECT_FALSE(limits.has_room(0));
  limits.ended(1, *one);
  EXPECT_TRUE(limits.has_room(0));
  EXPECT_TRUE(limits.has_room(1));
}

TEST(ConnectionLimits, NobodyWaitsForOthersAtTheProtectedListener) {
  ConnectionSettings settings = settings_of(2);
  settings.max = 1;
  ConnectionLimits limits = with(settings, 1, 3);
  ASSERT_NE(limits.let_in(0, "a", 0).address, nullptr);
  EXPECT_FALSE(limits.has_room(0));
  EXPECT_TRUE(limits.has_room(1));
  ASSERT_NE(limits.let_in(1, "b", 0).address, nullptr);
  EXPECT_EQ(limits.excess(), 1u);  // one of listener 0 is to go
  ASSERT_NE(limits.let_in(1, "b", 0).address, nullptr);
  EXPECT_FALSE(limits.has_room(1));  // more than there are descriptors for, nobody has
}

TEST(ConnectionLimits, AnAddressHasItsOwnLimit) {
  ConnectionSettings settings = settings_of();
  settings.per_ip_max = 1;
  settings.per_ip_overrides = {{"10.0.0.2", 2}, {"10.0.0.3", 0}};
  ConnectionLimits limits = with(settings);
  ConnectionLimits::Address* const one = limits.let_in(0, "10.0.0.1", 0).address;
  ASSERT_NE(one, nullptr);
  const ConnectionLimits::Verdict verdict = limits.let_in(0, "10.0.0.1", 0);
  EXPECT_EQ(verdict.address, nullptr);
  EXPECT_EQ(verdict.close_in_ms, 0);
  EXPECT_NE(limits.let_in(0, "10.0.0.2", 0).address, nullptr);
  EXPECT_NE(limits.let_in(0, "10.0.0.2", 0).address, nullptr);
  EXPECT_EQ(limits.let_in(0, "10.0.0.2", 0).address, nullptr);
  EXPECT_EQ(limits.let_in(0, "10.0.0.3", 0).address, nullptr);
  limits.ended(0, *one);
  EXPECT_NE(limits.let_in(0, "10.0.0.1", 0).address, nullptr);
  EXPECT_EQ(limits.total(), 3u);
}

TEST(ConnectionLimits, ThoseThatComeTooFastWait) {
  ConnectionSettings settings = settings_of(2);
  settings.per_second_max = 2;
  settings.listeners[1].per_second_max = 1;
  ConnectionLimits limits = with(settings);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(limits.wait_ms(1, 0), 0);
  EXPECT_EQ(limits.wait_ms(1, 0), 1000);  // by the listener's rate
  for (int i = 0; i < 9; ++i) EXPECT_EQ(limits.wait_ms(0, 0), 0);
  EXPECT_EQ(limits.wait_ms(0, 0), 500);  // 21 in ten windows
  EXPECT_EQ(limits.wait_ms(0, 20'000), 0);
}

TEST(ConnectionLimits, AnAddressThatComesTooFastIsClosedAfterAWhileAndDoesNotCount) {
  ConnectionLimits limits = with(settings_of());
  limits.use({{"ips/10.0.0.1", *node::client_quota("ips/10.0.0.1", {{"connection_creation_rate", "1"}})},
              {"ips/<default>", *node::client_quota("ips/<default>", {{"connection_creation_rate", "0.1"}})}});
  for (int i = 0; i < 10; ++i) EXPECT_NE(limits.let_in(0, "10.0.0.1", 0).address, nullptr);
  for (int i = 0; i < 3; ++i) {
    const ConnectionLimits::Verdict verdict = limits.let_in(0, "10.0.0.1", 0);
    EXPECT_EQ(verdict.address, nullptr);
    EXPECT_EQ(verdict.close_in_ms, 1000);
  }
  EXPECT_NE(limits.let_in(0, "10.0.0.2", 0).address, nullptr);
  EXPECT_EQ(limits.let_in(0, "10.0.0.2", 0).address, nullptr);
  EXPECT_EQ(limits.total(), 11u);
  limits.use(ConnectionLimits::IpQuotas{});
  EXPECT_NE(limits.let_in(0, "10.0.0.2", 0).address, nullptr);
}

TEST(ConnectionLimits, AddressesWithoutConnectionsAreForgotten) {
  ConnectionLimits limits = with(settings_of());
  limits.use({{"ips/<default>", *node::client_quota("ips/<default>", {{"connection_creation_rate", "1000"}})}});
  for (int i = 0; i < 20'000; ++i) {
    ConnectionLimits::Address* const address = limits.let_in(0, "2001:db8::" + std::to_string(i), i / 10).address;
    ASSERT_NE(address, nullptr);
    limits.ended(0, *address);
    ASSERT_LE(limits.addresses(), ConnectionLimits::kIdleAddressesMax + 1);
  }
  limits.forget_idle(60'000);
  EXPECT_EQ(limits.addresses(), 0u);
}

TEST(ConnectionSettings, ComeFromTheFileAndWhatWasChangedWhileItRuns) {
  const auto config = node::make_config(
      {},
      "listeners=IN://127.0.0.1:1,OUT://127.0.0.1:2\nlistener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT\n"
      "max.connections=100\nlistener.name.out.max.connections=5\nmax.connections.per.ip.overrides=::1:7, "
      "10.0.0.1:8\nmax.connection.creation.rate=50\n");
  ASSERT_TRUE(config) << config.error();
  const node::ConfigMap all = {{"max.connections", "90"}};
  const node::ConfigMap this_one = {{"listener.name.in.max.connection.creation.rate", "3"}};
  const ConnectionSettings settings = connection_settings({*config, this_one, all});
  EXPECT_EQ(settings.max, 90);
  EXPECT_EQ(settings.per_ip_max, kUnlimited);
  EXPECT_EQ(settings.per_ip_overrides, (std::map<std::string, std::int64_t, std::less<>>{{"::1", 7}, {"10.0.0.1", 8}}));
  ASSERT_EQ(settings.listeners.size(), 2u);
  EXPECT_EQ(settings.listeners[0].max, 90);
  EXPECT_EQ(settings.listeners[0].per_second_max, 3);
  EXPECT_EQ(settings.listeners[1].max, 5);
  EXPECT_EQ(settings.listeners[1].per_second_max, 50);
}

TEST(ConnectionSettings, WhatCannotBeIsRefusedAtTheStart) {
  for (const char* text : {"max.connections.per.ip.overrides=10.0.0.1", "max.connections.per.ip.overrides=a.b.c:1",
                           "max.connections.per.ip.overrides=10.0.0.1:-1", "max.connections.per.ip.overrides=:4",
                           "max.connections.per.ip=0", "listener.name.plaintext.max.connections=many",
                           "listener.name.plaintext.max.connection.creation.rate=-1"}) {
    const auto config = node::make_config({}, text);
    ASSERT_FALSE(config) << text;
    EXPECT_NE(config.error().find("connection"), std::string::npos) << config.error();
  }
}

TEST(PlainIp, OneAddressHasOneText) {
  EXPECT_EQ(node::plain_ip("2001:DB8:0::1"), "2001:db8::1");
  EXPECT_EQ(node::plain_ip("::ffff:10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(node::plain_ip("fe80::1%eth0"), "fe80::1");
  EXPECT_EQ(node::plain_ip("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(node::plain_ip("host"), "host");
}

}  // namespace
}  // namespace tailrace::broker
