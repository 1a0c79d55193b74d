// OTLP: what clients push as their metrics (KIP-714): a MetricsData of OpenTelemetry in protobuf's encoding, read as
// far as it takes to show the last value of each series. PURE.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"

namespace tailrace::broker {

struct MetricSeries {
  std::string name;  // with its attributes: "org.apache.kafka.producer.node.latency{node_id=1}"
  double value = 0;  // of a histogram: the sum
};

// At most `series_max` of them; the rest is checked and left out. Errors: corrupt (no protobuf, or messages within
// messages beyond what OTLP has).
Result<std::vector<MetricSeries>> read_otlp(Bytes data, std::size_t series_max);

}  // namespace tailrace::broker
