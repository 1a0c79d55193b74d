// MessageChannel: messages of any size over a link, for what is rare and large (control messages, forwarded requests)
// beside the engine's fixed records. A message larger than a ring record travels as several; what finds no room waits
// here. Both are bounded: a peer that goes beyond has broken the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/io/io.h"
#include "engine/ipc/link.h"

namespace tailrace::ipc {

class MessageChannel {
 public:
  static constexpr std::size_t kMessageBytesMax = std::size_t{128} << 20;
  static constexpr std::size_t kWaitingBytesMax = std::size_t{256} << 20;

  MessageChannel(io::Io& io, std::unique_ptr<Link> link);
  ~MessageChannel();

  // `type` is the user's, below 2^30. The parts are joined. Nothing is sent once the channel is broken.
  void send(std::uint32_t type, std::initializer_list<Bytes> parts);
  // Calls `on_message` for each whole message that has come; its bytes are valid during the call. `on_message` may
  // send, but not destroy the channel. True: something was done.
  bool poll(const std::function<void(std::uint32_t type, Bytes message)>& on_message);
  void publish() { link_->publish(); }
  // True: the peer rings when something comes. A peer that makes room does not ring: while messages wait for that, a
  // timer brings the loop here, the less often the longer nothing moves.
  [[nodiscard]] bool prepare_to_sleep();
  void wake() { link_->consumer().wake(); }
  [[nodiscard]] bool is_broken() const { return broken_; }
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }

 private:
  static constexpr Duration kRoomPauseMin{500};
  static constexpr Duration kRoomPauseMax{100'000};

  bool send_waiting();
  void on_room_due() {}  // the turn that follows polls

  io::Io& io_;
  std::unique_ptr<Link> link_;
  io::Timer room_timer_;
  Duration room_pause_ = kRoomPauseMin;
  struct Waiting {
    std::uint32_t type = 0;
    std::vector<std::byte> bytes;
    std::size_t sent = 0;
  };
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<std::byte> partial_;  // the beginning of a message whose rest is to come
  bool broken_ = false;
};

}  // namespace tailrace::ipc
