#include "cli/record_times.h"

#include <algorithm>

#include "engine/record/first_time.h"
#include "services/kafka/messages/fetch.h"

namespace tailrace::cli {
namespace {

constexpr std::int16_t kFetchVersionMax = 12;  // the last that names topics by name
constexpr std::size_t kBatchPlainMax = std::size_t{1} << 30;
// Batches without a record of the kind that consumers see (transaction markers, what compaction has emptied) are passed
// over, but not for ever.
constexpr int kBatchesMax = 16;

Outcome<std::optional<TimestampMs>> record_time(Client& client, Connection& connection, const PartitionKey& key,
                                                Offset offset, record::Scratch& scratch) {
  for (int i = 0; i < kBatchesMax; ++i) {
    kafka::FetchRequest request;
    request.max_wait_ms = 0;
    request.min_bytes = 0;
    request.max_bytes = 1;  // the first batch comes whole, however large (KIP-74)
    request.topics.emplace_back();
    request.topics[0].topic = key.topic;
    request.topics[0].partitions.emplace_back();
    auto& wanted = request.topics[0].partitions[0];
    wanted.partition = key.partition;
    wanted.fetch_offset = offset;
    wanted.partition_max_bytes = 1;
    auto reply = ask<kafka::FetchResponse>(connection, request, client.timeout(), kFetchVersionMax);
    if (!reply) return std::unexpected(reply.error());
    const auto& topics = reply->message.responses;
    if (topics.empty() || topics[0].partitions.empty()) return std::nullopt;
    const auto& answer = topics[0].partitions[0];
    if (answer.error_code != 0 || !answer.records.bytes || answer.records.bytes->empty()) return std::nullopt;
    const auto first = record::first_time(*answer.records.bytes, offset, scratch, kBatchPlainMax);
    if (!first || first->time == kNoTimestamp) return std::nullopt;
    if (first->time) return first->time;
    if (first->next_offset <= offset) return std::nullopt;
    offset = first->next_offset;
  }
  return std::nullopt;
}

}  // namespace

Outcome<std::map<PartitionKey, TimestampMs>> record_times(Client& client, const Cluster& cluster,
                                                          const std::map<PartitionKey, Offset>& offsets) {
  std::map<PartitionKey, TimestampMs> times;
  record::Scratch scratch;
  for (const Topic& topic : cluster.topics) {
    for (const Partition& partition : topic.partitions) {
      const auto wanted = offsets.find({topic.name, partition.index});
      if (wanted == offsets.end() || partition.leader < 0) continue;
      auto connection = client.broker(partition.leader);
      if (!connection) return std::unexpected(connection.error());
      auto time = record_time(client, **connection, wanted->first, wanted->second, scratch);
      if (!time) return std::unexpected(time.error());
      if (*time) times[wanted->first] = **time;
    }
  }
  return times;
}

std::optional<std::int64_t> lag_ms(std::optional<std::int64_t> lag, std::optional<TimestampMs> oldest_unread,
                                   TimestampMs now) {
  if (lag == 0) return 0;
  if (!oldest_unread) return std::nullopt;
  return std::max<std::int64_t>(0, now - *oldest_unread);
}

}  // namespace tailrace::cli
