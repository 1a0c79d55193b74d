#include "services/broker/produce.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "engine/api/client.h"
#include "engine/base/check.h"
#include "engine/record/batch.h"
#include "engine/record/validate.h"
#include "services/broker/topics.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/produce.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using kafka::ProduceRequest;
using kafka::ProduceResponse;
using PartitionAnswer = ProduceResponse::PartitionProduceResponse;

constexpr std::int16_t kFirstVersionWithZstd = 7;
constexpr std::int16_t kFirstVersionWithTopicIds = 13;
// Of one batch: so much the memory of this process may grow by for it, and so long (a tenth of a second for each 50 MB)
// the loop is busy. Kafka has no such bound.
constexpr std::size_t kUncompressedBytesMax = std::size_t{256} << 20;
// Between two batches the loop looks after other connections when those of a turn have taken so long.
constexpr std::int64_t kWorkOfTurnNs = 10'000'000;
constexpr std::size_t kScratchKeptBytes = std::size_t{8} << 20;
// One request is told so many of the records that broke a rule: a small batch may unpack to millions. Kafka tells all.
constexpr std::size_t kRecordErrorsMax = 10'000;

// BrokerCompressionType.targetCompression
record::Compression target_codec(const node::TopicConfig& config, record::Compression sent) {
  const std::string& type = config.compression_type;
  if (type == "producer") return sent;
  for (const auto codec :
       {record::Compression::gzip, record::Compression::snappy, record::Compression::lz4, record::Compression::zstd}) {
    if (type == record::name(codec)) return codec;
  }
  return record::Compression::none;  // "uncompressed"
}

std::optional<int> level_of(const node::TopicConfig& config, record::Compression codec) {
  switch (codec) {
    case record::Compression::gzip:
      return config.gzip_level;
    case record::Compression::lz4:
      return config.lz4_level;
    case record::Compression::zstd:
      return config.zstd_level;
    case record::Compression::none:
    case record::Compression::snappy:
      return std::nullopt;
  }
  return std::nullopt;
}

void give_back_if_large(record::Scratch& scratch) {
  if (scratch.capacity() > kScratchKeptBytes) scratch = record::Scratch{};
}

void refuse(PartitionAnswer& answer, ErrorCode code) {
  answer.error_code = static_cast<std::int16_t>(code);
  answer.base_offset = kNoOffset;
}

// No more than there are replicas, as in Kafka since 3.7 (Partition.effectiveMinIsr).
std::size_t in_sync_min(const node::TopicImage& topic, const node::PartitionImage& partition) {
  return std::min(static_cast<std::size_t>(topic.config.min_insync_replicas), partition.replicas.size());
}

}  // namespace

struct Produce::Target {
  const node::TopicImage* topic = nullptr;
  std::int32_t partition = 0;
  ErrorCode error = ErrorCode::NONE;  // of the topic as a whole
};

struct Produce::PartitionAppend {
  Pending* pending = nullptr;
  std::size_t topic = 0;  // places in the response
  std::size_t partition = 0;
  TimestampMs append_time = kNoTimestamp;  // with LogAppendTime
  std::optional<ipc::Arena::Chunk> chunk;  // of the batch that was packed anew, where it did not fit its old place
  api::Call<api::Appended> call;
  void on_appended(const api::Appended& answer, Bytes extra);
};

struct Produce::Pending {
  Produce* produce = nullptr;
  Request* request = nullptr;
  ProduceRequest message;
  ProduceResponse response;
  std::vector<PartitionAppend> appends;  // sized before the first call: calls keep their places
  std::size_t next = 0;                  // of the appends, to be started
  std::size_t awaited = 0;
  std::size_t record_errors = 0;  // in the response
  bool has_error = false;

  PartitionAnswer& answer_of(const PartitionAppend& append) {
    return response.responses[append.topic].partition_responses[append.partition];
  }
};

Produce::Produce(NodeState& node, FrameMemory& frames, Counters& counters)
    : node_(node), rebuilt_memory_(node.arena, frames) {
  requests_ = counters.make("produce_requests");
  batches_ = counters.make("produce_batches");
  bytes_ = counters.make("produce_bytes");
  refused_ = counters.make("produce_batches_refused");
  rebuilt_count_ = counters.make("produce_batches_packed_anew");
  waits_ = counters.make("produce_waits_for_memory");
  pauses_ = counters.make("produce_pauses");
  next_turn_.bind<&Produce::go_on>(this);
}

