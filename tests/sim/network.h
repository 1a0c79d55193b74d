// Network: TCP-like streams between simulated processes: bytes arrive in order, in pieces of any size, after any delay,
// as fast as the other side reads, until one side ends or the world resets the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/io/io.h"
#include "tests/sim/schedule.h"

namespace tailrace::sim {

class SimIo;

// One end of a stream.
struct Endpoint {
  struct Flight {
    io::Completion* done = nullptr;
    MutableBytes into{};  // receiving
    Bytes from{};         // sending memory,
    io::File file{};      // or a file
    std::uint64_t position = 0;
    std::size_t size = 0;
    std::size_t moved = 0;
    std::size_t at_least = 0;  // receiving
  };
  SimIo* owner = nullptr;  // null: the process is gone
  std::weak_ptr<Endpoint> peer;
  std::deque<std::byte> inbox;
  std::size_t window = 0;  // bytes that the inbox takes
  bool ended = false;      // nothing comes after the inbox
  bool shut = false;       // by the owner
  bool pumping = false;    // a piece is on its way
  Flight receiving;
  Flight sending;
  io::Address local;
  io::Address remote;
};

class Network {
 public:
  explicit Network(Schedule& schedule) : schedule_(schedule) {}

  Result<void> listen(SimIo& owner, int handle, const io::Address& address);
  void stop_listening(SimIo& owner, int handle);
  void accept(SimIo& owner, int handle, io::Completion& done);
  // Null: nobody listens.
  std::shared_ptr<Endpoint> connect(SimIo& from, std::uint16_t port);

  void receive(const std::shared_ptr<Endpoint>& at, MutableBytes into, std::size_t at_least, io::Completion& done);
  void send(const std::shared_ptr<Endpoint>& at, Endpoint::Flight flight);
  void shutdown(const std::shared_ptr<Endpoint>& at);
  void reset(const std::shared_ptr<Endpoint>& at);
  void drop_process(SimIo& owner);  // its listeners; its endpoints are reset by itself

 private:
  struct Listening {
    SimIo* owner = nullptr;
    int handle = -1;
    io::Completion* accepting = nullptr;
    std::deque<std::shared_ptr<Endpoint>> backlog{};
  };
  void deliver(const std::shared_ptr<Endpoint>& at);
  void pump(const std::shared_ptr<Endpoint>& from);
  void move_piece(const std::shared_ptr<Endpoint>& from);
  void finish_sending(const std::shared_ptr<Endpoint>& at, std::int64_t result);
  void end(const std::shared_ptr<Endpoint>& at);
  void accept_due(Listening& listening);

  Schedule& schedule_;
  std::map<std::uint16_t, Listening> listening_;
  std::uint16_t next_port_ = 40000;
};

}  // namespace tailrace::sim
