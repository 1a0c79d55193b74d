// Tables of wishes about settings and quotas, with the codes and texts that a real Kafka 4.4 with one broker answered.
#include "services/zkbridge/config_plans.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "services/zkbridge/quota_plans.h"

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;
using enum ConfigOperation;

using Wish = ConfigWish;
using Change = ConfigWish::Change;

// "key=value key=value", or "CODE text".
class Plans : public ::testing::Test {
 protected:
  void SetUp() override {
    config_ = *node::make_config({}, "");
    cluster_.brokers[0];
    Topic topic;
    topic.partitions.resize(1);
    cluster_.topics["t1"] = topic;
  }

  std::string plan(const Wish& wish) {
    const auto configs = plan_config({cluster_, node::only_fixed(config_), 0}, wish);
    return configs ? text(*configs) : text(configs.error());
  }
  std::string topic(std::vector<Change> changes) {
    return plan({.type = resource_type::kTopic, .name = "t1", .changes = std::move(changes)});
  }
  std::string broker(std::string_view name, std::vector<Change> changes) {
    return plan({.type = resource_type::kBroker, .name = name, .changes = std::move(changes)});
  }
  std::string metrics(std::vector<Change> changes, std::string_view name = "sub") {
    return plan({.type = resource_type::kClientMetrics, .name = name, .changes = std::move(changes)});
  }

  static std::string text(const node::ConfigMap& configs) {
    std::string all;
    for (const auto& [key, value] : configs) all += (all.empty() ? "" : " ") + key + "=" + value;
    return all;
  }
  static std::string text(const Refusal& refusal) {
    return std::string(kafka::error_name(refusal.code)) + " " + refusal.message;
  }

  node::Config config_;
  Cluster cluster_;
};

TEST_F(Plans, SettingsOfATopicAreSetInTheirPlainFormAndRemoved) {
  EXPECT_EQ(topic({{"retention.ms", set, " 5000 "}, {"preallocate", set, "TRUE"}}),
            "preallocate=true retention.ms=5000");
  cluster_.topics["t1"].configs = {{"retention.ms", "1"}, {"segment.ms", "2"}};
  EXPECT_EQ(topic({{"retention.ms", remove, std::nullopt}, {"no.such", remove, "ignored"}}), "segment.ms=2");
  EXPECT_EQ(topic({}), "retention.ms=1 segment.ms=2");
  EXPECT_EQ(plan({.type = 2, .name = "t1", .changes = {{"flush.ms", set, "3"}}, .replaces = true}), "flush.ms=3");
  EXPECT_EQ(plan({.type = 2, .name = "t1", .changes = {}, .replaces = true}), "");
}

TEST_F(Plans, ListsGrowAndShrinkByEntriesAndBeginAtTheDefault) {
  EXPECT_EQ(topic({{"cleanup.policy", append, "compact"}}), "cleanup.policy=delete,compact");
  EXPECT_EQ(topic({{"cleanup.policy", append, "delete"}}), "cleanup.policy=delete");
  EXPECT_EQ(topic({{"cleanup.policy", subtract, "delete"}}), "cleanup.policy=");
  cluster_.topics["t1"].configs = {{"cleanup.policy", "compact,delete"}};
  EXPECT_EQ(topic({{"cleanup.policy", subtract, "delete"}}), "cleanup.policy=compact");
  EXPECT_EQ(topic({{"cleanup.policy", subtract, "nobody"}}), "cleanup.policy=compact,delete");
  EXPECT_EQ(
      topic({{"cleanup.policy", append, "keep"}}),
      "INVALID_CONFIG Invalid value keep for configuration cleanup.policy: String must be one of: compact, delete");
  EXPECT_EQ(topic({{"retention.ms", append, "5"}}),
            "INVALID_CONFIG Can't APPEND to key retention.ms because its type is not LIST.");
  EXPECT_EQ(topic({{"no.such", subtract, "5"}}),
            "INVALID_CONFIG Can't SUBTRACT to key no.such because its type is not LIST.");
}