Produce::~Produce() { node_.io.disarm(next_turn_); }

std::unique_ptr<Produce::Pending> Produce::take_pending() {
  if (spare_.empty()) return std::make_unique<Pending>();
  std::unique_ptr<Pending> pending = std::move(spare_.back());
  spare_.pop_back();
  return pending;
}

void Produce::start(Request& request) {
  requests_.add();
  Result<ProduceRequest> message = kafka::decode<ProduceRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  running_.push_back(take_pending());
  Pending& pending = *running_.back();
  pending.produce = this;
  pending.request = &request;
  pending.message = std::move(*message);
  pending.response = {};
  pending.appends.clear();
  pending.record_errors = 0;
  pending.has_error = false;

  std::size_t partitions = 0;
  for (const auto& topic : pending.message.topic_data) partitions += topic.partition_data.size();
  pending.appends.resize(partitions);
  pending.next = 0;
  pending.awaited = 1;  // until all are started
  pending.response.responses.resize(pending.message.topic_data.size());
  std::size_t next = 0;
  for (std::size_t t = 0; t < pending.message.topic_data.size(); ++t) {
    const auto& topic_data = pending.message.topic_data[t];
    auto& topic_response = pending.response.responses[t];
    topic_response.name = topic_data.name;
    topic_response.topic_id = topic_data.topic_id;
    topic_response.partition_responses.resize(topic_data.partition_data.size());
    for (std::size_t p = 0; p < topic_data.partition_data.size(); ++p) {
      PartitionAppend& append = pending.appends[next++];
      append.pending = &pending;
      append.topic = t;
      append.partition = p;
      append.append_time = kNoTimestamp;
      append.chunk.reset();
      append.call.bind<&PartitionAppend::on_appended>(&append);
      topic_response.partition_responses[p].index = topic_data.partition_data[p].index;
    }
  }
  waiting_.push_back(&pending);
  if (waiting_.size() == 1) go_on();
}

// Starts what waits, up to the first that must wait on.
void Produce::go_on() {
  while (!waiting_.empty() && start_appends(*waiting_.front())) {
    Pending& started = *waiting_.front();
    waiting_.pop_front();
    --started.awaited;
    answer_if_complete(started);
  }
}

// False: the next one waits, for memory or for the next turn.
bool Produce::start_appends(Pending& pending) {
  for (; pending.next < pending.appends.size(); ++pending.next) {
    if (must_pause()) return false;
    PartitionAppend& append = pending.appends[pending.next];
    const auto& data = pending.message.topic_data[append.topic].partition_data[append.partition];
    if (!start_partition(pending, append, data.records.value_or(Bytes{}))) return false;
  }
  return true;
}

bool Produce::must_pause() {
  const Instant now = node_.io.now();
  if (worked_ns_ == 0) return false;
  if (turn_ < now) worked_ns_ = 0;
  if (worked_ns_ < kWorkOfTurnNs) return false;
  if (!next_turn_.armed()) {
    pauses_.add();
    node_.io.arm(next_turn_, now + Duration{1});
  }
  return true;
}

Produce::Target Produce::target_of(const Pending& pending, const PartitionAppend& append) const {
  const auto& topic_data = pending.message.topic_data[append.topic];
  Target target;
  target.partition = topic_data.partition_data[append.partition].index;
  if (pending.request->header.api_version >= kFirstVersionWithTopicIds) {
    target.topic = node_.image->find(topic_data.topic_id);
    if (target.topic == nullptr) target.error = ErrorCode::UNKNOWN_TOPIC_ID;
  } else {
    target.topic = node_.image->find(topic_data.name);
    if (target.topic == nullptr) target.error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  }
  // Only Kafka's own admin client may write into the internal topics (KafkaApis, Topic.isInternal).
  if (target.topic != nullptr && is_internal_topic(target.topic->name) &&
      pending.request->header.client_id.value_or("") != "__admin_client") {
    target.error = ErrorCode::INVALID_TOPIC_EXCEPTION;
  }
  return target;
}

