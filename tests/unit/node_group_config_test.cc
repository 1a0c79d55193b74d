// The settings of single groups: Kafka's rules and texts (GroupConfig of 4.4), and where a value comes from.
#include "services/node/group_config.h"

#include <string>

#include <gtest/gtest.h>

#include "services/node/config.h"
#include "services/node/describe_configs.h"
#include "services/node/settings.h"

namespace tailrace::node {
namespace {

class GroupConfig : public ::testing::Test {
 protected:
  [[nodiscard]] BrokerConfigs broker() const { return {fixed_, of_this_broker_, of_all_brokers_}; }
  // What is wrong; else "KEY=VALUE" of each.
  [[nodiscard]] std::string check(const ConfigMap& own) const {
    const auto normal = check_group_settings(broker(), own);
    if (!normal) return normal.error();
    std::string text;
    for (const auto& [key, value] : *normal) text += (text.empty() ? "" : " ") + key + "=" + value;
    return text;
  }
  [[nodiscard]] std::string check(const std::string& key, const std::string& value) const {
    return check(ConfigMap{{key, value}});
  }

  Config fixed_ = *make_config({}, "");
  ConfigMap of_this_broker_;
  ConfigMap of_all_brokers_;
};

TEST_F(GroupConfig, TheTableIsSortedAndEveryKeyHasAValue) {
  std::string before;
  for (const Setting& setting : group_settings()) {
    EXPECT_LT(before, setting.name);
    before = setting.name;
    EXPECT_EQ(find_group_setting(setting.name), &setting);
    EXPECT_TRUE(normal_value(setting, group_value(broker(), {}, setting.name)).has_value()) << setting.name;
    // Where the broker has a say, the defaults are the same.
    if (const std::string synonym = group_synonym(setting.name); !synonym.empty() && setting.default_value != nullptr) {
      EXPECT_STREQ(find_broker_setting(synonym)->default_value, setting.default_value) << setting.name;
    }
  }
}

TEST_F(GroupConfig, ValuesAreKeptInTheirPlainForm) {
  EXPECT_EQ(check({{"consumer.session.timeout.ms", " 50000 "}, {"consumer.assignor.offload.enable", "FALSE"}}),
            "consumer.assignor.offload.enable=false consumer.session.timeout.ms=50000");
  EXPECT_EQ(check({}), "");
}

TEST_F(GroupConfig, ValuesAreWithinTheBoundsOfTheBroker) {
  EXPECT_EQ(check("nobody.has.it", "1"), "Unknown group config name: nobody.has.it");
  EXPECT_EQ(check({{"consumer.session.timeout.ms", "1"}, {"x", "1"}}), "Unknown group config name: x");
  EXPECT_EQ(check("consumer.session.timeout.ms", "44999"),
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.");
  EXPECT_EQ(check("consumer.session.timeout.ms", "0"),
            "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1");
  EXPECT_EQ(check("consumer.assignment.interval.ms", "15001"),
            "consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive.");
  EXPECT_EQ(check("share.delivery.count.limit", "11"),
            "share.delivery.count.limit must be in the range 2 to 10 inclusive.");
  EXPECT_EQ(check("share.partition.max.record.locks", "4001"),
            "share.partition.max.record.locks must be in the range 100 to 4000 inclusive.");
  EXPECT_EQ(check("streams.num.standby.replicas", "3"), "streams.num.standby.replicas must be less than or equal to 2");
  EXPECT_EQ(check("streams.num.warmup.replicas", "21"), "streams.num.warmup.replicas must be less than or equal to 20");
  EXPECT_EQ(check("streams.task.offset.interval.ms", "14999"),
            "streams.task.offset.interval.ms must be greater than or equal to 15000");
  EXPECT_EQ(check("streams.acceptable.recovery.lag", "9223372036854775807"),
            "streams.acceptable.recovery.lag=9223372036854775807");
  fixed_ = *make_config({}, "group.consumer.min.session.timeout.ms=1000\n");
  EXPECT_EQ(check("consumer.session.timeout.ms", "5001"), "consumer.session.timeout.ms=5001");
}

TEST_F(GroupConfig, ASessionIsLongerThanTheTimeBetweenHeartbeats) {
  fixed_ = *make_config({}, "group.consumer.min.session.timeout.ms=1\ngroup.consumer.min.heartbeat.interval.ms=1\n");
  const std::string fault = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms";
  EXPECT_EQ(check("consumer.session.timeout.ms", "5000"), fault) << "the broker's heartbeat interval";
  EXPECT_EQ(check({{"consumer.session.timeout.ms", "4000"}, {"consumer.heartbeat.interval.ms", "4000"}}), fault);
  EXPECT_EQ(check({{"consumer.session.timeout.ms", "4000"}, {"consumer.heartbeat.interval.ms", "3999"}}),
            "consumer.heartbeat.interval.ms=3999 consumer.session.timeout.ms=4000");
}

TEST_F(GroupConfig, TextsHaveTheirOwnRules) {
  EXPECT_EQ(check("share.isolation.level", "READ_COMMITTED"),
            "Invalid value READ_COMMITTED for configuration share.isolation.level: String must be one of: "
            "read_committed, read_uncommitted");
  EXPECT_EQ(check("streams.assignor.name", "sticky"), "streams.assignor.name=sticky");
  EXPECT_EQ(check("streams.assignor.name", "x"),
            "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky].");
  EXPECT_EQ(check("streams.rack.aware.assignment.tags", "a, b"), "streams.rack.aware.assignment.tags=a,b");
  EXPECT_EQ(check("streams.rack.aware.assignment.tags", "a,a"),
            "streams.rack.aware.assignment.tags must not contain duplicate tag keys.");
  EXPECT_EQ(check("streams.rack.aware.assignment.tags", "a,,b"),
            "Configuration 'streams.rack.aware.assignment.tags' values must not be empty.");
  EXPECT_EQ(check("errors.deadletterqueue.topic.name", "__x"),
            "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'");
}

// What java.time.Duration reads, and only where it is not negative.
TEST_F(GroupConfig, AnOffsetResetMayGoBackBySomeTime) {
  for (const char* good : {"latest", "earliest", "by_duration:PT1H", "by_duration:P1DT2H3M4.5S", "by_duration:pt1,5s",
                           "by_duration:PT0S", "by_duration:-PT-1S", "by_duration:+P+1D", "by_duration:-P0D",
                           "by_duration:PT9223372036854775807S", "by_duration:P1DT-1H", "by_duration:PT1.S"}) {
    EXPECT_EQ(check("share.auto.offset.reset", good), std::string("share.auto.offset.reset=") + good);
  }
  for (const char* bad :
       {"", "EARLIEST", "never", "by_duration", "by_duration:", "by_duration:P", "by_duration:P1DT", "by_duration:P1Y",
        "by_duration:PT-0.5S", "by_duration:-PT1S", "by_duration:PT9223372036854775808S", "by_duration:PT1S1M",
        "by_duration:P106751991167301D", "by_duration:PT1.1234567891S", "by_duration:1H", "BY_DURATION:PT1H"}) {
    EXPECT_EQ(check("share.auto.offset.reset", bad),
              std::string("Invalid value ") + bad + " for configuration share.auto.offset.reset: Invalid value `" +
                  bad +
                  "` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of "
                  "the format 'by_duration:<PnDTnHnMn.nS>'.");
  }
}

TEST_F(GroupConfig, AValueIsTheGroupsThenTheBrokersThenTheDefault) {
  const std::string key = "consumer.assignment.interval.ms";
  EXPECT_EQ(group_value(broker(), {}, key), "1000");
  fixed_ = *make_config({}, "group.consumer.assignment.interval.ms=900\n");
  EXPECT_EQ(group_value(broker(), {}, key), "900");
  of_all_brokers_["group.consumer.assignment.interval.ms"] = "800";
  EXPECT_EQ(group_value(broker(), {}, key), "800");
  of_this_broker_["group.consumer.assignment.interval.ms"] = "700";
  EXPECT_EQ(group_value(broker(), {}, key), "700");
  EXPECT_EQ(group_value(broker(), {{key, "600"}}, key), "600");
  fixed_ = *make_config({}, "group.streams.assignors=mine,sticky\n");
  EXPECT_EQ(group_value(broker(), {}, "streams.assignor.name"), "mine");
}

TEST_F(GroupConfig, IsDescribedWithAllThatWasSaid) {
  of_all_brokers_["group.consumer.assignment.interval.ms"] = "800";
  const ConfigMap own = {{"consumer.assignment.interval.ms", "600"}, {"consumer.assignor.offload.enable", "false"}};
  std::string text;
  for (const ConfigRow& row : describe_group(broker(), own)) {
    EXPECT_FALSE(row.read_only);
    EXPECT_FALSE(row.sensitive);
    if (!row.name.starts_with("consumer.") && row.name != "share.isolation.level") continue;
    text += row.name + "=" + *row.value + " " + std::to_string(static_cast<int>(row.source)) + ":";
    for (const ConfigSynonym& each : row.synonyms) {
      text += " " + each.name + "=" + *each.value + "/" + std::to_string(static_cast<int>(each.source));
    }
    text += "\n";
  }
  EXPECT_EQ(text,
            "consumer.assignment.interval.ms=600 8: consumer.assignment.interval.ms=600/8 "
            "group.consumer.assignment.interval.ms=800/3 group.consumer.assignment.interval.ms=1000/5\n"
            "consumer.assignor.offload.enable=false 8: consumer.assignor.offload.enable=false/8 "
            "group.consumer.assignor.offload.enable=true/5\n"
            "consumer.heartbeat.interval.ms=5000 5: group.consumer.heartbeat.interval.ms=5000/5\n"
            "consumer.session.timeout.ms=45000 5: group.consumer.session.timeout.ms=45000/5\n"
            "share.isolation.level=read_uncommitted 5: share.isolation.level=read_uncommitted/5\n");
}

}  // namespace
}  // namespace tailrace::node
