// Committed offsets, told as commits, deletions and what is found afterwards.
#include "services/groupcoord/offsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "services/groupcoord/image_change.h"
#include "tests/unit/support/offsets_world.h"

namespace tailrace::groupcoord {
namespace {

using Errors = std::vector<ErrorCode>;

std::string hex(const std::vector<std::byte>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[static_cast<unsigned>(each) >> 4];
    text += kDigits[static_cast<unsigned>(each) & 15];
  }
  return text;
}

std::vector<std::byte> unhex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

class OffsetsTest : public OffsetsWorld {};

// -- Commits -------------------------------------------------------------------------------------------------------

TEST_F(OffsetsTest, ACommitIsFoundAgain) {
  EXPECT_EQ(commit("g", {{.topic = "orders", .partition = 3, .offset = 42, .metadata = "me", .leader_epoch = 5},
                         {.topic = "payments", .partition = 0, .offset = 7, .metadata = std::nullopt}}),
            (Errors{ErrorCode::NONE, ErrorCode::NONE}));
  const CommittedOffset* const committed = offsets_.find("g", "orders", 3);
  ASSERT_NE(committed, nullptr);
  EXPECT_EQ(committed->offset, 42);
  EXPECT_EQ(committed->leader_epoch, 5);
  EXPECT_EQ(committed->metadata.view(), "me");
  EXPECT_EQ(committed->committed_ms, 1'000);
  EXPECT_EQ(committed->expires_ms, kNoTimestamp);
  EXPECT_EQ(committed->topic_id, ClusterImage::id_of(1));
  EXPECT_EQ(offsets_.find("g", "payments", 0)->metadata.view(), "");
  EXPECT_EQ(found("g", "orders", 2), std::nullopt);
  EXPECT_EQ(found("h", "orders", 3), std::nullopt);
  EXPECT_TRUE(offsets_.has_any("g"));
  EXPECT_FALSE(offsets_.has_any("h"));
}

// Bytes that Kafka 4.4's GroupCoordinatorRecordSerde makes.
TEST_F(OffsetsTest, RecordsAreThoseOfKafka) {
  image(cluster_.add("t", 7, 4));
  kafka::OffsetCommitRequest request =
      commit_request("g", {{.topic = "t", .partition = 3, .offset = 42, .metadata = "me", .leader_epoch = 5}});
  EXPECT_EQ(commit(request, 9), Errors{ErrorCode::NONE});
  ASSERT_EQ(effects_.records.size(), 1u);
  EXPECT_EQ(hex(effects_.records[0].key), "000100016700017400000003");
  EXPECT_EQ(hex(*effects_.records[0].value),
            "0004000000000000002a00000005036d6500000000000003e801001007000000000000000000000000000000");

  request.retention_time_ms = 1'000;
  EXPECT_EQ(commit(request, 4), Errors{ErrorCode::NONE});
  EXPECT_EQ(hex(*effects_.records[0].value), "0001000000000000002a00026d6500000000000003e800000000000007d0");

  effects_ = {};
  offsets_.remove_all("g", effects_);
  ASSERT_EQ(effects_.records.size(), 1u);
  EXPECT_EQ(hex(effects_.records[0].key), "000100016700017400000003");
  EXPECT_FALSE(effects_.records[0].value);
}

TEST_F(OffsetsTest, TopicsGoByIdFromVersion10On) {
  kafka::OffsetCommitRequest request = commit_request("g", {{.topic = "orders", .partition = 1, .offset = 5}});
  request.topics[0].name = "";  // it is not in the frame
  auto& unknown = request.topics.emplace_back();
  unknown.topic_id = ClusterImage::id_of(99);
  unknown.partitions.push_back({.partition_index = 0});
  request.topics.emplace_back().partitions.push_back({.partition_index = 0});  // a zero id
  request.topics.push_back(request.topics[0]);
  request.topics.back().partitions[0].partition_index = 5;
  EXPECT_EQ(commit(request, 10), (Errors{ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_ID, ErrorCode::UNKNOWN_TOPIC_ID,
                                         ErrorCode::UNKNOWN_TOPIC_OR_PARTITION}));
  EXPECT_EQ(found("g", "orders", 1), 5);
  const kafka::OffsetCommitResponse judged = offsets_.judge(request, 10);
  EXPECT_EQ(judged.topics[0].name, "orders");
  EXPECT_EQ(judged.topics[1].topic_id, ClusterImage::id_of(99));
}

TEST_F(OffsetsTest, WhatTheClusterDoesNotHaveCannotBeCommitted) {
  EXPECT_EQ(commit("g", {{.topic = "nothing"},
                         {.topic = "orders", .partition = 5},
                         {.topic = "orders", .partition = -1},
                         {.topic = ""},
                         {.topic = "old", .partition = 0, .offset = 3}}),
            (Errors{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::NONE}));
  EXPECT_EQ(effects_.records.size(), 1u);
  EXPECT_TRUE(offsets_.find("g", "old", 0)->topic_id.is_zero());  // an older controller told of it
}

TEST_F(OffsetsTest, MetadataIsMeasuredAsJavaDoes) {
  settings_.metadata_size_max = 4;
  struct Case {
    std::string_view metadata;
    bool fits;
  };
  for (const Case& each :
       {Case{"abcd", true}, Case{"abcde", false}, Case{"\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", true},
        Case{"\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", true}, Case{"\xF0\x9F\x98\x80\xF0\x9F\x98\x80", true},
        Case{"\xF0\x9F\x98\x80\xF0\x9F\x98\x80z", false}}) {
    const Errors errors = commit("g", {{.topic = "orders", .partition = 0, .offset = 1, .metadata = each.metadata},
                                       {.topic = "orders", .partition = 1, .offset = 2}});
    EXPECT_EQ(errors[0], each.fits ? ErrorCode::NONE : ErrorCode::OFFSET_METADATA_TOO_LARGE) << each.metadata;
    EXPECT_EQ(errors[1], ErrorCode::NONE);
  }
  settings_.metadata_size_max = -1;
  EXPECT_EQ(commit("g", {{.topic = "orders", .metadata = "a"}})[0], ErrorCode::OFFSET_METADATA_TOO_LARGE);
  EXPECT_EQ(commit("g", {{.topic = "orders", .metadata = ""}})[0], ErrorCode::NONE);
}

TEST_F(OffsetsTest, ARetentionTimeOfOldVersionsIsKept) {
  struct Case {
    std::int64_t retention_time_ms;
    TimestampMs expires_ms;
  };
  for (const Case& each : {Case{-1, kNoTimestamp}, Case{0, 1'000}, Case{500, 1'500}, Case{-500, 500},
                           Case{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()}}) {
    kafka::OffsetCommitRequest request = commit_request("g", {{.topic = "orders", .offset = 1, .metadata = "m"}});
    request.retention_time_ms = each.retention_time_ms;
    EXPECT_EQ(commit(request, 3), Errors{ErrorCode::NONE});
    EXPECT_EQ(offsets_.find("g", "orders", 0)->expires_ms, each.expires_ms);
    EXPECT_EQ(all_of(offsets_, {"g"}), reloaded({"g"}));
  }
}

TEST_F(OffsetsTest, TheSamePartitionTwiceKeepsTheLaterOne) {
  EXPECT_EQ(commit("g", {{.topic = "orders", .offset = 9}, {.topic = "orders", .offset = 4}}),
            (Errors{ErrorCode::NONE, ErrorCode::NONE}));
  EXPECT_EQ(found("g", "orders", 0), 4);
  EXPECT_EQ(effects_.records.size(), 2u);
}

TEST_F(OffsetsTest, ACommitThatNoBatchTakesIsRefusedAsAWhole) {
  const std::string metadata(4'096, 'm');
  std::vector<Wish> wishes(260, Wish{.topic = "orders", .offset = 1, .metadata = metadata});
  wishes.push_back({.topic = "nothing"});
  const Errors errors = commit("g", wishes);
  EXPECT_EQ(std::ranges::count(errors, ErrorCode::UNKNOWN_SERVER_ERROR), 260);
  EXPECT_EQ(errors.back(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_TRUE(effects_.records.empty());
  EXPECT_FALSE(offsets_.has_any("g"));
  wishes.resize(250);
  EXPECT_EQ(std::ranges::count(commit("g", wishes), ErrorCode::NONE), 250);
  std::size_t size = 0;
  for (const Record& each : effects_.records) size += each.key.size() + each.value->size();
  EXPECT_LE(size, Offsets::kCommitBytesMax);
}

TEST_F(OffsetsTest, AGroupWithoutANameIsOneToo) {
  EXPECT_EQ(commit("", {{.topic = "orders", .offset = 9}}), Errors{ErrorCode::NONE});
  EXPECT_EQ(found("", "orders", 0), 9);
  EXPECT_EQ(all_of(offsets_, {""}), reloaded({""}));
}

// -- OffsetDelete --------------------------------------------------------------------------------------------------

TEST_F(OffsetsTest, OnlyWhatNobodyReadsIsDeleted) {
  commit("g", {{.topic = "orders", .partition = 0, .offset = 1},
               {.topic = "orders", .partition = 1, .offset = 2},
               {.topic = "payments", .partition = 0, .offset = 3}});
  commit("h", {{.topic = "orders", .partition = 0, .offset = 4}});
  commit_open(77, "g", "orders", 2, 5);
  group_.subscribed_to = "payments";
  kafka::OffsetDeleteRequest request;
  request.group_id = "g";
  request.topics.push_back({.name = "orders",
                            .partitions = {{.partition_index = 0},
                                           {.partition_index = 2},
                                           {.partition_index = 4},
                                           {.partition_index = 9},
                                           {.partition_index = 0}}});
  request.topics.push_back({.name = "payments", .partitions = {{.partition_index = 0}, {.partition_index = 5}}});
  request.topics.push_back({.name = "nothing", .partitions = {{.partition_index = 0}}});
  request.topics.push_back({.name = "orders", .partitions = {}});
  kafka::OffsetDeleteResponse response;
  effects_ = {};
  offsets_.remove(request, group_, response, effects_);
  keep();
  Errors errors;
  for (const auto& topic : response.topics) {
    for (const auto& each : topic.partitions) errors.push_back(static_cast<ErrorCode>(each.error_code));
  }
  EXPECT_EQ(errors, (Errors{ErrorCode::NONE, ErrorCode::NONE, ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                            ErrorCode::NONE, ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC,
                            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION}));
  EXPECT_EQ(response.topics.size(), 3u);  // a topic without partitions is not answered
  EXPECT_EQ(effects_.records.size(), 2u);
  EXPECT_EQ(found("g", "orders", 0), std::nullopt);
  EXPECT_EQ(found("g", "orders", 1), 2);
  EXPECT_EQ(found("g", "payments", 0), 3);
  EXPECT_EQ(found("h", "orders", 0), 4);
  EXPECT_FALSE(offsets_.has_open("g"));
  end(77, true);
  EXPECT_EQ(found("g", "orders", 2), std::nullopt);
  EXPECT_EQ(all_of(offsets_, {"g", "h"}), reloaded({"g", "h"}));
}

TEST_F(OffsetsTest, AGroupThatGoesTakesEverythingAlong) {
  commit("g", {{.topic = "orders", .partition = 0, .offset = 1}, {.topic = "payments", .partition = 1, .offset = 2}});
  commit("g2", {{.topic = "orders", .partition = 0, .offset = 3}});
  commit_open(77, "g", "orders", 0, 5);
  commit_open(78, "g", "orders", 4, 6);
  commit_open(78, "g2", "orders", 4, 7);
  effects_ = {};
  offsets_.remove_all("g", effects_);
  keep();
  EXPECT_EQ(effects_.records.size(), 3u);
  EXPECT_FALSE(offsets_.has_any("g"));
  end(77, true);
  end(78, true);
  EXPECT_FALSE(offsets_.has_any("g"));
  EXPECT_EQ(found("g2", "orders", 4), 7);
  EXPECT_EQ(all_of(offsets_, {"g", "g2"}), reloaded({"g", "g2"}));
}

// -- Retention -----------------------------------------------------------------------------------------------------

TEST_F(OffsetsTest, OffsetsExpireWhenNobodyHasUsedThemForTheRetention) {
  settings_.offsets_retention_ms = 1'000;
  struct Case {
    const char* name;
    TimestampMs committed_ms;
    std::optional<TimestampMs> empty_since_ms;
    std::int64_t retention_time_ms;
    bool is_in_use;
    bool is_subscribed;
    bool is_open;
    bool expires;
  };
  const Case cases[] = {
      {"young", 9'001, {}, -1, false, false, false, false},
      {"old", 9'000, {}, -1, false, false, false, true},
      {"old, but the group has members", 9'000, {}, -1, true, false, false, false},
      {"old, but the group was left lately", 1'000, 9'500, -1, false, false, false, false},
      {"old, and the group was left long ago", 1'000, 9'000, -1, false, false, false, true},
      {"old, but read", 1'000, {}, -1, false, true, false, false},
      {"old, but about to be committed anew", 1'000, {}, -1, false, false, true, false},
      {"its own time is over", 9'900, {}, 100, false, false, false, true},
      {"its own time is not over", 9'900, {}, 101, false, false, false, false},
      {"its own time is long", 1'000, {}, 100'000, false, false, false, false},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    kafka::OffsetCommitRequest request = commit_request("g", {{.topic = "orders", .offset = 3}});
    request.retention_time_ms = each.retention_time_ms;
    moment_.wall_ms = each.committed_ms;
    commit(request, 4);
    if (each.is_open) commit_open(77, "g", "orders", 0, 4);
    group_.is_in_use = each.is_in_use;
    group_.empty_since_ms = each.empty_since_ms;
    group_.subscribed_to = each.is_subscribed ? "orders" : "";
    moment_.wall_ms = 10'000;
    effects_ = {};
    EXPECT_EQ(offsets_.expire(group_, moment_, 10, effects_), each.expires);
    EXPECT_EQ(effects_.records.size(), each.expires ? 1u : 0u);
    EXPECT_EQ(found("g", "orders", 0).has_value(), !each.expires);
    if (each.is_open) end(77, false);
  }
}

TEST_F(OffsetsTest, AGroupWithOpenCommitsOnlyStays) {
  commit_open(77, "g", "orders", 0, 4);
  moment_.wall_ms += settings_.offsets_retention_ms * 2;
  EXPECT_FALSE(offsets_.expire(group_, moment_, 10, effects_));
  end(77, false);
  EXPECT_TRUE(offsets_.expire(group_, moment_, 10, effects_));
  EXPECT_TRUE(effects_.records.empty());
}

TEST_F(OffsetsTest, TimesOfTheLogMayBeAnything) {
  const kafka::OffsetCommitValue least{.offset = 1, .commit_timestamp = std::numeric_limits<std::int64_t>::min()};
  const kafka::OffsetCommitValue most{.offset = 1, .commit_timestamp = std::numeric_limits<std::int64_t>::max()};
  take({record_of("g", "orders", 0, &least)});
  take({record_of("g", "orders", 1, &most)});
  EXPECT_FALSE(offsets_.expire(group_, moment_, 10, effects_));
  EXPECT_EQ(found("g", "orders", 0), std::nullopt);
  EXPECT_EQ(found("g", "orders", 1), 1);
}

TEST_F(OffsetsTest, ManyExpireInSteps) {
  image(cluster_.add("wide", 3, 250));
  std::vector<Wish> wishes;
  for (std::int32_t i = 0; i < 250; ++i) wishes.push_back({.topic = "wide", .partition = i, .offset = i});
  wishes.push_back({.topic = "orders", .offset = 1});
  commit("g", wishes);
  moment_.wall_ms += settings_.offsets_retention_ms;
  std::vector<std::size_t> steps;
  for (bool is_done = false; !is_done && steps.size() < 10;) {
    effects_ = {};
    is_done = offsets_.expire(group_, moment_, 100, effects_);
    keep();
    steps.push_back(effects_.records.size());
  }
  EXPECT_EQ(steps, (std::vector<std::size_t>{100, 100, 51}));
  EXPECT_TRUE(reloaded({"g"}).empty());
}

// -- Deleted topics ------------------------------------------------------------------------------------------------

TEST_F(OffsetsTest, OffsetsOfADeletedTopicGoFromEveryGroup) {
  commit("a", {{.topic = "orders", .partition = 0, .offset = 1}, {.topic = "payments", .partition = 0, .offset = 2}});
  commit("b", {{.topic = "orders", .partition = 4, .offset = 3}});
  commit_open(77, "c", "orders", 1, 4);
  commit_open(77, "c", "payments", 1, 5);
  effects_ = {};
  EXPECT_EQ(offsets_.remove_topics({{"orders", ClusterImage::id_of(1)}, {"nothing", {}}}, "", 10, effects_),
            std::nullopt);
  keep();
  EXPECT_EQ(effects_.records.size(), 3u);
  end(77, true);
  EXPECT_EQ(all_of(offsets_, {"a", "b", "c"}).size(), 2u);
  EXPECT_EQ(found("a", "payments", 0), 2);
  EXPECT_EQ(found("c", "payments", 1), 5);
  EXPECT_EQ(all_of(offsets_, {"a", "b", "c"}), reloaded({"a", "b", "c"}));
}

TEST_F(OffsetsTest, ATopicOfTheSameNameKeepsItsOwn) {
  commit("g", {{.topic = "orders", .partition = 0, .offset = 1}, {.topic = "orders", .partition = 1, .offset = 2}});
  image(cluster_.replace("orders", 9, 5));
  commit("g", {{.topic = "orders", .partition = 1, .offset = 3}});
  const kafka::OffsetCommitValue without_id{.offset = 4};
  take({record_of("g", "orders", 2, &without_id)});
  effects_ = {};
  offsets_.remove_topics({{"orders", ClusterImage::id_of(1)}}, "", 10, effects_);
  EXPECT_EQ(found("g", "orders", 0), std::nullopt);
  EXPECT_EQ(found("g", "orders", 1), 3);
  EXPECT_EQ(found("g", "orders", 2), std::nullopt);  // whose it is nobody can say
}

TEST_F(OffsetsTest, DeletedTopicsGoInSteps) {
  for (int i = 0; i < 30; ++i) {
    const std::string group = "group-" + std::to_string(i);
    commit(group, {{.topic = "orders", .partition = 0, .offset = 1},
                   {.topic = "orders", .partition = 1, .offset = 1},
                   {.topic = "payments", .partition = 0, .offset = 1}});
    commit_open(i, group, "orders", 2, 1);
    commit_open(i, "open-" + std::to_string(i), "orders", 2, 1);
  }
  std::optional<std::string> from = "";
  int steps = 0;
  std::size_t records = 0;
  for (; from && steps < 100; ++steps) {
    effects_ = {};
    from = offsets_.remove_topics({{"orders", ClusterImage::id_of(1)}}, *from, 7, effects_);
    EXPECT_LE(effects_.records.size(), 7u);
    records += effects_.records.size();
  }
  EXPECT_EQ(records, 30u * 4);
  EXPECT_GE(steps, 120 / 7);
  EXPECT_LE(steps, 20);
  for (int i = 0; i < 30; ++i) {
    const std::string group = "group-" + std::to_string(i);
    EXPECT_FALSE(offsets_.has_open(group));
    EXPECT_EQ(found(group, "orders", 0), std::nullopt);
    EXPECT_EQ(found(group, "payments", 0), 1);
  }
}

// -- Transactions --------------------------------------------------------------------------------------------------

TEST_F(OffsetsTest, ATransactionsOffsetsCountWhenItIsCommitted) {
  commit("g", {{.topic = "orders", .partition = 0, .offset = 1}});
  commit_open(77, "g", "orders", 0, 10);
  commit_open(77, "g", "orders", 0, 11);
  commit_open(77, "g", "orders", 1, 20);
  commit_open(78, "g", "payments", 0, 30);
  EXPECT_EQ(found("g", "orders", 0), 1);
  EXPECT_EQ(found("g", "orders", 1), std::nullopt);
  EXPECT_TRUE(offsets_.is_unstable("g", "orders", 0));
  EXPECT_TRUE(offsets_.is_unstable("g", "orders", 1));
  EXPECT_TRUE(offsets_.is_unstable("g", "payments", 0));
  EXPECT_FALSE(offsets_.is_unstable("g", "payments", 1));
  EXPECT_FALSE(offsets_.is_unstable("h", "orders", 0));
  end(77, true);
  EXPECT_EQ(found("g", "orders", 0), 11);
  EXPECT_EQ(found("g", "orders", 1), 20);
  EXPECT_FALSE(offsets_.is_unstable("g", "orders", 0));
  EXPECT_TRUE(offsets_.has_open("g"));
  end(78, false);
  EXPECT_EQ(found("g", "payments", 0), std::nullopt);
  EXPECT_FALSE(offsets_.has_open("g"));
  end(78, true);  // of a transaction that has committed nothing here
  EXPECT_EQ(found("g", "payments", 0), std::nullopt);
}

// The log says what came later, not the markers.
TEST_F(OffsetsTest, ALaterCommitIsNotOverwrittenByATransactionThatEndsAfterIt) {
  commit_open(77, "g", "orders", 0, 10);
  commit("g", {{.topic = "orders", .partition = 0, .offset = 20}});
  EXPECT_TRUE(offsets_.is_unstable("g", "orders", 0));
  end(77, true);
  EXPECT_EQ(found("g", "orders", 0), 20);

  commit_open(77, "g", "orders", 0, 30);
  commit_open(78, "g", "orders", 0, 40);
  end(78, true);
  EXPECT_EQ(found("g", "orders", 0), 40);
  EXPECT_TRUE(offsets_.is_unstable("g", "orders", 0));
  end(77, true);
  EXPECT_EQ(found("g", "orders", 0), 40);

  commit_open(77, "g", "orders", 0, 50);
  commit_open(78, "g", "orders", 0, 60);
  end(78, false);
  end(77, true);
  EXPECT_EQ(found("g", "orders", 0), 50);
  EXPECT_EQ(all_of(offsets_, {"g"}), reloaded({"g"}));
}

TEST_F(OffsetsTest, ATombstoneTakesWhatIsOpenToo) {
  commit_open(77, "g", "orders", 0, 10);
  take({record_of("g", "orders", 0, nullptr)});
  commit_open(77, "g", "orders", 1, 11);
  commit_open(77, "g", "orders", 0, 12);
  take({record_of("g", "orders", 0, nullptr)});
  end(77, true);
  EXPECT_EQ(found("g", "orders", 0), std::nullopt);
  EXPECT_EQ(found("g", "orders", 1), 11);
}

// -- What a log may hold -------------------------------------------------------------------------------------------

TEST_F(OffsetsTest, RecordsOfLongAgoAreRead) {
  // Type 0, value version 0; type 1, value versions 0 to 3.
  const char* const records[][2] = {
      {"000000016700066f726465727300000000", "0000000000000000000b00016d00000000000003e8"},
      {"000100016700066f726465727300000001", "0000000000000000000c00016d00000000000003e8"},
      {"000100016700066f726465727300000002", "0001000000000000000d00016d00000000000003e800000000000007d0"},
      {"000100016700066f726465727300000003", "0002000000000000000e00016d00000000000003e8"},
      {"000100016700066f726465727300000004", "0003000000000000000f0000000200016d00000000000003e8"},
  };
  for (const auto& [key, value] : records) take({.record = {unhex(key), unhex(value)}});
  for (std::int32_t i = 0; i < 5; ++i) EXPECT_EQ(found("g", "orders", i), 11 + i);
  EXPECT_EQ(offsets_.find("g", "orders", 2)->expires_ms, 2'000);
  EXPECT_EQ(offsets_.find("g", "orders", 4)->leader_epoch, 2);
  EXPECT_EQ(offsets_.find("g", "orders", 3)->metadata.view(), "m");
}

TEST_F(OffsetsTest, WhatCannotBeReadChangesNothing) {
  commit("g", {{.topic = "orders", .partition = 0, .offset = 1, .metadata = "m"}});
  const Record good = log_[0].record;
  const auto before = all_of(offsets_, {"g"});
  for (std::size_t size = 0; size < good.key.size(); ++size) {
    EXPECT_FALSE(offsets_.apply(Bytes(good.key).first(size), std::nullopt, kNoProducerId).is_readable) << size;
  }
  for (std::size_t size = 0; size < good.value->size(); ++size) {
    EXPECT_FALSE(offsets_.apply(good.key, Bytes(*good.value).first(size), kNoProducerId).is_readable) << size;
  }
  for (const char* const key : {"00", "0002000167", "ffff00016700017400000003", "0001ffff00017400000003"}) {
    EXPECT_FALSE(offsets_.apply(unhex(key), std::nullopt, kNoProducerId).is_readable) << key;
  }
  EXPECT_FALSE(offsets_.apply(good.key, unhex("0005000000000000002a"), kNoProducerId).is_readable);
  EXPECT_EQ(all_of(offsets_, {"g"}), before);
}

TEST_F(OffsetsTest, RandomBytesAreReadOrPassedOver) {
  std::mt19937 random(211);
  const kafka::OffsetCommitValue value{.offset = 5, .metadata = "metadata", .topic_id = ClusterImage::id_of(1)};
  const Record good = record_of("group", "topic", 1, &value);
  for (int i = 0; i < 20'000; ++i) {
    Record bad = good;
    std::vector<std::byte>& part = random() % 2 == 0 ? bad.key : *bad.value;
    for (auto flips = 1 + random() % 3; flips > 0; --flips) {
      part[random() % part.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) part.resize(random() % part.size());
    (void)offsets_.apply(bad.key, Bytes(*bad.value), static_cast<ProducerId>(random() % 3) - 1);
    if (i % 100 == 0) offsets_.end_transaction(static_cast<ProducerId>(random() % 2), random() % 2 == 0);
  }
}

// -- Everything together -------------------------------------------------------------------------------------------

// Whatever is asked for, in any order: what is found is what the last record says that counts, and a reload finds it.
TEST_F(OffsetsTest, RandomHistoriesAreReadBackAsTheyWere) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](unsigned count) { return static_cast<std::int32_t>(random() % count); };
    const std::string first = "g" + std::to_string(seed);
    const std::string second = "h" + std::to_string(seed);
    const SetGroup expiring(context_, first);
    for (int i = 0; i < 300; ++i) {
      const std::string& group = pick(2) == 0 ? first : second;
      const std::string_view topic = pick(2) == 0 ? "orders" : "payments";
      const std::int32_t partition = pick(2);
      moment_.wall_ms += pick(50);
      switch (pick(8)) {
        case 0:
        case 1:
        case 2: {
          kafka::OffsetCommitRequest request = commit_request(
              group,
              {{.topic = topic, .partition = partition, .offset = i, .metadata = "m", .leader_epoch = pick(3) - 1}});
          if (pick(3) == 0) request.retention_time_ms = pick(100);
          commit(request, 4);
          EXPECT_EQ(found(group, topic, partition), i);
          break;
        }
        case 3:
        case 4: {
          const std::optional<Offset> before = found(group, topic, partition);
          commit_open(pick(3), group, topic, partition, i);
          EXPECT_EQ(found(group, topic, partition), before);
          EXPECT_TRUE(offsets_.is_unstable(group, topic, partition));
          break;
        }
        case 5:
          end(pick(3), pick(2) == 0);
          break;
        case 6: {
          effects_ = {};
          settings_.offsets_retention_ms = 200;
          offsets_.expire(expiring, moment_, 2, effects_);
          keep();
          break;
        }
        default: {
          effects_ = {};
          if (pick(3) == 0) {
            offsets_.remove_all(group, effects_);
            EXPECT_FALSE(offsets_.has_any(group));
          } else {
            offsets_.remove_topics({{std::string(topic), ClusterImage::id_of(topic == "orders" ? 1 : 2)}}, "", 3,
                                   effects_);
          }
          keep();
        }
      }
    }
    EXPECT_EQ(all_of(offsets_, {first, second}), reloaded({first, second}));
  }
}

}  // namespace
}  // namespace tailrace::groupcoord
