// The controller's handling of settings and quotas: what it stores and where, in which order brokers and clients hear
// of it, and what a new start and a full disk leave. What a wish comes to is in zkbridge_config_plans_test.
#include <gtest/gtest.h>

#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/alter_configs.h"
#include "services/kafka/messages/alter_partition_reassignments.h"
#include "services/kafka/messages/describe_client_quotas.h"
#include "services/kafka/messages/elect_leaders.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/list_config_resources.h"
#include "services/kafka/messages/list_partition_reassignments.h"
#include "services/zkbridge/config_plans.h"
#include "tests/unit/support/controller_world.h"

namespace tailrace::zkbridge {
namespace {

using Alter = kafka::IncrementalAlterConfigsRequest;
using Altered = kafka::IncrementalAlterConfigsResponse;
using AlterQuotas = kafka::AlterClientQuotasRequest;
using AlteredQuotas = kafka::AlterClientQuotasResponse;

Alter::AlterConfigsResource setting(std::int8_t type, std::string_view name, std::string_view key,
                                    std::string_view value) {
  return {.resource_type = type, .resource_name = name, .configs = {{.name = key, .value = value}}};
}
Alter::AlterConfigsResource removing(std::int8_t type, std::string_view name, std::string_view key) {
  return {.resource_type = type, .resource_name = name, .configs = {{.name = key, .config_operation = 1}}};
}
Alter altering(std::vector<Alter::AlterConfigsResource> resources) { return {.resources = std::move(resources)}; }

AlterQuotas::EntryData quota(std::vector<AlterQuotas::EntityData> entity, std::string_view key, double value) {
  return {.entity = std::move(entity), .ops = {{.key = key, .value = value, .remove = value == 0}}};
}
AlterQuotas with_quotas(std::vector<AlterQuotas::EntryData> entries) { return {.entries = std::move(entries)}; }
AlterQuotas::EntityData part(std::string_view type, std::optional<std::string_view> name) {
  return {.entity_type = type, .entity_name = name};
}

// The codes of the last answer.
std::vector<std::int16_t> codes(const World& world) {
  std::vector<std::int16_t> codes;
  const auto response = world.of_type(ControlType::forward_reply).back().body_of_response<Altered>(1);
  for (const auto& each : response.responses) codes.push_back(each.error_code);
  return codes;
}

// "topic t1 retention.ms=5" for each entity of the last image.
std::string image_text(const World& world) {
  const std::vector<Sent> images = world.of_type(ControlType::config_image);
  if (images.empty()) return "none";
  const auto image = kafka::decode_exactly<kafka::ConfigImage>(images.back().bytes, 0);
  EXPECT_TRUE(image.has_value());
  std::string text = image->is_whole ? "whole" : "";
  for (const auto& entity : image->entities) {
    if (!text.empty()) text += "; ";
    text += entity.type == kafka::kTopicEntity           ? "topic "
            : entity.type == kafka::kBrokerEntity        ? "broker "
            : entity.type == kafka::kClientMetricsEntity ? "metrics "
            : entity.type == kafka::kGroupEntity         ? "group "
                                                         : "quota ";
    text += entity.name;
    for (const auto& entry : entity.entries) text += " " + std::string(entry.key) + "=" + std::string(*entry.value);
  }
  return text;
}

World with_topic() {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("t1")}), 7);
  world.sent.clear();
  return world;
}

TEST(ControllerConfigs, AChangeIsStoredThenToldToTheBrokerThenAnswered) {
  World world = with_topic();
  world.store_held = true;
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", " 5000 ")}), 1);
  EXPECT_EQ(world.story(), "");
  world.release_store();
  EXPECT_EQ(world.story(), "config reply");
  EXPECT_EQ(image_text(world), "topic t1 retention.ms=5000");
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{0}));
  EXPECT_EQ(world.data("/config/topics/t1"), R"({"version":1,"config":{"retention.ms":"5000"}})");
  EXPECT_EQ(world.data("/config/changes/config_change_0000000000"), R"({"version":2,"entity_path":"topics/t1"})");
}

