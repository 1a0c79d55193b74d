// OffsetFetch: what a group has committed, for the partitions that are named or for all. The service finds the shard of
// each group and joins the groups' answers. Kafka: OffsetMetadataManager.fetchOffsets and the part of KafkaApis that
// knows the topics. PURE.
#pragma once

#include <cstdint>
#include <vector>

#include "services/groupcoord/answer_room.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/offset_fetch.h"

namespace tailrace::groupcoord {

class Shard;

using FetchedGroup = kafka::OffsetFetchResponse::OffsetFetchResponseGroup;
using WantedOffsets = kafka::OffsetFetchRequest::OffsetFetchRequestGroup;

// The groups of a request of any version, in the form of version 8.
[[nodiscard]] std::vector<WantedOffsets> wanted_offsets(const kafka::OffsetFetchRequest& request, std::int16_t version);

// One group's answer; it borrows from request, shard and the shard's image. A group that is not known has committed
// nothing. INVALID_REQUEST: the answer would be too large.
[[nodiscard]] FetchedGroup fetch_offsets(const Shard& shard, const WantedOffsets& group, bool require_stable,
                                         std::int16_t version, AnswerRoom& room);
// The group as a whole; before version 2 each of its partitions says it.
[[nodiscard]] FetchedGroup refuse_fetch(const WantedOffsets& group, kafka::ErrorCode error, std::int16_t version);

// The response of any version. There is one group before version 8.
[[nodiscard]] kafka::OffsetFetchResponse fetch_response(std::vector<FetchedGroup> groups, std::int16_t version);

}  // namespace tailrace::groupcoord
