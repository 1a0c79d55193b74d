// ForwardSession: the session with a process that answers forwarded requests (groupcoord), made again whenever it
// breaks.
#pragma once

#include <memory>
#include <string>

#include "engine/ipc/message_channel.h"
#include "engine/ipc/session.h"
#include "services/broker/forwarder.h"

namespace tailrace::broker {

class ForwardSession {
 public:
  ForwardSession(io::Io& io, const ipc::Bell& bell, std::string socket_path, Forwarder& forwarder);
  void start() { connector_.connect(); }
  bool work();
  void publish();
  bool prepare_to_sleep();
  void wake();

 private:
  void on_session(std::unique_ptr<ipc::SocketLink> link);
  void on_closed();

  io::Io& io_;
  Forwarder& forwarder_;
  ipc::Connector connector_;
  ipc::SocketLink* link_ = nullptr;  // owned by the channel
  std::unique_ptr<ipc::MessageChannel> channel_;
  std::unique_ptr<ipc::MessageChannel> ended_channel_;  // destroyed outside its own callbacks
};

}  // namespace tailrace::broker
