// Settings, quotas and the cluster's administration as clients change and see them, and what of it survives when
// processes are killed.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/alter_configs.h"
#include "services/kafka/messages/alter_partition_reassignments.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/describe_client_quotas.h"
#include "services/kafka/messages/describe_configs.h"
#include "services/kafka/messages/elect_leaders.h"
#include "services/kafka/messages/find_coordinator.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/list_config_resources.h"
#include "services/kafka/messages/list_partition_reassignments.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

constexpr std::int8_t kTopic = 2;
constexpr std::int8_t kBroker = 4;
constexpr std::int8_t kLogger = 8;
constexpr std::int8_t kClientMetrics = 16;
constexpr std::int8_t kGroup = 32;
constexpr std::int8_t kSet = 0;
constexpr std::int8_t kRemove = 1;
constexpr std::int8_t kAppend = 2;

using Alter = kafka::IncrementalAlterConfigsRequest;

ErrorCode alter(Client& client, std::int8_t type, std::string_view name, std::string_view key,
                std::optional<std::string_view> value, std::int8_t operation = kSet, bool validate_only = false) {
  const Alter request{.resources = {{.resource_type = type,
                                     .resource_name = name,
                                     .configs = {{.name = key, .config_operation = operation, .value = value}}}},
                      .validate_only = validate_only};
  const auto answer = client.call<kafka::IncrementalAlterConfigsResponse>(request, 1);
  if (answer->responses.size() != 1) return ErrorCode::UNKNOWN_SERVER_ERROR;
  EXPECT_EQ(answer->responses[0].resource_type, type);
  EXPECT_EQ(answer->responses[0].resource_name, name);
  return static_cast<ErrorCode>(answer->responses[0].error_code);
}

// "value source", or the name of the error; "" where the key is not told of.
std::string described(Client& client, std::int8_t type, std::string_view name, std::string_view key) {
  kafka::DescribeConfigsRequest request;
  request.resources.push_back({.resource_type = type, .resource_name = name, .configuration_keys = {{key}}});
  const auto answer = client.call<kafka::DescribeConfigsResponse>(request, 4);
  if (answer->results.size() != 1) return "no answer";
  const auto& result = answer->results[0];
  if (result.error_code != 0) return std::string(kafka::error_name(result.error_code));
  if (result.configs.empty()) return "";
  return std::string(result.configs[0].value.value_or("null")) + " " + std::to_string(result.configs[0].config_source);
}

class Settings : public WireTest {};

