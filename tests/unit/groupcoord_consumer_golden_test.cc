// A consumer group answers heartbeats as Kafka 4.4 does (tests/golden/groups).
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/consumer_group_world.h"

namespace tailrace::groupcoord {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::int32_t number(const std::string& text) {
  std::int32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<std::string> text(const std::string& word) {
  if (word == "~") return std::nullopt;
  return word == "-" ? "" : word;
}

class Replay {
 public:
  Replay() {
    world_.settings.consumer_assignment_interval_ms = 0;
    world_.set_topic("t1", 5);
    world_.set_topic("t2", 4);
  }

  void begin(const std::string& name) {
    name_ = name;
    group_.reset();
    world_.log.clear();
  }

  // "member epoch instance timeout topics regex assignor owned => error epoch assignment message".
  void line(const std::string& line) {
    const std::vector<std::string> words = split(line, ' ');
    HeartbeatWords request = alive(words[0], number(words[1]));
    request.group = name_;
    request.instance_id = text(words[2]);
    request.rebalance_timeout_ms = number(words[3]);
    if (words[4] != "~") request.topics = words[4] == "-" ? std::vector<std::string>{} : split(words[4], ',');
    request.regex = text(words[5]);
    request.assignor = text(words[6]);
    request.owned = assignment(words[7]);

    const HeartbeatAnswer answer = send(request);
    EXPECT_EQ(static_cast<std::int32_t>(answer.error), number(words[9]));
    EXPECT_EQ(answer.epoch, number(words[10]));
    EXPECT_EQ(answer.assignment, assignment(words[11]));
    std::string message;
    for (std::size_t i = 12; i < words.size(); ++i) message += (i == 12 ? "" : " ") + words[i];
    EXPECT_EQ(answer.message, message);
  }

  void expect_same_after_a_restart() {
    if (group_ != nullptr) {
      EXPECT_TRUE(group_->has_same_fold(*world_.reloaded(name_)));
    }
  }

 private:
  std::optional<Assignment> assignment(const std::string& word) const {
    if (word == "~") return std::nullopt;
    Assignment made;
    if (word == "-") return made;
    for (const std::string& topic : split(word, ';')) {
      auto& partitions = made[world_.id(topic.substr(0, 2))];
      for (const std::string& partition : split(topic.substr(3), ',')) partitions.push_back(number(partition));
    }
    return made;
  }

  HeartbeatAnswer send(const HeartbeatWords& words) {
    const auto request = words.request();
    const Call call{.token = 1, .api_key = 68, .api_version = 1};
    Effects effects;
    if (const auto refusal = ConsumerGroup::refuse(request, 1, world_.settings)) {
      ConsumerGroup::answer(call, *refusal, effects);
    } else if (group_ == nullptr && words.epoch != kJoinEpoch) {
      ConsumerGroup::answer(call, ConsumerGroup::no_group(request), effects);
    } else {
      if (group_ == nullptr) group_ = std::make_unique<ConsumerGroup>(world_.context, name_);
      group_->heartbeat(call, {.id = "trace", .host = "/127.0.0.1"}, request, world_.moment, effects);
      if (group_->is_empty() && world_.log.empty() && effects.records.empty()) group_.reset();
    }
    for (Record& record : effects.records) world_.log.push_back(std::move(record));
    return read_answer(effects.replies.at(0));
  }

  World world_;
  std::string name_;
  std::unique_ptr<ConsumerGroup> group_;
};

TEST(ConsumerGolden, AnswersHeartbeatsAsKafkaDoes) {
  std::ifstream in(TAILRACE_GOLDEN "/groups/heartbeats-4.4.txt");
  Replay replay;
  int number_of_line = 0;
  for (std::string line; std::getline(in, line) && !::testing::Test::HasFailure();) {
    ++number_of_line;
    SCOPED_TRACE("line " + std::to_string(number_of_line) + ": " + line);
    if (line.starts_with("topics")) continue;
    if (line.starts_with("group ")) {
      replay.expect_same_after_a_restart();
      replay.begin(line.substr(6));
    } else {
      replay.line(line);
    }
  }
  EXPECT_GT(number_of_line, 1'800);
}

}  // namespace
}  // namespace tailrace::groupcoord
