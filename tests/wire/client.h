// Client: a blocking connection to a node that speaks raw bytes, or frames of the protocol's own structs, with nothing
// between that could repair them. A receive that takes as long as only a hang does fails the test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"

namespace tailrace::wire {

// A decoded answer and the frame that it borrows from.
template <class M>
struct Answer {
  std::shared_ptr<const std::string> frame;
  M message{};
  const M* operator->() const { return &message; }
  const M& operator*() const { return message; }
};

class Client {
 public:
  // `host` is a numeric address, IPv4 or IPv6.
  explicit Client(std::uint16_t port, const std::string& host = "127.0.0.1");
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False: the node has closed the connection.
  bool send(std::string_view bytes);
  // The client has no more to say.
  void finish_sending();
  // A frame without its size; nothing when the node has closed the connection.
  std::optional<std::string> receive_frame();
  // Waits until the node closes; false when it sends something instead.
  bool is_closed_by_node();
  // Nothing has arrived yet, and the connection is open. Says nothing about the next moment.
  [[nodiscard]] bool is_silent() const;

  template <class Request>
  static std::string frame(const Request& request, std::int16_t version, std::int32_t correlation_id,
                           std::string_view client_id = "wire") {
    kafka::Buffer buffer;
    const std::size_t start = kafka::begin_request({.api_key = Request::kMessage.api_key,
                                                    .api_version = version,
                                                    .correlation_id = correlation_id,
                                                    .client_id = client_id},
                                                   buffer);
    kafka::encode(request, version, buffer);
    kafka::end_frame(start, buffer);
    return std::string(as_text(buffer.bytes()));
  }

  // Sends a request; its correlation id is returned.
  template <class Request>
  std::int32_t ask(const Request& request, std::int16_t version) {
    EXPECT_TRUE(send(frame(request, version, ++correlation_id_)));
    return correlation_id_;
  }

  // Receives the response to a request of `version` and decodes it to its last byte.
  template <class Response>
  Answer<Response> hear(std::int16_t version, std::int32_t correlation_id) {
    const std::optional<std::string> frame = receive_frame();
    Answer<Response> answer;
    if (!frame) {
      ADD_FAILURE() << Response::kMessage.name << " " << version << ": the connection was closed";
      return answer;
    }
    return decode<Response>(*frame, version, correlation_id);
  }

  template <class Response>
  static Answer<Response> decode(const std::string& frame, std::int16_t version, std::int32_t correlation_id) {
    Answer<Response> answer{.frame = std::make_shared<std::string>(frame)};
    std::int32_t echoed = 0;
    std::size_t body_at = 0;
    const Bytes bytes = as_bytes(*answer.frame);
    const std::int16_t header_version = kafka::response_header_version(Response::kMessage.api_key, version);
    EXPECT_TRUE(kafka::decode_response_header(bytes, header_version, echoed, body_at));
    EXPECT_EQ(echoed, correlation_id);
    Result<Response> message = kafka::decode_exactly<Response>(bytes.subspan(body_at), version);
    EXPECT_TRUE(message) << Response::kMessage.name << " " << version << ": " << message.error().text();
    if (message) answer.message = std::move(*message);
    return answer;
  }

  template <class Response, class Request>
  Answer<Response> call(const Request& request, std::int16_t version) {
    return hear<Response>(version, ask(request, version));
  }

 private:
  int socket_ = -1;
  std::int32_t correlation_id_ = 0;
};

}  // namespace tailrace::wire
