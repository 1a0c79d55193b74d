#include "tests/sim/kafka_client.h"

#include <algorithm>
#include <cstring>

#include "services/kafka/errors.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/produce.h"
#include "tests/sim/broker_process.h"
#include "tests/sim/producer.h"

namespace tailrace::sim {
namespace {

constexpr std::int16_t kProduceWithNames = 9;
constexpr std::int16_t kProduceWithIds = 13;
constexpr std::size_t kFrameMax = 10 << 20;

// What an answer's error says of the batch. That the leader is elsewhere is also said when the engine's session broke.
Code code_of(kafka::ErrorCode error) {
  using kafka::ErrorCode;
  switch (error) {
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
    case ErrorCode::REQUEST_TIMED_OUT:
      return Code::peer_gone;
    case ErrorCode::KAFKA_STORAGE_ERROR:
      return Code::io_failed;
    case ErrorCode::UNKNOWN_TOPIC_ID:
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
      return Code::unknown_partition;
    case ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER:
      return Code::out_of_order_sequence;
    default:
      return Code::corrupt;
  }
}

}  // namespace

KafkaClient::KafkaClient(Surroundings& around, Stage& stage, std::string name)
    : ClientProcess(around, stage, std::move(name), 1), size_(4) {
  sent_.bind<&KafkaClient::on_sent>(this);
  received_size_.bind<&KafkaClient::on_size>(this);
  received_frame_.bind<&KafkaClient::on_frame>(this);
  reconnect_timer_.bind<&KafkaClient::on_reconnect_due>(this);
  wake();
}

KafkaClient::~KafkaClient() = default;

void KafkaClient::connect() {
  socket_ = io().connect(BrokerProcess::kPort);
  if (!socket_) return io().arm(reconnect_timer_, io().now() + Duration{random().between(500, 20'000)});
  broken_ = false;
  schedule().note("{} connected", name());
  for (const auto& actor : actors()) actor->on_session();
  receive_size();
}

// All that was in flight on it is over; what it was about is unknown.
void KafkaClient::break_connection() {
  if (!socket_ || broken_) return;
  schedule().note("{} lost its connection", name());
  broken_ = true;
  io().shutdown(socket_);
  std::deque<Expected> lost;
  lost.swap(expected_);
  for (const Expected& each : lost) each.answer(std::nullopt);
  end_if_idle();
}

void KafkaClient::end_if_idle() {
  if (!broken_ || sent_.pending || received_size_.pending || received_frame_.pending) return;
  io().close(socket_);
  socket_ = {};
  to_send_.clear();
  broken_ = false;
  io().arm(reconnect_timer_, io().now() + Duration{random().between(100, 10'000)});
}

void KafkaClient::reset_connection() {
  if (is_ready()) io().reset(socket_);
}

void KafkaClient::restart() { break_connection(); }

bool KafkaClient::step() {
  if (!socket_ && !reconnect_timer_.armed()) connect();
  if (is_ready()) {
    for (const auto& actor : actors()) actor->act();
  }
  if (is_ready()) send_next();
  return false;
}

template <class Message>
void KafkaClient::ask(const Message& message, std::int16_t version, OnAnswer answer) {
  kafka::RequestHeader header;
  header.api_key = Message::kMessage.api_key;
  header.api_version = version;
  header.correlation_id = next_correlation_id_++;
  header.client_id = "sim";
  kafka::Buffer buffer;
  const std::size_t start = kafka::begin_request(header, buffer);
  kafka::encode(message, version, buffer);
  kafka::end_frame(start, buffer);
  to_send_.emplace_back(buffer.bytes().begin(), buffer.bytes().end());
  if (answer) expected_.push_back({header.correlation_id, header.api_key, version, std::move(answer)});
  wake();
}
template void KafkaClient::ask(const kafka::ProduceRequest&, std::int16_t, OnAnswer);
template void KafkaClient::ask(const kafka::FetchRequest&, std::int16_t, OnAnswer);

void KafkaClient::send_next() {
  if (to_send_.empty() || sent_.pending) return;
  io().send(socket_, to_send_.front(), false, sent_);
}

void KafkaClient::on_sent(std::int64_t result) {
  if (result < 0 || broken_) {
    break_connection();
    return end_if_idle();
  }
  to_send_.pop_front();
  send_next();
}

void KafkaClient::receive_size() { io().receive(socket_, size_, received_size_); }

void KafkaClient::on_size(std::int64_t result) {
  if (result != 4 || broken_) {
    break_connection();
    return end_if_idle();
  }
  const auto size = load_big_endian<std::uint32_t>(size_.data());
  if (size < 4 || size > kFrameMax) return schedule().fail("an answer announces {} bytes", size);
  frame_.resize(size);
  io().receive(socket_, frame_, received_frame_);
}

void KafkaClient::on_frame(std::int64_t result) {
  if (result != static_cast<std::int64_t>(frame_.size()) || broken_) {
    break_connection();
    return end_if_idle();
  }
  if (expected_.empty()) return schedule().fail("an answer to nothing");
  const Expected expected = std::move(expected_.front());
  expected_.pop_front();
  std::int32_t correlation_id = 0;
  std::size_t body_at = 0;
  const std::int16_t header_version = kafka::response_header_version(expected.api_key, expected.version);
  if (!kafka::decode_response_header(frame_, header_version, correlation_id, body_at) ||
      correlation_id != expected.correlation_id) {
    return schedule().fail("answer {} where {} was due", correlation_id, expected.correlation_id);
  }
  expected.answer(Bytes(frame_).subspan(body_at));
  if (!broken_) receive_size();
  end_if_idle();
}

bool KafkaClient::start_append(api::Append& request, Bytes batch, ipc::Arena::Chunk&, api::Call<api::Appended>& call) {
  const auto slot = std::ranges::find_if(stage().slots, [&](const Slot& each) {
    return each.topic_id == request.partition.topic_id && each.partition == request.partition.partition;
  });
  if (!is_ready() || slot == stage().slots.end()) return false;
  kafka::ProduceRequest message;
  const bool plain = record::read_header(batch.data()).producer_id == kNoProducerId;
  message.acks = request.wait == api::Wait::local ? 1 : -1;
  if (plain && random().one_in(4)) message.acks = 0;
  message.timeout_ms = 30'000;
  // By its name a batch may get into a newer topic than the one that it was made for.
  const bool by_id = stage().plan.deletes_topics || random().one_in(2);
  const std::int16_t version = by_id ? kProduceWithIds : kProduceWithNames;
  message.topic_data.push_back({.name = slot->topic,
                                .topic_id = slot->topic_id,
                                .partition_data = {{.index = slot->partition, .records = batch}}});
  if (message.acks != 0) {
    ask(message, version,
        [this, request, &call, version](std::optional<Bytes> body) { on_produced(request, call, version, body); });
    return true;
  }
  ask(message, version, nullptr);
  // Nobody tells what becomes of it. The answer comes later, as all answers do.
  schedule().after(Duration{1}, side().life, [&call] {
    call.function(call.owner, api::Appended{.code = static_cast<std::uint16_t>(Code::peer_gone)}, {});
  });
  return true;
}

void KafkaClient::on_produced(const api::Append& request, api::Call<api::Appended>& call, std::int16_t version,
                              std::optional<Bytes> body) {
  api::Appended answer{.code = static_cast<std::uint16_t>(Code::peer_gone), .duplicate = kDuplicateNotTold};
  if (body) {
    const Result<kafka::ProduceResponse> response = kafka::decode_exactly<kafka::ProduceResponse>(*body, version);
    if (!response || response->responses.size() != 1 || response->responses[0].partition_responses.size() != 1 ||
        response->responses[0].partition_responses[0].index != request.partition.partition) {
      return schedule().fail("an answer to Produce cannot be read");
    }
    const kafka::ProduceResponse::PartitionProduceResponse& partition = response->responses[0].partition_responses[0];
    const auto error = static_cast<kafka::ErrorCode>(partition.error_code);
    if (error == kafka::ErrorCode::NONE) {
      answer.code = api::kOk;
      answer.base_offset = partition.base_offset;
    } else {
      answer.code = static_cast<std::uint16_t>(code_of(error));
      schedule().note("produce error={}", partition.error_code);
    }
  }
  call.function(call.owner, answer, {});
}

}  // namespace tailrace::sim
