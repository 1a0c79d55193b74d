#include "tests/wire/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tailrace::wire {
namespace {

constexpr int kHangS = 60;

// Receives exactly so many bytes. False: the node closed the connection.
bool receive_exactly(int socket, char* into, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket, into, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) ADD_FAILURE() << "nothing came in " << kHangS << " s";
    if (got <= 0) return false;
    into += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Client::Client(std::uint16_t port, const std::string& host) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  const bool is_six = ::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1;
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  ::inet_pton(AF_INET, host.c_str(), &four.sin_addr);
  socket_ = ::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* const address = is_six ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  EXPECT_EQ(::connect(socket_, address, is_six ? sizeof six : sizeof four), 0) << std::strerror(errno);
  const timeval limit{.tv_sec = kHangS, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Client::~Client() { ::close(socket_); }

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) ADD_FAILURE() << "nothing was taken in " << kHangS << " s";
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void Client::finish_sending() { ::shutdown(socket_, SHUT_WR); }

std::optional<std::string> Client::receive_frame() {
  char size_bytes[4];
  if (!receive_exactly(socket_, size_bytes, sizeof size_bytes)) return std::nullopt;
  const auto size = load_big_endian<std::int32_t>(reinterpret_cast<const std::byte*>(size_bytes));
  if (size < 0) {
    ADD_FAILURE() << "a response of " << size << " bytes";
    return std::nullopt;
  }
  std::string frame(static_cast<std::size_t>(size), '\0');
  if (!receive_exactly(socket_, frame.data(), frame.size())) {
    ADD_FAILURE() << "the connection was closed inside a response";
    return std::nullopt;
  }
  return frame;
}

bool Client::is_closed_by_node() {
  char byte = 0;
  const ssize_t got = ::recv(socket_, &byte, 1, 0);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

bool Client::is_silent() const {
  pollfd readable{socket_, POLLIN, 0};
  return ::poll(&readable, 1, 0) == 0;
}

}  // namespace tailrace::wire
