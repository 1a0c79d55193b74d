#include "cli/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/api_versions.h"

namespace tailrace::cli {
namespace {

constexpr std::uint16_t kDefaultPort = 9092;
constexpr std::size_t kFrameMax = std::size_t{512}
                                  << 20;  // no broker sends more to a client that asks for 64 MiB at most
constexpr std::string_view kClientId = "tailrace";

Outcome<int> connect_one(const addrinfo& address, Connection::Clock::time_point give_up) {
  const int descriptor = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return std::unexpected(std::strerror(errno));
  int error = connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{descriptor, POLLOUT, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Connection::Clock::now()).count();
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, left)));
    socklen_t size = sizeof error;
    if (ready <= 0) {
      error = ETIMEDOUT;
    } else {
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error != 0) {
    close(descriptor);
    return std::unexpected(std::strerror(error));
  }
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return descriptor;
}

}  // namespace

std::string HostPort::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Outcome<HostPort> parse_host_port(std::string_view text) {
  HostPort out{.host = std::string(text), .port = kDefaultPort};
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::unexpected(fmt::format("\"{}\" is no address", text));
    out.host = text.substr(1, end - 1);
    if (end + 1 < text.size()) {
      if (text[end + 1] != ':') return std::unexpected(fmt::format("\"{}\" is no address", text));
      port = text.substr(end + 2);
    }
  } else if (const std::size_t colon = text.find(':');
             colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    out.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return std::unexpected(fmt::format("\"{}\" has no port after the colon", text));
  }
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size()) {
      return std::unexpected(fmt::format("\"{}\" is no port", port));
    }
  }
  if (out.host.empty()) return std::unexpected(fmt::format("\"{}\" has no host", text));
  return out;
}

std::string describe_error(std::int16_t code) {
  return fmt::format("{}: {}", kafka::error_name(code), kafka::error_text(code));
}

std::string describe_error(std::int16_t code, std::string_view message) {
  return message.empty() ? describe_error(code) : fmt::format("{}: {}", kafka::error_name(code), message);
}

Outcome<Connection> Connection::open(const HostPort& address, std::chrono::milliseconds limit) {
  const auto give_up = Clock::now() + limit;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) return std::unexpected(fmt::format("cannot find {}: {}", address.host, gai_strerror(failed)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  Outcome<int> descriptor = std::unexpected(std::string("no address"));
  for (const addrinfo* one = addresses.get(); one != nullptr && !descriptor; one = one->ai_next) {
    descriptor = connect_one(*one, give_up);
  }
  if (!descriptor) {
    return std::unexpected(fmt::format("cannot connect to {}: {}", address.text(), descriptor.error()));
  }
  Connection connection(address, *descriptor);
  if (auto asked = connection.ask_versions(give_up); !asked) return std::unexpected(asked.error());
  return connection;
}

Connection::Connection(Connection&& other) noexcept
    : address_(std::move(other.address_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      versions_(std::move(other.versions_)),
      output_(std::move(other.output_)),
      sent_(std::exchange(other.sent_, 0)),
      frame_start_(other.frame_start_),
      next_correlation_id_(other.next_correlation_id_),
      expected_(std::move(other.expected_)),
      size_read_(other.size_read_),
      input_(std::move(other.input_)),
      input_read_(other.input_read_) {
  std::memcpy(size_bytes_, other.size_bytes_, sizeof size_bytes_);
}

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    this->~Connection();
    new (this) Connection(std::move(other));
  }
  return *this;
}

Connection::~Connection() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string Connection::broken(std::string_view what, int system_error) const {
  if (system_error == 0) return fmt::format("{} closed the connection", address_.text());
  return fmt::format("cannot {} {}: {}", what, address_.text(), std::strerror(system_error));
}

std::int16_t Connection::version_for(std::int16_t key, std::int16_t own_min, std::int16_t own_max) const {
  const auto served = versions_.find(key);
  if (served == versions_.end()) return -1;
  const std::int16_t version = std::min(own_max, served->second.second);
  return version < own_min || version < served->second.first ? std::int16_t{-1} : version;
}

kafka::Buffer& Connection::begin_frame(std::int16_t key, std::int16_t version) {
  if (sent_ == output_.size()) {
    output_.clear();
    sent_ = 0;
  }
  const kafka::RequestHeader header{
      .api_key = key, .api_version = version, .correlation_id = next_correlation_id_++, .client_id = kClientId};
  frame_start_ = kafka::begin_request(header, output_);
  expected_.push_back(Expected{.correlation_id = header.correlation_id, .key = key, .version = version});
  return output_;
}

void Connection::end_frame() { kafka::end_frame(frame_start_, output_); }

Outcome<void> Connection::wait(short events, Clock::time_point give_up) const {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Clock::now()).count();
    pollfd waiting{descriptor_, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return std::unexpected(broken("wait for", errno));
    if (ready == 0 && left <= 0) return std::unexpected(fmt::format("{} does not answer", address_.text()));
  }
}