// False: it waits for memory, and nothing has happened yet.
bool Produce::start_partition(Pending& pending, PartitionAppend& append, Bytes records) {
  const Target target = target_of(pending, append);
  PartitionAnswer& answer = pending.answer_of(append);
  answer.base_offset = kNoOffset;
  const std::int16_t acks = pending.message.acks;
  ErrorCode error = target.error;
  if (acks < -1 || acks > 1) error = ErrorCode::INVALID_REQUIRED_ACKS;
  if (error == ErrorCode::NONE) {
    const node::PartitionImage* const partition = target.topic->find(target.partition);
    if (partition == nullptr) {
      error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    } else if (partition->leader != node_.node_id) {
      error = ErrorCode::NOT_LEADER_OR_FOLLOWER;
      answer.current_leader = {.leader_id = partition->leader, .leader_epoch = partition->leader_epoch};
    } else if (acks == -1 && partition->in_sync.size() < in_sync_min(*target.topic, *partition)) {
      error = ErrorCode::NOT_ENOUGH_REPLICAS;
    } else if (records.empty()) {
      error = ErrorCode::INVALID_RECORD;
    }
  }
  if (error != ErrorCode::NONE) {
    pending.has_error = true;
    refused_.add();
    refuse(answer, error);
    return true;
  }
  // The frame is ours until the engine has it: rewriting append times in place is allowed.
  const MutableBytes bytes{const_cast<std::byte*>(records.data()), records.size()};
  const std::int64_t since_ns = node_.io.steady_ns();
  const bool is_started = check_and_append(pending, append, target, bytes);
  turn_ = node_.io.now();
  worked_ns_ += node_.io.steady_ns() - since_ns;
  give_back_if_large(unpacked_);
  give_back_if_large(rebuilt_);
  return is_started;
}

