// The keys that a topic, and those that a subscription to the metrics of clients can be given. Sorted by name.
// Defaults are those of Kafka 4.4, ranges the wider of 4.4 and 3.9. A key with a text is one that we use; the others
// are Kafka's, and here so that a file written for Kafka is understood (settings.h).
#include "services/node/settings.h"

namespace tailrace::node {
namespace {

using namespace allow;
using enum SettingType;
using enum Update;

constexpr Setting kTopicSettings[] = {
    // clang-format off
    {"cleanup.policy", list, "delete", list_of("compact,delete"), read_only, kKafka,
     "With delete, segments go by retention.ms and retention.bytes. With compact, records without a key are refused. "
     "(Nothing is compacted yet.)"},
    {"compression.gzip.level", int32, "-1", between_or_minus_one(1, 9), read_only, kKafka,
     "Where compression.type is gzip and a batch comes in another codec."},
    {"compression.lz4.level", int32, "9", between(1, 17), read_only, kKafka,
     "The same of lz4: 9 is the fast compressor, the others those of high compression."},
    {"compression.type", string, "producer", one_of("uncompressed,zstd,lz4,snappy,gzip,producer"), read_only, kKafka,
     "Batches that come in another codec are packed anew; producer: they stay as they are."},
    {"compression.zstd.level", int32, "3", between(-131072, 22), read_only, kKafka,
     "The same of zstd."},
    {"delete.retention.ms", int64, "86400000", at_least(0), read_only, kKafka},
    {"errors.deadletterqueue.group.enable", boolean, "false", anything(), read_only, kKafka4},
    {"file.delete.delay.ms", int64, "60000", at_least(0), read_only, kKafka,
     "How long an expired segment stays under the name .deleted."},
    {"flush.messages", int64, "9223372036854775807", at_least(1), read_only, kKafka},
    {"flush.ms", int64, "9223372036854775807", at_least(0), read_only, kKafka},
    {"follower.replication.throttled.replicas", list, "", replicas(), read_only, kKafka},
    {"index.interval.bytes", int32, "4096", at_least(0), read_only, kKafka,
     "Bytes of records between two entries of an index."},
    {"internal.segment.bytes", int32, nullptr, anything(), read_only, kKafka4 | kInternal,
     "Goes before segment.bytes where it is set."},
    {"leader.replication.throttled.replicas", list, "", replicas(), read_only, kKafka},
    {"local.retention.bytes", int64, "-2", at_least(-2), read_only, kKafka},
    {"local.retention.ms", int64, "-2", at_least(-2), read_only, kKafka},
    {"max.compaction.lag.ms", int64, "9223372036854775807", at_least(1), read_only, kKafka},
    {"max.decompressed.message.bytes", int32, "2147483639", between(1, 2147483639), read_only, kKafka4,
     "Largest record taken in a compressed batch."},
    {"max.message.bytes", int32, "1048588", at_least(0), read_only, kKafka,
     "Largest batch of records taken."},
    {"message.downconversion.enable", boolean, "true", anything(), read_only, kKafka3},
    {"message.format.version", string, "3.0-IV1", anything(), read_only, kKafka3},
    {"message.timestamp.after.max.ms", int64, "3600000", at_least(0), read_only, kKafka,
     "How far a record's time may be ahead of this node's clock."},
    {"message.timestamp.before.max.ms", int64, "9223372036854775807", at_least(0), read_only, kKafka,
     "How far a record's time may be behind this node's clock."},
    {"message.timestamp.difference.max.ms", int64, "9223372036854775807", at_least(0), read_only, kKafka3,
     "Kafka 3's one bound for both directions; used where the two newer keys are unset."},
    {"message.timestamp.type", string, "CreateTime", one_of("CreateTime,LogAppendTime"), read_only, kKafka,
     "Whether records carry the producer's time or the time of the append."},
    {"min.cleanable.dirty.ratio", float64, "0.5", real_between(0, 1), read_only, kKafka},
    {"min.compaction.lag.ms", int64, "0", at_least(0), read_only, kKafka},
    {"min.insync.replicas", int32, "1", at_least(1), read_only, kKafka,
     "In-sync replicas that a write with acks=all needs."},
    {"preallocate", boolean, "false", anything(), read_only, kKafka},
    {"remote.copy.lag.bytes", int64, "-1", at_least(-1), read_only, kKafka4},
    {"remote.copy.lag.ms", int64, "0", at_least(-1), read_only, kKafka4},
    {"remote.log.copy.disable", boolean, "false", anything(), read_only, kKafka},
    {"remote.log.delete.on.disable", boolean, "false", anything(), read_only, kKafka},
    {"remote.storage.enable", boolean, "false", anything(), read_only, kKafka},
    {"retention.bytes", int64, "-1", anything(), read_only, kKafka,
     "The oldest segments of a partition go while the others have this size; -1: never."},
    {"retention.ms", int64, "604800000", at_least(-1), read_only, kKafka,
     "A segment goes when its newest record is older; -1: never."},
    {"segment.bytes", int32, "1073741824", at_least(14), read_only, kKafka,
     "A new segment begins when the active one would exceed this size."},
    {"segment.index.bytes", int32, "10485760", at_least(4), read_only, kKafka,
     "Largest size of an index file; a full index rolls the segment."},
    {"segment.jitter.ms", int64, "0", at_least(0), read_only, kKafka,
     "Random part taken off segment.ms."},
    {"segment.ms", int64, "604800000", at_least(1), read_only, kKafka,
     "A new segment begins when the records of the active one span this time."},
    {"unclean.leader.election.enable", boolean, "false", anything(), read_only, kKafka},
    // clang-format on
};

constexpr Setting kClientMetricsSettings[] = {
    // clang-format off
    {"interval.ms", int32, "300000", anything(), read_only, kKafka,
     "How often clients of the subscription send what they measure."},
    {"match", list, "", anything(), read_only, kKafka,
     "Which clients the subscription is for: PARAMETER=PATTERN, all of which must match; empty: all."},
    {"metrics", list, "", anything(), read_only, kKafka,
     "Prefixes of the names of metrics to send; * is all of them, empty none."},
    // clang-format on
};

// Those that a broker says for all groups come from its settings group.* (group_config.h). Nobody may change them for
// a broker here.
constexpr Setting kGroupSettings[] = {
    // clang-format off
    {"consumer.assignment.interval.ms", int32, "1000", at_least(0), cluster_wide, kKafka4,
     "Least time between two target assignments of the group; within group.consumer.min and max.assignment.interval.ms."},
    {"consumer.assignor.offload.enable", boolean, "true", anything(), cluster_wide, kKafka4 | kInternal},
    {"consumer.heartbeat.interval.ms", int32, "5000", at_least(1), cluster_wide, kKafka,
     "How often members of the group are to send heartbeats; within group.consumer.min and max.heartbeat.interval.ms."},
    {"consumer.session.timeout.ms", int32, "45000", at_least(1), cluster_wide, kKafka,
     "A member of the group that sends no heartbeat for this long is removed; within group.consumer.min and max.session.timeout.ms."},
    {"errors.deadletterqueue.copy.record.enable", boolean, "false", anything(), cluster_wide, kKafka4},
    {"errors.deadletterqueue.topic.name", string, "", anything(), cluster_wide, kKafka4},
    {"share.assignment.interval.ms", int32, "1000", at_least(0), cluster_wide, kKafka4},
    {"share.assignor.offload.enable", boolean, "true", anything(), cluster_wide, kKafka4 | kInternal},
    {"share.auto.offset.reset", string, "latest", anything(), cluster_wide, kKafka4},
    {"share.delivery.count.limit", int32, "5", at_least(2), cluster_wide, kKafka4},
    {"share.heartbeat.interval.ms", int32, "5000", at_least(1), cluster_wide, kKafka4},
    {"share.isolation.level", string, "read_uncommitted", one_of("read_committed,read_uncommitted"), cluster_wide, kKafka4},
    {"share.partition.max.record.locks", int32, "2000", at_least(100), cluster_wide, kKafka4},
    {"share.record.lock.duration.ms", int32, "30000", at_least(1000), cluster_wide, kKafka4},
    {"share.renew.acknowledge.enable", boolean, "true", anything(), cluster_wide, kKafka4},
    {"share.session.timeout.ms", int32, "45000", at_least(1), cluster_wide, kKafka4},
    {"streams.acceptable.recovery.lag", int64, "10000", at_least(0), cluster_wide, kKafka4 | kInternal},
    {"streams.assignment.interval.ms", int32, "1000", at_least(0), cluster_wide, kKafka4},
    {"streams.assignor.name", string, nullptr, anything(), cluster_wide, kKafka4},
    {"streams.assignor.offload.enable", boolean, "true", anything(), cluster_wide, kKafka4 | kInternal},
    {"streams.heartbeat.interval.ms", int32, "5000", at_least(1), cluster_wide, kKafka4},
    {"streams.initial.rebalance.delay.ms", int32, "3000", at_least(0), cluster_wide, kKafka4},
    {"streams.num.standby.replicas", int32, "0", at_least(0), cluster_wide, kKafka4},
    {"streams.num.warmup.replicas", int32, "2", at_least(0), cluster_wide, kKafka4 | kInternal},
    {"streams.rack.aware.assignment.tags", list, "", anything(), cluster_wide, kKafka4},
    {"streams.session.timeout.ms", int32, "45000", at_least(1), cluster_wide, kKafka4},
    {"streams.task.offset.interval.ms", int32, "60000", at_least(1), cluster_wide, kKafka4 | kInternal},
    // clang-format on
};

}  // namespace

std::span<const Setting> topic_settings() { return kTopicSettings; }
std::span<const Setting> client_metrics_settings() { return kClientMetricsSettings; }
std::span<const Setting> group_settings() { return kGroupSettings; }

}  // namespace tailrace::node
