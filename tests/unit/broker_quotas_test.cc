// Quotas on a clock that is given: which one counts, how long its client waits, what is forgotten.
#include "services/broker/quotas.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tailrace::broker {
namespace {

constexpr QuotaWindows kWindows{.count = 11, .window_ms = 1000};

std::shared_ptr<const QuotaTable::Set> quotas_of(std::vector<std::pair<std::string, node::ConfigMap>> entries) {
  auto set = std::make_shared<QuotaTable::Set>();
  for (const auto& [path, values] : entries) (*set)[path] = node::client_quota(path, values).value();
  return set;
}

Quotas with(std::vector<std::pair<std::string, node::ConfigMap>> entries) {
  Quotas quotas(kWindows, kWindows);
  quotas.use(quotas_of(std::move(entries)));
  return quotas;
}

// -- Rates ---------------------------------------------------------------------------------------------------------

TEST(Rate, CountsWhatWasBeforeTheFirstWindowAsEmpty) {
  Rate rate;
  rate.record(1000, 5000, kWindows);
  EXPECT_DOUBLE_EQ(rate.per_second(5000, kWindows), 100);  // over ten windows of which nine were not seen
  EXPECT_DOUBLE_EQ(rate.per_second(5500, kWindows), 1000 / 10.5);
}

// From Kafka's own example: O * W / (W + X) = T.
TEST(Rate, TheWaitBringsItDownToTheBound) {
  Rate rate;
  rate.record(3000, 0, kWindows);
  EXPECT_EQ(rate.throttle_ms(300, 0, kWindows), 0);
  EXPECT_EQ(rate.throttle_ms(100, 0, kWindows), 20'000);
  EXPECT_EQ(rate.throttle_ms(200, 0, kWindows), 5000);
}

TEST(Rate, WindowsThatAreOverFallOut) {
  Rate rate;
  for (TimestampMs at = 0; at < 30'000; at += 500) rate.record(50, at, kWindows);
  EXPECT_NEAR(rate.per_second(29'999, kWindows), 100, 10);
  EXPECT_FALSE(rate.is_idle(29'999, kWindows));
  EXPECT_DOUBLE_EQ(rate.per_second(60'000, kWindows), 0);
  EXPECT_TRUE(rate.is_idle(60'000, kWindows));
  rate.record(100, 60'000, kWindows);
  EXPECT_DOUBLE_EQ(rate.per_second(60'000, kWindows), 10);
}

TEST(Rate, WorksWithASingleWindow) {
  constexpr QuotaWindows kOne{.count = 1, .window_ms = 1000};
  Rate rate;
  rate.record(10, 100, kOne);
  EXPECT_GT(rate.throttle_ms(1, 100, kOne), 0);
  EXPECT_DOUBLE_EQ(rate.per_second(5000, kOne), 0);
}

TEST(TokenBucket, StartsFullAndPaysItsDebtAtTheRate) {
  TokenBucket bucket;
  EXPECT_EQ(bucket.throttle_ms(5, 0, kWindows), 0);
  bucket.take(55, 5, 0, kWindows);  // all that eleven windows hold
  EXPECT_EQ(bucket.throttle_ms(5, 0, kWindows), 0);
  bucket.take(60, 5, 0, kWindows);
  EXPECT_EQ(bucket.throttle_ms(5, 0, kWindows), 12'000);
  EXPECT_EQ(bucket.throttle_ms(5, 7000, kWindows), 5000);
  EXPECT_FALSE(bucket.is_idle(5, 12'000, kWindows));
  EXPECT_TRUE(bucket.is_idle(5, 23'000, kWindows));
}

// -- Which quota counts --------------------------------------------------------------------------------------------

TEST(QuotaTable, TheMostSpecificCounts) {
  const std::vector<std::string> paths = {"users/u/clients/c",
                                          "users/u/clients/%3Cdefault%3E",
                                          "users/u",
                                          "users/<default>/clients/c",
                                          "users/<default>/clients/<default>",
                                          "users/<default>",
                                          "clients/c",
                                          "clients/<default>"};
  // All of them, then without the first, and so on.
  for (std::size_t first = 0; first < paths.size(); ++first) {
    std::vector<std::pair<std::string, node::ConfigMap>> entries;
    for (std::size_t i = first; i < paths.size(); ++i) {
      const std::string path = i == 1 ? "users/u/clients/<default>" : paths[i];
      entries.push_back({path, {{"producer_byte_rate", std::to_string(100 + i)}}});
    }
    const QuotaTable table(*quotas_of(entries));
    const auto match = table.find(QuotaType::produce, "u", "c");
    ASSERT_TRUE(match);
    EXPECT_EQ(match->bound, 100.0 + static_cast<double>(first));
    EXPECT_EQ(match->by_user, first < 6);
    EXPECT_EQ(match->by_client, first != 2 && first != 5);
    EXPECT_FALSE(table.find(QuotaType::fetch, "u", "c"));  // nothing is said about it
  }
}

TEST(QuotaTable, OthersAreNotMeant) {
  const QuotaTable table(*quotas_of({{"users/u/clients/c", {{"consumer_byte_rate", "1"}}},
                                     {"clients/d", {{"consumer_byte_rate", "2"}}},
                                     {"ips/10.0.0.1", {{"connection_creation_rate", "3"}}}}));
  EXPECT_FALSE(table.find(QuotaType::fetch, "v", "c"));
  EXPECT_FALSE(table.find(QuotaType::fetch, "u", "e"));
  EXPECT_EQ(table.find(QuotaType::fetch, "u", "d")->bound, 2);
  EXPECT_TRUE(table.has(QuotaType::fetch));
  EXPECT_FALSE(table.has(QuotaType::produce));
}

TEST(QuotaTable, ANameMayLookLikeTheDefault) {
  const QuotaTable table(*quotas_of({{"clients/%3Cdefault%3E", {{"producer_byte_rate", "7"}}}}));
  EXPECT_TRUE(table.find(QuotaType::produce, "u", "<default>"));
  EXPECT_FALSE(table.find(QuotaType::produce, "u", ""));
  EXPECT_FALSE(table.find(QuotaType::produce, "u", "x"));
}

// -- What happens --------------------------------------------------------------------------------------------------

TEST(Quotas, WithoutAnyNobodyWaitsAndNothingIsKept) {
  Quotas quotas = with({});
  EXPECT_EQ(quotas.record(QuotaType::produce, {"u", "c"}, 1e12, 0), 0);
  EXPECT_TRUE(quotas.record_fetch({"u", "c"}, 1e12, 0).is_sent);
  EXPECT_EQ(quotas.take_mutations({"u", "c"}, 1e6, 0), 0);
  EXPECT_FALSE(quotas.fetch_bytes_max({"u", "c"}));
  EXPECT_EQ(quotas.clients(), 0u);
}

TEST(Quotas, ClientsOfOneUserShareAndClientIdsDoNot) {
  Quotas user = with({{"users/u", {{"producer_byte_rate", "100"}}}});
  EXPECT_EQ(user.record(QuotaType::produce, {"u", "a"}, 1000, 0), 0);
  EXPECT_EQ(user.record(QuotaType::produce, {"u", "b"}, 1000, 0), 10'000);
  EXPECT_EQ(user.record(QuotaType::produce, {"v", "b"}, 1e9, 0), 0);
  Quotas ids = with({{"clients/<default>", {{"producer_byte_rate", "100"}}}});
  EXPECT_EQ(ids.record(QuotaType::produce, {"u", "a"}, 1000, 0), 0);
  EXPECT_EQ(ids.record(QuotaType::produce, {"u", "b"}, 1000, 0), 0);
  EXPECT_EQ(ids.record(QuotaType::produce, {"v", "b"}, 1000, 0), 10'000);
}

TEST(Quotas, AChangeCountsAtOnceForWhatWasRecorded) {
  Quotas quotas = with({{"clients/a", {{"producer_byte_rate", "1000"}}}});
  EXPECT_EQ(quotas.record(QuotaType::produce, {"u", "a"}, 5000, 0), 0);
  quotas.use(quotas_of({{"clients/a", {{"producer_byte_rate", "100"}}}}));
  EXPECT_EQ(quotas.record(QuotaType::produce, {"u", "a"}, 0, 0), 40'000);
  quotas.use(nullptr);
  EXPECT_EQ(quotas.record(QuotaType::produce, {"u", "a"}, 1e9, 0), 0);
}

TEST(Quotas, AThrottledFetchIsNotCounted) {
  Quotas quotas = with({{"clients/a", {{"consumer_byte_rate", "100"}}}});
  EXPECT_EQ(quotas.fetch_bytes_max({"u", "a"}), 1000);
  EXPECT_TRUE(quotas.record_fetch({"u", "a"}, 900, 0).is_sent);
  for (int i = 0; i < 3; ++i) {
    const Quotas::FetchVerdict verdict = quotas.record_fetch({"u", "a"}, 600, 0);
    EXPECT_FALSE(verdict.is_sent);
    EXPECT_EQ(verdict.throttle_ms, 5000);
  }
  EXPECT_TRUE(quotas.record_fetch({"u", "a"}, 100, 0).is_sent);
}

// A batch is sent whole or not at all; one that no quota of the window holds must not be kept back for ever.
TEST(Quotas, ABatchLargerThanTheQuotaIsSentWhenNothingElseWas) {
  Quotas quotas = with({{"clients/a", {{"consumer_byte_rate", "100"}}}});
  const Quotas::FetchVerdict first = quotas.record_fetch({"u", "a"}, 5000, 0);
  EXPECT_TRUE(first.is_sent);
  EXPECT_EQ(first.throttle_ms, 40'000);
  EXPECT_FALSE(quotas.record_fetch({"u", "a"}, 5000, 10'000).is_sent);
  EXPECT_TRUE(quotas.record_fetch({"u", "a"}, 5000, 40'000).is_sent);
}

TEST(Quotas, RequestTimeMutesForAWindowAtMost) {
  Quotas quotas = with({{"users/<default>", {{"request_percentage", "1"}}}});
  EXPECT_EQ(quotas.record(QuotaType::request, {"u", "a"}, 10, 0), 0);
  EXPECT_EQ(quotas.record(QuotaType::request, {"u", "a"}, 0.5, 0), 500);
  EXPECT_EQ(quotas.record(QuotaType::request, {"u", "a"}, 1000, 0), 1000);
}

TEST(Quotas, MutationsAreTakenWholeUntilThereIsADebt) {
  Quotas quotas = with({{"clients/a", {{"controller_mutation_rate", "1"}}}});
  EXPECT_EQ(quotas.take_mutations({"u", "a"}, 11, 0), 0);
  EXPECT_EQ(quotas.take_mutations({"u", "a"}, 4, 0), 0);  // no debt before it
  EXPECT_EQ(quotas.take_mutations({"u", "a"}, 1, 0), 4000);
  EXPECT_EQ(quotas.take_mutations({"u", "a"}, 1, 3000), 1000);
  EXPECT_EQ(quotas.take_mutations({"u", "a"}, 1, 4000), 0);
  // Of old versions all are taken, and the client waits afterwards.
  EXPECT_EQ(quotas.record(QuotaType::mutation, {"u", "a"}, 2, 4000), 3000);
}

// -- What is kept --------------------------------------------------------------------------------------------------

TEST(Quotas, IdleClientsAreForgotten) {
  Quotas quotas = with({{"clients/<default>", {{"producer_byte_rate", "100"}, {"controller_mutation_rate", "1"}}}});
  for (int i = 0; i < 50; ++i) {
    const std::string id = std::to_string(i);
    quotas.record(QuotaType::produce, {"u", id}, 1e6, i * 100);
    quotas.take_mutations({"u", id}, 1, i * 100);
  }
  EXPECT_EQ(quotas.clients(), 100u);
  quotas.forget_idle(5000);
  EXPECT_GT(quotas.clients(), 50u);
  quotas.forget_idle(100'000);
  EXPECT_EQ(quotas.clients(), 0u);
  EXPECT_EQ(quotas.bytes(), 0u);
}

TEST(Quotas, ManyClientIdsDoNotTakeMoreThanTheirShareOfMemory) {
  Quotas quotas = with({{"clients/<default>", {{"producer_byte_rate", "100"}}}});
  EXPECT_EQ(quotas.record(QuotaType::produce, {"u", "steady"}, 2000, 0), 10'000);
  for (int i = 0; i < 30'000; ++i) {
    const std::string id = std::to_string(i) + std::string(i % 3 == 0 ? 2000 : 0, 'x');
    quotas.record(QuotaType::produce, {"u", id}, 1, 0);
    if (i % 100 == 0) quotas.record(QuotaType::produce, {"u", "steady"}, 0, 0);
    ASSERT_LE(quotas.bytes(), Quotas::kBytesMax);
  }
  // One that is in use is kept.
  EXPECT_EQ(quotas.record(QuotaType::produce, {"u", "steady"}, 0, 0), 10'000);
}

}  // namespace
}  // namespace tailrace::broker
