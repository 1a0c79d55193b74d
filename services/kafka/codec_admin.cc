// Messages that administrate topics and settings.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/describe_configs.h"

namespace tailrace::kafka {

template struct Codec<CreatePartitionsRequest>;
template struct Codec<CreatePartitionsResponse>;
template struct Codec<CreateTopicsRequest>;
template struct Codec<CreateTopicsResponse>;
template struct Codec<DeleteTopicsRequest>;
template struct Codec<DeleteTopicsResponse>;
template struct Codec<DescribeConfigsRequest>;
template struct Codec<DescribeConfigsResponse>;

}  // namespace tailrace::kafka
