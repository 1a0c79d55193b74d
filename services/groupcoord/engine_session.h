// EngineSession: the session with tailrace-engine, made again whenever it breaks, and the memory that appends go
// through. It names the cluster and node whose data it is about before anything else is asked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/api/client.h"
#include "engine/io/io.h"
#include "engine/ipc/arena.h"
#include "engine/ipc/session.h"

namespace tailrace::groupcoord {

class EngineSession {
 public:
  // `path`: the engine's socket file. `arena` outlives it.
  EngineSession(io::Io& io, const ipc::Bell& bell, std::string path, ipc::SharedMemory arena);

  // Who this node is. The first time the session is made, then it is told to each new one.
  void identify(const std::string& cluster_id, BrokerId node_id);
  // Calls of a session that breaks are answered with peer_gone.
  [[nodiscard]] api::Client& client() { return client_; }
  [[nodiscard]] ipc::Arena& arena() { return arena_; }

  // As of node::Worker.
  bool work();
  void publish() { client_.publish(); }
  bool prepare_to_sleep() { return !is_lost_ && client_.prepare_to_sleep(); }
  void wake() { client_.wake(); }

 private:
  void on_session(std::unique_ptr<ipc::SocketLink> link);
  void on_identified(const api::Done& done, Bytes extra);

  ipc::SharedMemory memory_;
  ipc::Arena arena_;
  api::Client client_;
  ipc::Connector connector_;
  ipc::SocketLink* link_ = nullptr;  // owned by the client
  std::string cluster_id_;
  BrokerId node_id_ = -1;
  api::Call<api::Done> identify_;
  bool is_connecting_ = false;
  bool is_lost_ = false;  // carried out by work()
};

}  // namespace tailrace::groupcoord
