// The assignors of consumer groups: their answers are those of Kafka 4.4 (tests/golden/groups), and whatever comes,
// they balance, keep and give each partition once.
#include "services/groupcoord/assignor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace tailrace::groupcoord {
namespace {

Uuid topic_id(int number) {
  Uuid id;
  id.bytes[15] = static_cast<std::uint8_t>(number);
  return id;
}

int number(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// "1:0-2,5;3:1"; "-": nothing.
Assignment parse(const std::string& text) {
  Assignment assignment;
  if (text == "-") return assignment;
  for (const std::string& topic : split(text, ';')) {
    const std::size_t colon = topic.find(':');
    auto& partitions = assignment[topic_id(number(topic.substr(0, colon)))];
    for (const std::string& run : split(topic.substr(colon + 1), ',')) {
      const std::vector<std::string> ends = split(run, '-');
      for (int p = number(ends.front()); p <= number(ends.back()); ++p) partitions.push_back(p);
    }
  }
  return assignment;
}

struct GroupMember {
  std::string id;
  std::string instance_id;  // "-": none
  std::vector<Uuid> topics;
  Assignment current;
  Assignment expected;
};

struct Case {
  std::size_t line = 0;
  std::string assignor;
  bool is_homogeneous = true;
  std::map<Uuid, std::int32_t> counts;
  std::vector<GroupMember> members;

  [[nodiscard]] AssignorInput input() const {
    AssignorInput made;
    made.is_homogeneous = is_homogeneous;
    for (const GroupMember& member : members) {
      AssignorMember& to = made.members.emplace_back();
      to.id = member.id;
      if (member.instance_id != "-") to.instance_id = member.instance_id;
      to.topics = member.topics;
      to.current = &member.current;
      for (const Uuid& topic : member.topics) made.partition_counts[topic] = counts.at(topic);
    }
    return made;
  }
};

std::vector<Case> kafka_cases() {
  std::vector<Case> cases;
  std::ifstream in(TAILRACE_GOLDEN "/groups/assignors-4.4.txt");
  std::size_t line_number = 0;
  for (std::string line; std::getline(in, line);) {
    ++line_number;
    const std::vector<std::string> words = split(line, ' ');
    if (words[0] == "case") {
      Case& made = cases.emplace_back();
      made.line = line_number;
      made.assignor = words[1];
      made.is_homogeneous = words[2] == "same";
    } else if (words[0] == "topics") {
      for (std::size_t i = 1; i < words.size(); ++i) {
        const auto topic = split(words[i], '=');
        cases.back().counts[topic_id(number(topic[0]))] = number(topic[1]);
      }
    } else {
      GroupMember member{words[0], words[1], {}, parse(words[3]), parse(words[4])};
      if (words[2] != "-") {
        for (const std::string& topic : split(words[2], ',')) member.topics.push_back(topic_id(number(topic)));
      }
      cases.back().members.push_back(std::move(member));
    }
  }
  return cases;
}

std::size_t count(const Assignment& assignment) {
  std::size_t partitions = 0;
  for (const auto& [topic, of_topic] : assignment) partitions += of_topic.size();
  return partitions;
}

TEST(Assignors, GiveKafkasAnswers) {
  const std::vector<Case> cases = kafka_cases();
  ASSERT_GT(cases.size(), 500u);
  for (const Case& each : cases) {
    const std::vector<Assignment> made = find_assignor(each.assignor)(each.input());
    ASSERT_EQ(made.size(), each.members.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(made[i], each.members[i].expected)
          << "line " << each.line << ", member " << each.members[i].id << " has " << count(made[i]);
    }
  }
}

TEST(Assignors, AreFoundByName) {
  EXPECT_NE(find_assignor("uniform"), nullptr);
  EXPECT_NE(find_assignor("range"), nullptr);
  EXPECT_EQ(find_assignor(""), nullptr);
  EXPECT_EQ(find_assignor("sticky"), nullptr);
}

TEST(Assignors, OfNobodyAreNothing) {
  EXPECT_TRUE(find_assignor("uniform")({}).empty());
  EXPECT_TRUE(find_assignor("range")({}).empty());
}

class AnyGroup : public ::testing::TestWithParam<std::string_view> {
 protected:
  std::int32_t below(std::int32_t end) { return std::uniform_int_distribution<std::int32_t>(0, end - 1)(random_); }

  Case random_case(bool is_homogeneous) {
    Case made;
    made.is_homogeneous = is_homogeneous;
    const int topics = 1 + below(6);
    for (int t = 1; t <= topics; ++t) made.counts[topic_id(t)] = below(20);
    const int members = 1 + below(9);
    for (int m = 0; m < members; ++m) {
      GroupMember member{"m" + std::to_string(10 + m), below(4) == 0 ? "i" + std::to_string(m) : "-", {}, {}, {}};
      for (const auto& [topic, partitions] : made.counts) {
        if (is_homogeneous || below(3) != 0) member.topics.push_back(topic);
      }
      made.members.push_back(std::move(member));
    }
    return made;
  }

  // Each partition of a topic that somebody is subscribed to has one owner, who is subscribed to it.
  static void expect_complete(const Case& group, const std::vector<Assignment>& made) {
    std::set<std::pair<Uuid, std::int32_t>> given;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const std::vector<Uuid>& topics = group.members[i].topics;
      for (const auto& [topic, partitions] : made[i]) {
        ASSERT_TRUE(std::ranges::find(topics, topic) != topics.end());
        ASSERT_TRUE(std::ranges::is_sorted(partitions));
        ASSERT_FALSE(partitions.empty());
        for (const std::int32_t partition : partitions) ASSERT_TRUE(given.insert({topic, partition}).second);
      }
    }
    std::size_t expected = 0;
    for (const auto& [topic, partitions] : group.input().partition_counts) {
      expected += static_cast<std::size_t>(partitions);
    }
    ASSERT_EQ(given.size(), expected);
  }

  static std::size_t kept(const Assignment& before, const Assignment& after) {
    std::size_t partitions = 0;
    for (const auto& [topic, of_topic] : before) {
      const auto found = after.find(topic);
      if (found == after.end()) continue;
      for (const std::int32_t partition : of_topic) {
        partitions += std::ranges::binary_search(found->second, partition) ? 1 : 0;
      }
    }
    return partitions;
  }

  std::mt19937 random_{848};
};

TEST_P(AnyGroup, IsAssignedWhole) {
  for (int round = 0; round < 400; ++round) {
    Case group = random_case(round % 2 == 0);
    for (int step = 0; step < 4; ++step) {
      const std::vector<Assignment> made = find_assignor(GetParam())(group.input());
      ASSERT_NO_FATAL_FAILURE(expect_complete(group, made)) << "round " << round;
      for (std::size_t i = 0; i < made.size(); ++i) group.members[i].current = made[i];
      if (group.members.size() > 1) group.members.erase(group.members.begin() + below(2));
    }
  }
}

TEST_P(AnyGroup, IsAssignedWholeAfterDamagedRecords) {
  for (int round = 0; round < 200; ++round) {
    Case group = random_case(round % 2 == 0);
    for (GroupMember& member : group.members) {  // owned twice, out of range, of topics that are not there
      for (int t = 1; t <= 8; ++t) member.current[topic_id(t)] = {-1, 0, 1, 2, below(30), 1'000'000};
    }
    ASSERT_NO_FATAL_FAILURE(expect_complete(group, find_assignor(GetParam())(group.input()))) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Assignors, AnyGroup, ::testing::Values("uniform", "range"));

class Uniform : public AnyGroup {};

TEST_F(Uniform, IsBalancedAndSticky) {
  for (int round = 0; round < 300; ++round) {
    Case group = random_case(true);
    for (int step = 0; step < 4; ++step) {
      const std::vector<Assignment> made = find_assignor("uniform")(group.input());
      const auto [least, most] = std::ranges::minmax(made, {}, count);
      ASSERT_LE(count(most), count(least) + 1);
      // Nobody loses what it needs not give up for the balance.
      for (std::size_t i = 0; i < made.size(); ++i) {
        const Assignment& before = group.members[i].current;
        ASSERT_GE(kept(before, made[i]), std::min(count(before), count(least))) << "round " << round;
        group.members[i].current = made[i];
      }
      if (below(2) == 0) {
        group.members.push_back({"n" + std::to_string(10 + step), "-", group.members.front().topics, {}, {}});
      } else if (group.members.size() > 1) {
        group.members.pop_back();
      }
    }
  }
}

TEST_F(Uniform, NothingMovesWhenNothingChanged) {
  for (int round = 0; round < 300; ++round) {
    Case group = random_case(round % 2 == 0);
    const std::vector<Assignment> first = find_assignor("uniform")(group.input());
    for (std::size_t i = 0; i < first.size(); ++i) group.members[i].current = first[i];
    EXPECT_EQ(find_assignor("uniform")(group.input()), first) << "round " << round;
  }
}

TEST(Range, CutsTopicsWithAsManyPartitionsAlike) {
  Case group;
  group.counts = {{topic_id(1), 7}, {topic_id(2), 7}};
  for (const char* id : {"a", "b", "c"}) group.members.push_back({id, "-", {topic_id(1), topic_id(2)}, {}, {}});
  for (const Assignment& made : find_assignor("range")(group.input())) {
    EXPECT_EQ(made.at(topic_id(1)), made.at(topic_id(2)));
  }
}

}  // namespace
}  // namespace tailrace::groupcoord
