// Small rules about topics and partitions that several requests share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "engine/base/result.h"
#include "services/kafka/errors.h"
#include "services/node/offsets_topic.h"

namespace tailrace::broker {

// Topic.isInternal
inline bool is_internal_topic(std::string_view name) {
  return name == node::kOffsetsTopic || name == "__transaction_state" || name == "__share_group_state";
}

// Topic.validate
inline bool is_valid_topic_name(std::string_view name) {
  if (name.empty() || name.size() > 249 || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

// Without an authorizer everybody may do all that a topic knows: bits of AclOperation (KIP-430).
constexpr std::int32_t kTopicOperations = 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 11;

// An error of the engine about a partition that our image has: while a process restarts the engine may not know it yet,
// which to clients is a leader that is about to come.
inline kafka::ErrorCode data_path_error(Code code) {
  return code == Code::unknown_partition ? kafka::ErrorCode::NOT_LEADER_OR_FOLLOWER : kafka::to_wire(code);
}

}  // namespace tailrace::broker