bool Produce::check_and_append(Pending& pending, PartitionAppend& append, const Target& target, MutableBytes records) {
  PartitionAnswer& answer = pending.answer_of(append);
  const node::TopicConfig& config = target.topic->config;
  const auto fail = [&](ErrorCode code) {
    pending.has_error = true;
    refused_.add();
    refuse(answer, code);
    return true;
  };
  Result<record::BatchHeader> header = record::check_produced(records);
  if (!header) {
    const bool old_magic = header.error().code == Code::unsupported;
    return fail(old_magic ? ErrorCode::INVALID_RECORD : kafka::to_wire(header.error().code));
  }
  if (records.size() > static_cast<std::size_t>(config.max_message_bytes)) return fail(ErrorCode::MESSAGE_TOO_LARGE);
  if (header->compression() == record::Compression::zstd &&
      pending.request->header.api_version < kFirstVersionWithZstd) {
    return fail(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  }
  // Nobody coordinates transactions, so none is open in which a record could come (KIP-890); stored all the same, it
  // would hold up those who read committed records for ever. Without the id of a transaction Kafka finds nobody whom it
  // could allow this.
  if (header->is_transactional()) {
    return fail(pending.message.transactional_id ? ErrorCode::INVALID_TXN_STATE
                                                 : ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  }
  const TimestampMs now = node_.io.wall_clock_ms();
  const record::Compression codec = target_codec(config, header->compression());
  const bool is_rebuilt = codec != header->compression();
  // Walking the records costs more than all else here: only where a rule of the topic cannot be seen in the header.
  const bool has_record_bound =
      config.max_decompressed_message_bytes != node::TopicConfig{}.max_decompressed_message_bytes;
  const bool needs_walk = is_rebuilt || (has_record_bound && header->compression() != record::Compression::none) ||
                          config.cleanup_compact || (config.log_append_time && header->is_log_append_time()) ||
                          (!config.log_append_time && (header->is_log_append_time() ||
                                                       header->max_timestamp > now + config.timestamp_after_max_ms ||
                                                       config.timestamp_before_max_ms != INT64_MAX));
  if (needs_walk) {
    const record::RecordRules rules{.keys_required = config.cleanup_compact,
                                    .uses_log_append_time = config.log_append_time,
                                    .before_max_ms = config.timestamp_before_max_ms,
                                    .after_max_ms = config.timestamp_after_max_ms,
                                    .now_ms = now,
                                    .uncompressed_bytes_max = kUncompressedBytesMax,
                                    .record_bytes_max = static_cast<std::size_t>(config.max_decompressed_message_bytes),
                                    .failures_max = kRecordErrorsMax - pending.record_errors};
    const Result<record::Validation> validated = record::validate_records(records, rules, unpacked_);
    if (!validated) {
      // The CRC is right, so it will not unpack the next time either: not an error that producers retry. (Kafka answers
      // UNKNOWN_SERVER_ERROR, which they do not retry either.)
      const bool is_unreadable = validated.error().code == Code::corrupt;
      return fail(is_unreadable ? ErrorCode::INVALID_RECORD : kafka::to_wire(validated.error().code));
    }
    if (!validated->is_accepted()) {
      pending.record_errors += validated->failures.size();
      for (const record::RecordFailure& failure : validated->failures) {
        answer.record_errors.push_back(
            {.batch_index = failure.index, .batch_index_error_message = record::text(failure.reason)});
      }
      answer.error_message = "One or more records have been rejected";
      return fail(kafka::to_wire(validated->refusal()));
    }
    const TimestampMs max_timestamp = config.log_append_time ? now : validated->max_timestamp;
    if (is_rebuilt) {
      record::set_timestamps(*header, config.log_append_time, max_timestamp);
      rebuilt_.clear();
      const Result<void> packed =
          record::pack_batch(*header, validated->records, codec, level_of(config, codec), rebuilt_);
      if (!packed) return fail(kafka::to_wire(packed.error().code));
      // A batch that has grown is measured again (UnifiedLog.append). Whatever the topic allows, it must have a place.
      if (rebuilt_.size() > static_cast<std::size_t>(config.max_message_bytes) ||
          rebuilt_.size() > std::max(records.size(), rebuilt_memory_.batch_bytes_max())) {
        return fail(ErrorCode::MESSAGE_TOO_LARGE);
      }
      const std::optional<MutableBytes> placed = place_rebuilt(append, records);
      if (!placed) {
        waits_.add();
        return false;
      }
      records = *placed;
      rebuilt_count_.add();
    } else {
      record::stamp_timestamps(records, config.log_append_time, max_timestamp);
    }
  } else if (config.log_append_time) {
    record::stamp_timestamps(records, true, now);
  }
  if (config.log_append_time) append.append_time = now;

  batches_.add();
  bytes_.add(records.size());
  ++pending.awaited;
  node_.engine.append({.request = 0,
                       .partition = {target.topic->id, target.partition},
                       .leader_epoch = kNoLeaderEpoch,
                       .arena_offset = static_cast<std::uint64_t>(records.data() - node_.arena.begin()),
                       .length = static_cast<std::uint32_t>(records.size()),
                       .wait = pending.message.acks == -1 ? api::Wait::high_watermark : api::Wait::local},
                      append.call);
  return true;
}

// Over what was sent, where it fits. nullopt: there is no room now.
std::optional<MutableBytes> Produce::place_rebuilt(PartitionAppend& append, MutableBytes sent) {
  const Bytes rebuilt = rebuilt_.bytes();
  if (rebuilt.size() > sent.size()) {
    append.chunk = rebuilt_memory_.allocate(rebuilt.size());
    if (!append.chunk) return std::nullopt;
    sent = node_.arena.bytes(*append.chunk);
  }
  std::memcpy(sent.data(), rebuilt.data(), rebuilt.size());
  return sent.first(rebuilt.size());
}

void Produce::PartitionAppend::on_appended(const api::Appended& appended, Bytes) {
  Produce& produce = *pending->produce;
  const bool frees_reserve = chunk && produce.rebuilt_memory_.free(*chunk);
  chunk.reset();
  PartitionAnswer& answer = pending->answer_of(*this);
  if (appended.code == api::kOk) {
    answer.base_offset = appended.base_offset;
    answer.log_start_offset = appended.log_start_offset;
    // The time of a repeated batch is that of the first one, also where producers set it (UnifiedLog.append).
    answer.log_append_time_ms = appended.duplicate != 0 ? appended.timestamp : append_time;
  } else {
    pending->has_error = true;
    refuse(answer, data_path_error(static_cast<Code>(appended.code)));
  }
  --pending->awaited;
  produce.answer_if_complete(*pending);
  if (frees_reserve) produce.go_on();
}

void Produce::answer_if_complete(Pending& pending) {
  if (pending.awaited != 0) return;
  Request& request = *pending.request;
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const auto& each) { return each.get() == &pending; });
  CHECK(found != running_.end());
  std::swap(*found, running_.back());
  std::unique_ptr<Pending> done = std::move(running_.back());
  running_.pop_back();
  if (pending.message.acks == 0) {
    // Nobody hears an error: closing the connection is how Kafka says it (A79).
    request.is_silent = true;
    if (pending.has_error) request.close_connection = true;
    request.finish();
  } else {
    request.respond(pending.response);
  }
  spare_.push_back(std::move(done));
}

}  // namespace tailrace::broker
