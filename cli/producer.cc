#include "cli/producer.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/produce.h"

namespace tailrace::cli {
namespace {

constexpr std::int16_t kProduceVersionMin = 3;   // the first with record batches (KIP-98)
constexpr std::int16_t kProduceVersionMax = 12;  // the last that names topics by name
// A broker remembers the last 5 batches of a producer in a partition (ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
constexpr std::size_t kInFlightMax = 5;
constexpr std::size_t kOnTheWayMax = 8;  // batches closed and not acknowledged, per broker
constexpr std::chrono::milliseconds kRetryDelay{50};
constexpr std::chrono::seconds kLongWait{1};  // for answers, where there is nothing else to do

bool is_settled(std::int16_t code) {
  return code == kafka::wire(kafka::ErrorCode::NONE) ||
         code == kafka::wire(kafka::ErrorCode::DUPLICATE_SEQUENCE_NUMBER);  // stored before, and long ago
}

}  // namespace

std::uint32_t murmur2(Bytes key) {
  constexpr std::uint32_t kMultiplier = 0x5bd1e995;
  std::uint32_t hash = 0x9747b28cu ^ static_cast<std::uint32_t>(key.size());
  std::size_t i = 0;
  for (; i + 4 <= key.size(); i += 4) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 4; ++k) word |= std::to_integer<std::uint32_t>(key[i + k]) << (8 * k);
    word *= kMultiplier;
    word ^= word >> 24;
    word *= kMultiplier;
    hash = hash * kMultiplier ^ word;
  }
  if (i < key.size()) {
    for (std::size_t k = key.size() - i; k-- > 0;) hash ^= std::to_integer<std::uint32_t>(key[i + k]) << (8 * k);
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  return hash ^ hash >> 15;
}

Producer::Producer(Client client, ProducerOptions options) : client_(std::move(client)), options_(options) {}
Producer::~Producer() = default;

Outcome<void> Producer::start() {
  if (options_.acks != -1) return {};
  kafka::InitProducerIdRequest request;
  request.transaction_timeout_ms = 60'000;
  const auto give_up = client_.deadline();
  for (;;) {
    auto connection = client_.any();
    if (!connection) return std::unexpected(connection.error());
    const auto& info = kafka::InitProducerIdRequest::kMessage;
    if ((*connection)->version_for(info.api_key, 0, info.version_max) < 0) return {};  // an old broker: plain then
    auto reply = ask<kafka::InitProducerIdResponse>(**connection, request, client_.timeout());
    if (!reply) return std::unexpected(reply.error());
    const auto& answer = reply->message;
    if (answer.error_code == 0) {
      producer_id_ = answer.producer_id;
      producer_epoch_ = answer.producer_epoch;
      return {};
    }
    if (!kafka::error_retriable(answer.error_code) || Clock::now() >= give_up) {
      return std::unexpected(fmt::format("no producer id: {}", describe_error(answer.error_code)));
    }
    std::this_thread::sleep_for(kRetryDelay);
  }
}

Outcome<Producer::TopicState*> Producer::topic(std::string_view name) {
  if (last_topic_ != nullptr && last_topic_->name == name) return last_topic_;
  if (const auto known = topics_.find(name); known != topics_.end()) return last_topic_ = known->second.get();
  auto found = client_.topic(std::string(name), true);
  if (!found) return std::unexpected(found.error());
  auto state = std::make_unique<TopicState>();
  state->name = name;
  state->partitions.resize(static_cast<std::size_t>(found->partitions.back().index) + 1);
  for (std::size_t i = 0; i < state->partitions.size(); ++i) {
    state->partitions[i].topic = state.get();
    state->partitions[i].index = static_cast<std::int32_t>(i);
  }
  for (const Partition& partition : found->partitions) {
    state->partitions[static_cast<std::size_t>(partition.index)].leader = partition.leader;
  }
  return last_topic_ = topics_.emplace(std::string(name), std::move(state)).first->second.get();
}

