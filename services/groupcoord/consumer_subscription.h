// What consumers put into JoinGroup and SyncGroup (kafka/consumer_protocol.h), in the terms of consumer groups. Topics
// that do not exist are left out. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/bytes.h"
#include "services/groupcoord/assignment.h"
#include "services/kafka/messages/consumer_protocol.h"

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

using Subscription = kafka::ConsumerProtocolSubscription;

// nullopt: it is none. Borrows.
[[nodiscard]] std::optional<Subscription> parse_subscription(Bytes metadata);
[[nodiscard]] Assignment owned_partitions(const Subscription& subscription, const node::MetadataImage& image);

struct ParsedAssignment {
  Assignment partitions;
  bool has_user_data = false;  // of an assignor that is not one of Kafka's
};
// No bytes: nothing is assigned. nullopt: it is none.
[[nodiscard]] std::optional<ParsedAssignment> parse_assignment(Bytes bytes, const node::MetadataImage& image);

// In the version of the member's `metadata`.
[[nodiscard]] std::vector<std::byte> assignment_bytes(const Assignment& partitions, Bytes metadata,
                                                      const node::MetadataImage& image);

// The same partitions without epochs, or all with this one.
[[nodiscard]] Assignment without_epochs(const AssignmentEpochs& partitions);
[[nodiscard]] AssignmentEpochs with_epoch(const Assignment& partitions, std::int32_t epoch);

}  // namespace tailrace::groupcoord