Outcome<bool> Connection::send_some() {
  while (sent_ < output_.size()) {
    const ssize_t sent =
        ::send(descriptor_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return false;
      return std::unexpected(broken("send to", errno));
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  output_.clear();
  sent_ = 0;
  return true;
}

Outcome<void> Connection::flush(Clock::time_point give_up) {
  for (;;) {
    auto sent = send_some();
    if (!sent) return std::unexpected(sent.error());
    if (*sent) return {};
    if (auto waited = wait(POLLOUT, give_up); !waited) return waited;
  }
}

Outcome<bool> Connection::read_some() {
  for (;;) {
    std::byte* to = size_bytes_ + size_read_;
    std::size_t wanted = sizeof size_bytes_ - size_read_;
    if (wanted == 0) {
      to = input_.data() + input_read_;
      wanted = input_.size() - input_read_;
    }
    const ssize_t count = recv(descriptor_, to, wanted, MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return false;
      return std::unexpected(broken("receive from", errno));
    }
    if (count == 0) return std::unexpected(broken("receive from", 0));
    if (size_read_ < sizeof size_bytes_) {
      size_read_ += static_cast<std::size_t>(count);
      if (size_read_ < sizeof size_bytes_) continue;
      const auto size = load_big_endian<std::uint32_t>(size_bytes_);
      if (size < 4 || size > kFrameMax) {
        return std::unexpected(fmt::format("{} sent what is no Kafka response", address_.text()));
      }
      input_ = kafka::Buffer();
      input_.extend(size);
      input_read_ = 0;
    } else {
      input_read_ += static_cast<std::size_t>(count);
    }
    if (size_read_ == sizeof size_bytes_ && input_read_ == input_.size()) return true;
  }
}

Outcome<Connection::Response> Connection::finish_frame() {
  Response response{.frame = std::move(input_), .body_at = 0};
  input_ = kafka::Buffer();
  input_read_ = size_read_ = 0;
  if (expected_.empty()) return std::unexpected(fmt::format("{} answers what nobody asked", address_.text()));
  const Expected expected = expected_.front();
  expected_.pop_front();
  std::int32_t correlation_id = 0;
  const auto header = kafka::decode_response_header(response.frame.bytes(),
                                                    kafka::response_header_version(expected.key, expected.version),
                                                    correlation_id, response.body_at);
  if (!header || correlation_id != expected.correlation_id) {
    return std::unexpected(fmt::format("{} sent what is no Kafka response", address_.text()));
  }
  return response;
}

Outcome<Connection::Response> Connection::receive_some() {
  auto whole = read_some();
  if (!whole) return std::unexpected(whole.error());
  return *whole ? finish_frame() : Response();
}

Outcome<Connection::Response> Connection::receive(Clock::time_point give_up) {
  for (;;) {
    auto whole = read_some();
    if (!whole) return std::unexpected(whole.error());
    if (*whole) return finish_frame();
    if (auto waited = wait(POLLIN, give_up); !waited) return std::unexpected(waited.error());
  }
}

// A broker that does not know our version answers in the layout of version 0, with error 35 (KIP-511).
Outcome<void> Connection::ask_versions(Clock::time_point give_up) {
  for (const std::int16_t version : {std::int16_t{3}, std::int16_t{0}}) {
    const kafka::ApiVersionsRequest request{.client_software_name = "tailrace", .client_software_version = "0.1.0"};
    kafka::encode(request, version, begin_frame(kafka::ApiVersionsRequest::kMessage.api_key, version));
    end_frame();
    if (auto flushed = flush(give_up); !flushed) return flushed;
    auto response = receive(give_up);
    if (!response) return std::unexpected(response.error());
    auto answer = kafka::decode<kafka::ApiVersionsResponse>(response->body(), version);
    if (!answer) answer = kafka::decode<kafka::ApiVersionsResponse>(response->body(), 0);
    if (!answer) return std::unexpected(fmt::format("{} sent what is no Kafka response", address_.text()));
    if (answer->error_code == kafka::wire(kafka::ErrorCode::UNSUPPORTED_VERSION) && version != 0) continue;
    if (answer->error_code != 0) {
      return std::unexpected(fmt::format("{} refuses us: {}", address_.text(), describe_error(answer->error_code)));
    }
    for (const auto& api : answer->api_keys) versions_[api.api_key] = {api.min_version, api.max_version};
    return {};
  }
  return std::unexpected(fmt::format("{} serves no version of ApiVersions that we know", address_.text()));
}

}  // namespace tailrace::cli
