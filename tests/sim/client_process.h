// ClientProcess: a service's end of the engine's sessions, as the broker has one: the real api::Client and arena, and
// the actors that use them. The world connects it, breaks its sessions, and may restart it, which is a break with new
// payload memory.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/api/client.h"
#include "engine/ipc/arena.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/process.h"

namespace tailrace::sim {

class ClientProcess;

// Whose data directory this is.
constexpr std::string_view kClusterId = "sim-cluster";
api::Identify identity();

class Actor {
 public:
  explicit Actor(ClientProcess& client) : client_(client) { timer_.bind<&Actor::on_due>(this); }
  virtual ~Actor() = default;
  // Starts what is to be started; called in every turn with a session.
  virtual void act() = 0;
  virtual void on_session() {}
  virtual void on_power_cut() {}
  // What it still waits for once nothing new is begun; empty: nothing.
  [[nodiscard]] virtual std::string unfinished() const = 0;

 protected:
  // act() does nothing before then.
  void pause(std::int64_t low_us, std::int64_t high_us);
  [[nodiscard]] bool pauses() const { return timer_.armed(); }

  ClientProcess& client_;

 private:
  void on_due() {}
  io::Timer timer_;
};

// What actors share with their world.
struct Stage {
  Plan& plan;
  History& history;
  std::vector<Slot>& slots;
  bool healed = false;  // no faults any more, and nothing new is begun
};

class ClientProcess : public Process {
 public:
  static constexpr std::size_t kArenaSize = std::size_t{1} << 17;

  ClientProcess(Surroundings& around, Stage& stage, std::string name, std::size_t descriptors_max);

  void use_link(std::unique_ptr<SimLink> link);
  void break_session() {
    if (link_ != nullptr) link_->break_session();
  }
  // Its memory is lost; the actors, which stand for clients elsewhere, are told that what was in flight failed.
  virtual void restart();
  void on_power_cut();
  // Sends a batch; false: no room now. The chunk that it may take is given back with the answer.
  virtual bool start_append(api::Append& request, Bytes batch, ipc::Arena::Chunk& chunk,
                            api::Call<api::Appended>& call);
  virtual void end_append(const ipc::Arena::Chunk& chunk);
  [[nodiscard]] virtual bool wants_session() const { return link_ == nullptr; }
  [[nodiscard]] virtual bool is_ready() const { return identified_; }

  Stage& stage() { return stage_; }
  api::Client& api() { return api_; }
  ipc::Arena& arena() { return *arena_; }
  [[nodiscard]] const SharedArena& arena_memory() const { return arena_memory_; }
  Schedule& schedule() { return around_.schedule; }
  Random& random() { return around_.schedule.random; }
  std::vector<std::unique_ptr<Actor>>& actors() { return actors_; }

 protected:
  bool step() override;

 private:
  void drop_session();
  void on_identified(const api::Done& answer, Bytes);

  Stage& stage_;
  SharedArena arena_memory_;
  std::optional<ipc::Arena> arena_;
  api::Client api_;
  SimLink* link_ = nullptr;  // owned by api_
  bool link_closed_ = false;
  bool identified_ = false;
  bool is_memory_lost_ = false;  // by a restart: nobody writes there any more
  api::Call<api::Done> identify_;
  std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace tailrace::sim
