#include "engine/ipc/message_channel.h"

#include <algorithm>
#include <cstring>

namespace tailrace::ipc {
namespace {

// A record's type: the message's type doubled, plus 1 where more of the message follows; from 2 on, so never padding.
constexpr std::uint32_t record_type(std::uint32_t type, bool more) { return (type + 1) << 1 | (more ? 1u : 0u); }

}  // namespace

MessageChannel::MessageChannel(io::Io& io, std::unique_ptr<Link> link) : io_(io), link_(std::move(link)) {
  room_timer_.bind<&MessageChannel::on_room_due>(this);
}

MessageChannel::~MessageChannel() { io_.disarm(room_timer_); }

bool MessageChannel::prepare_to_sleep() {
  if (broken_ || !link_->consumer().prepare_to_sleep()) return false;
  if (!waiting_.empty() && !room_timer_.armed()) {
    io_.arm(room_timer_, io_.now() + room_pause_);
    room_pause_ = std::min(2 * room_pause_, kRoomPauseMax);
  }
  return true;
}

void MessageChannel::send(std::uint32_t type, std::initializer_list<Bytes> parts) {
  if (broken_) return;
  Waiting message{.type = type, .bytes = {}, .sent = 0};
  std::size_t size = 0;
  for (const Bytes part : parts) size += part.size();
  if (size > kMessageBytesMax || waiting_bytes_ + size > kWaitingBytesMax) {
    broken_ = true;
    return;
  }
  message.bytes.reserve(size);
  for (const Bytes part : parts) message.bytes.insert(message.bytes.end(), part.begin(), part.end());
  waiting_bytes_ += size;
  waiting_.push_back(std::move(message));
  send_waiting();
}

bool MessageChannel::send_waiting() {
  bool sent = false;
  RingProducer& producer = link_->producer();
  while (!waiting_.empty()) {
    Waiting& message = waiting_.front();
    const std::size_t piece = std::min(message.bytes.size() - message.sent, producer.payload_max());
    const bool more = message.sent + piece < message.bytes.size();
    std::byte* const space = producer.reserve(record_type(message.type, more), piece);
    if (space == nullptr) return sent;
    if (piece != 0) std::memcpy(space, message.bytes.data() + message.sent, piece);
    message.sent += piece;
    sent = true;
    room_pause_ = kRoomPauseMin;
    if (more) continue;
    waiting_bytes_ -= message.bytes.size();
    waiting_.pop_front();
  }
  return sent;
}

bool MessageChannel::poll(const std::function<void(std::uint32_t, Bytes)>& on_message) {
  bool worked = send_waiting();
  RingConsumer& consumer = link_->consumer();
  while (!broken_) {
    const RingRecord record = consumer.next();
    if (record.type == kPaddingType) {
      broken_ = broken_ || consumer.violated();
      break;
    }
    worked = true;
    const bool more = (record.type & 1) != 0;
    const std::uint32_t type = (record.type >> 1) - 1;
    if (partial_.size() + record.payload.size() > kMessageBytesMax) {
      broken_ = true;
      break;
    }
    partial_.insert(partial_.end(), record.payload.begin(), record.payload.end());
    consumer.release();
    if (more) continue;
    std::vector<std::byte> message;
    message.swap(partial_);
    on_message(type, message);
  }
  consumer.release();
  return worked;
}

}  // namespace tailrace::ipc