TEST(ControllerConfigs, EachResourceHasItsOwnAnswerAndTheGoodOnesAreDone) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "888"),
                          setting(resource_type::kTopic, "nope", "retention.ms", "888"),
                          setting(resource_type::kBroker, "1", "log.retention.ms", "888"),
                          setting(resource_type::kBroker, "", "log.retention.ms", "abc"),
                          setting(resource_type::kClientMetrics, "sub one", "metrics", "*")}),
                1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{0, 3, 0, 42, 0}));
  EXPECT_EQ(world.data("/config/brokers/1"), R"({"version":1,"config":{"log.retention.ms":"888"}})");
  EXPECT_EQ(world.data("/config/client-metrics/sub%20one"), R"({"version":1,"config":{"metrics":"*"}})");
  EXPECT_FALSE(world.has("/config/brokers/<default>"));
}

TEST(ControllerConfigs, TheSettingsOfAllBrokersLieUnderKafkasName) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kBroker, "", "log.retention.ms", "888")}), 1);
  EXPECT_EQ(world.data("/config/brokers/<default>"), R"({"version":1,"config":{"log.retention.ms":"888"}})");
  EXPECT_EQ(image_text(world), "broker  log.retention.ms=888");
  world.sent.clear();
  world.forward(altering({removing(resource_type::kBroker, "", "log.retention.ms")}), 1);
  EXPECT_EQ(world.data("/config/brokers/<default>"), R"({"version":1,"config":{}})");
  EXPECT_EQ(image_text(world), "broker ");
}

TEST(ControllerConfigs, ANewStartFindsThemAndTellsTheBrokerAll) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1"),
                          setting(resource_type::kBroker, "1", "message.max.bytes", "2"),
                          setting(resource_type::kBroker, "", "message.max.bytes", "3"),
                          setting(resource_type::kClientMetrics, "s/1", "interval.ms", "400"),
                          setting(resource_type::kGroup, "g/1 *", "consumer.session.timeout.ms", "50000")}),
                1);
  world.forward(with_quotas({quota({part("user", "al/ice")}, "producer_byte_rate", 5)}), 1);
  world.start();
  world.sent.clear();
  world.hello(kBroker + 5);
  EXPECT_EQ(image_text(world),
            "whole; topic t1 retention.ms=1; broker 1 message.max.bytes=2; broker  message.max.bytes=3; "
            "metrics s/1 interval.ms=400; group g/1 * consumer.session.timeout.ms=50000; quota users/al%2Fice "
            "producer_byte_rate=5");
}

TEST(ControllerConfigs, TheSettingsOfGroupsComeAndGoWithTheirNodes) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kGroup, "a b", "consumer.session.timeout.ms", "50000"),
                          setting(resource_type::kGroup, "bad", "consumer.session.timeout.ms", "1"),
                          setting(resource_type::kGroup, "c", "consumer.heartbeat.interval.ms", "6000")}),
                1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{0, 40, 0}));
  EXPECT_EQ(world.data("/config/groups/a%20b"), R"({"version":1,"config":{"consumer.session.timeout.ms":"50000"}})");
  EXPECT_FALSE(world.has("/config/groups/bad"));
  EXPECT_FALSE(world.has("/config/changes/config_change_0000000000")) << "no broker of Kafka 3.x knows them";
  world.sent.clear();
  world.forward(altering({removing(resource_type::kGroup, "a b", "consumer.session.timeout.ms")}), 1);
  EXPECT_EQ(world.story(), "config reply");
  EXPECT_EQ(image_text(world), "group a b");
  EXPECT_FALSE(world.has("/config/groups/a%20b"));
  EXPECT_TRUE(world.has("/config/groups/c"));
  world.forward(altering({removing(resource_type::kGroup, "c", "consumer.heartbeat.interval.ms")}), 1);
  EXPECT_TRUE(world.controller->cluster().group_configs.empty());
  EXPECT_EQ(world.fatal, "");
}

TEST(ControllerConfigs, ARequestOnlyToValidateChangesNothing) {
  World world = with_topic();
  Alter request = altering({setting(resource_type::kTopic, "t1", "retention.ms", "1"),
                            setting(resource_type::kTopic, "t1", "retention.ms", "1")});
  request.resources.pop_back();
  request.validate_only = true;
  world.forward(request, 1);
  EXPECT_EQ(world.story(), "reply");
  EXPECT_EQ(world.data("/config/topics/t1"), R"({"version":1,"config":{}})");
}

