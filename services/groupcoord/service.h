// Service: tailrace-groupcoord's work. It takes request frames from the broker, finds the one that answers an API in
// its table, and sends the answer back over the session that asked, then or later. It owns the sessions and what waits;
// the decisions are those of the pure parts (ProducerIds; groups and transactions are to stand beside it).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/base/counters.h"
#include "engine/io/io.h"
#include "engine/ipc/message_channel.h"
#include "engine/ipc/session.h"
#include "services/groupcoord/bridge.h"
#include "services/groupcoord/producer_ids.h"
#include "services/kafka/buffer.h"
#include "services/node/process.h"

namespace tailrace::kafka {
enum class ErrorCode : std::int16_t;
}

namespace tailrace::groupcoord {

class Service final : public node::Worker {
 public:
  // A node has one broker; while it is started again its old session may still be there.
  static constexpr std::size_t kSessionsMax = 8;

  // `bridge_path`: zkbridge's socket file.
  Service(io::Io& io, const ipc::Bell& bell, Counters& counters, const std::string& bridge_path);
  ~Service() override;

  // Takes the broker's sessions at `path` from now on, whether or not zkbridge is there: requests that need it wait.
  Result<void> start(const std::string& path);

  bool work() override;
  bool prepare_to_sleep() override;
  void wake() override;
  // At once: nothing here needs an end, and the broker answers what waits with an error that clients retry.
  void stop() override { stopped_ = true; }
  [[nodiscard]] bool stopped() const override { return stopped_; }

 private:
  struct Session {
    std::unique_ptr<ipc::MessageChannel> channel;
    bool is_closed = false;    // by the peer
    bool is_violated = false;  // it sent what cannot come from a broker
  };
  // Where the answer to a request goes.
  struct Call {
    std::uint64_t session = 0;
    std::uint64_t number = 0;
    std::int16_t api_key = 0;
    std::int16_t api_version = 0;
    std::int32_t correlation_id = 0;
  };
  // An API that is answered here, in the versions that kafka/api_table.h says.
  struct Route {
    std::int16_t api_key = 0;
    void (Service::*serve)(const Call& call, Bytes body) = nullptr;
  };
  static const Route kRoutes[];

  void on_session(std::unique_ptr<ipc::SocketLink> link);
  bool work_on_sessions();
  void on_message(std::uint64_t session, std::uint32_t type, Bytes message);
  void dispatch(const Call& call, Bytes body);
  template <class Message>
  void respond(const Call& call, const Message& message);
  // The broker says that the request cannot be answered, in its own way.
  void respond_nothing(const Call& call);
  void send_reply(const Call& call, Bytes response);

  void init_producer_id(const Call& call, Bytes body);
  void refuse_producer_id(const Call& call, kafka::ErrorCode error);
  void apply(const ProducerIds::Effects& effects);
  void request_block();
  bool on_block_response(std::uint64_t number, Bytes response);
  void on_block_refused(std::int16_t error);
  void on_producer_ids_due();
  void arm_producer_ids_timer();

  io::Io& io_;
  const ipc::Bell& bell_;
  std::unique_ptr<ipc::Listener> listener_;
  std::map<std::uint64_t, Session> sessions_;
  std::uint64_t next_session_ = 1;
  bool stopped_ = false;
  kafka::Buffer buffer_;

  Bridge bridge_;
  ProducerIds producer_ids_;
  std::unordered_map<ProducerIds::Token, Call> waiting_for_ids_;
  ProducerIds::Token next_token_ = 1;
  std::uint64_t block_request_ = 0;  // the number of the last one; 0: none
  io::Timer producer_ids_due_;
  bool is_refusal_logged_ = false;
  bool is_transaction_logged_ = false;

  Counter requests_;
  Counter refused_;
  Counter producer_ids_given_;
  Counter blocks_;
  Counter open_sessions_;
};

}  // namespace tailrace::groupcoord
