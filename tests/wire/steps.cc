#include "tests/wire/steps.h"

#include <chrono>

#include "engine/record/batch.h"
#include "engine/record/records.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/list_offsets.h"
#include "services/kafka/messages/produce.h"

namespace tailrace::wire {
namespace {

// The node is stopped when all stories are told.
class SharedNode : public ::testing::Environment {
 public:
  void TearDown() override {
    if (node) {
      EXPECT_EQ(node->stop(), 0);
      node.reset();
    }
  }
  std::unique_ptr<Node> node;
};
SharedNode* const shared = new SharedNode;
[[maybe_unused]] const ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(shared);

}  // namespace

Node& WireTest::node() {
  // Stories write records of any age.
  if (!shared->node) shared->node = Node::start({.settings = {"log.retention.ms=-1"}});
  return *shared->node;
}

std::string WireTest::fresh(std::string_view what) {
  static int count = 0;
  return std::string(what) + "-" + std::to_string(++count);
}

ErrorCode create_topic(Client& client, const std::string& name, std::int32_t partitions, const Configs& configs) {
  kafka::CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  for (const auto& [key, value] : configs) topic.configs.push_back({.name = key, .value = value});
  const auto answer = client.call<kafka::CreateTopicsResponse>(request, kCreateTopicsVersion);
  if (answer->topics.size() != 1) return ErrorCode::UNKNOWN_SERVER_ERROR;
  return static_cast<ErrorCode>(answer->topics[0].error_code);
}

Uuid make_topic(Client& client, const std::string& name, std::int32_t partitions, const Configs& configs) {
  kafka::CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = -1;
  for (const auto& [key, value] : configs) topic.configs.push_back({.name = key, .value = value});
  const auto answer = client.call<kafka::CreateTopicsResponse>(request, kCreateTopicsVersion);
  EXPECT_EQ(answer->topics.size(), 1u);
  if (answer->topics.size() != 1) return {};
  EXPECT_EQ(answer->topics[0].error_code, 0) << name << ": " << answer->topics[0].error_message.value_or("");
  EXPECT_FALSE(answer->topics[0].topic_id.is_zero());
  return answer->topics[0].topic_id;
}

TimestampMs now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string batch_of(const std::vector<std::string>& values, const record::BatchOptions& options,
                     TimestampMs timestamp) {
  record::BatchBuilder builder(options);
  for (const std::string& value : values) EXPECT_TRUE(builder.add(timestamp, std::nullopt, as_bytes(value)));
  const Result<Bytes> batch = builder.finish();
  EXPECT_TRUE(batch);
  return batch ? std::string(as_text(*batch)) : std::string();
}

void repair_crc(std::string& batch) {
  auto* const bytes = reinterpret_cast<std::byte*>(batch.data());
  store_big_endian(bytes + record::kCrcPosition, record::compute_crc({bytes, batch.size()}));
}

std::string produce_frame(const std::string& topic, std::string_view records, std::int32_t partition, std::int16_t acks,
                          std::int32_t correlation_id, std::int16_t version) {
  kafka::ProduceRequest request{.acks = acks, .timeout_ms = 30'000};
  auto& data = request.topic_data.emplace_back();
  data.name = topic;
  data.partition_data.push_back({.index = partition, .records = as_bytes(records)});
  return Client::frame(request, version, correlation_id);
}

Produced produce(Client& client, const std::string& topic, std::string_view records, std::int32_t partition,
                 std::int16_t acks, std::int16_t version) {
  constexpr std::int32_t kCorrelationId = 77;
  EXPECT_TRUE(client.send(produce_frame(topic, records, partition, acks, kCorrelationId, version)));
  const auto answer = client.hear<kafka::ProduceResponse>(version, kCorrelationId);
  if (answer->responses.size() != 1 || answer->responses[0].partition_responses.size() != 1) {
    ADD_FAILURE() << "not one partition in the answer";
    return {.error = ErrorCode::UNKNOWN_SERVER_ERROR};
  }
  EXPECT_EQ(answer->responses[0].name, topic);
  const auto& one = answer->responses[0].partition_responses[0];
  EXPECT_EQ(one.index, partition);
  Produced produced{.error = static_cast<ErrorCode>(one.error_code),
                    .base_offset = one.base_offset,
                    .append_time = one.log_append_time_ms};
  for (const auto& each : one.record_errors) produced.record_errors.push_back(each.batch_index);
  return produced;
}

Fetched fetch(Client& client, const std::string& topic, Offset offset, const FetchOptions& options) {
  kafka::FetchRequest request{
      .max_wait_ms = options.max_wait_ms, .min_bytes = options.min_bytes, .max_bytes = options.max_bytes};
  auto& asked = request.topics.emplace_back();
  asked.topic = topic;
  asked.partitions.push_back({.partition = options.partition,
                              .current_leader_epoch = options.leader_epoch,
                              .fetch_offset = offset,
                              .partition_max_bytes = options.partition_max_bytes});
  const auto answer = client.call<kafka::FetchResponse>(request, options.version);
  if (answer->responses.size() != 1 || answer->responses[0].partitions.size() != 1) {
    ADD_FAILURE() << "not one partition in the answer, error " << answer->error_code;
    return {.error = ErrorCode::UNKNOWN_SERVER_ERROR};
  }
  const auto& one = answer->responses[0].partitions[0];
  return {.error = static_cast<ErrorCode>(one.error_code),
          .high_watermark = one.high_watermark,
          .log_start = one.log_start_offset,
          .records = std::string(as_text(one.records.bytes.value_or(Bytes{})))};
}

Listed list_offset(Client& client, const std::string& topic, TimestampMs timestamp, std::int32_t partition,
                   LeaderEpoch current_epoch, std::int16_t version) {
  kafka::ListOffsetsRequest request{.replica_id = -1};
  auto& asked = request.topics.emplace_back();
  asked.name = topic;
  asked.partitions.push_back(
      {.partition_index = partition, .current_leader_epoch = current_epoch, .timestamp = timestamp});
  const auto answer = client.call<kafka::ListOffsetsResponse>(request, version);
  if (answer->topics.size() != 1 || answer->topics[0].partitions.size() != 1) {
    ADD_FAILURE() << "not one partition in the answer";
    return {.error = ErrorCode::UNKNOWN_SERVER_ERROR};
  }
  const auto& one = answer->topics[0].partitions[0];
  return {static_cast<ErrorCode>(one.error_code), one.offset, one.timestamp, one.leader_epoch};
}

Offset log_end(Client& client, const std::string& topic, std::int32_t partition) {
  constexpr TimestampMs kLatest = -1;
  const Listed listed = list_offset(client, topic, kLatest, partition);
  EXPECT_EQ(listed.error, ErrorCode::NONE);
  return listed.offset;
}

std::vector<record::BatchHeader> headers_of(std::string_view records, std::size_t* left_over) {
  std::vector<record::BatchHeader> headers;
  while (records.size() >= record::kBatchHeaderSize) {
    const record::BatchHeader header = record::read_header(as_bytes(records).data());
    if (header.batch_length < 49 || header.size_bytes() > records.size()) break;
    headers.push_back(header);
    records.remove_prefix(header.size_bytes());
  }
  if (left_over != nullptr) *left_over = records.size();
  return headers;
}

std::vector<std::string> values_of(std::string_view records) {
  std::vector<std::string> values;
  for (const record::BatchHeader& header : headers_of(records)) {
    record::Scratch scratch;
    constexpr std::size_t kUnpackedMax = std::size_t{64} << 20;
    auto opened = record::Records::open(as_bytes(records.substr(0, header.size_bytes())), scratch, kUnpackedMax);
    EXPECT_TRUE(opened);
    record::Record record;
    while (opened) {
      const Result<bool> more = opened->next(record);
      EXPECT_TRUE(more);
      if (!more || !*more) break;
      values.emplace_back(as_text(record.value.value_or(Bytes{})));
    }
    records.remove_prefix(header.size_bytes());
  }
  return values;
}

}  // namespace tailrace::wire
