// `tailrace stat --groups`: how far consumer groups lag, as tailrace-groupcoord knows it. It is asked over its socket
// in the run directory: no broker, no port and no client of Kafka takes part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::cli {

struct LaggingPartition {
  std::string topic;
  std::int32_t partition = 0;
  Offset committed = 0;
  std::optional<Offset> end;  // the high watermark; none: not known
  std::optional<TimestampMs> oldest_unread;

  // In records, as kafka-consumer-groups counts it: also from an offset outside of the log.
  [[nodiscard]] std::optional<std::int64_t> lag() const;
  // As cli::lag_ms.
  [[nodiscard]] std::optional<std::int64_t> lag_ms(TimestampMs now) const;
};

struct LaggingGroup {
  std::string group;
  std::string type;   // "Classic" or "Consumer"
  std::string state;  // "Stable", "Empty", ...
  std::vector<LaggingPartition> partitions;
};

// A row for each partition, one with dashes for a group that has committed nothing.
std::string lag_table(const std::vector<LaggingGroup>& groups, TimestampMs now);
// One line.
std::string lag_json(const std::vector<LaggingGroup>& groups, TimestampMs now);

// Once, or every `watch_s` seconds where that is not 0. `run`: the run directory. Returns the exit status.
int show_group_lag(const std::string& run, bool as_json, double watch_s);

}  // namespace tailrace::cli