TEST(ControllerConfigs, ARequestThatChangesNothingWritesNothing) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1);
  world.sent.clear();
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1);
  EXPECT_EQ(world.story(), "reply");
  EXPECT_FALSE(world.has("/config/changes/config_change_0000000001"));
}

TEST(ControllerConfigs, RequestsThatComeTogetherAreJudgedOneByWhatTheOtherLeaves) {
  World world = with_topic();
  world.store_held = true;
  const auto append = [](std::string_view entry) {
    return altering({{.resource_type = resource_type::kTopic,
                      .resource_name = "t1",
                      .configs = {{.name = "cleanup.policy", .config_operation = 2, .value = entry}}}});
  };
  world.forward(append("compact"), 1, 5);
  world.forward(altering({removing(resource_type::kTopic, "t1", "no.such")}), 1, 6);
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1, 7);
  world.release_store();
  EXPECT_EQ(world.of_type(ControlType::forward_reply).size(), 3u);
  EXPECT_EQ(world.data("/config/topics/t1"),
            R"({"version":1,"config":{"cleanup.policy":"delete,compact","retention.ms":"1"}})");
}

TEST(ControllerConfigs, AlterConfigsReplacesAll) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1);
  world.sent.clear();
  kafka::AlterConfigsRequest request;
  request.resources.push_back(
      {.resource_type = 2, .resource_name = "t1", .configs = {{.name = "segment.ms", .value = "9"}}});
  for (std::int16_t version = 0; version <= 2; ++version) {
    world.sent.clear();
    world.forward(request, version);
    const auto response = world.reply<kafka::AlterConfigsResponse>(version);
    ASSERT_EQ(response.responses.size(), 1u);
    EXPECT_EQ(response.responses[0].error_code, 0);
    EXPECT_EQ(response.responses[0].resource_name, "t1");
    EXPECT_EQ(response.responses[0].resource_type, 2);
  }
  EXPECT_EQ(world.data("/config/topics/t1"), R"({"version":1,"config":{"segment.ms":"9"}})");
}

TEST(ControllerConfigs, AFullDiskIsAnErrorAndTheOldSettingsStand) {
  World world = with_topic();
  world.store_full = true;
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1"),
                          setting(resource_type::kClientMetrics, "s", "metrics", "*")}),
                1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{56, 56}));
  EXPECT_EQ(image_text(world), "none");
  world.store_full = false;
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1"),
                          setting(resource_type::kClientMetrics, "s", "metrics", "*")}),
                1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{0, 0}));
  EXPECT_EQ(world.fatal, "");
}

TEST(ControllerConfigs, ATopicThatIsDeletedMeanwhileTakesItsSettingsAlong) {
  World world = with_topic();
  world.store_held = true;
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1, 5);
  world.forward(deleting({"t1"}), 5, 6);
  world.release_store();
  EXPECT_EQ(world.fatal, "");
  EXPECT_EQ(world.of_type(ControlType::forward_reply).size(), 2u);
  EXPECT_FALSE(world.has("/config/topics/t1"));
}

TEST(ControllerConfigs, AClientThatLeavesDoesNotStopTheOthers) {
  World world = with_topic();
  world.hello(kCoordinator, false);
  world.store_held = true;
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1, 5, kCoordinator);
  world.forward(altering({setting(resource_type::kTopic, "t1", "segment.ms", "1")}), 1, 6, kCoordinator);
  world.forward(altering({setting(resource_type::kTopic, "t1", "flush.ms", "1")}), 1, 7);
  world.gone(kCoordinator);
  world.release_store();
  EXPECT_EQ(world.of_type(ControlType::forward_reply).size(), 1u);
  EXPECT_EQ(world.data("/config/topics/t1"), R"({"version":1,"config":{"flush.ms":"1","retention.ms":"1"}})");
}

TEST(ControllerConfigs, LateOnesAreToldSoAndTheNextGoesOn) {
  World world = with_topic();
  world.store_held = true;
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1, 5);
  world.pass_time(std::chrono::seconds(61));
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{7}));
  world.release_store();
  world.forward(altering({setting(resource_type::kTopic, "t1", "flush.ms", "1")}), 1, 6);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{0}));
}

