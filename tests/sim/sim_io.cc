#include "tests/sim/sim_io.h"

#include <limits>

#include "engine/base/check.h"

namespace tailrace::sim {

SimIo::SimIo(Surroundings& around, std::function<void()> wake)
    : around_(around),
      wake_(std::move(wake)),
      files_(around.schedule, around.disk,
             [this](io::Completion& done, std::int64_t result) { complete(done, result); }) {}

SimIo::~SimIo() { abandon(); }

void SimIo::abandon() {
  abandoned_ = true;
  files_.abandon();
  around_.network.drop_process(*this);
  for (auto& [handle, endpoint] : endpoints_) {
    endpoint->receiving.done = endpoint->sending.done = nullptr;
    endpoint->owner = nullptr;
    around_.network.shutdown(endpoint);
  }
  endpoints_.clear();
  queue_ = {};
}

void SimIo::complete(io::Completion& done, std::int64_t result) {
  queue_.push(done, result);
  wake_();
}

std::uint64_t SimIo::turn(bool) {
  files_.tell_failed_syncs();
  const std::uint64_t ran = queue_.run();
  return ran + timers_.run(now());
}

Instant SimIo::next_timer() const {
  return timers_.empty() ? Instant{std::numeric_limits<std::int64_t>::max()} : timers_.next();
}

const std::shared_ptr<Endpoint>& SimIo::at(io::Socket socket) {
  const auto found = endpoints_.find(socket.handle);
  CHECK(found != endpoints_.end());
  return found->second;
}

int SimIo::adopt(std::shared_ptr<Endpoint> endpoint) {
  endpoint->owner = this;
  endpoints_[next_socket_] = std::move(endpoint);
  return next_socket_++;
}

std::vector<io::Socket> SimIo::sockets() const {
  std::vector<io::Socket> all;
  for (const auto& [handle, endpoint] : endpoints_) all.push_back({handle});
  return all;
}

Result<io::Socket> SimIo::listen(const io::Address& address, int) {
  const int handle = next_socket_++;
  if (Result<void> listens = around_.network.listen(*this, handle, address); !listens)
    return std::unexpected(listens.error());
  listeners_[handle] = address;
  return io::Socket{handle};
}

Result<io::Address> SimIo::local_address(io::Socket socket) {
  if (const auto listener = listeners_.find(socket.handle); listener != listeners_.end()) return listener->second;
  return at(socket)->local;
}

Result<io::Address> SimIo::peer_address(io::Socket socket) { return at(socket)->remote; }

void SimIo::accept(io::Socket listener, io::Completion& done) { around_.network.accept(*this, listener.handle, done); }

void SimIo::receive(io::Socket socket, MutableBytes into, std::size_t at_least, io::Completion& done) {
  around_.network.receive(at(socket), into, at_least, done);
}

void SimIo::send(io::Socket socket, Bytes from, bool, io::Completion& done) {
  around_.network.send(at(socket), {.done = &done, .from = from, .size = from.size()});
}

void SimIo::send_file(io::Socket socket, io::File file, std::uint64_t position, std::uint64_t length,
                      io::Completion& done) {
  around_.network.send(at(socket),
                       {.done = &done, .file = file, .position = position, .size = static_cast<std::size_t>(length)});
}

void SimIo::shutdown(io::Socket socket) {
  if (!abandoned_) around_.network.shutdown(at(socket));
}

void SimIo::close(io::Socket socket) {
  if (abandoned_) return;  // destructors of a killed process
  if (listeners_.erase(socket.handle) != 0) return around_.network.stop_listening(*this, socket.handle);
  const std::shared_ptr<Endpoint> endpoint = at(socket);
  CHECK(endpoint->receiving.done == nullptr && endpoint->sending.done == nullptr);
  around_.network.shutdown(endpoint);
  endpoint->owner = nullptr;
  endpoints_.erase(socket.handle);
}

void SimIo::reset(io::Socket socket) { around_.network.reset(at(socket)); }

io::Socket SimIo::connect(std::uint16_t port) {
  std::shared_ptr<Endpoint> endpoint = around_.network.connect(*this, port);
  return endpoint == nullptr ? io::Socket{} : io::Socket{adopt(std::move(endpoint))};
}

// There are no plain descriptors here: bells and session sockets are the world's.
void SimIo::wait_readable(int, io::Completion&) { CHECK(false); }
void SimIo::forget(int descriptor) { around_.network.stop_listening(*this, descriptor); }

}  // namespace tailrace::sim
