// What people write on the command line and in the files that commands read.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/config_text.h"
#include "cli/entities.h"
#include "cli/partition_files.h"
#include "cli/quota_text.h"
#include "cli/times.h"
#include "cli/topic_pattern.h"
#include "cli/verdicts.h"

namespace tailrace::cli {
namespace {

template <class T>
std::string error_of(const Outcome<T>& outcome) {
  return outcome ? "(no error)" : outcome.error();
}

TEST(ConfigText, PairsWithListsInSquareBrackets) {
  const auto pairs = parse_key_values("retention.ms=1000, cleanup.policy=[compact,delete],empty=,a=b=c");
  ASSERT_TRUE(pairs) << pairs.error();
  EXPECT_EQ(*pairs,
            (KeyValues{{"retention.ms", "1000"}, {"cleanup.policy", "compact,delete"}, {"empty", ""}, {"a", "b=c"}}));
}

TEST(ConfigText, WrongPairsAreRefused) {
  for (const char* text : {"", ",", "a", "=b", "a=1,a=2", "a=[1,2", "a=1,,b"}) {
    EXPECT_FALSE(parse_key_values(text)) << text;
  }
  EXPECT_EQ(error_of(parse_key_values("a=1,a=2")), "a stands twice");
}

TEST(ConfigText, PropertiesAsJavaReadsThem) {
  const auto pairs = parse_properties(
      "# comment\n"
      "! comment\n"
      "\n"
      "a=1\n"
      "  b : two words  \r\n"
      "c three\n"
      "list=one,\\\n"
      "    two\n"
      "with\\=equals=x\\ty\n"
      "a=2\n"
      "none");
  ASSERT_TRUE(pairs) << pairs.error();
  EXPECT_EQ(
      *pairs,
      (KeyValues{
          {"b", "two words"}, {"c", "three"}, {"list", "one,two"}, {"with=equals", "x\ty"}, {"a", "2"}, {"none", ""}}));
  EXPECT_EQ(error_of(parse_properties("a=1\n=2\n")), "line 2 has no key: \"=2\"");
}

TEST(ConfigText, SizesWithUnits) {
  EXPECT_EQ(parse_size("10"), 10);
  EXPECT_EQ(parse_size("10MiB"), 10.0 * 1024 * 1024);
  EXPECT_EQ(parse_size("1.5 kB"), 1500);
  EXPECT_EQ(parse_size("2K"), 2048);
  for (const char* text : {"", "MiB", "10 MiBs", "x", "1e999", "nan", "inf"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
}

TEST(TopicPattern, ANameIsNoPattern) {
  const auto pattern = TopicPattern::parse("orders.v1");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->is_literal());
  EXPECT_TRUE(pattern->matches("orders.v1"));
  EXPECT_FALSE(pattern->matches("orders-v1"));
}

TEST(TopicPattern, APatternMatchesWholeNames) {
  const auto pattern = TopicPattern::parse("orders.*,audit");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->is_literal());
  EXPECT_TRUE(pattern->matches("orders-v1"));
  EXPECT_TRUE(pattern->matches("audit"));
  EXPECT_FALSE(pattern->matches("old-orders"));
  EXPECT_FALSE(pattern->matches("audits"));
  for (const char* text : {"", "a(", "[a"}) EXPECT_FALSE(TopicPattern::parse(text)) << text;
}

TEST(PartitionPattern, NumbersAndRanges) {
  struct Case {
    const char* pattern;
    std::vector<std::int32_t> partitions;  // of topic "a", up to 5
  };
  for (const Case& one : {Case{"a:1", {1}}, Case{"a:0-3", {0, 1, 2}}, Case{"a:4-", {4, 5}}, Case{"a:-2", {0, 1}},
                          Case{"a", {0, 1, 2, 3, 4, 5}}, Case{":2", {2}}, Case{"a:", {0, 1, 2, 3, 4, 5}},
                          Case{"b:1", {}}, Case{"[ab]:5", {5}}}) {
    const auto pattern = PartitionPattern::parse(one.pattern);
    ASSERT_TRUE(pattern) << one.pattern;
    std::vector<std::int32_t> matched;
    for (std::int32_t i = 0; i <= 5; ++i) {
      if (pattern->matches("a", i)) matched.push_back(i);
    }
    EXPECT_EQ(matched, one.partitions) << one.pattern;
  }
  for (const char* text : {"a:x", "a:3-3", "a:3-1", "a:1-2-3", "a:99999999999999999999", "a(:1"}) {
    EXPECT_FALSE(PartitionPattern::parse(text)) << text;
  }
}

TEST(OffsetTime, KafkasWordsAndNumbers) {
  EXPECT_EQ(parse_offset_time("latest")->value, -1);
  EXPECT_EQ(parse_offset_time("-2")->name, "earliest");
  EXPECT_EQ(parse_offset_time("max-timestamp")->value, -3);
  EXPECT_TRUE(parse_offset_time("max-timestamp")->says_timestamp());
  EXPECT_EQ(parse_offset_time("earliest-pending-upload")->value, -6);
  EXPECT_EQ(parse_offset_time("2024-02-29T12:34:56Z")->value, 1709210096000);
  EXPECT_EQ(parse_offset_time("1709210096000")->value, 1709210096000);
  for (const char* text : {"", "-7", "newest", "2024-13-01"}) EXPECT_FALSE(parse_offset_time(text)) << text;
}

TEST(Assignment, BrokersOfEachPartition) {
  EXPECT_EQ(*parse_assignment("0:1,1:0"), (Assignment{{0, 1}, {1, 0}}));
  EXPECT_EQ(*parse_assignment("7"), (Assignment{{7}}));
  for (const char* text : {"", ",", "a", "0:a", "-1", "0:0", "0:1,1", "99999999999"}) {
    EXPECT_FALSE(parse_assignment(text)) << text;
  }
}

TEST(Entities, NamesGoWithTypesInTheirOrder) {
  const auto entities =
      parse_entities({.types = {"users", "clients"}, .names = {std::nullopt, "app"}, .short_forms = {}});
  ASSERT_TRUE(entities) << entities.error();
  ASSERT_EQ(entities->size(), 2u);
  EXPECT_EQ((*entities)[0].name.kind, EntityName::Kind::defaults);
  EXPECT_EQ((*entities)[1].name.name, "app");
  EXPECT_EQ(to_quota_filter((*entities)[0]).match, QuotaFilter::Match::is_default);
  EXPECT_EQ(to_quota_part((*entities)[1]).type, "client-id");
}

TEST(Entities, AUserStandsBeforeAClient) {
  const auto entities = parse_entities({.types = {"client"},
                                        .names = {"app"},
                                        .short_forms = {{EntityType::users, {EntityName::Kind::named, "alice"}}}});
  ASSERT_TRUE(entities) << entities.error();
  EXPECT_EQ((*entities)[0].type, EntityType::users);
  EXPECT_EQ((*entities)[1].type, EntityType::clients);
}

TEST(Entities, WrongOnesAreRefused) {
  const auto error = [](std::vector<std::string> types, std::vector<std::optional<std::string>> names) {
    return error_of(parse_entities({.types = std::move(types), .names = std::move(names), .short_forms = {}}));
  };
  EXPECT_NE(error({}, {}).find("no entity is named"), std::string::npos);
  EXPECT_NE(error({"things"}, {}).find("\"things\" is no entity type"), std::string::npos);
  EXPECT_NE(error({"topics"}, {"a", "b"}).find("more entity names than types"), std::string::npos);
  EXPECT_EQ(error({"topics"}, {std::nullopt}), "topics have no defaults of their own");
  EXPECT_EQ(error({"brokers"}, {"one"}), "\"one\" is no broker id");
  EXPECT_EQ(error({"topics"}, {""}), "the name of a topic is empty");
  EXPECT_EQ(error({"topics", "brokers"}, {"a", "0"}), "only a user and a client may be combined");
  EXPECT_EQ(error({"ips", "users"}, {"::1", "a"}), "only a user and a client may be combined");
}

TEST(Quotas, AreCheckedBeforeTheyAreSent) {
  const QuotaEntity user = {{"user", "alice"}};
  const QuotaEntity ip = {{"ip", std::nullopt}};
  EXPECT_EQ(parse_quota(user, "producer_byte_rate", "10MiB")->value, 10.0 * 1024 * 1024);
  EXPECT_EQ(parse_quota(user, "request_percentage", "12.5")->value, 12.5);
  EXPECT_EQ(parse_quota(ip, "connection_creation_rate", "20")->value, 20);
  EXPECT_FALSE(parse_quota(user, "connection_creation_rate", "20"));
  EXPECT_FALSE(parse_quota(ip, "producer_byte_rate", "20"));
  EXPECT_FALSE(parse_quota(user, "producer_byte_rate", "1.5"));
  EXPECT_FALSE(parse_quota(user, "producer_byte_rate", "0"));
  EXPECT_FALSE(parse_quota(user, "request_percentage", "10MiB"));
  EXPECT_EQ(entity_text({{"user", "alice"}, {"client-id", std::nullopt}}), "user alice, client-id <default>");
  EXPECT_EQ(quota_value_text("producer_byte_rate", 1024.0 * 1024), "1.00 MiB/s");
  EXPECT_EQ(quota_value_text("request_percentage", 12.5), "12.5 %");
}

TEST(PartitionFiles, AsKafkasToolsReadThem) {
  const auto offsets = parse_partition_file(
      R"({"partitions": [{"topic": "a", "partition": 1, "offset": 7}], "version": 1})", Wanted::offsets);
  ASSERT_TRUE(offsets) << offsets.error();
  EXPECT_EQ((*offsets)[0].key, (PartitionKey{"a", 1}));
  EXPECT_EQ((*offsets)[0].offset, 7);
  const auto moves = parse_partition_file(
      R"({"partitions": [{"topic": "a", "partition": 0, "replicas": [2, 1], "log_dirs": ["any", "any"]}]})",
      Wanted::replicas);
  ASSERT_TRUE(moves) << moves.error();
  EXPECT_EQ((*moves)[0].replicas, (std::vector<BrokerId>{2, 1}));
}

TEST(PartitionFiles, WrongOnesAreRefusedWithThePlace) {
  const auto error = [](const char* text) { return error_of(parse_partition_file(text, Wanted::offsets)); };
  EXPECT_EQ(error("{"), "it is no JSON");
  EXPECT_EQ(error("[]"), "it is no JSON object");
  EXPECT_EQ(error("{}"), "it has no list \"partitions\"");
  EXPECT_EQ(error(R"({"partitions": []})"), "it names no partition");
  EXPECT_EQ(error(R"({"version": 2, "partitions": []})"), "only version 1 is known");
  EXPECT_EQ(error(R"({"partitions": [7]})"), "partitions[0]: it is no object");
  EXPECT_EQ(error(R"({"partitions": [{"topic": "", "partition": 0, "offset": 1}]})"),
            "partitions[0]: \"topic\" is no name");
  EXPECT_EQ(error(R"({"partitions": [{"topic": "a", "partition": "0", "offset": 1}]})"),
            "partitions[0]: \"partition\" is no whole number");
  EXPECT_EQ(error(R"({"partitions": [{"topic": "a", "partition": 0}]})"), "partitions[0]: \"offset\" is missing");
  EXPECT_EQ(error(R"({"partitions": [{"topic": "a", "partition": 0, "offset": -2}]})"),
            "partitions[0]: \"offset\" is out of range");
  EXPECT_EQ(error(R"({"partitions": [{"topic": "a", "partition": 0, "offset": 18446744073709551615}]})"),
            "partitions[0]: \"offset\" is out of range");
  EXPECT_EQ(error(R"({"partitions": [{"topic": "a", "partition": 0, "offest": 1}]})"),
            "partitions[0]: there is no field \"offest\"");
  EXPECT_EQ(
      error(
          R"({"partitions": [{"topic": "a", "partition": 0, "offset": 1}, {"topic": "a", "partition": 0, "offset": 2}]})"),
      "a-0 stands twice");
}

}  // namespace
}  // namespace tailrace::cli
