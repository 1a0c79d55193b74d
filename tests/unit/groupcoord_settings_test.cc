// What server.properties says about groups.
#include "services/groupcoord/settings.h"

#include <gtest/gtest.h>

#include <string_view>

#include "services/node/config.h"

namespace tailrace::groupcoord {
namespace {

Settings settings_of(std::string_view file) {
  const auto config = node::make_config({}, file);
  EXPECT_TRUE(config.has_value()) << config.error();
  return config ? settings_from(*config) : Settings{};
}

TEST(GroupSettings, WithoutAFileTheyAreTheStructsOwn) {
  const Settings given = settings_of("");
  const Settings own;
  EXPECT_EQ(given.session_timeout_min_ms, own.session_timeout_min_ms);
  EXPECT_EQ(given.session_timeout_max_ms, own.session_timeout_max_ms);
  EXPECT_EQ(given.group_size_max, own.group_size_max);
  EXPECT_EQ(given.initial_rebalance_delay, own.initial_rebalance_delay);
  EXPECT_EQ(given.metadata_size_max, own.metadata_size_max);
  EXPECT_EQ(given.offsets_retention_ms, own.offsets_retention_ms);
  EXPECT_EQ(given.offsets_retention_check, own.offsets_retention_check);
  EXPECT_EQ(given.consumer_session_timeout_ms, own.consumer_session_timeout_ms);
  EXPECT_EQ(given.consumer_session_timeout_min_ms, own.consumer_session_timeout_min_ms);
  EXPECT_EQ(given.consumer_session_timeout_max_ms, own.consumer_session_timeout_max_ms);
  EXPECT_EQ(given.consumer_heartbeat_interval_ms, own.consumer_heartbeat_interval_ms);
  EXPECT_EQ(given.consumer_heartbeat_interval_min_ms, own.consumer_heartbeat_interval_min_ms);
  EXPECT_EQ(given.consumer_heartbeat_interval_max_ms, own.consumer_heartbeat_interval_max_ms);
  EXPECT_EQ(given.consumer_group_size_max, own.consumer_group_size_max);
  EXPECT_EQ(given.consumer_assignors, own.consumer_assignors);
  EXPECT_EQ(given.consumer_assignment_interval_ms, own.consumer_assignment_interval_ms);
  EXPECT_EQ(given.consumer_regex_refresh, own.consumer_regex_refresh);
  EXPECT_EQ(given.may_upgrade, own.may_upgrade);
  EXPECT_EQ(given.may_downgrade, own.may_downgrade);
  EXPECT_EQ(given.serves_consumer_protocol, own.serves_consumer_protocol);
}

TEST(GroupSettings, TheFileGoesBefore) {
  const Settings given = settings_of(
      "group.min.session.timeout.ms=1\ngroup.max.session.timeout.ms=2\ngroup.max.size=3\n"
      "group.initial.rebalance.delay.ms=0\noffset.metadata.max.bytes=5\noffsets.retention.minutes=2147483647\n"
      "offsets.retention.check.interval.ms=7\ngroup.consumer.assignors=range\ngroup.consumer.max.size=8\n"
      "group.coordinator.rebalance.protocols=classic\n");
  EXPECT_EQ(given.session_timeout_min_ms, 1);
  EXPECT_EQ(given.session_timeout_max_ms, 2);
  EXPECT_EQ(given.group_size_max, 3u);
  EXPECT_EQ(given.initial_rebalance_delay, Duration(0));
  EXPECT_EQ(given.metadata_size_max, 5);
  EXPECT_EQ(given.offsets_retention_ms, 2'147'483'647LL * 60'000);
  EXPECT_EQ(given.offsets_retention_check, std::chrono::milliseconds(7));
  EXPECT_EQ(given.consumer_assignors, (std::vector<std::string>{"range"}));
  EXPECT_EQ(given.consumer_group_size_max, 8u);
  EXPECT_FALSE(given.serves_consumer_protocol);
}

TEST(GroupSettings, ThePolicyOfConversionsIsReadInAnyCase) {
  struct Case {
    const char* policy;
    bool may_upgrade;
    bool may_downgrade;
  };
  for (const Case& each : {Case{"Disabled", false, false}, Case{"UPGRADE", true, false}, Case{"downgrade", false, true},
                           Case{"Bidirectional", true, true}}) {
    const Settings given = settings_of(std::string("group.consumer.migration.policy=") + each.policy + "\n");
    EXPECT_EQ(given.may_upgrade, each.may_upgrade) << each.policy;
    EXPECT_EQ(given.may_downgrade, each.may_downgrade) << each.policy;
  }
}

// Times are added to: the longest of the table must not overflow.
TEST(GroupSettings, EndlessIntervalsStayTimes) {
  const Settings given =
      settings_of("offsets.retention.check.interval.ms=9223372036854775807\ngroup.initial.rebalance.delay.ms=-5\n");
  EXPECT_GT(given.offsets_retention_check, std::chrono::hours(24 * 365));
  EXPECT_GT(Instant{1} + given.offsets_retention_check, Instant{1});
  EXPECT_EQ(given.initial_rebalance_delay, Duration(0));
}

}  // namespace
}  // namespace tailrace::groupcoord
