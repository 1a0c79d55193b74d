// GroupProcess: the real coordinator in a simulated process, with a session to the engine as the service has one. The
// world kills it like any other.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/api/client.h"
#include "engine/ipc/arena.h"
#include "services/groupcoord/coordinator.h"
#include "tests/sim/client_process.h"
#include "tests/sim/process.h"

namespace tailrace::sim {

// What a client gets back: the body of a response, the error that the broker would put into words, or nothing, when the
// connection breaks.
struct GroupAnswer {
  std::vector<std::byte> body{};
  kafka::ErrorCode error = kafka::ErrorCode::NONE;
  bool is_lost = false;
};

class GroupProcess final : public Process, public groupcoord::Coordinator::Answerer {
 public:
  using OnAnswer = std::function<void(GroupAnswer answer)>;

  GroupProcess(Surroundings& around, Stage& stage, const groupcoord::Settings& settings);
  ~GroupProcess() override;

  void serve(std::int16_t api_key, std::int16_t version, const groupcoord::Client& client, Bytes body,
             OnAnswer on_answer);
  // Topics beside __consumer_offsets, with so many partitions each.
  void use_topics(const std::map<std::string, std::pair<Uuid, std::int32_t>>& topics);

  // As ClientProcess.
  void use_link(std::unique_ptr<SimLink> link);
  void break_session() {
    if (link_ != nullptr) link_->break_session();
  }
  [[nodiscard]] bool wants_session() const { return link_ == nullptr; }
  [[nodiscard]] const SharedArena& arena_memory() const { return arena_memory_; }
  [[nodiscard]] std::size_t open_requests() const { return coordinator_.open_requests(); }

  void answer(std::uint64_t token, Bytes body) override;
  void fail(std::uint64_t token, kafka::ErrorCode error) override;
  void refuse(std::uint64_t token) override;

 private:
  void on_identified(const api::Done& answer, Bytes extra);
  void update_image();
  void finish(std::uint64_t token, GroupAnswer answer);
  bool step() override;

  Stage& stage_;
  SharedArena arena_memory_;
  ipc::Arena arena_;
  api::Client engine_;
  groupcoord::Coordinator coordinator_;
  SimLink* link_ = nullptr;  // owned by the client
  bool link_closed_ = false;
  api::Call<api::Done> identify_;
  std::vector<Slot> image_slots_;
  std::map<std::string, std::pair<Uuid, std::int32_t>> topics_;
  bool topics_changed_ = true;
  std::uint64_t next_token_ = 1;
  std::unordered_map<std::uint64_t, OnAnswer> waiting_;
};

}  // namespace tailrace::sim
