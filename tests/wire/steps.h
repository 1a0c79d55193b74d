// Steps that many stories share: topics, batches, one produce, one fetch; and WireTest, which gives all stories one
// node and sees that none of its processes has died of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/base/types.h"
#include "engine/record/builder.h"
#include "services/kafka/errors.h"
#include "tests/wire/client.h"
#include "tests/wire/node.h"

namespace tailrace::wire {

using kafka::ErrorCode;

// The newest versions that the node serves.
constexpr std::int16_t kProduceVersion = 12;  // 13 names topics by id
constexpr std::int16_t kFetchVersion = 12;    // 13 names topics by id
constexpr std::int16_t kListOffsetsVersion = 11;
constexpr std::int16_t kMetadataVersion = 12;
constexpr std::int16_t kCreateTopicsVersion = 7;

class WireTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = node().processes(); }
  void TearDown() override { EXPECT_EQ(node().processes(), before_) << "a process has died:\n" << node().said(); }

  // The node that all stories share, started with the first.
  static Node& node();
  // A story that kills processes says that it is done.
  void accept_new_processes() { before_ = node().processes(); }
  // A topic name that no other story has.
  static std::string fresh(std::string_view what);

  Client client{node().port()};

 private:
  std::map<std::string, pid_t> before_;
};

using Configs = std::vector<std::pair<std::string, std::string>>;

ErrorCode create_topic(Client& client, const std::string& name, std::int32_t partitions = 1,
                       const Configs& configs = {});
// A new topic; fails the test when it cannot be made. Returns its id.
Uuid make_topic(Client& client, const std::string& name, std::int32_t partitions = 1, const Configs& configs = {});

TimestampMs now_ms();
// One batch of records without keys, all with one time.
std::string batch_of(const std::vector<std::string>& values, const record::BatchOptions& options = {},
                     TimestampMs timestamp = now_ms());
// Makes the CRC right after a change.
void repair_crc(std::string& batch);

struct Produced {
  ErrorCode error = ErrorCode::NONE;
  Offset base_offset = kNoOffset;
  TimestampMs append_time = kNoTimestamp;
  std::vector<std::int32_t> record_errors = {};
};
Produced produce(Client& client, const std::string& topic, std::string_view records, std::int32_t partition = 0,
                 std::int16_t acks = -1, std::int16_t version = kProduceVersion);
// The frame that produce() sends.
std::string produce_frame(const std::string& topic, std::string_view records, std::int32_t partition, std::int16_t acks,
                          std::int32_t correlation_id, std::int16_t version = kProduceVersion);

struct FetchOptions {
  std::int32_t partition = 0;
  std::int32_t max_wait_ms = 0;
  std::int32_t min_bytes = 0;
  std::int32_t max_bytes = 50 << 20;
  std::int32_t partition_max_bytes = 50 << 20;
  std::int32_t leader_epoch = -1;
  std::int16_t version = kFetchVersion;
};
struct Fetched {
  ErrorCode error = ErrorCode::NONE;
  Offset high_watermark = kNoOffset;
  Offset log_start = kNoOffset;
  std::string records = {};
};
Fetched fetch(Client& client, const std::string& topic, Offset offset, const FetchOptions& options = {});

// Error and offset of ListOffsets; the time that was found and its leader epoch in the pointed at, if any.
struct Listed {
  ErrorCode error = ErrorCode::NONE;
  Offset offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
};
Listed list_offset(Client& client, const std::string& topic, TimestampMs timestamp, std::int32_t partition = 0,
                   LeaderEpoch current_epoch = -1, std::int16_t version = kListOffsetsVersion);
Offset log_end(Client& client, const std::string& topic, std::int32_t partition = 0);

// Headers of the whole batches in fetched bytes, and how many bytes are left over behind them.
std::vector<record::BatchHeader> headers_of(std::string_view records, std::size_t* left_over = nullptr);
// The values of all records in whole batches, in order.
std::vector<std::string> values_of(std::string_view records);

}  // namespace tailrace::wire
