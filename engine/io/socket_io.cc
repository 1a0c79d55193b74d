#include "engine/io/socket_io.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "engine/base/observe.h"

namespace tailrace::io {
namespace {

// One writer sends at most this much before the others get their turn: about half a millisecond of loopback.
constexpr std::uint64_t kBytesPerTurnMax = 4u << 20;

Result<Address> to_address(const sockaddr_storage& from, socklen_t size) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, host, sizeof host, port, sizeof port,
                                   NI_NUMERICHOST | NI_NUMERICSERV);
  if (failed != 0) return failure(Code::io_failed, "reading a socket's address");
  std::string text = host;
  // A dual-stack listener shows IPv4 peers as ::ffff:a.b.c.d.
  if (text.starts_with("::ffff:") && text.find('.') != std::string::npos) text.erase(0, 7);
  return Address{std::move(text), static_cast<std::uint16_t>(std::stoi(port))};
}

}  // namespace

SocketIo::SocketIo() {
  if (::getrandom(&random_state_, sizeof random_state_, 0) != sizeof random_state_) random_state_ = 1;
  update_now();
}

void SocketIo::update_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  now_ = Instant{time.tv_sec * 1'000'000 + time.tv_nsec / 1000};
}

TimestampMs SocketIo::wall_clock_ms() const {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

std::int64_t SocketIo::steady_ns() const {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t SocketIo::random() {  // splitmix64
  random_state_ += 0x9E3779B97F4A7C15u;
  std::uint64_t z = random_state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

SocketIo::Descriptor& SocketIo::at(int descriptor) {
  const auto index = static_cast<std::size_t>(descriptor);
  if (index >= descriptors_.size()) descriptors_.resize(std::max(index + 1, 2 * descriptors_.size()));
  return descriptors_[index];
}

void SocketIo::ensure_watched(int descriptor, Descriptor& state) {
  if (state.watched) return;
  state.watched = true;
  if (const int error = watch(descriptor); error != 0) on_watch_failed(descriptor, error);
}

void SocketIo::on_watch_failed(int descriptor, int error) {
  Descriptor& state = at(descriptor);
  log_warning("descriptor not watched descriptor={} error=\"{}\"", descriptor, std::strerror(error));
  state.watched = false;
  state.is_drained = false;
  if (state.reading != Reading::nothing) end_reading(state, -error);
  if (state.writing == Writing::nothing) return;
  std::erase(yielded_, descriptor);
  end_writing(state, -error);
}

Result<Socket> SocketIo::listen(const Address& address, int backlog) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(), &hints, &found) != 0) {
    return failure(Code::invalid_argument, "resolving the listener's host name");
  }
  // An empty host means every address: the IPv6 wildcard takes IPv4 as well, where the system has IPv6.
  const addrinfo* chosen = found;
  for (const addrinfo* each = found; address.host.empty() && each != nullptr; each = each->ai_next) {
    if (each->ai_family == AF_INET6) chosen = each;
  }
  int fd = ::socket(chosen->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 && chosen != found) {
    chosen = found;
    fd = ::socket(chosen->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  }
  int error = fd < 0 ? errno : 0;
  if (fd >= 0) {
    const int yes = 1;
    const int no = 0;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (chosen->ai_family == AF_INET6) {
      ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, address.host.empty() ? &no : &yes, sizeof yes);
    }
    if (::bind(fd, chosen->ai_addr, chosen->ai_addrlen) != 0 || ::listen(fd, backlog) != 0) error = errno;
  }
  ::freeaddrinfo(found);
  if (error == 0) return Socket{fd};
  if (fd >= 0) ::close(fd);
  return system_failure(error, "binding the listener");
}

Result<Address> SocketIo::local_address(Socket socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket.handle, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return system_failure(errno);
  return to_address(storage, size);
}