Outcome<Producer::PartitionState*> Producer::place(const OutgoingRecord& record) {
  auto found = topic(record.topic);
  if (!found) return std::unexpected(found.error());
  TopicState& topic = **found;
  std::size_t index = topic.sticky;
  if (record.partition >= 0) {
    index = static_cast<std::size_t>(record.partition);
    if (index >= topic.partitions.size()) {
      return std::unexpected(fmt::format("topic {} has no partition {}, only 0 to {}", topic.name, record.partition,
                                         topic.partitions.size() - 1));
    }
  } else if (record.key) {
    index = (murmur2(*record.key) & 0x7FFFFFFF) % topic.partitions.size();
  }
  return &topic.partitions[index];
}

record::BatchOptions Producer::batch_options(const PartitionState& partition) const {
  record::BatchOptions options;
  options.compression = options_.compression;
  options.producer_id = producer_id_;
  options.producer_epoch = producer_epoch_;
  if (producer_id_ != kNoProducerId) options.base_sequence = partition.next_sequence;
  return options;
}

std::unique_ptr<record::BatchBuilder> Producer::take_builder() {
  if (spare_.empty()) return std::make_unique<record::BatchBuilder>();
  auto builder = std::move(spare_.back());
  spare_.pop_back();
  return builder;
}

Outcome<void> Producer::add(const OutgoingRecord& record) {
  auto placed = place(record);
  if (!placed) return std::unexpected(placed.error());
  PartitionState& partition = **placed;
  const std::size_t size = (record.key ? record.key->size() : 0) + (record.value ? record.value->size() : 0);
  if (partition.open && partition.open->size_bytes() + size > options_.batch_bytes) {
    if (auto closed = close(partition); !closed) return closed;
  }
  if (!partition.open) {
    partition.open = take_builder();
    partition.open->start(batch_options(partition));
    partition.opened = Clock::now();
    open_.push_back(&partition);
  }
  const std::size_t before = partition.open->size_bytes();
  auto added = partition.open->add(record.timestamp, record.key, record.value, record.headers);
  if (!added) return std::unexpected(fmt::format("a record was refused: {}", added.error().text()));
  open_bytes_ += partition.open->size_bytes() - before;
  if (on_acknowledged_) {
    partition.tags.of_records.push_back(record.tag);
    partition.tags.bytes += size;
  }
  if (partition.open->size_bytes() >= options_.batch_bytes) return close(partition);
  if (open_bytes_ > options_.memory_bytes) return close_all();
  return {};
}

Outcome<void> Producer::close(PartitionState& partition) {
  std::erase(open_, &partition);
  Batch batch;
  batch.partition = &partition;
  batch.number = next_batch_++;
  batch.count = partition.open->count();
  open_bytes_ -= std::min(open_bytes_, partition.open->size_bytes());
  batch.builder = std::move(partition.open);
  auto bytes = batch.builder->finish();
  if (!bytes) return std::unexpected(fmt::format("a batch was refused: {}", bytes.error().text()));
  batch.bytes = *bytes;
  batch.closed = Clock::now();
  batch.tags = std::exchange(partition.tags, {});
  partition.next_sequence = record::increment_sequence(partition.next_sequence, batch.count);
  // The next records without a key go elsewhere, so that batches stay large and partitions even (KIP-480).
  TopicState& topic = *partition.topic;
  if (topic.sticky == static_cast<std::size_t>(partition.index)) {
    topic.sticky = (topic.sticky + 1) % topic.partitions.size();
  }
  lanes_[partition.leader].waiting.push_back(std::move(batch));
  if (auto pumped = pump({}); !pumped) return pumped;
  while (on_the_way() >= kOnTheWayMax * lanes_.size()) {
    if (auto pumped = pump(kLongWait); !pumped) return pumped;
  }
  return {};
}

Outcome<void> Producer::close_due() {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < open_.size();) {
    PartitionState& partition = *open_[i];
    if (now - partition.opened < std::chrono::milliseconds(options_.linger_ms)) {
      ++i;
    } else if (auto closed = close(partition); !closed) {
      return closed;
    }
  }
  return {};
}

Outcome<void> Producer::close_all() {
  while (!open_.empty()) {
    if (auto closed = close(*open_.front()); !closed) return closed;
  }
  return {};
}

