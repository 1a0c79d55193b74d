// Messages about settings and the logs of partitions.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/alter_configs.h"
#include "services/kafka/messages/delete_records.h"
#include "services/kafka/messages/describe_log_dirs.h"
#include "services/kafka/messages/describe_producers.h"
#include "services/kafka/messages/describe_topic_partitions.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/list_config_resources.h"

namespace tailrace::kafka {

template struct Codec<AlterConfigsRequest>;
template struct Codec<AlterConfigsResponse>;
template struct Codec<DeleteRecordsRequest>;
template struct Codec<DeleteRecordsResponse>;
template struct Codec<DescribeLogDirsRequest>;
template struct Codec<DescribeLogDirsResponse>;
template struct Codec<DescribeProducersRequest>;
template struct Codec<DescribeProducersResponse>;
template struct Codec<DescribeTopicPartitionsRequest>;
template struct Codec<DescribeTopicPartitionsResponse>;
template struct Codec<IncrementalAlterConfigsRequest>;
template struct Codec<IncrementalAlterConfigsResponse>;
template struct Codec<ListConfigResourcesRequest>;
template struct Codec<ListConfigResourcesResponse>;

}  // namespace tailrace::kafka
