// The records of consumer groups, made of what they say. How they are read is the group's fold (consumer_fold.cc).
// Kafka: GroupCoordinatorRecordHelpers. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "services/groupcoord/assignment.h"
#include "services/groupcoord/effects.h"

namespace tailrace::groupcoord {

struct ConsumerMember;
struct ResolvedRegex;

// The group that a record is about, if it is one of a consumer group; borrows from the key.
[[nodiscard]] std::optional<std::string_view> consumer_group_of(Bytes key);

Record group_epoch_record(std::string_view group, std::int32_t epoch, std::int64_t metadata_hash);
Record group_epoch_tombstone(std::string_view group);
Record partition_metadata_tombstone(std::string_view group);
Record member_record(std::string_view group, const ConsumerMember& member);
Record member_tombstone(std::string_view group, std::string_view member);
Record target_epoch_record(std::string_view group, std::int32_t epoch, TimestampMs computed_ms);
Record target_epoch_tombstone(std::string_view group);
Record target_record(std::string_view group, std::string_view member, const Assignment& target);
Record target_tombstone(std::string_view group, std::string_view member);
Record current_assignment_record(std::string_view group, const ConsumerMember& member);
Record current_assignment_tombstone(std::string_view group, std::string_view member);
Record regex_record(std::string_view group, std::string_view regex, const ResolvedRegex& resolved);
Record regex_tombstone(std::string_view group, std::string_view regex);

}  // namespace tailrace::groupcoord
