// BrokerProcess: the real broker in a simulated process, wired as its main does it, but for the controller: the image
// of the cluster is made here, from the slots. Other processes (zkbridge, groupcoord) are never there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/api/client.h"
#include "engine/base/counters.h"
#include "services/broker/forwarder.h"
#include "services/broker/node_state.h"
#include "services/broker/server.h"
#include "tests/sim/client_process.h"

namespace tailrace::sim {

class BrokerProcess final : public Process {
 public:
  static constexpr std::uint16_t kPort = 9092;
  static constexpr BrokerId kNodeId = 1;

  BrokerProcess(Surroundings& around, Stage& stage);
  ~BrokerProcess() override;

  void use_link(std::unique_ptr<SimLink> link);
  void break_session() {
    if (link_ != nullptr) link_->break_session();
  }
  [[nodiscard]] bool wants_session() const { return link_ == nullptr; }
  [[nodiscard]] const SharedArena& arena_memory() const { return arena_memory_; }

 private:
  bool step() override;
  void update_image();
  void on_identified(const api::Done& answer, Bytes);

  Stage& stage_;
  SharedArena arena_memory_;
  ipc::Arena arena_;
  std::unique_ptr<Counters> counters_;
  api::Client engine_;
  broker::NodeState node_;
  broker::Forwarder zkbridge_;
  broker::Forwarder groupcoord_;
  broker::Server server_;
  SimLink* link_ = nullptr;  // owned by engine_
  bool link_closed_ = false;
  api::Call<api::Done> identify_;
  std::vector<Slot> image_slots_;  // that the image was made of
};

}  // namespace tailrace::sim
