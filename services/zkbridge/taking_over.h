// Taking over the data directory of a Kafka: the changes to a new metadata tree that make the topics found there ours.
// PURE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/zkbridge/found.h"
#include "services/zkbridge/store.h"
#include "services/zkbridge/topic_plans.h"

namespace tailrace::zkbridge {

// As Kafka makes them: version 4, and never with a '-' in front, which tools would take for an option.
Uuid random_id(const Chance& chance);

// Every partition is led by `node`, in an epoch above all that its log has seen. A topic whose settings the directory
// does not know gets ones under which nothing is removed; internal topics get Kafka's. New producer ids begin beyond
// any that could be in the logs. `notes` receives what people should know.
std::vector<Operation> take_over(const FoundData& found, BrokerId node, std::int32_t controller_epoch,
                                 const Chance& chance, TimestampMs now_ms, std::vector<std::string>& notes);

// The nodes of a topic that is not there yet: settings, topic, partitions and their states.
std::vector<Operation> make_topic_nodes(std::string_view name, const Topic& topic);

}  // namespace tailrace::zkbridge
