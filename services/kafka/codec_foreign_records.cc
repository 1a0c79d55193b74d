// Records of `__consumer_offsets` about kinds of groups that are not coordinated here, but may be on a disk.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/share_group_records.h"
#include "services/kafka/messages/streams_group_records.h"

namespace tailrace::kafka {

template struct Codec<ShareGroupCurrentMemberAssignmentKey>;
template struct Codec<ShareGroupCurrentMemberAssignmentValue>;
template struct Codec<ShareGroupMemberMetadataKey>;
template struct Codec<ShareGroupMemberMetadataValue>;
template struct Codec<ShareGroupMetadataKey>;
template struct Codec<ShareGroupMetadataValue>;
template struct Codec<ShareGroupStatePartitionMetadataKey>;
template struct Codec<ShareGroupStatePartitionMetadataValue>;
template struct Codec<ShareGroupTargetAssignmentMemberKey>;
template struct Codec<ShareGroupTargetAssignmentMemberValue>;
template struct Codec<ShareGroupTargetAssignmentMetadataKey>;
template struct Codec<ShareGroupTargetAssignmentMetadataValue>;
template struct Codec<StreamsGroupCurrentMemberAssignmentKey>;
template struct Codec<StreamsGroupCurrentMemberAssignmentValue>;
template struct Codec<StreamsGroupMemberMetadataKey>;
template struct Codec<StreamsGroupMemberMetadataValue>;
template struct Codec<StreamsGroupMetadataKey>;
template struct Codec<StreamsGroupMetadataValue>;
template struct Codec<StreamsGroupTargetAssignmentMemberKey>;
template struct Codec<StreamsGroupTargetAssignmentMemberValue>;
template struct Codec<StreamsGroupTargetAssignmentMetadataKey>;
template struct Codec<StreamsGroupTargetAssignmentMetadataValue>;
template struct Codec<StreamsGroupTopologyKey>;
template struct Codec<StreamsGroupTopologyValue>;

}  // namespace tailrace::kafka
