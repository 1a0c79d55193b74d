// What `tailrace groups` decides without asking anybody: where offsets go, which rows are shown, what files say.
#include <gtest/gtest.h>

#include "cli/groups.h"
#include "cli/membership.h"
#include "cli/reset_plan.h"
#include "cli/text.h"

namespace tailrace::cli {
namespace {

using Kind = ResetTarget::Kind;

TEST(ResetPlan, EachWayLeadsWhereItSays) {
  const PartitionFacts facts{.begin = 10, .end = 50, .committed = 20, .listed = 33, .at_time = 40};
  struct Case {
    ResetTarget target;
    Offset planned;
    bool warns;
  };
  const std::vector<Case> cases = {
      {{Kind::earliest}, 10, false},        {{Kind::latest}, 50, false},          {{Kind::current}, 20, false},
      {{Kind::offset, 10}, 10, false},      {{Kind::offset, 50}, 50, false},      {{Kind::offset, 51}, 50, true},
      {{Kind::offset, 9}, 10, true},        {{Kind::offset, -1}, 10, true},       {{Kind::shift, 0}, 20, false},
      {{Kind::shift, 30}, 50, false},       {{Kind::shift, 31}, 50, true},        {{Kind::shift, -10}, 10, false},
      {{Kind::shift, -11}, 10, true},       {{Kind::time, 1}, 40, false},         {{Kind::file}, 33, false},
      {{Kind::shift, INT64_MAX}, 50, true}, {{Kind::shift, INT64_MIN}, 10, true},
  };
  for (const Case& one : cases) {
    const auto planned = plan_offset(one.target, facts);
    ASSERT_TRUE(planned) << planned.error();
    EXPECT_EQ(planned->offset, one.planned) << int(one.target.kind) << ' ' << one.target.value;
    EXPECT_EQ(!planned->warning.empty(), one.warns) << int(one.target.kind) << ' ' << one.target.value;
  }
}

TEST(ResetPlan, WhereNothingIsCommittedTheCurrentOffsetIsTheEndAndNothingCanBeShifted) {
  const PartitionFacts facts{.begin = 10, .end = 50, .committed = {}, .listed = {}, .at_time = {}};
  EXPECT_EQ(plan_offset({Kind::current}, facts)->offset, 50);
  EXPECT_FALSE(plan_offset({Kind::shift, 1}, facts));
}

TEST(ResetPlan, ATimeThatNoRecordReachesIsTheEndWithAWarning) {
  const PartitionFacts facts{.begin = 10, .end = 50, .committed = 20, .listed = {}, .at_time = {}};
  const auto planned = plan_offset({Kind::time, 1}, facts);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->offset, 50);
  EXPECT_NE(planned->warning.find("no record is that late"), std::string::npos);
}

TEST(ResetPlan, ACommittedOffsetBelowTheLogStaysWithToCurrent) {
  const PartitionFacts facts{.begin = 10, .end = 50, .committed = 3, .listed = {}, .at_time = {}};
  EXPECT_EQ(plan_offset({Kind::current}, facts)->offset, 3);
}

TEST(TopicPartitions, AreATopicOrSomeOfIt) {
  EXPECT_EQ(parse_topic_partitions("a")->topic, "a");
  EXPECT_TRUE(parse_topic_partitions("a")->partitions.empty());
  const auto some = parse_topic_partitions("a.b:0,12,3");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->topic, "a.b");
  EXPECT_EQ(some->partitions, (std::vector<std::int32_t>{0, 12, 3}));
  for (const char* text : {"", ":0", "a:", "a:x", "a:0,", "a:-1", "a:0:1", "a:99999999999", "a:1-3"}) {
    EXPECT_FALSE(parse_topic_partitions(text)) << text;
  }
}

TEST(ResetFile, WhatIsExportedIsReadAgain) {
  const std::vector<ResetLine> lines = {{"plain", {"events", 0}, 7},
                                        {"with,comma \"and\" quotes", {"a-topic-that-is-longer-than-24-bytes", 11}, 1}};
  std::string text;
  for (const ResetLine& line : lines) text += reset_line_text(line, true);
  EXPECT_EQ(text,
            "plain,events,0,7\n"
            "\"with,comma \"\"and\"\" quotes\",\"a-topic-that-is-longer-than-24-bytes\",11,1\n");
  const auto file = parse_reset_file(text);
  ASSERT_TRUE(file) << file.error();
  EXPECT_TRUE(file->names_groups);
  ASSERT_EQ(file->lines.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(file->lines[i].group, lines[i].group);
    EXPECT_EQ(file->lines[i].key, lines[i].key);
    EXPECT_EQ(file->lines[i].offset, lines[i].offset);
  }
}

TEST(ResetFile, WithoutGroupsItIsForTheOneThatIsMeant) {
  const auto file = parse_reset_file("events,0,7\r\n\nevents,1,-1\n");
  ASSERT_TRUE(file) << file.error();
  EXPECT_FALSE(file->names_groups);
  ASSERT_EQ(file->lines.size(), 2U);
  EXPECT_EQ(file->lines[1].key, (PartitionKey{"events", 1}));
  EXPECT_EQ(file->lines[1].offset, -1);
  EXPECT_EQ(reset_line_text(file->lines[0], false), "events,0,7\n");
}

