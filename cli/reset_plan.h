// Where the offsets of a group shall go: kafka-consumer-groups' ways of saying it, its CSV files, and the arithmetic.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/admin.h"

namespace tailrace::cli {

struct ResetTarget {
  enum class Kind : std::int8_t { earliest, latest, current, offset, shift, time, file };
  Kind kind = Kind::earliest;
  std::int64_t value = 0;  // of offset, shift (records) and time (milliseconds)
};

// What is known of a partition and of what the group has committed for it.
struct PartitionFacts {
  Offset begin = 0;
  Offset end = 0;                   // exclusive
  std::optional<Offset> committed;  // none: the group has none
  std::optional<Offset> listed;     // of file: what the file says
  std::optional<Offset> at_time;    // of time: the first record that is not older; none: there is none
};

struct PlannedOffset {
  Offset offset = 0;
  std::string warning;  // empty: none; else why it is another offset than was asked for
};
// Error: the offset cannot be shifted, there is none.
Outcome<PlannedOffset> plan_offset(const ResetTarget& target, const PartitionFacts& facts);

// --topic's "TOPIC" or "TOPIC:0,1,2"; no partitions: all.
struct TopicPartitions {
  std::string topic;
  std::vector<std::int32_t> partitions;
};
Outcome<TopicPartitions> parse_topic_partitions(std::string_view text);

// A line of --export and --from-file: "group,topic,partition,offset", or without the group where a command means one.
struct ResetLine {
  std::string group;  // empty: the one that is meant
  PartitionKey key;
  Offset offset = 0;
};
// As Kafka's tool writes it: in quotes what is longer than 24 bytes or has a character below '-'.
std::string reset_line_text(const ResetLine& line, bool with_group);
struct ResetFile {
  bool names_groups = false;
  std::vector<ResetLine> lines;
};
// The first line says of which kind all lines are. Empty lines are passed over. Error: which line is wrong, and why.
Outcome<ResetFile> parse_reset_file(std::string_view text);

}  // namespace tailrace::cli
