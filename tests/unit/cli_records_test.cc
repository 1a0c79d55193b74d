// What the tools understand of lines, addresses and places, and where a key belongs.
#include <gtest/gtest.h>

#include "cli/connection.h"
#include "cli/json_record.h"
#include "cli/producer.h"
#include "cli/reader.h"
#include "engine/record/builder.h"
#include "engine/record/records.h"

namespace tailrace::cli {
namespace {

TEST(JsonRecord, SaysEverything) {
  const auto record = parse_json_record(
      R"({"topic":"t","partition":3,"offset":9,"key":"k","value_base64":"AP8=","timestamp":5,"headers":{"a":"1","b":null}})");
  ASSERT_TRUE(record) << record.error();
  EXPECT_EQ(record->topic, "t");
  EXPECT_EQ(record->partition, 3);
  EXPECT_EQ(record->key, "k");
  EXPECT_EQ(record->value, std::string("\0\xFF", 2));
  EXPECT_EQ(record->timestamp, 5);
  ASSERT_EQ(record->headers.size(), 2u);
  EXPECT_EQ(record->headers[0].second, "1");
  EXPECT_EQ(record->headers[1].second, std::nullopt);
}

TEST(JsonRecord, NullAndAbsentAreTheSame) {
  const auto record = parse_json_record(R"({"key":null})");
  ASSERT_TRUE(record) << record.error();
  EXPECT_EQ(record->key, std::nullopt);
  EXPECT_EQ(record->value, std::nullopt);
  EXPECT_EQ(record->partition, -1);
}

TEST(JsonRecord, AValueThatIsNoStringIsItsJson) {
  const auto record = parse_json_record(R"({"value":{"a":[1,2]}})");
  ASSERT_TRUE(record) << record.error();
  EXPECT_EQ(record->value, R"({"a":[1,2]})");
}

TEST(JsonRecord, WhatIsWrongIsSaid) {
  for (const char* line :
       {"", "[]", "{", R"({"topic":1})", R"({"partition":-1})", R"({"partition":3000000000})", R"({"partition":"0"})",
        R"({"valeu":"x"})", R"({"value":"x","value_base64":"AA=="})", R"({"key_base64":"A"})", R"({"key_base64":1})",
        R"({"timestamp":"x"})", R"({"timestamp":-5})", R"({"headers":"x"})", R"({"headers":[1]})",
        R"({"headers":[{"value":"x"}]})", R"({"headers":{"a":1}})"}) {
    const auto record = parse_json_record(line);
    EXPECT_FALSE(record) << line;
    EXPECT_TRUE(record || !record.error().empty());
  }
}

TEST(JsonRecord, WhatConsumePrintsProduceReads) {
  record::BatchBuilder builder;
  const record::Header headers[] = {
      {as_bytes("plain"), as_bytes("v")}, {as_bytes("none"), std::nullopt}, {as_bytes("raw"), as_bytes("\xFF")}};
  ASSERT_TRUE(builder.add(1234, as_bytes("\xFE key"), as_bytes("value \"quoted\""), headers));
  const auto batch = builder.finish();
  ASSERT_TRUE(batch);
  record::Scratch scratch;
  auto records = record::Records::open(*batch, scratch, 1 << 20);
  ASSERT_TRUE(records);
  record::Record record;
  const auto more = records->next(record);
  ASSERT_TRUE(more && *more);
  std::string line;
  append_json_record("topic", 2, record, line);
  EXPECT_EQ(line.back(), '\n');
  const auto back = parse_json_record(line);
  ASSERT_TRUE(back) << back.error() << line;
  EXPECT_EQ(back->topic, "topic");
  EXPECT_EQ(back->partition, 2);
  EXPECT_EQ(back->timestamp, 1234);
  EXPECT_EQ(back->key, "\xFE key");
  EXPECT_EQ(back->value, "value \"quoted\"");
  ASSERT_EQ(back->headers.size(), 3u);
  EXPECT_EQ(back->headers[1].second, std::nullopt);
  EXPECT_EQ(back->headers[2].second, "\xFF");
}

TEST(Start, IsReadInAllItsForms) {
  EXPECT_EQ(parse_start("earliest")->kind, StartAt::Kind::earliest);
  EXPECT_EQ(parse_start("latest")->kind, StartAt::Kind::latest);
  EXPECT_EQ(parse_start("17")->kind, StartAt::Kind::offset);
  EXPECT_EQ(parse_start("17")->value, 17);
  EXPECT_EQ(parse_start("-5")->kind, StartAt::Kind::latest);
  EXPECT_EQ(parse_start("-5")->value, -5);
  EXPECT_EQ(parse_start("@1000")->kind, StartAt::Kind::time);
  EXPECT_EQ(parse_start("@1970-01-01T00:00:01Z")->value, 1000);
  for (const char* text : {"", "x", "1x", "@", "@x", "@-5"}) EXPECT_FALSE(parse_start(text)) << text;
}

TEST(HostPort, IsReadInAllItsForms) {
  EXPECT_EQ(parse_host_port("localhost")->text(), "localhost:9092");
  EXPECT_EQ(parse_host_port("10.0.0.1:19092")->text(), "10.0.0.1:19092");
  EXPECT_EQ(parse_host_port("[::1]:9093")->text(), "[::1]:9093");
  EXPECT_EQ(parse_host_port("::1")->text(), "[::1]:9092");
  for (const char* text : {"", ":9092", "host:", "host:x", "host:70000", "[::1", "[::1]9092"}) {
    EXPECT_FALSE(parse_host_port(text)) << text;
  }
}

// The values of Kafka's own clients (Utils.murmur2, as its tests give them).
TEST(Murmur2, IsThatOfKafkasClients) {
  EXPECT_EQ(static_cast<std::int32_t>(murmur2(as_bytes("21"))), -973932308);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2(as_bytes("foobar"))), -790332482);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2(as_bytes("a-little-bit-long-string"))), -985981536);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2(as_bytes("a-little-bit-longer-string"))), -1486304829);
  EXPECT_EQ(static_cast<std::int32_t>(murmur2(as_bytes("abc"))), 479470107);
}

}  // namespace
}  // namespace tailrace::cli