TEST(ResetFile, SaysWhichLineIsWrong) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "no line"},
      {"events,0\n", "line 1: there are 2 fields"},
      {"events,0,7\ng,events,0,7\n", "line 2: there are 4 fields instead of 3"},
      {"g,events,0,7\nevents,0,7\n", "line 2: there are 3 fields instead of 4"},
      {"events,x,7\n", "\"x\" is no partition"},
      {"events,-1,7\n", "\"-1\" is no partition"},
      {"events,0,end\n", "\"end\" is no offset"},
      {"events,0,7\n,0,7\n", "line 2: the topic is missing"},
      {"\"events,0,7\n", "a quote is not closed"},
      {"\"events\"x,0,7\n", "after a quoted field"},
  };
  for (const auto& [text, error] : cases) {
    const auto file = parse_reset_file(text);
    ASSERT_FALSE(file) << text;
    EXPECT_NE(file.error().find(error), std::string::npos) << file.error();
  }
}

GroupMember member(const char* id, std::vector<PartitionKey> assignment) {
  GroupMember one;
  one.id = id;
  one.assignment = std::move(assignment);
  return one;
}

TEST(LagRows, MembersWithMostPartitionsComeFirstAndWhatNobodyReadsLast) {
  Group group;
  group.members = {member("few", {{"a", 2}}), member("idle", {}), member("many", {{"a", 0}, {"a", 1}})};
  const CommittedOffsets committed = {{{"a", 0}, {5, 0}}, {{"a", 2}, {6, 1}}, {{"b", 0}, {7, -1}}};
  std::string shown;
  for (const LagRow& row : lag_rows(group, committed)) {
    shown += fmt::format("{}{}:{}:{} ", row.key.topic, row.key.partition, row.member ? row.member->id : "-",
                         row.committed ? row.committed->offset : -1);
  }
  EXPECT_EQ(shown, "a0:many:5 a1:many:-1 a2:few:6 b0:-:7 ");
}

TEST(LagRows, ALagNeedsBothEnds) {
  LagRow row;
  EXPECT_EQ(row.lag(), std::nullopt);
  row.end = 10;
  EXPECT_EQ(row.lag(), std::nullopt);
  row.committed = CommittedOffset{.offset = 4};
  EXPECT_EQ(row.lag(), 6);
  row.end.reset();
  EXPECT_EQ(row.lag(), std::nullopt);
}

TEST(Assignment, IsWrittenByTopic) {
  EXPECT_EQ(assignment_text({}), "-");
  EXPECT_EQ(assignment_text({{"a", 0}, {"a", 1}, {"b", 3}}), "a:0,1;b:3");
}

std::string assigned(std::vector<Subscriber> subscribers, const std::map<std::string, std::int32_t>& partitions) {
  std::string out;
  for (const auto& [member, keys] : assign_ranges(std::move(subscribers), partitions)) {
    out += fmt::format("{}={} ", member, assignment_text(keys));
  }
  return out;
}

TEST(RangeAssignor, GivesNeighboursOfEachTopicInTheOrderOfMembers) {
  EXPECT_EQ(assigned({{"m2", {}, {"a", "b"}}, {"m1", {}, {"a", "b"}}}, {{"a", 3}, {"b", 2}}),
            "m1=a:0,1;b:0 m2=a:2;b:1 ");
  EXPECT_EQ(assigned({{"m1", {}, {"a"}}, {"m2", {}, {"a"}}, {"m3", {}, {"a"}}}, {{"a", 2}}), "m1=a:0 m2=a:1 m3=- ");
  EXPECT_EQ(assigned({{"m1", {}, {"a"}}, {"m2", {}, {"b"}}}, {{"a", 1}, {"b", 4}}), "m1=a:0 m2=b:0,1,2,3 ");
}

TEST(RangeAssignor, StaticMembersComeFirstInTheOrderOfTheirNames) {
  EXPECT_EQ(assigned({{"m1", {}, {"a"}}, {"m2", "y", {"a"}}, {"m3", "x", {"a"}}}, {{"a", 4}}),
            "m1=a:3 m2=a:2 m3=a:0,1 ");
}

TEST(RangeAssignor, ATopicThatIsNotThereGivesNothing) {
  EXPECT_EQ(assigned({{"m1", {}, {"a", "gone"}}}, {{"a", 1}}), "m1=a:0 ");
  EXPECT_EQ(assigned({}, {{"a", 1}}), "");
}

TEST(GroupErrors, SayWhatToDo) {
  for (const auto code : {kafka::ErrorCode::NON_EMPTY_GROUP, kafka::ErrorCode::UNKNOWN_MEMBER_ID}) {
    EXPECT_EQ(describe_group_error(kafka::wire(code)), "the group has active members; stop them first");
  }
  EXPECT_EQ(describe_group_error(kafka::wire(kafka::ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)),
            "the coordinator is still reading its state; try again later");
  EXPECT_EQ(describe_group_error(kafka::wire(kafka::ErrorCode::INVALID_GROUP_ID)),
            "INVALID_GROUP_ID: The group id is not valid.");
}

}  // namespace
}  // namespace tailrace::cli
