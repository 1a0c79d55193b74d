// The question of admin.h about offsets.
#include "cli/admin.h"
#include "services/kafka/messages/list_offsets.h"

namespace tailrace::cli {

Outcome<std::map<PartitionKey, FoundOffset>> find_offsets(Client& client, const Cluster& cluster,
                                                          const std::vector<PartitionKey>& keys, std::int64_t time,
                                                          bool committed_only) {
  std::map<PartitionKey, BrokerId> leaders;
  for (const Topic& topic : cluster.topics) {
    for (const Partition& partition : topic.partitions) leaders[{topic.name, partition.index}] = partition.leader;
  }
  std::map<PartitionKey, FoundOffset> found;
  std::map<BrokerId, kafka::ListOffsetsRequest> requests;
  for (const PartitionKey& key : keys) {
    const auto leader = leaders.find(key);
    if (leader == leaders.end() || leader->second < 0) {
      found[key].error = leader == leaders.end() ? "there is no such partition" : "it has no leader";
      continue;
    }
    found[key].error = "the broker says nothing about it";
    kafka::ListOffsetsRequest& request = requests[leader->second];
    request.replica_id = -1;
    request.isolation_level = committed_only ? 1 : 0;
    request.timeout_ms = static_cast<std::int32_t>(client.timeout().count());
    if (request.topics.empty() || request.topics.back().name != key.topic) {
      request.topics.emplace_back();
      request.topics.back().name = key.topic;
    }
    request.topics.back().partitions.emplace_back();
    request.topics.back().partitions.back().partition_index = key.partition;
    request.topics.back().partitions.back().timestamp = time;
  }
  for (const auto& [leader, request] : requests) {
    auto connection = client.broker(leader);
    if (!connection) return std::unexpected(connection.error());
    // Times below -2 came with versions 7 to 11; an older broker would take them for a time.
    const std::int16_t needed = time >= kEarliestTime ? 1 : time == -3 ? 7 : time == -4 ? 8 : time == -5 ? 9 : 11;
    if ((*connection)->version_for(kafka::ListOffsetsRequest::kMessage.api_key, needed, 11) < 0) {
      return std::unexpected(fmt::format("{} does not know this time", (*connection)->address().text()));
    }
    auto reply = ask<kafka::ListOffsetsResponse>(**connection, request, client.timeout());
    if (!reply) return std::unexpected(reply.error());
    for (const auto& topic : reply->message.topics) {
      for (const auto& partition : topic.partitions) {
        const auto at = found.find({std::string(topic.name), partition.partition_index});
        if (at == found.end()) continue;
        at->second = {.offset = partition.offset,
                      .timestamp = partition.timestamp,
                      .leader_epoch = partition.leader_epoch,
                      .error = partition.error_code == 0 ? std::string() : describe_error(partition.error_code)};
      }
    }
  }
  return found;
}

}  // namespace tailrace::cli
