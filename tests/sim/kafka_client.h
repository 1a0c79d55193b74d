// KafkaClient: a client of the broker, over one simulated connection: producers send Produce frames one behind the
// other, readers send Fetch frames; answers come in order. When the connection ends, whatever was in flight has an
// unknown outcome, and it connects again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "engine/base/bytes.h"
#include "services/kafka/codec.h"
#include "tests/sim/client_process.h"

namespace tailrace::sim {

class KafkaClient final : public ClientProcess {
 public:
  // `body` is the answer behind its header; nullopt: the connection ended first.
  using OnAnswer = std::function<void(std::optional<Bytes> body)>;

  KafkaClient(Surroundings& around, Stage& stage, std::string name);
  ~KafkaClient() override;

  [[nodiscard]] bool wants_session() const override { return false; }
  [[nodiscard]] bool is_ready() const override { return static_cast<bool>(socket_) && !broken_; }
  void restart() override;
  bool start_append(api::Append& request, Bytes batch, ipc::Arena::Chunk& chunk,
                    api::Call<api::Appended>& call) override;
  void end_append(const ipc::Arena::Chunk&) override {}

  // Sends a request; without `answer` none will come (acks=0).
  template <class Message>
  void ask(const Message& message, std::int16_t version, OnAnswer answer);
  // The world resets the connection.
  void reset_connection();

 private:
  struct Expected {
    std::int32_t correlation_id = 0;
    std::int16_t api_key = 0;
    std::int16_t version = 0;
    OnAnswer answer;
  };
  bool step() override;
  void connect();
  void break_connection();
  void end_if_idle();
  void send_next();
  void on_sent(std::int64_t result);
  void receive_size();
  void on_size(std::int64_t result);
  void on_frame(std::int64_t result);
  void on_produced(const api::Append& request, api::Call<api::Appended>& call, std::int16_t version,
                   std::optional<Bytes> body);

  io::Socket socket_;
  bool broken_ = false;  // is to be closed when nothing is in flight on it
  std::int32_t next_correlation_id_ = 1;
  std::deque<std::vector<std::byte>> to_send_;
  std::deque<Expected> expected_;
  std::vector<std::byte> size_;
  std::vector<std::byte> frame_;
  io::Completion sent_;
  io::Completion received_size_;
  io::Completion received_frame_;
  io::Timer reconnect_timer_;
  void on_reconnect_due() {}
};

}  // namespace tailrace::sim
