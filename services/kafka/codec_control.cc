// Messages between the controller and the brokers, and between the processes of a node.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/allocate_producer_ids.h"
#include "services/kafka/messages/alter_partition.h"
#include "services/kafka/messages/controlled_shutdown.h"
#include "services/kafka/messages/group_lag.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/update_metadata.h"

namespace tailrace::kafka {

template struct Codec<AllocateProducerIdsRequest>;
template struct Codec<AllocateProducerIdsResponse>;
template struct Codec<AlterPartitionRequest>;
template struct Codec<AlterPartitionResponse>;
template struct Codec<ControlledShutdownRequest>;
template struct Codec<ControlledShutdownResponse>;
template struct Codec<LeaderAndIsrRequest>;
template struct Codec<LeaderAndIsrResponse>;
template struct Codec<StopReplicaRequest>;
template struct Codec<StopReplicaResponse>;
template struct Codec<UpdateMetadataRequest>;
template struct Codec<UpdateMetadataResponse>;
template struct Codec<ConfigImage>;
template struct Codec<GroupLagRequest>;
template struct Codec<GroupLagResponse>;
template struct Codec<NodeRegistrationRequest>;
template struct Codec<NodeRegistrationResponse>;

}  // namespace tailrace::kafka
