// Regular expressions that clients send are RE2's, match whole names, and take bounded memory.
#include "services/node/regex.h"

#include <gtest/gtest.h>

namespace tailrace::node {
namespace {

TEST(Regex, MatchesWholeTexts) {
  const auto regex = Regex::compile("orders-(eu|us)|audit", kTopicRegexBytesMax);
  ASSERT_TRUE(regex) << regex.error();
  for (const char* text : {"orders-eu", "orders-us", "audit"}) EXPECT_TRUE(regex->matches(text)) << text;
  for (const char* text : {"", "orders-", "orders-eu2", "old-orders-eu", "audits"}) EXPECT_FALSE(regex->matches(text));
}

TEST(Regex, WhatRe2HasNotIsRefusedWithItsReason) {
  for (const char* pattern : {"(", "[a", "a(?!b)", "(a)\\1", "a{1001}", "\xff"}) {
    const auto regex = Regex::compile(pattern, kTopicRegexBytesMax);
    ASSERT_FALSE(regex) << pattern;
    EXPECT_FALSE(regex.error().empty()) << pattern;
  }
}

TEST(Regex, WhatNeedsMoreThanItsMemoryIsRefused) {
  const std::string pattern = "(a{100}){10}";
  EXPECT_TRUE(Regex::compile(pattern, kTopicRegexBytesMax));
  EXPECT_FALSE(Regex::compile(pattern, 4 << 10));
}

}  // namespace
}  // namespace tailrace::node
