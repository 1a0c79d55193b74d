#include "tests/sim/network.h"

#include <algorithm>
#include <cerrno>

#include "engine/base/check.h"
#include "tests/sim/sim_io.h"

namespace tailrace::sim {

Result<void> Network::listen(SimIo& owner, int handle, const io::Address& address) {
  if (listening_.contains(address.port)) return system_failure(EADDRINUSE, "listening");
  listening_[address.port] = {.owner = &owner, .handle = handle};
  return {};
}

void Network::stop_listening(SimIo& owner, int handle) {
  std::erase_if(listening_,
                [&](const auto& each) { return each.second.owner == &owner && each.second.handle == handle; });
}

void Network::drop_process(SimIo& owner) {
  std::erase_if(listening_, [&](const auto& each) { return each.second.owner == &owner; });
}

void Network::accept(SimIo& owner, int handle, io::Completion& done) {
  for (auto& [port, listening] : listening_) {
    if (listening.owner != &owner || listening.handle != handle) continue;
    done.pending = true;
    listening.accepting = &done;
    return accept_due(listening);
  }
  CHECK(false);
}

void Network::accept_due(Listening& listening) {
  if (listening.accepting == nullptr || listening.backlog.empty()) return;
  const std::shared_ptr<Endpoint> endpoint = listening.backlog.front();
  listening.backlog.pop_front();
  io::Completion& done = *std::exchange(listening.accepting, nullptr);
  listening.owner->complete(done, listening.owner->adopt(endpoint));
}

std::shared_ptr<Endpoint> Network::connect(SimIo& from, std::uint16_t port) {
  const auto found = listening_.find(port);
  if (found == listening_.end()) return nullptr;
  auto near = std::make_shared<Endpoint>();
  auto far = std::make_shared<Endpoint>();
  near->owner = &from;
  near->peer = far;
  far->peer = near;
  near->window = static_cast<std::size_t>(schedule_.random.between(64, 65536));
  far->window = static_cast<std::size_t>(schedule_.random.between(64, 65536));
  near->remote = far->local = {"127.0.0.1", port};
  near->local = far->remote = {"127.0.0.1", next_port_++};
  found->second.backlog.push_back(far);
  accept_due(found->second);
  return near;
}

void Network::receive(const std::shared_ptr<Endpoint>& at, MutableBytes into, std::size_t at_least,
                      io::Completion& done) {
  CHECK(at->receiving.done == nullptr && !done.pending);
  done.pending = true;
  at->receiving = {.done = &done, .into = into, .size = into.size(), .at_least = at_least};
  deliver(at);
}

// Gives the receive in flight what has come.
void Network::deliver(const std::shared_ptr<Endpoint>& at) {
  Endpoint::Flight& flight = at->receiving;
  if (flight.done == nullptr) return;
  const std::size_t size = std::min(flight.size - flight.moved, at->inbox.size());
  std::copy_n(at->inbox.begin(), size, flight.into.begin() + static_cast<std::ptrdiff_t>(flight.moved));
  at->inbox.erase(at->inbox.begin(), at->inbox.begin() + static_cast<std::ptrdiff_t>(size));
  flight.moved += size;
  if (size > 0) {
    if (const std::shared_ptr<Endpoint> peer = at->peer.lock()) pump(peer);
  }
  if (flight.moved < flight.at_least && !at->ended && !at->shut) return;
  io::Completion& done = *std::exchange(flight.done, nullptr);
  at->owner->complete(done, static_cast<std::int64_t>(flight.moved));
}

void Network::send(const std::shared_ptr<Endpoint>& at, Endpoint::Flight flight) {
  CHECK(at->sending.done == nullptr && !flight.done->pending);
  flight.done->pending = true;
  at->sending = flight;
  pump(at);
}

void Network::pump(const std::shared_ptr<Endpoint>& from) {
  if (from->pumping || from->sending.done == nullptr) return;
  from->pumping = true;
  const Duration delay{schedule_.random.one_in(30) ? schedule_.random.between(1000, 50'000)
                                                   : schedule_.random.between(1, 200)};
  schedule_.after(delay, from, [this, weak = std::weak_ptr(from)] {
    const std::shared_ptr<Endpoint> at = weak.lock();
    at->pumping = false;
    if (at->sending.done != nullptr) move_piece(at);
  });
}

void Network::move_piece(const std::shared_ptr<Endpoint>& from) {
  Endpoint::Flight& flight = from->sending;
  const std::shared_ptr<Endpoint> peer = from->peer.lock();
  if (from->shut || peer == nullptr || peer->shut || peer->owner == nullptr) return finish_sending(from, -EPIPE);
  const std::size_t left = flight.size - flight.moved;
  const std::size_t room = peer->window - std::min(peer->window, peer->inbox.size());
  std::size_t size = std::min(left, room);
  if (size > 1 && schedule_.random.one_in(3)) size = schedule_.random.below(size) + 1;
  if (flight.file) {
    std::vector<std::byte> bytes(size);
    const Result<std::size_t> got = from->owner->files().read(flight.file, bytes, flight.position + flight.moved);
    CHECK(got.has_value());
    peer->inbox.insert(peer->inbox.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*got));
    flight.moved += *got;
    if (*got < size) return finish_sending(from, static_cast<std::int64_t>(flight.moved));
  } else {
    const Bytes piece = flight.from.subspan(flight.moved, size);
    peer->inbox.insert(peer->inbox.end(), piece.begin(), piece.end());
    flight.moved += size;
  }
  deliver(peer);
  if (flight.done == nullptr) return;
  if (flight.moved == flight.size) return finish_sending(from, static_cast<std::int64_t>(flight.size));
  if (peer->inbox.size() < peer->window) pump(from);  // else the peer's next receive does
}

void Network::finish_sending(const std::shared_ptr<Endpoint>& at, std::int64_t result) {
  if (at->sending.done == nullptr) return;
  io::Completion& done = *std::exchange(at->sending.done, nullptr);
  at->owner->complete(done, result);
}

// The other side has nothing more to say.
void Network::end(const std::shared_ptr<Endpoint>& at) {
  at->ended = true;
  if (at->owner != nullptr) deliver(at);
}

void Network::shutdown(const std::shared_ptr<Endpoint>& at) {
  if (at->shut) return;
  at->shut = true;
  if (at->owner != nullptr) {
    deliver(at);
    finish_sending(at, -EPIPE);
  }
  if (const std::shared_ptr<Endpoint> peer = at->peer.lock()) {
    schedule_.after(Duration{schedule_.random.between(1, 1000)}, peer, [this, weak = std::weak_ptr(peer)] {
      const std::shared_ptr<Endpoint> ended = weak.lock();
      end(ended);
      if (ended->owner != nullptr && ended->sending.done != nullptr) pump(ended);
    });
  }
}

void Network::reset(const std::shared_ptr<Endpoint>& at) {
  const std::shared_ptr<Endpoint> peer = at->peer.lock();
  for (const std::shared_ptr<Endpoint>& each : {at, peer}) {
    if (each == nullptr || each->owner == nullptr) continue;
    each->inbox.clear();
    each->shut = true;
    if (each->receiving.done != nullptr) {
      io::Completion& done = *std::exchange(each->receiving.done, nullptr);
      each->owner->complete(done, -ECONNRESET);
    }
    finish_sending(each, -ECONNRESET);
  }
}

}  // namespace tailrace::sim
