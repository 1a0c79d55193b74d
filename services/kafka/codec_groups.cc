// Messages of consumer groups and of the offsets that they commit.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/consumer_group_describe.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/delete_groups.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/list_groups.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/offset_fetch.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::kafka {

template struct Codec<ConsumerGroupDescribeRequest>;
template struct Codec<ConsumerGroupDescribeResponse>;
template struct Codec<ConsumerGroupHeartbeatRequest>;
template struct Codec<ConsumerGroupHeartbeatResponse>;
template struct Codec<DeleteGroupsRequest>;
template struct Codec<DeleteGroupsResponse>;
template struct Codec<DescribeGroupsRequest>;
template struct Codec<DescribeGroupsResponse>;
template struct Codec<HeartbeatRequest>;
template struct Codec<HeartbeatResponse>;
template struct Codec<JoinGroupRequest>;
template struct Codec<JoinGroupResponse>;
template struct Codec<LeaveGroupRequest>;
template struct Codec<LeaveGroupResponse>;
template struct Codec<ListGroupsRequest>;
template struct Codec<ListGroupsResponse>;
template struct Codec<OffsetCommitRequest>;
template struct Codec<OffsetCommitResponse>;
template struct Codec<OffsetDeleteRequest>;
template struct Codec<OffsetDeleteResponse>;
template struct Codec<OffsetFetchRequest>;
template struct Codec<OffsetFetchResponse>;
template struct Codec<SyncGroupRequest>;
template struct Codec<SyncGroupResponse>;

}  // namespace tailrace::kafka