std::int64_t Producer::next_linger_ms() const {
  if (open_.empty()) return -1;
  const auto oldest =
      (*std::min_element(open_.begin(), open_.end(), [](auto* a, auto* b) { return a->opened < b->opened; }))->opened;
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - oldest).count();
  return std::max<std::int64_t>(0, options_.linger_ms - age);
}

std::size_t Producer::on_the_way() const {
  std::size_t count = 0;
  for (const auto& [id, lane] : lanes_) count += lane.waiting.size() + lane.in_flight.size();
  return count;
}

Outcome<void> Producer::work(std::chrono::microseconds wait) {
  if (auto closed = close_due(); !closed) return closed;
  return pump(wait);
}

Outcome<void> Producer::finish() {
  if (auto closed = close_all(); !closed) return closed;
  while (on_the_way() > 0) {
    if (auto pumped = pump(kLongWait); !pumped) return pumped;
  }
  for (const auto& [id, lane] : lanes_) {  // what acks=0 leaves behind
    auto connection = client_.broker(id);
    if (!connection) return std::unexpected(connection.error());
    if (auto flushed = (*connection)->flush(client_.deadline()); !flushed) return flushed;
  }
  return {};
}

Outcome<void> Producer::send_waiting(Lane& lane, Connection& connection) {
  const auto& info = kafka::ProduceRequest::kMessage;
  lane.version = connection.version_for(info.api_key, kProduceVersionMin, kProduceVersionMax);
  if (lane.version < 0) {
    return std::unexpected(
        fmt::format("{} does not serve Produce in a version that we know", connection.address().text()));
  }
  while (!lane.waiting.empty() && lane.in_flight.size() < kInFlightMax && !connection.has_output()) {
    Batch batch = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    kafka::ProduceRequest request;
    request.acks = options_.acks;
    request.timeout_ms = static_cast<std::int32_t>(client_.timeout().count());
    request.topic_data.emplace_back();
    request.topic_data[0].name = batch.partition->topic->name;
    request.topic_data[0].partition_data.emplace_back();
    request.topic_data[0].partition_data[0].index = batch.partition->index;
    request.topic_data[0].partition_data[0].records = batch.bytes;
    kafka::encode(request, lane.version, connection.begin_frame(info.api_key, lane.version));
    connection.end_frame();
    if (options_.acks == 0) {
      connection.expect_no_response();
      settle(std::move(batch));
    } else {
      lane.in_flight.push_back(std::move(batch));
    }
    if (auto sent = connection.send_some(); !sent) return recover(sent.error());
  }
  return {};
}

Outcome<bool> Producer::on_response(Lane& lane, const Connection::Response& response) {
  if (lane.in_flight.empty()) return std::unexpected(std::string("the broker answers what nobody asked"));
  Batch& batch = lane.in_flight.front();
  const auto answer = kafka::decode<kafka::ProduceResponse>(response.body(), lane.version);
  if (!answer || answer->responses.size() != 1 || answer->responses[0].partition_responses.size() != 1) {
    return std::unexpected(std::string("the broker answers what does not decode"));
  }
  const auto& result = answer->responses[0].partition_responses[0];
  if (!is_settled(result.error_code)) {
    const std::string what =
        fmt::format("{}-{}: {}", batch.partition->topic->name, batch.partition->index,
                    describe_error(result.error_code, result.error_message.value_or(std::string_view())));
    if (!kafka::error_retriable(result.error_code)) return std::unexpected(what);
    if (auto recovered = recover(what); !recovered) return std::unexpected(recovered.error());
    return false;
  }
  failing_since_.reset();
  Batch settled = std::move(batch);
  lane.in_flight.pop_front();
  settle(std::move(settled));
  return true;
}

void Producer::settle(Batch batch) {
  acknowledged_ += static_cast<std::uint64_t>(batch.count);
  sent_bytes_ += batch.bytes.size();
  spare_.push_back(std::move(batch.builder));
  if (on_acknowledged_) on_acknowledged_(batch.tags.of_records, batch.tags.bytes);
}

