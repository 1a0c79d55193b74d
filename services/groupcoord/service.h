// Service: tailrace-groupcoord's work. It takes request frames from the broker to whoever answers them (ProducerIds, or
// the Coordinator of groups) and sends the answers back over the session that asked, then or later. Tools ask how far
// groups lag, over sessions of their own. It owns the sessions with the other processes and knows where each open
// request came from; the decisions are those of the parts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/base/counters.h"
#include "engine/io/io.h"
#include "engine/ipc/message_channel.h"
#include "engine/ipc/session.h"
#include "services/groupcoord/bridge.h"
#include "services/groupcoord/coordinator.h"
#include "services/groupcoord/engine_session.h"
#include "services/groupcoord/lag_reader.h"
#include "services/groupcoord/producer_ids.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/buffer.h"
#include "services/node/control.h"
#include "services/node/process.h"

namespace tailrace::groupcoord {

class Service final : public node::Worker, public Coordinator::Answerer {
 public:
  // A node has one broker; while it is started again its old session may still be there.
  static constexpr std::size_t kSessionsMax = 8;
  // Beside these: people who look at the same time. More are refused, so that what they ask stays bounded.
  static constexpr std::size_t kToolSessionsMax = 8;

  struct Paths {  // socket files
    std::string bridge;
    std::string engine;
  };
  // `config` outlives the service; `arena` is what appends go through.
  Service(io::Io& io, const ipc::Bell& bell, Counters& counters, const node::Config& config, const Paths& paths,
          ipc::SharedMemory arena);
  ~Service() override;

  // Takes sessions of the broker and of tools at `path` from now on, whether or not zkbridge is there: requests that
  // need it wait.
  Result<void> start(const std::string& path);

  bool work() override;
  bool prepare_to_sleep() override;
  void wake() override;
  // At once: nothing here needs an end, and the broker answers what waits with an error that clients retry.
  void stop() override { stopped_ = true; }
  [[nodiscard]] bool stopped() const override { return stopped_; }

  void answer(std::uint64_t token, Bytes body) override;
  void fail(std::uint64_t token, kafka::ErrorCode error) override;
  void refuse(std::uint64_t token) override;

 private:
  struct Session {
    std::unique_ptr<ipc::MessageChannel> channel;
    ipc::Role role = ipc::Role::broker;  // or tool
    bool is_asking = false;              // a tool that waits for its answer
    bool is_closed = false;              // by the peer
    bool is_violated = false;            // it sent what cannot come from its role
  };
  // Where the answer to a request goes.
  struct Origin {
    std::uint64_t session = 0;
    std::uint64_t number = 0;
    std::int16_t api_key = 0;
    std::int16_t api_version = 0;
    std::int32_t correlation_id = 0;
  };

  void on_session(std::unique_ptr<ipc::SocketLink> link);
  bool work_on_sessions();
  void on_message(std::uint64_t session, std::uint32_t type, Bytes message);
  // False: it is no frame of a client.
  bool on_forwarded(std::uint64_t session, std::uint32_t type, Bytes message);
  // False: it is no request of a tool, or not yet the time for one.
  bool on_lag_request(std::uint64_t session, std::uint32_t type, Bytes message);
  void answer_lag(std::uint64_t session, const kafka::GroupLagResponse& response);
  // What was asked is answered: nullopt when that has been done before.
  std::optional<Origin> take(std::uint64_t token);
  void send(const Origin& to, node::ControlType type, Bytes message);
  void on_identity();

  void init_producer_id(const Call& call, Bytes body);
  void give_producer_id(const Call& call, ProducerId id, kafka::ErrorCode error);
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

  std::unordered_map<std::uint64_t, Origin> open_;  // by token
  std::uint64_t next_token_ = 1;

  Bridge bridge_;
  EngineSession engine_;
  Settings settings_;
  Coordinator coordinator_;
  LagReader lag_reader_;
  ProducerIds producer_ids_;
  std::unordered_map<ProducerIds::Token, Call> waiting_for_ids_;
  std::uint64_t block_request_ = 0;  // the number of the last one; 0: none
  io::Timer producer_ids_due_;
  bool is_refusal_logged_ = false;
  bool is_transaction_logged_ = false;

  Counter requests_;
  Counter lag_pages_;
  Counter refused_;
  Counter producer_ids_given_;
  Counter blocks_;
  Counter open_sessions_;
  Counter open_requests_;
};

}  // namespace tailrace::groupcoord
