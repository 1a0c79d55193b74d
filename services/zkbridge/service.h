// Service: tailrace-zkbridge around its controller. It accepts the sessions of the other processes, turns their
// messages and the store's results into the controller's events, and does what comes out. One thread; owns the
// sessions, borrows the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/io/io.h"
#include "engine/ipc/message_channel.h"
#include "engine/ipc/session.h"
#include "services/node/process.h"
#include "services/zkbridge/controller.h"
#include "services/zkbridge/store.h"

namespace tailrace::zkbridge {

class Service final : public node::Worker, public StoreListener {
 public:
  // `on_active`: this node's controller serves; called once.
  Service(io::Io& io, Store& store, Controller& controller, std::function<void()> on_active);
  ~Service() override;

  // Listens on `socket_path` and starts the controller. Errors: system failures.
  Result<void> start(const ipc::Bell& bell, const std::string& socket_path);

  bool work() override;
  bool prepare_to_sleep() override;
  void wake() override;
  void stop() override { stopping_ = true; }
  [[nodiscard]] bool stopped() const override {
    return !failure_.empty() || !refusal_.empty() || (stopping_ && store_waits_for_ == 0);
  }
  // Not empty: it could not go on; the process is to be started again.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Not empty: and that would end the same way.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  void on_store_result(StoreResult result) override;
  void on_watch(const WatchEvent& event) override;
  void on_session_lost(const std::string& why) override;

 private:
  struct Client {
    ipc::SocketLink* link = nullptr;  // owned by the channel
    std::unique_ptr<ipc::MessageChannel> channel;
    bool is_closed = false;
  };

  void on_session(std::unique_ptr<ipc::SocketLink> link);
  void on_message(ClientId id, std::uint32_t type, Bytes message);
  bool drop_closed();
  void carry_out(Effects effects);
  void on_timer() { is_due_ = true; }
  void set_timer();
  [[nodiscard]] Moment moment() const { return {io_.now(), io_.wall_clock_ms()}; }

  io::Io& io_;
  Store& store_;
  Controller& controller_;
  std::function<void()> on_active_;
  std::unique_ptr<ipc::Listener> listener_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
  std::size_t store_waits_for_ = 0;  // requests without a result
  bool worked_ = false;
  bool was_active_ = false;
  bool stopping_ = false;
  bool is_due_ = false;
  std::string failure_;
  std::string refusal_;
  io::Timer deadline_;
};

}  // namespace tailrace::zkbridge