// A request of some kilobytes must not make the broker tell gigabytes.
TEST_F(Settings, TheBrokersThatAreAskedForAgainAndAgainAreTooMuchForOneAnswer) {
  kafka::DescribeConfigsRequest request;
  for (int i = 0; i < 3000; ++i) {
    request.resources.push_back({.resource_type = kBroker, .resource_name = "0", .configuration_keys = {{"log.dirs"}}});
  }
  const auto answer = client.call<kafka::DescribeConfigsResponse>(request, 4);
  ASSERT_EQ(answer->results.size(), 3000u);
  EXPECT_EQ(answer->results.front().error_code, 0);
  EXPECT_EQ(answer->results.front().configs.size(), 1u);
  EXPECT_EQ(answer->results.back().error_code, kafka::wire(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(described(client, kBroker, "0", "num.partitions"), "1 5");
}

TEST_F(Settings, OfATopicCountForTheNextRequest) {
  const std::string topic = fresh("limited");
  make_topic(client, topic);
  EXPECT_EQ(produce(client, topic, batch_of({std::string(500, 'x')})).error, ErrorCode::NONE);
  EXPECT_EQ(alter(client, kTopic, topic, "max.message.bytes", "300"), ErrorCode::NONE);
  EXPECT_EQ(described(client, kTopic, topic, "max.message.bytes"), "300 1");
  EXPECT_EQ(produce(client, topic, batch_of({std::string(500, 'x')})).error, ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(alter(client, kTopic, topic, "max.message.bytes", std::nullopt, kRemove), ErrorCode::NONE);
  EXPECT_EQ(described(client, kTopic, topic, "max.message.bytes"), "1048588 5");
  EXPECT_EQ(produce(client, topic, batch_of({std::string(500, 'x')})).error, ErrorCode::NONE);
}

TEST_F(Settings, OfTheNodeAreTheDefaultsOfTopicsAtOnce) {
  const std::string topic = fresh("defaults");
  make_topic(client, topic);
  EXPECT_EQ(alter(client, kBroker, "", "message.max.bytes", "400"), ErrorCode::NONE);
  EXPECT_EQ(described(client, kBroker, "", "message.max.bytes"), "400 3");
  EXPECT_EQ(described(client, kTopic, topic, "max.message.bytes"), "400 3");
  EXPECT_EQ(produce(client, topic, batch_of({std::string(600, 'x')})).error, ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(alter(client, kBroker, "0", "message.max.bytes", "700"), ErrorCode::NONE);
  EXPECT_EQ(described(client, kTopic, topic, "max.message.bytes"), "700 2");
  EXPECT_EQ(produce(client, topic, batch_of({std::string(600, 'x')})).error, ErrorCode::NONE);
  EXPECT_EQ(alter(client, kBroker, "0", "message.max.bytes", std::nullopt, kRemove), ErrorCode::NONE);
  EXPECT_EQ(alter(client, kBroker, "", "message.max.bytes", std::nullopt, kRemove), ErrorCode::NONE);
  EXPECT_EQ(described(client, kTopic, topic, "max.message.bytes"), "1048588 5");
}

TEST_F(Settings, OfPoliciesAreObeyedAtOnceToo) {
  const std::string topic = fresh("policies");
  make_topic(client, topic);
  EXPECT_EQ(produce(client, topic, batch_of({"a"})).error, ErrorCode::NONE);
  EXPECT_EQ(alter(client, kTopic, topic, "cleanup.policy", "compact", kAppend), ErrorCode::NONE);
  EXPECT_EQ(described(client, kTopic, topic, "cleanup.policy"), "delete,compact 1");
  EXPECT_EQ(produce(client, topic, batch_of({"no key"})).error, ErrorCode::INVALID_RECORD);
  EXPECT_EQ(alter(client, kBroker, "0", "log.message.timestamp.type", "LogAppendTime"), ErrorCode::NONE);
  const std::string other = fresh("stamped");
  make_topic(client, other);
  EXPECT_GE(produce(client, other, batch_of({"a"})).append_time, 0);
  EXPECT_EQ(alter(client, kBroker, "0", "log.message.timestamp.type", std::nullopt, kRemove), ErrorCode::NONE);
  EXPECT_EQ(produce(client, other, batch_of({"a"})).append_time, kNoTimestamp);
}

// A segment's size is the engine's business.
TEST_F(Settings, ReachTheEngine) {
  const std::string topic = fresh("rolls");
  make_topic(client, topic);
  const auto segments = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(node().data() + "/" + topic + "-0")) {
      count += entry.path().extension() == ".log" ? 1 : 0;
    }
    return count;
  };
  for (int i = 0; i < 3; ++i) produce(client, topic, batch_of({std::string(500, 'x')}));
  EXPECT_EQ(segments(), 1u);
  EXPECT_EQ(alter(client, kTopic, topic, "segment.bytes", "600"), ErrorCode::NONE);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(produce(client, topic, batch_of({std::string(500, 'x')})).error, ErrorCode::NONE);
  EXPECT_GE(segments(), 3u);
}

// groupcoord hears of them on another session than the broker: it may answer one more heartbeat before.
TEST_F(Settings, OfAGroupReachItsMembersWithTheirNextHeartbeats) {
  const std::string topic = fresh("tuned");
  make_topic(client, topic);
  const std::string member = "member-of-" + topic;
  std::int32_t epoch = 0;
  const auto interval_ms = [&] {
    kafka::ConsumerGroupHeartbeatRequest request{.group_id = topic, .member_id = member, .member_epoch = epoch};
    if (epoch == 0) {
      request.rebalance_timeout_ms = 60'000;
      request.subscribed_topic_names = {{topic}};
      request.topic_partitions.emplace();
    }
    const auto answer = client.call<kafka::ConsumerGroupHeartbeatResponse>(request, 1);
    EXPECT_TRUE(answer->error_code == 0 || kafka::error_retriable(answer->error_code)) << answer->error_code;
    if (answer->error_code == 0) epoch = answer->member_epoch;
    return answer->error_code == 0 ? answer->heartbeat_interval_ms : 0;
  };
  client.call<kafka::FindCoordinatorResponse>(kafka::FindCoordinatorRequest{.key = topic}, 0);
  EXPECT_TRUE(eventually([&] { return interval_ms() == 5'000; }));
  EXPECT_EQ(alter(client, kGroup, topic, "consumer.heartbeat.interval.ms", "8000"), ErrorCode::NONE);
  EXPECT_TRUE(eventually([&] { return interval_ms() == 8'000; }));
  node().kill("groupcoord");
  EXPECT_TRUE(eventually([&] { return interval_ms() == 8'000; }));
  EXPECT_EQ(alter(client, kGroup, topic, "consumer.heartbeat.interval.ms", std::nullopt, kRemove), ErrorCode::NONE);
  EXPECT_TRUE(eventually([&] { return interval_ms() == 5'000; }));
  accept_new_processes();
}

TEST_F(Settings, SurviveTheDeathOfTheirKeeperAndARestart) {
  const std::string topic = fresh("survivor");
  make_topic(client, topic);
  EXPECT_EQ(alter(client, kTopic, topic, "retention.bytes", "12345"), ErrorCode::NONE);
  EXPECT_EQ(alter(client, kBroker, "0", "log.retention.bytes", "777"), ErrorCode::NONE);
  EXPECT_EQ(alter(client, kClientMetrics, topic, "interval.ms", "5000"), ErrorCode::NONE);
  EXPECT_EQ(alter(client, kGroup, topic, "consumer.session.timeout.ms", "50000"), ErrorCode::NONE);
  const kafka::AlterClientQuotasRequest quota{.entries = {{.entity = {{.entity_type = "user", .entity_name = topic}},
                                                           .ops = {{.key = "producer_byte_rate", .value = 1e9}}}}};
  EXPECT_EQ(client.call<kafka::AlterClientQuotasResponse>(quota, 1)->entries.at(0).error_code, 0);
  const auto check = [&] {
    Client again(node().port());
    EXPECT_EQ(described(again, kTopic, topic, "retention.bytes"), "12345 1");
    EXPECT_EQ(described(again, kBroker, "0", "log.retention.bytes"), "777 2");
    EXPECT_EQ(described(again, kClientMetrics, topic, "interval.ms"), "5000 7");
    EXPECT_EQ(described(again, kGroup, topic, "consumer.session.timeout.ms"), "50000 8");
    kafka::DescribeClientQuotasRequest request;
    request.components.push_back({.entity_type = "user", .match_type = 0, .match = topic});
    Answer<kafka::DescribeClientQuotasResponse> answer;
    ASSERT_TRUE(eventually([&] {  // while zkbridge starts, clients are told to ask again
      answer = again.call<kafka::DescribeClientQuotasResponse>(request, 1);
      return !kafka::error_retriable(answer->error_code);
    }));
    ASSERT_EQ(answer->entries.value_or(decltype(answer->entries)::value_type{}).size(), 1u);
    EXPECT_EQ(answer->entries->at(0).values.at(0).value, 1e9);
  };
  check();
  node().kill("zkbridge");
  check();
  EXPECT_EQ(node().restart(), 0);
  check();
  accept_new_processes();
  Client last(node().port());
  EXPECT_EQ(alter(last, kBroker, "0", "log.retention.bytes", std::nullopt, kRemove), ErrorCode::NONE);
}

TEST_F(Settings, WhatIsOnlyValidatedDoesNotCount) {
  const std::string topic = fresh("validated");
  make_topic(client, topic);
  EXPECT_EQ(alter(client, kTopic, topic, "flush.ms", "9", kSet, true), ErrorCode::NONE);
  EXPECT_EQ(described(client, kTopic, topic, "flush.ms"), "9223372036854775807 5");
}

TEST_F(Settings, AlterConfigsReplacesWhatWasSet) {
  const std::string topic = fresh("replaced");
  make_topic(client, topic, 1, {{"flush.ms", "5"}});
  for (std::int16_t version = 0; version <= 2; ++version) {
    kafka::AlterConfigsRequest request;
    request.resources.push_back(
        {.resource_type = kTopic, .resource_name = topic, .configs = {{.name = "retention.ms", .value = "9"}}});
    EXPECT_EQ(client.call<kafka::AlterConfigsResponse>(request, version)->responses.at(0).error_code, 0);
  }
  EXPECT_EQ(described(client, kTopic, topic, "retention.ms"), "9 1");
  EXPECT_EQ(described(client, kTopic, topic, "flush.ms"), "9223372036854775807 5");
}

TEST_F(Settings, ThatCannotBeAreRefused) {
  const std::string topic = fresh("refused");
  make_topic(client, topic);
  EXPECT_EQ(alter(client, kTopic, topic, "no.such", "1"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(client, kTopic, "nobody-made-this", "flush.ms", "1"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(alter(client, kTopic, topic, "flush.ms", std::nullopt), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(client, kBroker, "0", "num.partitions", "2"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(client, kBroker, "5", "message.max.bytes", "2"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(client, kLogger, "0", "root", "DEBUG"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(client, kGroup, "g", "no.such", "1"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(client, kGroup, "g", "consumer.session.timeout.ms", "1"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(client, 77, "x", "a", "1"), ErrorCode::INVALID_REQUEST);
}

TEST_F(Settings, OfEveryKindAreDescribed) {
  EXPECT_EQ(described(client, kClientMetrics, "nobody-made-this", "interval.ms"), "300000 5");
  EXPECT_EQ(described(client, kClientMetrics, "", "interval.ms"), "INVALID_REQUEST");
  EXPECT_EQ(described(client, kLogger, "0", "root"), "");
  EXPECT_EQ(described(client, kLogger, "7", "root"), "INVALID_REQUEST");
  EXPECT_EQ(described(client, kGroup, "g", "x"), "");
  EXPECT_EQ(described(client, kGroup, "nobody-made-this", "consumer.session.timeout.ms"), "45000 5");
  EXPECT_EQ(described(client, kGroup, "", "x"), "INVALID_REQUEST");
  EXPECT_EQ(described(client, kTopic, "a b", "x"), "INVALID_TOPIC_EXCEPTION");
  EXPECT_EQ(described(client, kBroker, "abc", "x"), "INVALID_REQUEST");
  EXPECT_EQ(described(client, 77, "x", "x"), "INVALID_REQUEST");
}

// An empty list of keys is one that names none, which means all.
TEST_F(Settings, AllKeysAreToldOfWhenNoneIsNamed) {
  kafka::DescribeConfigsRequest request;
  request.resources.push_back(
      {.resource_type = kBroker, .resource_name = "0", .configuration_keys = std::vector<std::string_view>{}});
  EXPECT_GT(client.call<kafka::DescribeConfigsResponse>(request, 4)->results.at(0).configs.size(), 300u);
}

TEST_F(Settings, ResourcesAreListed) {
  const std::string name = fresh("subscription");
  EXPECT_EQ(alter(client, kClientMetrics, name, "metrics", "*"), ErrorCode::NONE);
  const auto old = client.call<kafka::ListConfigResourcesResponse>(kafka::ListConfigResourcesRequest{}, 0);
  EXPECT_TRUE(std::ranges::any_of(old->config_resources, [&](const auto& each) { return each.resource_name == name; }));
  const auto brokers = client.call<kafka::ListConfigResourcesResponse>(
      kafka::ListConfigResourcesRequest{.resource_types = {kBroker}}, 1);
  ASSERT_EQ(brokers->config_resources.size(), 1u);
  EXPECT_EQ(brokers->config_resources[0].resource_name, "0");
  EXPECT_EQ(alter(client, kClientMetrics, name, "metrics", std::nullopt, kRemove), ErrorCode::NONE);
}

// -- Quotas --------------------------------------------------------------------------------------------------------

TEST_F(Settings, QuotasAreSetToldAndTakenBack) {
  const std::string user = fresh("user");
  const auto set = [&](double value, bool remove) {
    kafka::AlterClientQuotasRequest request;
    request.entries.push_back({.entity = {{.entity_type = "user", .entity_name = user}, {.entity_type = "client-id"}},
                               .ops = {{.key = "consumer_byte_rate", .value = value, .remove = remove}}});
    const auto answer = client.call<kafka::AlterClientQuotasResponse>(request, 0);
    EXPECT_EQ(answer->entries.size(), 1u);
    return static_cast<ErrorCode>(answer->entries.at(0).error_code);
  };
  const auto count = [&] {
    kafka::DescribeClientQuotasRequest request;
    request.components.push_back({.entity_type = "user", .match_type = 0, .match = user});
    return client.call<kafka::DescribeClientQuotasResponse>(request, 1)->entries->size();
  };
  EXPECT_EQ(set(-1, false), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(set(1e9, false), ErrorCode::NONE);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(set(0, true), ErrorCode::NONE);
  EXPECT_EQ(count(), 0u);
}

// -- Replicas and leaders ------------------------------------------------------------------------------------------

TEST_F(Settings, ANodeOnItsOwnMovesNothingAndElectsNobody) {
  const std::string topic = fresh("stays");
  make_topic(client, topic, 2);
  kafka::AlterPartitionReassignmentsRequest reassign;
  reassign.topics.push_back(
      {.name = topic,
       .partitions = {{.partition_index = 0, .replicas = {{0}}}, {.partition_index = 1, .replicas = {{5}}}}});
  const auto moved = client.call<kafka::AlterPartitionReassignmentsResponse>(reassign, 1);
  ASSERT_EQ(moved->responses.at(0).partitions.size(), 2u);
  EXPECT_EQ(moved->responses[0].partitions[0].error_code, 0);
  EXPECT_EQ(moved->responses[0].partitions[1].error_code, kafka::wire(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  const auto listed =
      client.call<kafka::ListPartitionReassignmentsResponse>(kafka::ListPartitionReassignmentsRequest{}, 0);
  EXPECT_EQ(listed->error_code, 0);
  EXPECT_TRUE(listed->topics.empty());
  for (std::int16_t version = 0; version <= 2; ++version) {
    kafka::ElectLeadersRequest elect;
    elect.topic_partitions.emplace().push_back({.topic = topic, .partitions = {0, 7}});
    const auto elected = client.call<kafka::ElectLeadersResponse>(elect, version);
    ASSERT_EQ(elected->replica_election_results.at(0).partition_result.size(), 2u);
    EXPECT_EQ(elected->replica_election_results[0].partition_result[0].error_code,
              kafka::wire(ErrorCode::ELECTION_NOT_NEEDED));
    EXPECT_EQ(elected->replica_election_results[0].partition_result[1].error_code,
              kafka::wire(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  }
}

}  // namespace
}  // namespace tailrace::wire
