// `tailrace topics describe`: partitions, leaders, replicas and settings of topics, all or those that need attention.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace tailrace::cli {

struct TopicsDescribeOptions : CommandOptions {
  std::vector<std::string> names;  // or patterns; none: all
  std::string topic_id;
  bool exclude_internal = false;
  bool if_exists = false;
  // Of these at most one.
  bool with_overrides = false;
  bool under_replicated = false;
  bool unavailable = false;
  bool under_min_isr = false;
  bool at_min_isr = false;
};

int describe_topics(const TopicsDescribeOptions& options);

}  // namespace tailrace::cli