TEST(ControllerConfigs, NoticesOfChangesGoWhenTheyAreOld) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1);
  world.start();  // it knows of those before it, too
  world.hello(kBroker);
  world.moment.wall_ms += 16 * 60 * 1000;
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "2")}), 1);
  EXPECT_FALSE(world.has("/config/changes/config_change_0000000000"));
  EXPECT_TRUE(world.has("/config/changes/config_change_0000000001"));
  EXPECT_EQ(world.fatal, "");
}

TEST(ControllerConfigs, BeforeItServesClientsAreToldToAskAgain) {
  World world;
  world.store_held = true;
  world.start();
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "1")}), 1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{41}));
}

TEST(ControllerConfigs, AFrameThatIsNoneIsRefused) {
  World world = with_topic();
  auto frame = request_frame(altering({setting(2, "t1", "retention.ms", "1")}), 1);
  frame.resize(frame.size() - 4);
  world.run(world.controller->on_forward(kBroker, 9, frame, world.moment));
  ASSERT_EQ(world.sent.size(), 1u);
  EXPECT_TRUE(world.sent[0].bytes.empty());
}

TEST(ControllerConfigs, ResourcesAreListedByType) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kClientMetrics, "sub", "metrics", "*"),
                          setting(resource_type::kGroup, "g", "consumer.session.timeout.ms", "50000")}),
                1);
  const auto list = [&](std::vector<std::int8_t> types, std::int16_t version) {
    world.sent.clear();
    world.forward(kafka::ListConfigResourcesRequest{.resource_types = std::move(types)}, version);
    const auto response = world.reply<kafka::ListConfigResourcesResponse>(version);
    std::string text = std::to_string(response.error_code);
    for (const auto& each : response.config_resources) {
      text += " " + std::to_string(each.resource_type) + ":" + std::string(each.resource_name);
    }
    return text;
  };
  EXPECT_EQ(list({}, 1), "0 16:sub 8:1 4:1 32:g 2:t1");
  EXPECT_EQ(list({2, 2}, 1), "0 2:t1");
  EXPECT_EQ(list({32}, 1), "0 32:g");
  EXPECT_EQ(list({77}, 1), "35");
  EXPECT_EQ(list({}, 0), "0 16:sub");
}

// -- Quotas --------------------------------------------------------------------------------------------------------

