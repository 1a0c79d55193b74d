// EngineProcess: the real shard in a simulated process, wired as its main does it.
#pragma once

#include <memory>

#include "engine/server/settings.h"
#include "engine/server/shard.h"
#include "tests/sim/process.h"

namespace tailrace::sim {

class EngineProcess final : public Process {
 public:
  EngineProcess(Surroundings& around, const server::Settings& settings)
      : Process(around, "engine"), shard_(std::make_unique<server::Shard>(io(), settings, nullptr)) {}

  Result<void> load() {
    Result<void> loaded = shard_->load();
    wake();
    return loaded;
  }
  void add_session(std::unique_ptr<SimLink> link) {
    SimLink& reference = *link;
    const std::uint64_t session = shard_->add_session(std::move(link));
    reference.on_closed = [this, session] { shard_->end_session(session); };
    wake();
  }
  void stop() {
    shard_->stop();
    wake();
  }
  [[nodiscard]] bool stopped() const { return shard_->stopped(); }
  [[nodiscard]] bool is_loading() const { return shard_->is_loading(); }
  [[nodiscard]] Result<void> loaded() const { return shard_->loaded(); }

 private:
  bool step() override {
    shard_->wake();
    const bool worked = shard_->work();
    if (shard_->stopped()) return false;
    return worked || !shard_->prepare_to_sleep();
  }

  std::unique_ptr<server::Shard> shard_;
};

}  // namespace tailrace::sim
