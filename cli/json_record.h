// Records as lines of JSON, the same for `produce --json` and `consume --json`, so that the output of one is input of
// the other: {"topic", "partition", "offset", "timestamp", "key", "value", "headers": [{"key", "value"}]}. Bytes that
// are not UTF-8 stand as base64 in "key_base64", "value_base64". Null and absent are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/connection.h"
#include "engine/base/types.h"
#include "engine/record/records.h"

namespace tailrace::cli {

struct JsonRecord {
  std::string topic;  // empty: not said
  std::int32_t partition = -1;
  TimestampMs timestamp = kNoTimestamp;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

// Error: what is wrong with the line. Fields that we do not know are refused, except "offset".
Outcome<JsonRecord> parse_json_record(std::string_view line);

// Appends one line.
void append_json_record(std::string_view topic, std::int32_t partition, const record::Record& record, std::string& out);

}  // namespace tailrace::cli
