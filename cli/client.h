// A client of a Kafka cluster for the tools: finds brokers, topics and leaders, and asks one question at a time. It
// owns a connection per broker, opened when needed. Blocking, single-threaded.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/connection.h"
#include "engine/base/types.h"
#include "services/kafka/codec.h"

namespace tailrace::cli {

class Command;

struct ClientOptions {
  std::string bootstrap = "127.0.0.1:9092";  // one or several, with commas
  std::int64_t timeout_ms = 30'000;          // for each answer
};

// Adds --bootstrap-server and --timeout.
void add_client_options(Command command, ClientOptions& options);

// A decoded response with the frame that it borrows from.
template <class M>
struct Reply {
  Connection::Response response;
  M message;
};

struct Partition {
  std::int32_t index = 0;
  std::int16_t error_code = 0;
  BrokerId leader = -1;
  LeaderEpoch leader_epoch = -1;
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> in_sync;
};

struct Topic {
  std::string name;
  Uuid id;
  std::int16_t error_code = 0;
  bool is_internal = false;
  std::vector<Partition> partitions;  // sorted by index
};

struct Cluster {
  std::string id;
  BrokerId controller = -1;
  std::map<BrokerId, HostPort> brokers;
  std::vector<Topic> topics;  // sorted by name
};

class Client {
 public:
  // Tries the bootstrap addresses in turn.
  static Outcome<Client> connect(const ClientOptions& options);

  // All topics, or those named; a topic that does not exist has an error code. Topics are made when `create` is set and
  // the broker does so. Remembers brokers, and forgets connections to those that are gone.
  Outcome<Cluster> describe(const std::vector<std::string>* topics, bool create);
  // One topic with partitions that have leaders, waiting for them as long as the time limit. Error: it does not exist.
  Outcome<Topic> topic(const std::string& name, bool create);

  // Any broker, a broker by id, and the controller (as of the last describe).
  Outcome<Connection*> any();
  Outcome<Connection*> broker(BrokerId id);
  Outcome<Connection*> controller();
  void forget(BrokerId id) { connections_.erase(id); }

  [[nodiscard]] std::chrono::milliseconds timeout() const { return std::chrono::milliseconds(options_.timeout_ms); }
  [[nodiscard]] Connection::Clock::time_point deadline() const { return Connection::Clock::now() + timeout(); }

 private:
  explicit Client(ClientOptions options) : options_(std::move(options)) {}

  ClientOptions options_;
  std::vector<HostPort> bootstrap_;
  std::map<BrokerId, HostPort> brokers_;
  std::map<BrokerId, Connection> connections_;
  std::vector<Connection> bootstrap_connection_;  // at most one
  BrokerId controller_ = -1;
};

// One request and its response, in the highest version up to `version_max` that both know. Error: the broker serves
// none, the connection broke, the time is up, or the answer does not decode. Error codes inside are the caller's.
template <class Answer, class Request>
Outcome<Reply<Answer>> ask(Connection& connection, const Request& request, std::chrono::milliseconds limit,
                           std::int16_t version_max = Request::kMessage.version_max) {
  const auto& info = Request::kMessage;
  const std::int16_t version = connection.version_for(info.api_key, info.version_min, version_max);
  if (version < 0) {
    return std::unexpected(fmt::format("{} does not serve {} in a version that we know", connection.address().text(),
                                       info.name.substr(0, info.name.size() - std::string_view("Request").size())));
  }
  const auto give_up = Connection::Clock::now() + limit;
  kafka::encode(request, version, connection.begin_frame(info.api_key, version));
  connection.end_frame();
  if (auto sent = connection.flush(give_up); !sent) return std::unexpected(sent.error());
  auto response = connection.receive(give_up);
  if (!response) return std::unexpected(response.error());
  auto message = kafka::decode<Answer>(response->body(), version);
  if (!message) {
    return std::unexpected(
        fmt::format("{} sent what does not decode: {}", connection.address().text(), message.error().text()));
  }
  return Reply<Answer>{.response = std::move(*response), .message = std::move(*message)};
}

}  // namespace tailrace::cli
