// Connection: one client's socket. Frames come in one after the other, each into one chunk of the arena, and are
// answered in order. What is read first goes into a small buffer of the connection, so that an idle one holds no chunk
// and a small request takes one read. Produce requests that follow one another are in flight together; any other
// request waits for those before it, and those behind wait for it, as in Kafka, where a connection is muted meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/io.h"
#include "services/broker/connection_limits.h"
#include "services/broker/frame_memory.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class Connection;

// What a connection needs of those around it.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual void serve(Request& request) = 0;
  // Nothing is in flight any more: may be destroyed, not inside the call.
  virtual void on_connection_over(Connection& connection) = 0;
  // Adds what this thread has worked for a request to what its client may make it work. Returns for how many ms the
  // client is to be muted.
  virtual std::int32_t count_time(Request& request) = 0;
  // resume() is called at `until`, which is to be its muted_until(), unless the connection is over before.
  virtual void resume_later(Connection& connection, Instant until) = 0;
  virtual FrameMemory& frame_memory() = 0;
  virtual std::unique_ptr<Request> take_request() = 0;
  virtual void give_back(std::unique_ptr<Request> request) = 0;
};

class Connection final : public FrameWaiter {
 public:
  static constexpr std::size_t kInFlightMax = 16;
  static constexpr std::size_t kReadAheadBytes = 512;
  static constexpr std::size_t kFrameStepBytes = std::size_t{1} << 20;

  Connection(NodeState& node, ConnectionHost& host, io::Socket socket, std::size_t listener,
             std::int64_t frame_bytes_max);
  void start();
  // Ends the connection; what is in flight runs out first.
  void close();
  // Takes no more requests; closes when those in flight are answered.
  void finish();
  void on_request_done();
  // Reads nothing for so long, and serves nothing that it has read.
  void mute(std::int32_t ms);
  void resume();
  [[nodiscard]] Instant muted_until() const { return muted_until_; }
  std::int32_t count_time(Request& request) { return host_.count_time(request); }
  // Frees the chunk of a request in flight.
  void free_chunk(Request& request);
  void on_room(const ipc::Arena::Chunk& chunk) override;

  // The address that the client connected to, asked for once.
  const io::Address& local_address();
  [[nodiscard]] Result<io::Address> peer_address() const { return node_.io.peer_address(socket_); }
  [[nodiscard]] std::size_t listener() const { return listener_; }
  [[nodiscard]] Instant last_active() const { return last_active_; }
  [[nodiscard]] bool is_idle() const { return in_flight_.empty() && !receiving_frame_; }
  // Nothing is being served. There may be a request that has not begun because the client is throttled: it holds a
  // chunk, and the client may be gone.
  [[nodiscard]] bool is_quiet() const {
    return !receiving_frame_ && (in_flight_.empty() || !in_flight_.front()->is_dispatched);
  }
  // It holds a chunk for a frame whose rest has not come.
  [[nodiscard]] bool is_receiving_frame() const { return incoming_ != nullptr; }
  [[nodiscard]] bool is_closing() const { return closing_; }

  std::string client_software;  // ApiVersions 3 and later: name and version

  // In the host's list.
  std::size_t slot = 0;
  ConnectionLimits::Address* address = nullptr;  // of the client, where it is counted

 private:
  void receive_next();
  void on_beginning(std::int64_t result);
  void begin_frame();
  void receive_frame(const ipc::Arena::Chunk& chunk);
  void receive_step();
  void on_step(std::int64_t result);
  void on_frame();
  void dispatch_due();
  void send_next();
  void send_part();
  void on_sent(std::int64_t result);
  [[nodiscard]] std::int64_t now_if_counted() const;
  void count_sending(const Request& request, std::int64_t since_ns);
  void release(std::unique_ptr<Request> request);
  void end_if_over();
  [[nodiscard]] bool may_receive() const;
  [[nodiscard]] bool is_muted() const { return !finishing_ && muted_until_ > node_.io.now(); }

  NodeState& node_;
  ConnectionHost& host_;
  io::Socket socket_;
  std::size_t listener_;
  std::int64_t frame_bytes_max_;
  std::array<std::byte, kReadAheadBytes> read_ahead_{};
  std::size_t read_ahead_bytes_ = 0;
  std::uint32_t frame_size_ = 0;
  std::size_t received_bytes_ = 0;  // of the frame
  std::unique_ptr<Request> incoming_;
  std::vector<std::unique_ptr<Request>> in_flight_;  // in order of arrival; few, and none of an idle connection
  io::Completion received_beginning_;
  io::Completion received_frame_;
  io::Completion sent_;
  std::unique_ptr<const io::Address> local_address_;
  Instant last_active_;
  Instant muted_until_;
  std::size_t part_ = 0;  // of the response being sent: 2i: bytes before file i, 2i + 1: file i
  bool sending_ = false;
  bool receiving_frame_ = false;
  bool waits_for_room_ = false;  // for the frame
  bool closing_ = false;
  bool finishing_ = false;
  bool shut_ = false;
  bool over_ = false;
};

}  // namespace tailrace::broker
