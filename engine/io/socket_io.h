// SocketIo: what both real loops share. Sockets are non-blocking; an operation is tried at once and, where the kernel
// has nothing yet, again on the next edge of readiness. How edges are learned (epoll, or a multishot poll of io_uring),
// how long the loop sleeps, and how a file is synced without blocking is the business of the two subclasses.
#pragma once

#include <memory>
#include <vector>

#include "engine/io/io.h"

namespace tailrace::io {

class SocketIo : public Io {
 public:
  Instant now() const override { return now_; }
  TimestampMs wall_clock_ms() const override;
  std::int64_t steady_ns() const override;
  std::uint64_t random() override;

  Result<Socket> listen(const Address& address, int backlog) override;
  Result<Address> local_address(Socket socket) override;
  Result<Address> peer_address(Socket socket) override;
  void accept(Socket listener, Completion& done) override;
  using Io::receive;
  void receive(Socket socket, MutableBytes into, std::size_t at_least, Completion& done) override;
  void send(Socket socket, Bytes from, bool more, Completion& done) override;
  void send_file(Socket socket, File file, std::uint64_t position, std::uint64_t length, Completion& done) override;
  void shutdown(Socket socket) override;
  void close(Socket socket) override;
  void wait_readable(int descriptor, Completion& done) override;
  void forget(int descriptor) override;
  std::uint64_t turn(bool poll) override;

  // For the files of the subclass: reports in this or the next turn.
  void complete(Completion& done, std::int64_t result) { queue_.push(done, result); }

 protected:
  SocketIo();

  // Asks for edges of a descriptor's readiness, in both directions, from now on until it is closed or unwatched.
  // Returns 0 or an errno; where the kernel says no only later, on_watch_failed tells.
  virtual int watch(int descriptor) = 0;
  virtual void unwatch(int descriptor) = 0;
  // Waits at most `timeout_us` (0: not at all, negative: for ever) and reports what happened through on_ready and
  // complete.
  virtual void wait(std::int64_t timeout_us) = 0;
  // `ended`: the peer has ended its half of the stream, or there is an error: no further edge may come.
  void on_ready(int descriptor, bool readable, bool writable, bool ended);
  // No edge of this descriptor comes any more. What waits for one ends with the error, which concerns nobody else.
  void on_watch_failed(int descriptor, int error);
  // What was prepared for the kernel should not wait for a turn without other work.
  void ask_in_next_turn() { turns_without_asking_ = kTurnsWithoutAskingMax; }

 private:
  static constexpr int kTurnsWithoutAskingMax = 4;

  enum class Reading : std::uint8_t { nothing, accept, receive, readable };
  enum class Writing : std::uint8_t { nothing, send, send_file };

  // What is in flight on one descriptor.
  struct Descriptor {
    Reading reading = Reading::nothing;
    Writing writing = Writing::nothing;
    bool watched = false;
    bool edge_seen = false;  // readable while nobody waited
    bool has_ended = false;
    bool is_drained = false;  // a read got less than it asked for, and no edge came since: there is nothing
    bool more = false;
    int file = -1;
    Completion* read_done = nullptr;
    Completion* write_done = nullptr;
    MutableBytes into;
    Bytes from;
    std::uint64_t position = 0;
    std::uint64_t length = 0;
    std::size_t read_bytes = 0;
    std::size_t read_at_least = 0;
    std::uint64_t written_bytes = 0;
  };

  Descriptor& at(int descriptor);
  void ensure_watched(int descriptor, Descriptor& state);
  void continue_reading(int descriptor);
  void continue_writing(int descriptor);
  void end_reading(Descriptor& state, std::int64_t result);
  void end_writing(Descriptor& state, std::int64_t result);
  void update_now();

  std::vector<Descriptor> descriptors_;  // by descriptor number
  std::vector<int> yielded_;             // writers that moved much in this turn and go on in the next
  CompletionQueue queue_;
  int turns_without_asking_ = 0;
  Instant now_;
  std::uint64_t random_state_ = 0;
};

}  // namespace tailrace::io