TEST(ControllerQuotas, AreStoredWithTheNodesAboveThemAndToldToTheBroker) {
  World world = with_topic();
  world.forward(with_quotas({quota({part("user", "alice"), part("client-id", "c1")}, "producer_byte_rate", 11),
                             quota({part("user", "alice"), part("client-id", std::nullopt)}, "consumer_byte_rate", 12),
                             quota({part("user", "alice")}, "request_percentage", 50.5),
                             quota({part("ip", "127.0.0.1")}, "connection_creation_rate", -1)}),
                1);
  const auto response = world.reply<AlteredQuotas>(1);
  ASSERT_EQ(response.entries.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(response.entries[i].error_code, i == 3 ? 42 : 0);
  EXPECT_EQ(response.entries[0].entity.size(), 2u);
  EXPECT_EQ(world.data("/config/users/alice/clients/c1"), R"({"version":1,"config":{"producer_byte_rate":"11"}})");
  EXPECT_EQ(world.data("/config/users/alice/clients/<default>"),
            R"({"version":1,"config":{"consumer_byte_rate":"12"}})");
  EXPECT_EQ(world.data("/config/users/alice"), R"({"version":1,"config":{"request_percentage":"50.5"}})");
  EXPECT_EQ(world.data("/config/changes/config_change_0000000000"),
            R"({"version":2,"entity_path":"users/alice/clients/c1"})");
  EXPECT_EQ(image_text(world), "quota users/alice request_percentage=50.5");
}

TEST(ControllerQuotas, WhatIsEmptyGoesWithTheNodesAboveIt) {
  World world = with_topic();
  world.forward(with_quotas({quota({part("user", "alice"), part("client-id", "c1")}, "producer_byte_rate", 11),
                             quota({part("user", "bob"), part("client-id", "c1")}, "producer_byte_rate", 11),
                             quota({part("user", "bob")}, "producer_byte_rate", 11)}),
                1);
  world.forward(with_quotas({quota({part("user", "alice"), part("client-id", "c1")}, "producer_byte_rate", 0),
                             quota({part("user", "bob")}, "producer_byte_rate", 0)}),
                1);
  EXPECT_FALSE(world.has("/config/users/alice"));
  EXPECT_TRUE(world.has("/config/users"));
  EXPECT_EQ(world.data("/config/users/bob"), R"({"version":1,"config":{}})");  // its client is below it
  world.forward(with_quotas({quota({part("user", "bob"), part("client-id", "c1")}, "producer_byte_rate", 0)}), 1);
  EXPECT_FALSE(world.has("/config/users/bob"));
  EXPECT_EQ(world.fatal, "");
}

TEST(ControllerQuotas, SecretsInTheSameNodesStayThereAndAreNotTold) {
  World world;
  world.start_with_broker();
  std::vector<OperationResult> results;
  world.tree.apply({100, 1, 0, {Create{"/config/users/eve", R"({"version":1,"config":{"SCRAM-SHA-256":"salt"}})"}}},
                   results);
  world.start();
  world.hello(kBroker);
  world.forward(with_quotas({quota({part("user", "eve")}, "producer_byte_rate", 1)}), 1);
  EXPECT_EQ(image_text(world), "quota users/eve producer_byte_rate=1");
  EXPECT_NE(world.data("/config/users/eve").find("SCRAM-SHA-256"), std::string::npos);
  world.forward(with_quotas({quota({part("user", "eve")}, "producer_byte_rate", 0)}), 1);
  EXPECT_EQ(world.data("/config/users/eve"), R"({"version":1,"config":{"SCRAM-SHA-256":"salt"}})");
}

TEST(ControllerQuotas, AreDescribed) {
  World world = with_topic();
  world.forward(
      with_quotas({quota({part("user", "alice"), part("client-id", std::nullopt)}, "producer_byte_rate", 11)}), 1);
  world.sent.clear();
  world.forward(kafka::DescribeClientQuotasRequest{}, 1);
  const auto response = world.reply<kafka::DescribeClientQuotasResponse>(1);
  EXPECT_EQ(response.error_code, 0);
  ASSERT_EQ(response.entries->size(), 1u);
  const auto& entry = response.entries->front();
  ASSERT_EQ(entry.entity.size(), 2u);
  EXPECT_EQ(entry.entity[0].entity_type, "client-id");
  EXPECT_EQ(entry.entity[0].entity_name, std::nullopt);
  EXPECT_EQ(entry.entity[1].entity_name, "alice");
  EXPECT_EQ(entry.values.at(0).key, "producer_byte_rate");
  EXPECT_EQ(entry.values.at(0).value, 11.0);
  world.sent.clear();
  world.forward(kafka::DescribeClientQuotasRequest{.components = {{.entity_type = "foo"}}}, 0);
  const auto refused = world.reply<kafka::DescribeClientQuotasResponse>(0);
  EXPECT_EQ(refused.error_code, 35);
  EXPECT_EQ(refused.entries, std::nullopt);
}

// -- What the store cannot take ------------------------------------------------------------------------------------

std::vector<std::int16_t> quota_codes(const World& world) {
  std::vector<std::int16_t> codes;
  const auto response = world.of_type(ControlType::forward_reply).back().body_of_response<AlteredQuotas>(1);
  for (const auto& each : response.entries) codes.push_back(each.error_code);
  return codes;
}

constexpr std::int16_t kInvalidRequest = kafka::wire(ErrorCode::INVALID_REQUEST);
constexpr std::int16_t kPolicyViolation = kafka::wire(ErrorCode::POLICY_VIOLATION);

TEST(ControllerConfigs, ANameThatNoNodeCanHaveIsRefusedAndTheControllerGoesOn) {
  World world = with_topic();
  const std::string longest(2000, 'a');
  const std::string zeros = std::string(2000, '0') + "1";
  const std::string umlauts(600, '\xC3');  // three times as long in a path
  for (const std::string& name : {std::string("."), std::string(".."), longest, umlauts}) {
    world.forward(with_quotas({quota({part("user", name)}, "producer_byte_rate", 5)}), 1);
    EXPECT_EQ(quota_codes(world), (std::vector<std::int16_t>{kInvalidRequest})) << name;
    world.forward(with_quotas({quota({part("user", name)}, "producer_byte_rate", 0)}),
                  1);  // removing what is not there
    EXPECT_EQ(quota_codes(world), (std::vector<std::int16_t>{0})) << name;
    world.forward(altering({setting(resource_type::kClientMetrics, name, "interval.ms", "1000")}), 1);
    EXPECT_EQ(codes(world), (std::vector<std::int16_t>{kInvalidRequest})) << name;
    world.forward(altering({setting(resource_type::kGroup, name, "consumer.session.timeout.ms", "50000")}), 1);
    EXPECT_EQ(codes(world), (std::vector<std::int16_t>{kInvalidRequest})) << name;
  }
  world.forward(altering({setting(resource_type::kBroker, zeros, "message.max.bytes", "5000")}), 1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{kInvalidRequest}));
  Alter only_asking = altering({setting(resource_type::kClientMetrics, "..", "interval.ms", "1000")});
  only_asking.validate_only = true;
  world.forward(only_asking, 1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{kInvalidRequest}));
  EXPECT_EQ(world.fatal, "");
  world.forward(altering({setting(resource_type::kTopic, "t1", "retention.ms", "5000")}), 1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{0}));
}

