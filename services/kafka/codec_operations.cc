// Messages about replicas, quotas and client metrics.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/alter_partition_reassignments.h"
#include "services/kafka/messages/describe_client_quotas.h"
#include "services/kafka/messages/describe_user_scram_credentials.h"
#include "services/kafka/messages/elect_leaders.h"
#include "services/kafka/messages/get_telemetry_subscriptions.h"
#include "services/kafka/messages/list_partition_reassignments.h"
#include "services/kafka/messages/push_telemetry.h"

namespace tailrace::kafka {

template struct Codec<AlterClientQuotasRequest>;
template struct Codec<AlterClientQuotasResponse>;
template struct Codec<AlterPartitionReassignmentsRequest>;
template struct Codec<AlterPartitionReassignmentsResponse>;
template struct Codec<DescribeClientQuotasRequest>;
template struct Codec<DescribeClientQuotasResponse>;
template struct Codec<DescribeUserScramCredentialsRequest>;
template struct Codec<DescribeUserScramCredentialsResponse>;
template struct Codec<ElectLeadersRequest>;
template struct Codec<ElectLeadersResponse>;
template struct Codec<GetTelemetrySubscriptionsRequest>;
template struct Codec<GetTelemetrySubscriptionsResponse>;
template struct Codec<ListPartitionReassignmentsRequest>;
template struct Codec<ListPartitionReassignmentsResponse>;
template struct Codec<PushTelemetryRequest>;
template struct Codec<PushTelemetryResponse>;

}  // namespace tailrace::kafka
