// Messages that move records and offsets.
#include "services/kafka/codec_templates.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/list_offsets.h"
#include "services/kafka/messages/offset_for_leader_epoch.h"
#include "services/kafka/messages/produce.h"

namespace tailrace::kafka {

template struct Codec<FetchRequest>;
template struct Codec<FetchResponse>;
template struct Codec<ListOffsetsRequest>;
template struct Codec<ListOffsetsResponse>;
template struct Codec<OffsetForLeaderEpochRequest>;
template struct Codec<OffsetForLeaderEpochResponse>;
template struct Codec<ProduceRequest>;
template struct Codec<ProduceResponse>;

}  // namespace tailrace::kafka
