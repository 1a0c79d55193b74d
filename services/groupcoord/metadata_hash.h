// The hash of the topics that a consumer group is subscribed to (KIP-1101): it changes when one comes or goes, gets
// partitions, or has replicas in other racks, and then the group is assigned anew. It stands in the group's record, so
// it is Kafka's bit for bit (Utils.computeGroupHash). PURE.
#pragma once

#include <cstdint>

#include "services/groupcoord/subscriptions.h"

namespace tailrace::node {
class MetadataImage;
struct TopicImage;
}  // namespace tailrace::node

namespace tailrace::groupcoord {

[[nodiscard]] std::int64_t topic_hash(const node::TopicImage& topic, const node::MetadataImage& image);
// 0: none of the topics exists.
[[nodiscard]] std::int64_t metadata_hash(const Subscriptions::Topics& topics, const node::MetadataImage& image);

// Partitions are numbered without gaps.
[[nodiscard]] std::int32_t partition_count(const node::TopicImage& topic);

}  // namespace tailrace::groupcoord
