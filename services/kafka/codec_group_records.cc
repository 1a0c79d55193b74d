// Records of `__consumer_offsets`, and what consumers tell each other.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/consumer_group_records.h"
#include "services/kafka/messages/consumer_protocol.h"
#include "services/kafka/messages/group_records.h"

namespace tailrace::kafka {

template struct Codec<ConsumerGroupCurrentMemberAssignmentKey>;
template struct Codec<ConsumerGroupCurrentMemberAssignmentValue>;
template struct Codec<ConsumerGroupMemberMetadataKey>;
template struct Codec<ConsumerGroupMemberMetadataValue>;
template struct Codec<ConsumerGroupMetadataKey>;
template struct Codec<ConsumerGroupMetadataValue>;
template struct Codec<ConsumerGroupPartitionMetadataKey>;
template struct Codec<ConsumerGroupPartitionMetadataValue>;
template struct Codec<ConsumerGroupRegularExpressionKey>;
template struct Codec<ConsumerGroupRegularExpressionValue>;
template struct Codec<ConsumerGroupTargetAssignmentMemberKey>;
template struct Codec<ConsumerGroupTargetAssignmentMemberValue>;
template struct Codec<ConsumerGroupTargetAssignmentMetadataKey>;
template struct Codec<ConsumerGroupTargetAssignmentMetadataValue>;
template struct Codec<ConsumerProtocolAssignment>;
template struct Codec<ConsumerProtocolSubscription>;
template struct Codec<GroupMetadataKey>;
template struct Codec<GroupMetadataValue>;
template struct Codec<LegacyOffsetCommitKey>;
template struct Codec<LegacyOffsetCommitValue>;
template struct Codec<OffsetCommitKey>;
template struct Codec<OffsetCommitValue>;

}  // namespace tailrace::kafka
