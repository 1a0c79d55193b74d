// Small rules about topics and partitions that several requests share.
#pragma once

#include <string_view>

#include "engine/base/result.h"
#include "services/kafka/errors.h"

namespace tailrace::broker {

// Topic.isInternal
inline bool is_internal_topic(std::string_view name) {
  return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state";
}

// An error of the engine about a partition that our image has: while a process restarts the engine may not know it yet,
// which to clients is a leader that is about to come.
inline kafka::ErrorCode data_path_error(Code code) {
  return code == Code::unknown_partition ? kafka::ErrorCode::NOT_LEADER_OR_FOLLOWER : kafka::to_wire(code);
}

}  // namespace tailrace::broker
