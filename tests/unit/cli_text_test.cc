#include "cli/text.h"

#include <gtest/gtest.h>

namespace tailrace::cli {
namespace {

TEST(Text, ATableAlignsNumbersToTheRight) {
  EXPECT_EQ(table({{"topic", "count"}, {"a", "7"}, {"longer", "1,000"}}),
            "topic   count\n"
            "a           7\n"
            "longer  1,000\n");
}

TEST(Text, ADashStandsForANumberThatIsNotThere) {
  EXPECT_EQ(table({{"name", "offset", "note"}, {"a", "-", "-"}, {"b", "12", "-"}}),
            "name  offset  note\n"
            "a          -  -\n"
            "b         12  -\n");
}

TEST(Text, HumanUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(100.0 * 1024 * 1024), "100.0 MiB");
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(1234567), "1,234,567");
}

TEST(Text, DurationsOfPeople) {
  EXPECT_EQ(human_duration(0), "0 ms");
  EXPECT_EQ(human_duration(999), "999 ms");
  EXPECT_EQ(human_duration(1560), "1.5 s");
  EXPECT_EQ(human_duration(59'999), "59 s");
  EXPECT_EQ(human_duration(123'000), "2 min 3 s");
  EXPECT_EQ(human_duration(3'600'000), "1 h 0 min");
  EXPECT_EQ(human_duration(100LL * 3'600'000), "4 d 4 h");
}

TEST(Text, DurationsOfJava) {
  EXPECT_EQ(parse_duration("PT20.345S"), 20'345);
  EXPECT_EQ(parse_duration("PT15M"), 900'000);
  EXPECT_EQ(parse_duration("P2D"), 172'800'000);
  EXPECT_EQ(parse_duration("p1dt2h3m4s"), 93'784'000);
  EXPECT_EQ(parse_duration("-PT6H+3M"), -21'780'000);
  EXPECT_EQ(parse_duration("PT-6H3M"), -21'420'000);
  EXPECT_EQ(parse_duration("PT-0.5S"), -500);
  EXPECT_EQ(parse_duration("PT0S"), 0);
  for (const char* text : {"", "P", "PT", "P1DT", "1D", "P1H", "PT1D", "PT1M1H", "PT1H1H", "PT1.5H", "PTS", "P1D2D",
                           "PT1S ", "P1", "PT9223372036854775807H", "PT--1S", "P1W"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Text, TimesGoThereAndBack) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(time_text(1709210096789), "2024-02-29T12:34:56.789Z");
  for (const TimestampMs time : {TimestampMs{0}, TimestampMs{1709210096789}, TimestampMs{253402300799999}}) {
    EXPECT_EQ(parse_time(time_text(time)), time);
  }
}

TEST(Text, TimesAreUnderstoodInSeveralForms) {
  EXPECT_EQ(parse_time("1709210096789"), 1709210096789);
  EXPECT_EQ(parse_time("2024-02-29"), 1709164800000);
  EXPECT_EQ(parse_time("2024-02-29T12:34"), 1709210040000);
  EXPECT_EQ(parse_time("2024-02-29 12:34:56"), 1709210096000);
  EXPECT_EQ(parse_time("2024-02-29T12:34:56.7"), 1709210096700);
  EXPECT_EQ(parse_time("2024-02-29T12:34:56+02:00"), 1709202896000);
}

TEST(Text, WhatIsNoTimeIsRefused) {
  for (const char* text : {"", "tomorrow", "2024-13-01", "2023-02-29", "2024-02-29T25:00", "2024-02-29T12",
                           "2024-02-29T12:34:", "2024-02-29T12:34:56X", "2024-02-29T12:34:56.", "24-02-29",
                           "2024-02-2-", "2024-02-29T12:34:56+2"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(Text, Base64GoesThereAndBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(from_base64(to_base64(as_bytes(bytes))), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(to_base64(as_bytes("ab")), "YWI=");
  for (const char* text : {"YWI", "YW=I", "YWI*", "====", "Y===", "YWI=YWI="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

TEST(Text, Utf8IsTold) {
  for (const char* text : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text :
       {"\x80", "\xC0\xAF", "\xC3", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\xE0\x80\x80"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

}  // namespace
}  // namespace tailrace::cli
