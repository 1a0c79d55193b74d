// Conversion of groups between the classic and the consumer protocol while their members are on-line (KIP-848's
// migration): a classic group becomes a consumer group when the first member of that protocol comes, and goes back when
// the last of them leaves (ConsumerGroup::take_successor). Members that speak the classic protocol go on with what they
// have. Settings say which of the two is allowed (group.consumer.migration.policy). PURE.
#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "services/groupcoord/effects.h"
#include "services/groupcoord/refusal.h"

namespace tailrace::kafka {
struct ConsumerGroupHeartbeatRequest;
}

namespace tailrace::groupcoord {

class ClassicGroup;
class ConsumerGroup;
struct Context;

// The group that stands in the place of `classic`, for `request`, which has epoch 0, is not one to be refused, and is
// served by it next. An empty classic group just ends. What waits in `classic` is answered. On a refusal nothing is
// changed.
std::expected<std::unique_ptr<ConsumerGroup>, Refusal> upgrade(ClassicGroup& classic, Context& context,
                                                               const kafka::ConsumerGroupHeartbeatRequest& request,
                                                               const Moment& moment, Effects& effects);

// A request of the consumer protocol that does not join, to a classic group.
Refusal not_a_consumer_group(std::string_view group);

}  // namespace tailrace::groupcoord