TEST(ControllerConfigs, BrokersHearWhatTheNextStartReads) {
  World world = with_topic();
  world.forward(altering({setting(resource_type::kBroker, "", "x\xFF", "a\xC3z\0"),
                          setting(resource_type::kBroker, "1", "y", "\xE2\x82\xAC")}),
                1);
  EXPECT_EQ(codes(world), (std::vector<std::int16_t>{0, 0}));
  const auto before = world.controller->cluster().broker_configs;
  world.start_with_broker();
  EXPECT_EQ(world.controller->cluster().broker_configs, before);
}

TEST(ControllerConfigs, ABrokersUnknownSettingsAreBounded) {
  World world = with_topic();
  const std::string value(30'000, 'v');
  std::size_t taken = 0;
  for (; taken < 100; ++taken) {
    world.forward(altering({setting(resource_type::kBroker, "", "x." + std::to_string(taken), value)}), 1);
    if (codes(world).front() != 0) break;
  }
  EXPECT_EQ(codes(world).front(), kPolicyViolation);
  EXPECT_EQ(taken, 33u);
  world.forward(altering({removing(resource_type::kBroker, "", "x.0")}), 1);
  EXPECT_EQ(codes(world).front(), 0);
}

TEST(ControllerConfigs, SubscriptionsAreBounded) {
  World world = with_topic();
  std::size_t taken = 0;
  for (; taken < 200; ++taken) {
    world.forward(
        altering({setting(resource_type::kClientMetrics, "s" + std::to_string(taken), "interval.ms", "1000")}), 1);
    if (codes(world).front() != 0) break;
  }
  EXPECT_EQ(codes(world).front(), kPolicyViolation);
  EXPECT_EQ(taken, 100u);
  world.forward(altering({setting(resource_type::kClientMetrics, "s7", "interval.ms", "2000")}), 1);
  EXPECT_EQ(codes(world).front(), 0);
}

// As a Kafka leaves them that stopped while it deleted the topic.
TEST(ControllerConfigs, SettingsOfATopicThatIsNotThereAreNotThoseOfTheNextOne) {
  World world = with_topic();
  std::vector<OperationResult> results;
  const Transaction left{100, 1, world.session, {Create{"/config/topics/gone", R"({"version":1,"config":{"x":"1"}})"}}};
  ASSERT_EQ(world.tree.apply(left, results), StoreCode::ok);
  world.start_with_broker();
  EXPECT_FALSE(world.has("/config/topics/gone"));
  world.forward(creating({wish("gone")}), 7);
  EXPECT_EQ(world.fatal, "");
  EXPECT_EQ(world.data("/config/topics/gone"), R"({"version":1,"config":{}})");
}

TEST(ControllerConfigs, ARequestOfTooManyItemsIsCutOff) {
  World world = with_topic();
  const auto is_cut_off = [&](const auto& message, std::int16_t version) {
    world.sent.clear();
    world.forward(message, version);
    const std::vector<Sent> replies = world.of_type(ControlType::forward_reply);
    return replies.size() == 1 && replies.front().bytes.empty();
  };
  constexpr std::size_t kMany = 100'001;
  EXPECT_TRUE(is_cut_off(
      kafka::ElectLeadersRequest{
          .topic_partitions = {{{.topic = "t1", .partitions = std::vector<std::int32_t>(kMany)}}}},
      2));
  kafka::AlterPartitionReassignmentsRequest reassign;
  reassign.topics.push_back({.name = "t1", .partitions = {}});
  reassign.topics.back().partitions.resize(kMany);
  EXPECT_TRUE(is_cut_off(reassign, 0));
  Alter alter;
  alter.resources.resize(kMany);
  EXPECT_TRUE(is_cut_off(alter, 1));
  EXPECT_TRUE(is_cut_off(deleting(std::vector<std::string_view>(kMany, "x")), 5));
  EXPECT_TRUE(is_cut_off(creating(std::vector<CreateTopics::CreatableTopic>(kMany)), 7));
}

// -- Replicas and leaders ------------------------------------------------------------------------------------------

TEST(ControllerReplicas, AReassignmentToTheSameReplicasIsDoneAndOthersAreRefused) {
  World world = with_topic();
  using Reassign = kafka::AlterPartitionReassignmentsRequest;
  const auto reassign = [&](std::string_view topic, std::int32_t index, std::optional<std::vector<BrokerId>> replicas) {
    world.sent.clear();
    Reassign request;
    request.topics.push_back(
        {.name = topic, .partitions = {{.partition_index = index, .replicas = std::move(replicas)}}});
    world.forward(request, 1);
    const auto response = world.reply<kafka::AlterPartitionReassignmentsResponse>(1);
    EXPECT_EQ(response.error_code, 0);
    const auto& result = response.responses.at(0).partitions.at(0);
    return std::to_string(result.error_code) + " " + std::string(result.error_message.value_or("null"));
  };
  EXPECT_EQ(reassign("t1", 0, {{1}}), "0 null");
  EXPECT_EQ(reassign("t1", 0, {{7}}),
            "39 The manual partition assignment includes broker 7, but no such broker is registered.");
  EXPECT_EQ(reassign("t1", 0, {{1, 1}}), "39 The manual partition assignment includes the broker 1 more than once.");
  EXPECT_EQ(reassign("t1", 0, std::vector<BrokerId>{}),
            "39 The manual partition assignment includes an empty replica list.");
  EXPECT_EQ(reassign("t1", 0, std::nullopt), "85 null");
  EXPECT_EQ(reassign("t1", 9, {{1}}), "3 Unable to find partition t1:9.");
  EXPECT_EQ(reassign("t1", -1, {{1}}), "3 Unable to find partition t1:-1.");
  EXPECT_EQ(reassign("nope", 0, {{1}}), "3 Unable to find a topic named nope.");
  world.sent.clear();
  world.forward(kafka::ListPartitionReassignmentsRequest{}, 0);
  EXPECT_TRUE(world.reply<kafka::ListPartitionReassignmentsResponse>(0).topics.empty());
}

TEST(ControllerReplicas, ElectionsAreNotNeeded) {
  World world = with_topic();
  const auto elect = [&](kafka::ElectLeadersRequest request, std::int16_t version) {
    world.sent.clear();
    world.forward(request, version);
    const auto response = world.reply<kafka::ElectLeadersResponse>(version);
    std::string text = std::to_string(response.error_code);
    for (const auto& topic : response.replica_election_results) {
      text += " " + std::string(topic.topic) + ":";
      for (const auto& each : topic.partition_result) {
        text += std::to_string(each.partition_id) + "=" + std::to_string(each.error_code);
      }
    }
    return text;
  };
  using Topics = std::vector<kafka::ElectLeadersRequest::TopicPartitions>;
  EXPECT_EQ(elect({.topic_partitions = std::nullopt}, 2), "0 t1:");
  EXPECT_EQ(elect({.topic_partitions = Topics{{.topic = "t1", .partitions = {0}}}}, 0), "0 t1:0=84");
  EXPECT_EQ(elect({.election_type = 1, .topic_partitions = Topics{{.topic = "t1", .partitions = {0}}}}, 1),
            "0 t1:0=84");
  EXPECT_EQ(
      elect({.topic_partitions = Topics{{.topic = "t1", .partitions = {9}}, {.topic = "no", .partitions = {0}}}}, 2),
      "0 t1:9=3 no:0=3");
  EXPECT_EQ(elect({.election_type = 5, .topic_partitions = Topics{{.topic = "t1", .partitions = {0}}}}, 2),
            "42 t1:0=42");
}

}  // namespace
}  // namespace tailrace::zkbridge