Result<Address> SocketIo::peer_address(Socket socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(socket.handle, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return system_failure(errno);
  return to_address(storage, size);
}

void SocketIo::accept(Socket listener, Completion& done) {
  Descriptor& state = at(listener.handle);
  CHECK(state.reading == Reading::nothing);
  done.pending = true;
  state.reading = Reading::accept;
  state.read_done = &done;
  continue_reading(listener.handle);
}

void SocketIo::receive(Socket socket, MutableBytes into, std::size_t at_least, Completion& done) {
  Descriptor& state = at(socket.handle);
  CHECK(state.reading == Reading::nothing);
  done.pending = true;
  state.reading = Reading::receive;
  state.read_done = &done;
  state.into = into;
  state.read_bytes = 0;
  state.read_at_least = at_least;
  if (state.is_drained) return;
  continue_reading(socket.handle);
}

void SocketIo::wait_readable(int descriptor, Completion& done) {
  Descriptor& state = at(descriptor);
  CHECK(state.reading == Reading::nothing);
  done.pending = true;
  state.reading = Reading::readable;
  state.read_done = &done;
  ensure_watched(descriptor, state);
  if (state.edge_seen && state.reading != Reading::nothing) end_reading(state, 0);
}

void SocketIo::send(Socket socket, Bytes from, bool more, Completion& done) {
  Descriptor& state = at(socket.handle);
  CHECK(state.writing == Writing::nothing);
  done.pending = true;
  state.writing = Writing::send;
  state.write_done = &done;
  state.from = from;
  state.more = more;
  state.written_bytes = 0;
  continue_writing(socket.handle);
}

void SocketIo::send_file(Socket socket, File file, std::uint64_t position, std::uint64_t length, Completion& done) {
  Descriptor& state = at(socket.handle);
  CHECK(state.writing == Writing::nothing);
  done.pending = true;
  state.writing = Writing::send_file;
  state.write_done = &done;
  state.file = file.handle;
  state.position = position;
  state.length = length;
  state.written_bytes = 0;
  continue_writing(socket.handle);
}

void SocketIo::end_reading(Descriptor& state, std::int64_t result) {
  state.reading = Reading::nothing;
  state.edge_seen = false;
  complete(*state.read_done, result);
}

void SocketIo::end_writing(Descriptor& state, std::int64_t result) {
  state.writing = Writing::nothing;
  complete(*state.write_done, result);
}

void SocketIo::continue_reading(int descriptor) {
  Descriptor& state = at(descriptor);
  if (state.reading == Reading::readable) return end_reading(state, 0);
  if (state.reading == Reading::accept) {
    const int fd = ::accept4(descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      const int yes = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
      return end_reading(state, fd);
    }
    if (errno == EAGAIN) return ensure_watched(descriptor, state);
    return end_reading(state, -errno);
  }
  while (state.read_bytes < state.read_at_least) {
    const std::size_t wanted = state.into.size() - state.read_bytes;
    const ssize_t got = ::recv(descriptor, state.into.data() + state.read_bytes, wanted, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return ensure_watched(descriptor, state);
    if (got < 0) return end_reading(state, -errno);
    if (got == 0) break;
    state.read_bytes += static_cast<std::size_t>(got);
    // Less than asked for means that there was no more; whatever comes now brings an edge, if edges are watched.
    state.is_drained = state.watched && !state.has_ended && static_cast<std::size_t>(got) < wanted;
    if (state.is_drained && state.read_bytes < state.read_at_least) return;
  }
  end_reading(state, static_cast<std::int64_t>(state.read_bytes));
}

void SocketIo::continue_writing(int descriptor) {
  Descriptor& state = at(descriptor);
  const std::uint64_t total = state.writing == Writing::send ? state.from.size() : state.length;
  std::uint64_t moved = 0;
  while (state.written_bytes < total) {
    if (moved >= kBytesPerTurnMax) return yielded_.push_back(descriptor);
    ssize_t put = 0;
    if (state.writing == Writing::send) {
      put = ::send(descriptor, state.from.data() + state.written_bytes, total - state.written_bytes,
                   MSG_NOSIGNAL | (state.more ? MSG_MORE : 0));
    } else {
      auto position = static_cast<off_t>(state.position + state.written_bytes);
      put = ::sendfile(descriptor, state.file, &position, std::min(total - state.written_bytes, kBytesPerTurnMax));
    }
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return ensure_watched(descriptor, state);
    if (put < 0) return end_writing(state, -errno);
    if (put == 0) break;  // the file ended
    state.written_bytes += static_cast<std::uint64_t>(put);
    moved += static_cast<std::uint64_t>(put);
  }
  end_writing(state, static_cast<std::int64_t>(state.written_bytes));
}

void SocketIo::on_ready(int descriptor, bool readable, bool writable, bool ended) {
  Descriptor& state = at(descriptor);
  state.has_ended = state.has_ended || ended;
  if (readable || ended) {
    state.edge_seen = true;
    state.is_drained = false;
    if (state.reading != Reading::nothing) continue_reading(descriptor);
  }
  if ((writable || ended) && at(descriptor).writing != Writing::nothing) continue_writing(descriptor);
}

void SocketIo::shutdown(Socket socket) {
  ::shutdown(socket.handle, SHUT_RDWR);
  // A listener or a socket that is not watched gets no edge from shutdown: end what is in flight here.
  Descriptor& state = at(socket.handle);
  if (state.reading != Reading::nothing) end_reading(state, -ECANCELED);
  if (state.writing != Writing::nothing) {
    std::erase(yielded_, socket.handle);
    end_writing(state, -ECANCELED);
  }
}

void SocketIo::close(Socket socket) {
  Descriptor& state = at(socket.handle);
  CHECK(state.reading == Reading::nothing);
  CHECK(state.writing == Writing::nothing);
  if (state.watched) unwatch(socket.handle);
  state = Descriptor{};
  ::close(socket.handle);
}

void SocketIo::forget(int descriptor) {
  Descriptor& state = at(descriptor);
  for (Completion* const done : {state.read_done, state.write_done}) {
    if (done == nullptr || !done->pending) continue;
    queue_.remove(*done);
    done->pending = false;
  }
  std::erase(yielded_, descriptor);
  if (state.watched) unwatch(descriptor);
  state = Descriptor{};
}

std::uint64_t SocketIo::turn(bool poll) {
  // Work that is at hand goes before a system call that would only ask for more; now and then the kernel is asked all
  // the same.
  const bool has_work = poll || !queue_.empty() || !yielded_.empty();
  if (!has_work || ++turns_without_asking_ >= kTurnsWithoutAskingMax) {
    turns_without_asking_ = 0;
    std::int64_t timeout_us = -1;
    if (has_work) {
      timeout_us = 0;
    } else if (!timers_.empty()) {
      update_now();
      timeout_us = std::max<std::int64_t>(0, (timers_.next() - now_).count());
    }
    wait(timeout_us);
  }
  update_now();
  std::vector<int> yielded;
  yielded.swap(yielded_);
  for (const int descriptor : yielded) {
    if (at(descriptor).writing != Writing::nothing) continue_writing(descriptor);
  }
  std::uint64_t ran = timers_.run(now_);
  // A completion often starts an operation that completes at once.
  for (int round = 0; round < 4 && !queue_.empty(); ++round) ran += queue_.run();
  return ran;
}

}  // namespace tailrace::io