Outcome<void> Producer::pump(std::chrono::microseconds wait) {
  std::vector<pollfd> descriptors;
  std::vector<BrokerId> ids;
  for (auto& [id, lane] : lanes_) {
    if (lane.waiting.empty() && lane.in_flight.empty()) continue;
    auto connection = client_.broker(id);
    if (!connection) return recover(connection.error());
    if ((*connection)->has_output()) {
      if (auto sent = (*connection)->send_some(); !sent) return recover(sent.error());
    }
    const std::uint64_t recoveries = recoveries_;
    if (auto sent = send_waiting(lane, **connection); !sent) return sent;
    if (recoveries != recoveries_) return {};  // lanes and connections are new
    const short events =
        static_cast<short>((lane.in_flight.empty() ? 0 : POLLIN) | ((*connection)->has_output() ? POLLOUT : 0));
    if (events == 0) continue;
    descriptors.push_back(pollfd{(*connection)->descriptor(), events, 0});
    ids.push_back(id);
  }
  if (descriptors.empty()) return {};
  const timespec limit{.tv_sec = wait.count() / 1'000'000, .tv_nsec = wait.count() % 1'000'000 * 1000};
  const int ready = ppoll(descriptors.data(), descriptors.size(), &limit, nullptr);
  if (ready < 0 && errno != EINTR) return std::unexpected(std::string("poll failed"));
  for (std::size_t i = 0; i < ids.size() && ready > 0; ++i) {
    if (descriptors[i].revents == 0) continue;
    auto connection = client_.broker(ids[i]);
    if (!connection) return recover(connection.error());
    Lane& lane = lanes_[ids[i]];
    for (;;) {
      auto response = (*connection)->receive_some();
      if (!response) return recover(response.error());
      if (response->frame.empty()) break;
      auto settled = on_response(lane, *response);
      if (!settled) return std::unexpected(settled.error());
      if (!*settled) return {};
    }
    if (auto sent = (*connection)->send_some(); !sent) return recover(sent.error());
    const std::uint64_t recoveries = recoveries_;
    if (auto sent = send_waiting(lane, **connection); !sent) return sent;
    if (recoveries != recoveries_) return {};
  }
  // A broker that holds the connection and says nothing is as bad as one that is gone.
  for (const auto& [id, lane] : lanes_) {
    if (!lane.in_flight.empty() && Clock::now() - lane.in_flight.front().closed > client_.timeout()) {
      return recover(fmt::format("broker {} does not answer", id));
    }
  }
  return {};
}

Outcome<void> Producer::recover(std::string reason) {
  if (options_.acks == 0) return std::unexpected(reason);  // nobody knows what has arrived
  ++recoveries_;
  const auto now = Clock::now();
  if (!failing_since_) failing_since_ = now;
  if (now - *failing_since_ > client_.timeout()) return std::unexpected(reason);
  // In the order in which they were closed, which is that of their sequences in each partition.
  std::vector<Batch> batches;
  for (auto& [id, lane] : lanes_) {
    for (auto* queue : {&lane.in_flight, &lane.waiting}) {
      for (Batch& batch : *queue) batches.push_back(std::move(batch));
    }
    client_.forget(id);
  }
  lanes_.clear();
  std::sort(batches.begin(), batches.end(), [](const Batch& a, const Batch& b) { return a.number < b.number; });
  std::this_thread::sleep_for(kRetryDelay);
  for (auto& [name, topic] : topics_) {
    for (;;) {
      auto found = client_.topic(name, false);
      if (found) {
        for (const Partition& partition : found->partitions) {
          const auto index = static_cast<std::size_t>(partition.index);
          if (index < topic->partitions.size()) topic->partitions[index].leader = partition.leader;
        }
        break;
      }
      if (Clock::now() - *failing_since_ > client_.timeout()) return std::unexpected(found.error());
      std::this_thread::sleep_for(kRetryDelay);
    }
  }
  for (Batch& batch : batches) {
    batch.closed = Clock::now();
    const BrokerId leader = batch.partition->leader;
    lanes_[leader].waiting.push_back(std::move(batch));
  }
  return {};
}

}  // namespace tailrace::cli
