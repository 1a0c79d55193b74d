// Control: the node's only door for what the controller decides. It keeps the session with zkbridge, makes the engine
// follow LeaderAndIsr and StopReplica, swaps the image on UpdateMetadata, and answers when the engine has done it. When
// the engine comes back, it is told all roles again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/api/client.h"
#include "engine/ipc/message_channel.h"
#include "engine/ipc/session.h"
#include "services/broker/forwarder.h"
#include "services/broker/node_state.h"

namespace tailrace::broker {

class Control {
 public:
  // `on_ready`: the node has its identity, its image and an engine that leads what it should; called once.
  // `on_refused`: the engine holds another cluster's or node's data.
  Control(NodeState& node, const ipc::Bell& bell, std::string socket_path, Forwarder& forwarder,
          std::function<void()> on_ready, std::function<void()> on_refused);
  ~Control();

  // What zkbridge is told of this node; connects.
  void start(std::vector<node::Endpoint> reachable);
  // A new session with the engine: identify, then all roles.
  void on_engine_attached();

  bool work();
  void publish();
  bool prepare_to_sleep();
  void wake();

 private:
  struct Role;
  struct Batch;
  struct Removal;
  struct Retry;

  void on_session(std::unique_ptr<ipc::SocketLink> link);
  void on_session_closed();
  void on_message(std::uint32_t type, Bytes message);
  void on_welcome(Bytes message);
  void on_config_image(Bytes message);
  void on_control(std::uint64_t number, Bytes frame);
  void on_leader_and_isr(std::uint64_t number, std::int32_t correlation_id, std::int16_t version, Bytes body);
  void on_update_metadata(std::uint64_t number, std::int32_t correlation_id, std::int16_t version, Bytes body);
  void on_stop_replica(std::uint64_t number, std::int32_t correlation_id, std::int16_t version, Bytes body);
  void on_identified(const api::Done& done, Bytes extra);
  void set_role(Role& role);
  void on_role_set(Role& role, const api::RoleSet& answer);
  void drop_role(std::map<TopicIdPartition, std::unique_ptr<Role>>::iterator at);
  void remove(Removal& removal);
  void on_removed(Removal& removal, const api::Done& answer);
  void answer_if_complete(Batch& batch);
  void reply(std::uint64_t number, Bytes frame);
  void retry_at(Instant due);
  void on_retry();
  void start_roles_and_removals();
  void tell_ready();

  NodeState& node_;
  Forwarder& forwarder_;
  std::function<void()> on_ready_;
  std::function<void()> on_refused_;
  ipc::Connector connector_;
  ipc::SocketLink* link_ = nullptr;  // owned by the channel
  std::unique_ptr<ipc::MessageChannel> channel_;
  std::unique_ptr<ipc::MessageChannel> ended_channel_;  // destroyed outside its own callbacks
  std::vector<node::Endpoint> reachable_;
  // By partition; a role stays while the controller wants it, with its call inside.
  std::map<TopicIdPartition, std::unique_ptr<Role>> roles_;
  std::vector<std::unique_ptr<Batch>> batches_;  // LeaderAndIsr and StopReplica not answered yet
  std::vector<std::unique_ptr<Removal>> removals_;
  api::Call<api::Done> identify_;
  io::Timer retry_timer_;
  bool engine_identified_ = false;
  bool has_image_ = false;
  bool told_ready_ = false;
};

}  // namespace tailrace::broker