TEST_F(Plans, WhatATopicCannotBeGivenIsRefusedInKafkasWords) {
  const struct {
    std::vector<Change> changes;
    const char* answer;
  } cases[] = {
      {{{"no.such", set, "1"}}, "INVALID_CONFIG Unknown topic config name: no.such"},
      {{{"retention.ms", set, "abc"}},
       "INVALID_CONFIG Invalid value abc for configuration retention.ms: Not a number of type LONG"},
      {{{"segment.ms", set, "0"}},
       "INVALID_CONFIG Invalid value 0 for configuration segment.ms: Value must be at least 1"},
      {{{"preallocate", set, "maybe"}},
       "INVALID_CONFIG Invalid value maybe for configuration preallocate: Expected value to be either true or false"},
      {{{"min.cleanable.dirty.ratio", set, "2"}},
       "INVALID_CONFIG Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
      {{{"leader.replication.throttled.replicas", set, "0-0"}},
       "INVALID_CONFIG Invalid value [0-0] for configuration leader.replication.throttled.replicas: "
       "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
       "[partitionId]:[brokerId],[partitionId]:[brokerId],..."},
      {{{"retention.ms", set, "1"}, {"retention.ms", remove, std::nullopt}},
       "INVALID_REQUEST Error due to duplicate config keys"},
      {{{"retention.ms", set, std::nullopt}, {"retention.bytes", append, std::nullopt}},
       "INVALID_REQUEST Null value not supported for : retention.ms, retention.bytes"},
      {{{"", set, std::nullopt}}, "INVALID_REQUEST Null value not supported for : "},
      {{{"retention.ms", ConfigOperation{9}, "1"}}, "INVALID_REQUEST Unknown operation 9 on config retention.ms"},
      {{{"min.compaction.lag.ms", set, "100"}, {"max.compaction.lag.ms", set, "50"}},
       "INVALID_CONFIG conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)"},
      {{{"remote.storage.enable", set, "true"}},
       "INVALID_CONFIG Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote "
       "log storage."},
  };
  for (const auto& each : cases) EXPECT_EQ(topic(each.changes), each.answer);
  const std::string long_value(32768, ' ');
  EXPECT_TRUE(
      topic({{"cleanup.policy", set, long_value}}).starts_with("INVALID_CONFIG The configuration value cannot"));
}

TEST_F(Plans, TopicsThatAreNotThereAreRefusedAfterWhatIsWrongWithTheWish) {
  const auto about = [&](std::string_view name, std::string_view key) {
    return plan({.type = resource_type::kTopic, .name = name, .changes = {{key, set, "1"}}});
  };
  EXPECT_EQ(about("nope", "retention.ms"), "UNKNOWN_TOPIC_OR_PARTITION The topic 'nope' does not exist.");
  EXPECT_EQ(about("nope", "nokey"), "INVALID_CONFIG Unknown topic config name: nokey");
  EXPECT_EQ(about("", "retention.ms"), "INVALID_REQUEST Default topic resources are not allowed.");
  EXPECT_TRUE(
      about("a b", "retention.ms").starts_with("INVALID_TOPIC_EXCEPTION Topic name is invalid: 'a b' contains"));
  cluster_.topics["t1"].is_deleting = true;
  EXPECT_EQ(about("t1", "retention.ms"), "UNKNOWN_TOPIC_OR_PARTITION The topic 't1' does not exist.");
}

// Of a store that a Kafka 3 made.
TEST_F(Plans, WhatStandsThereIsNoReasonToRefuseAnotherChange) {
  cluster_.topics["t1"].configs = {{"some.older.key", "x"}};
  EXPECT_EQ(topic({{"retention.ms", set, "1"}}), "retention.ms=1 some.older.key=x");
}

TEST_F(Plans, SettingsOfBrokersAreOfThisOneOrOfAll) {
  EXPECT_EQ(broker("0", {{"log.retention.ms", set, "5"}}), "log.retention.ms=5");
  cluster_.broker_configs[std::string(kAllBrokers)] = {{"log.retention.ms", "7"}};
  EXPECT_EQ(broker("", {{"message.max.bytes", set, "9"}}), "log.retention.ms=7 message.max.bytes=9");
  EXPECT_EQ(broker("0", {{"unknown.to.us", set, "x"}}), "unknown.to.us=x");
  EXPECT_EQ(broker("9", {}), "INVALID_REQUEST Unexpected broker id, expected 0, but received 9");
  EXPECT_EQ(broker("abc", {}), "INVALID_REQUEST Node id must be an integer, but it is: abc");
  EXPECT_EQ(broker("0", {{"log.retention.ms", set, "abc"}}),
            "INVALID_REQUEST Invalid value abc for configuration log.retention.ms: Not a number of type LONG");
  EXPECT_EQ(broker("0", {{"num.partitions", set, "2"}}),
            "INVALID_REQUEST Cannot update these configs dynamically: [num.partitions]");
  EXPECT_EQ(broker("", {{"log.cleanup.policy", append, "compact"}}),
            "log.cleanup.policy=delete,compact log.retention.ms=7");
  EXPECT_EQ(broker("", {{"log.retention.ms", append, "1"}}),
            "INVALID_CONFIG Config value append is not allowed for config key: log.retention.ms");
  EXPECT_EQ(broker("", {{"no.such", append, "1"}}), "INVALID_CONFIG Unknown config name: no.such");
}

TEST_F(Plans, LoggersHaveNothingToChange) {
  const auto logger = [&](std::string_view name, std::vector<Change> changes, bool replaces = false) {
    return plan({.type = resource_type::kLogger, .name = name, .changes = std::move(changes), .replaces = replaces});
  };
  EXPECT_EQ(logger("0", {{"root", set, "INFO"}}), "INVALID_CONFIG Logger root does not exist!");
  EXPECT_EQ(logger("0", {{"root", append, "INFO"}}),
            "INVALID_REQUEST APPEND operation is not allowed for the BROKER_LOGGER resource");
  EXPECT_EQ(logger("9", {}), "INVALID_REQUEST Unexpected node id. Expected 0, but received 9");
  EXPECT_EQ(logger("", {}), "INVALID_REQUEST Node id must be an integer, but it is: ");
  EXPECT_EQ(logger("0", {{"root", set, "INFO"}}, true), "INVALID_REQUEST Unknown resource type 8");
  EXPECT_EQ(plan({.type = 77, .name = "x", .changes = {}}), "INVALID_REQUEST Unknown resource type 77");
}

TEST_F(Plans, SettingsOfAGroupAreCheckedTogetherWithWhatItHas) {
  const auto group = [&](std::vector<Change> changes, std::string_view name = "g") {
    return plan({.type = resource_type::kGroup, .name = name, .changes = std::move(changes)});
  };
  EXPECT_EQ(group({{"consumer.session.timeout.ms", set, " 50000 "}}), "consumer.session.timeout.ms=50000");
  EXPECT_EQ(group({{"no.such", set, "1"}}), "INVALID_CONFIG Unknown group config name: no.such");
  EXPECT_EQ(group({}, ""), "INVALID_REQUEST Default group resources are not allowed.");
  EXPECT_EQ(group({{"consumer.session.timeout.ms", set, "1000"}}),
            "INVALID_CONFIG consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.");
  EXPECT_EQ(group({{"streams.rack.aware.assignment.tags", append, "zone"}}),
            "INVALID_CONFIG Can't APPEND to key streams.rack.aware.assignment.tags because its type is not LIST.");
  EXPECT_EQ(group({{"no.such", remove, std::nullopt}}), "");
  cluster_.group_configs["g"] = {{"consumer.session.timeout.ms", "50000"}, {"share.isolation.level", "read_committed"}};
  EXPECT_EQ(group({{"consumer.session.timeout.ms", remove, std::nullopt}}), "share.isolation.level=read_committed");
  EXPECT_EQ(plan({.type = resource_type::kGroup,
                  .name = "g",
                  .changes = {{"consumer.heartbeat.interval.ms", set, "6000"}},
                  .replaces = true}),
            "consumer.heartbeat.interval.ms=6000");
  cluster_.group_configs["g"]["consumer.session.timeout.ms"] = "1";  // it was given under other bounds
  EXPECT_EQ(group({{"share.isolation.level", remove, std::nullopt}}),
            "INVALID_CONFIG consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.");
}

TEST_F(Plans, SubscriptionsToClientMetricsAreChecked) {
  EXPECT_EQ(metrics({{"metrics", set, "org.apache.kafka.consumer.,org.apache.kafka.producer."},
                     {"interval.ms", set, "60000"},
                     {"match", set, "client_software_name=apache.*,client_id = x"}}),
            "interval.ms=60000 match=client_software_name=apache.*,client_id = x "
            "metrics=org.apache.kafka.consumer.,org.apache.kafka.producer.");
  for (const char* interval : {"50", "0", "3600001"}) {
    EXPECT_EQ(metrics({{"interval.ms", set, interval}}),
              std::string("INVALID_REQUEST Invalid value ") + interval +
                  " for interval.ms, interval must be between 100 and 3600000 (1 hour)");
  }
  EXPECT_EQ(metrics({{"interval.ms", set, "abc"}}),
            "INVALID_CONFIG Invalid value abc for configuration interval.ms: Not a number of type INT");
  EXPECT_EQ(metrics({{"foo", set, "abc"}}), "INVALID_REQUEST Unknown client metrics configuration: foo");
  for (const char* match : {"abc", "foo=abc", "client_id=(", "client_id=a=b", "client_id="}) {
    EXPECT_EQ(metrics({{"match", set, match}}),
              std::string("INVALID_CONFIG Illegal client matching pattern: ") + match);
  }
  EXPECT_EQ(metrics({{"match", set, ""}}), "match=");
  EXPECT_EQ(metrics({{"metrics", append, "a"}}),
            "INVALID_CONFIG Can't APPEND to key metrics because its type is not LIST.");
  EXPECT_EQ(metrics({{"metrics", set, "*"}}, ""), "INVALID_REQUEST Subscription name can't be empty");
}

// What would take minutes, memory or the stack to compile, and what RE2 does not know, is no pattern.
TEST_F(Plans, HostilePatternsAreRefused) {
  for (const std::string& pattern :
       {std::string(5000, '('), std::string(2000, 'a'), std::string("((a{999}){999}){999}"), std::string("a(?=b)"),
        std::string(1000, '(') + std::string(20, ')')}) {
    EXPECT_TRUE(metrics({{"match", set, "client_id=" + pattern}}).starts_with("INVALID_CONFIG")) << pattern;
  }
  EXPECT_EQ(metrics({{"match", set, "client_id=(a+)+$,client_id=.*"}}), "match=client_id=(a+)+$,client_id=.*");
}

TEST_F(Plans, AResourceThatIsNamedTwiceIsRefusedBothTimes) {
  kafka::AlterConfigsRequest request;
  for (const char* name : {"t1", "t1", "t2"}) request.resources.push_back({.resource_type = 2, .resource_name = name});
  const std::vector<Wish> wishes = config_wishes(request);
  ASSERT_EQ(wishes.size(), 3u);
  EXPECT_EQ(plan(wishes[0]), "INVALID_REQUEST Each resource must appear at most once.");
  EXPECT_EQ(plan(wishes[1]), plan(wishes[0]));
  EXPECT_EQ(plan(wishes[2]), "UNKNOWN_TOPIC_OR_PARTITION The topic 't2' does not exist.");
}

// -- Quotas --------------------------------------------------------------------------------------------------------

using Part = kafka::AlterClientQuotasRequest::EntityData;
using Op = kafka::AlterClientQuotasRequest::OpData;

std::string plan(const QuotaNodes& nodes, std::vector<Part> entity, std::vector<Op> ops) {
  kafka::AlterClientQuotasRequest request;
  request.entries.push_back({.entity = std::move(entity), .ops = std::move(ops)});
  const auto change = plan_quota(nodes, quota_wishes(request).at(0));
  if (!change) return std::string(kafka::error_name(change.error().code)) + " " + change.error().message;
  std::string text = change->path + ":";
  for (const auto& [key, value] : change->values) text += " " + key + "=" + value;
  return text;
}

Part part(std::string_view type, std::optional<std::string_view> name) {
  return {.entity_type = type, .entity_name = name};
}
Op set_to(std::string_view key, double value) { return {.key = key, .value = value}; }
Op removed(std::string_view key) { return {.key = key, .remove = true}; }

TEST(QuotaPlans, EntitiesLieWhereKafka3KeepsThem) {
  EXPECT_EQ(plan({}, {part("user", "alice")}, {set_to("producer_byte_rate", 1000)}),
            "users/alice: producer_byte_rate=1000");
  EXPECT_EQ(plan({}, {part("user", std::nullopt)}, {set_to("request_percentage", 50.5)}),
            "users/<default>: request_percentage=50.5");
  EXPECT_EQ(plan({}, {part("client-id", "c 1"), part("user", "a/b")}, {set_to("controller_mutation_rate", 1)}),
            "users/a%2Fb/clients/c%201: controller_mutation_rate=1.0");
  EXPECT_EQ(plan({}, {part("ip", "::1")}, {set_to("connection_creation_rate", 3)}),
            "ips/%3A%3A1: connection_creation_rate=3");
  EXPECT_EQ(plan({}, {part("user", "a"), part("user", "b")}, {set_to("producer_byte_rate", 1)}),
            "users/b: producer_byte_rate=1");
}

TEST(QuotaPlans, OtherKeysOfTheNodeStay) {
  const QuotaNodes nodes = {{"users/alice", {{"SCRAM-SHA-256", "salt=x"}, {"producer_byte_rate", "5"}}}};
  EXPECT_EQ(plan(nodes, {part("user", "alice")}, {removed("producer_byte_rate"), removed("SCRAM-SHA-256")}),
            "users/alice: SCRAM-SHA-256=salt=x");
  EXPECT_EQ(only_quotas(nodes.at("users/alice")), (node::ConfigMap{{"producer_byte_rate", "5"}}));
}

TEST(QuotaPlans, AnAddressEndsWhereItsTextDoes) {
  EXPECT_FALSE(plan({}, {part("ip", std::string_view("1.2.3.4\0x", 9))}, {}).starts_with("ips/"));
  EXPECT_TRUE(plan({}, {part("ip", std::string_view("1.2.3.4\0x", 7))}, {}).starts_with("ips/"));
}

TEST(QuotaPlans, WhatKafkaRefusesIsRefusedInItsWords) {
  const struct {
    std::vector<Part> entity;
    std::vector<Op> ops;
    const char* message;
  } cases[] = {
      {{}, {}, "Invalid empty client quota entity"},
      {{part("foo", "x")}, {}, "Unhandled client quota entity type: foo"},
      {{part("user", "")}, {}, "Empty user not supported"},
      {{part("ip", "")}, {}, "Empty ip not supported"},
      {{part("user", "a"), part("ip", "1.2.3.4")},
       {},
       "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"},
      {{part("ip", "not a host")}, {}, "not a host is not a valid IP or resolvable host."},
      {{part("ip", "1.2.3.4/8")}, {}, "1.2.3.4/8 is not a valid IP or resolvable host."},
      {{part("user", "a")}, {set_to("foo", 1)}, "Invalid configuration key foo"},
      {{part("user", "a")},
       {set_to("connection_creation_rate", 1)},
       "Invalid configuration key connection_creation_rate"},
      {{part("ip", "1.2.3.4")}, {set_to("producer_byte_rate", 1)}, "Invalid configuration key producer_byte_rate"},
      {{part("user", "a")}, {set_to("producer_byte_rate", 0)}, "Quota producer_byte_rate must be greater than 0"},
      {{part("user", "a")}, {set_to("request_percentage", -5)}, "Quota request_percentage must be greater than 0"},
      {{part("user", "a")},
       {set_to("request_percentage", std::numeric_limits<double>::quiet_NaN())},
       "Quota request_percentage must be greater than 0"},
      {{part("user", "a")}, {set_to("producer_byte_rate", 1.5)}, "producer_byte_rate cannot be a fractional value."},
      {{part("user", "a")},
       {set_to("producer_byte_rate", 1e300)},
       "Proposed value for producer_byte_rate is too large for a LONG."},
      {{part("ip", std::nullopt)},
       {set_to("connection_creation_rate", 1e11)},
       "Proposed value for connection_creation_rate is too large for an INT."},
      {{part("user", "dup")},
       {set_to("producer_byte_rate", 1), set_to("producer_byte_rate", 2)},
       "Ignoring duplicate entity ClientQuotaEntity(entries={user=dup})"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(plan({}, each.entity, each.ops), std::string("INVALID_REQUEST ") + each.message);
  }
  EXPECT_EQ(plan({}, {part("user", "a")}, {removed("foo")}), "users/a:");
}

TEST(QuotaPlans, AnEntityThatIsNamedTwiceIsAnsweredOnce) {
  kafka::AlterClientQuotasRequest request;
  for (int i = 0; i < 2; ++i) request.entries.push_back({.entity = {part("user", "dup")}, .ops = {}});
  const auto wishes = quota_wishes(request);
  ASSERT_EQ(wishes.size(), 1u);
  EXPECT_FALSE(plan_quota({}, wishes[0]).has_value());
}

using Component = kafka::DescribeClientQuotasRequest::ComponentData;

Component filter(std::string_view type, std::int8_t kind, std::optional<std::string_view> match = std::nullopt) {
  return {.entity_type = type, .match_type = kind, .match = match};
}

std::string find(std::vector<Component> components, bool strict) {
  const QuotaNodes nodes = {
      {"users/alice", {{"producer_byte_rate", "1"}}},
      {"users/<default>", {{"producer_byte_rate", "2"}}},
      {"users/alice/clients/c1", {{"producer_byte_rate", "3"}}},
      {"users/alice/clients/<default>", {{"producer_byte_rate", "4"}}},
      {"clients/c1", {{"producer_byte_rate", "5"}}},
      {"ips/127.0.0.1", {{"connection_creation_rate", "6"}}},
      {"users/secret", {{"SCRAM-SHA-256", "x"}}},
  };
  const auto found = find_quotas(nodes, {.components = std::move(components), .strict = strict});
  if (!found) return std::string(kafka::error_name(found.error().code)) + " " + found.error().message;
  std::string values;
  for (const FoundQuota& quota : *found) values += std::to_string(static_cast<int>(quota.values.at(0).second));
  std::ranges::sort(values);
  return values;
}

TEST(QuotaPlans, FiltersNameEntitiesAsKafkasDo) {
  EXPECT_EQ(find({}, false), "123456");
  EXPECT_EQ(find({}, true), "");
  EXPECT_EQ(find({filter("user", 0, "alice")}, false), "134");
  EXPECT_EQ(find({filter("user", 0, "alice")}, true), "1");
  EXPECT_EQ(find({filter("user", 1)}, false), "2");
  EXPECT_EQ(find({filter("user", 2)}, false), "1234");
  EXPECT_EQ(find({filter("user", 2)}, true), "12");
  EXPECT_EQ(find({filter("user", 2), filter("client-id", 2)}, true), "34");
  EXPECT_EQ(find({filter("user", 0, "alice"), filter("client-id", 1)}, true), "4");
  EXPECT_EQ(find({filter("client-id", 2)}, false), "345");
  EXPECT_EQ(find({filter("ip", 0, "127.0.0.1")}, true), "6");
}

TEST(QuotaPlans, FiltersThatMakeNoSenseAreRefused) {
  EXPECT_EQ(find({filter("", 0, "x")}, false), "INVALID_REQUEST Invalid empty entity type.");
  EXPECT_EQ(find({filter("foo", 0, "x")}, false), "UNSUPPORTED_VERSION Unsupported entity type foo");
  EXPECT_EQ(find({filter("user", 0, "a"), filter("user", 0, "b")}, false),
            "INVALID_REQUEST Entity type user cannot appear more than once in the filter.");
  EXPECT_EQ(find({filter("user", 7, "a")}, false), "INVALID_REQUEST Unknown match type 7");
  EXPECT_EQ(find({filter("user", 0)}, false),
            "INVALID_REQUEST Request specified MATCH_TYPE_EXACT, but set match string to null.");
  EXPECT_EQ(find({filter("user", 1, "x")}, false),
            "INVALID_REQUEST Request specified MATCH_TYPE_DEFAULT, but also specified a match string.");
  EXPECT_EQ(find({filter("user", 2, "x")}, false),
            "INVALID_REQUEST Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.");
  EXPECT_EQ(find({filter("ip", 2), filter("user", 2)}, false),
            "INVALID_REQUEST Invalid entity filter component combination. IP filter component should not be used with "
            "user or clientId filter component.");
}

}  // namespace
}  // namespace tailrace::zkbridge
