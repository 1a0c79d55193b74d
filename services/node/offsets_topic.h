// __consumer_offsets: the internal topic that holds what groups commit and who is in them. A group belongs to one of
// its partitions, and whoever leads that coordinates the group. PURE.
#pragma once

#include <cstdint>
#include <string_view>

namespace tailrace::node {

constexpr std::string_view kOffsetsTopic = "__consumer_offsets";

// Which of `partitions` (at least 1) holds a group: Java's String.hashCode over the id's UTF-16, as
// GroupCoordinatorService.partitionFor has it.
std::int32_t offsets_partition_of(std::string_view group, std::int32_t partitions);

}  // namespace tailrace::node
