// The JSON files that name partitions, in the formats of kafka-delete-records, kafka-leader-election and
// kafka-reassign-partitions: {"partitions": [{"topic": "a", "partition": 0, ...}], "version": 1}. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/admin.h"

namespace tailrace::cli {

struct ListedPartition {
  PartitionKey key;
  Offset offset = kNoOffset;       // with wants_offset
  std::vector<BrokerId> replicas;  // with wants_replicas
};
enum class Wanted : std::uint8_t { partitions, offsets, replicas };

// Error: what is wrong and where. A partition that stands twice is refused, and so are offsets below -1 and fields that
// these files do not have ("log_dirs" is passed over).
Outcome<std::vector<ListedPartition>> parse_partition_file(std::string_view text, Wanted wanted);

}  // namespace tailrace::cli
