// SimIo: the io seam of one simulated process. Its loop does not wait: the world runs a turn whenever something has
// completed, a timer is due, or a bell has rung. With the SimIo goes everything that the process had in flight.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "engine/io/io.h"
#include "tests/sim/disk.h"
#include "tests/sim/network.h"
#include "tests/sim/schedule.h"
#include "tests/sim/sim_files.h"

namespace tailrace::sim {

// What all processes of a world share; it outlives them.
struct Surroundings {
  Schedule& schedule;
  Disk& disk;
  Network& network;
  std::int64_t wall_clock_offset_ms = 1'700'000'000'000;
};

class SimIo final : public io::Io {
 public:
  // `wake`: the loop should turn soon.
  SimIo(Surroundings& around, std::function<void()> wake);
  ~SimIo() override;

  const char* name() const override { return "sim"; }
  Instant now() const override { return around_.schedule.now(); }
  TimestampMs wall_clock_ms() const override { return around_.wall_clock_offset_ms + now().microseconds / 1000; }
  std::uint64_t random() override { return around_.schedule.random.next(); }
  SimFiles& files() override { return files_; }

  Result<io::Socket> listen(const io::Address& address, int backlog) override;
  Result<io::Address> local_address(io::Socket socket) override;
  Result<io::Address> peer_address(io::Socket socket) override;
  void accept(io::Socket listener, io::Completion& done) override;
  using io::Io::receive;
  void receive(io::Socket socket, MutableBytes into, std::size_t at_least, io::Completion& done) override;
  void send(io::Socket socket, Bytes from, bool more, io::Completion& done) override;
  void send_file(io::Socket socket, io::File file, std::uint64_t position, std::uint64_t length,
                 io::Completion& done) override;
  void shutdown(io::Socket socket) override;
  void close(io::Socket socket) override;
  void wait_readable(int descriptor, io::Completion& done) override;
  void forget(int descriptor) override;
  std::uint64_t turn(bool poll) override;

  // Connects to a simulated listener; no socket: nobody is there.
  io::Socket connect(std::uint16_t port);
  // The world resets the connection.
  void reset(io::Socket socket);
  void complete(io::Completion& done, std::int64_t result);
  int adopt(std::shared_ptr<Endpoint> endpoint);
  [[nodiscard]] bool has_completions() const { return !queue_.empty(); }
  // When the next timer is due; the far future: none.
  [[nodiscard]] Instant next_timer() const;
  [[nodiscard]] std::vector<io::Socket> sockets() const;

  // The process is killed: nothing that was in flight completes any more.
  void abandon();

 private:
  const std::shared_ptr<Endpoint>& at(io::Socket socket);

  Surroundings& around_;
  std::function<void()> wake_;
  SimFiles files_;
  io::CompletionQueue queue_;
  std::map<int, std::shared_ptr<Endpoint>> endpoints_;
  std::map<int, io::Address> listeners_;
  int next_socket_ = 1;
  bool abandoned_ = false;
};

}  // namespace tailrace::sim
