// Messages by which clients find their way.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/api_versions.h"
#include "services/kafka/messages/describe_cluster.h"
#include "services/kafka/messages/find_coordinator.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/metadata.h"

namespace tailrace::kafka {

template struct Codec<ApiVersionsRequest>;
template struct Codec<ApiVersionsResponse>;
template struct Codec<DescribeClusterRequest>;
template struct Codec<DescribeClusterResponse>;
template struct Codec<FindCoordinatorRequest>;
template struct Codec<FindCoordinatorResponse>;
template struct Codec<InitProducerIdRequest>;
template struct Codec<InitProducerIdResponse>;
template struct Codec<MetadataRequest>;
template struct Codec<MetadataResponse>;

}  // namespace tailrace::kafka
