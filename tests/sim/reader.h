// Reader: a client that reads one slot, from random offsets and in pieces of random size, waits for more where it
// reaches the end, and looks at the bytes at once or a good while later, when the engine may be gone. ListOffsets is
// asked now and then.
#pragma once

#include <vector>

#include "engine/api/messages.h"
#include "tests/sim/client_process.h"

namespace tailrace::sim {

class Reader final : public Actor {
 public:
  Reader(ClientProcess& client, std::size_t slot);
  void act() override;
  void on_power_cut() override;
  [[nodiscard]] std::string unfinished() const override;

 private:
  [[nodiscard]] Slot& slot() const { return client_.stage().slots[slot_]; }
  void start_read();
  void ask_offset();
  void on_plan(const api::ReadPlan& plan, Bytes);
  void on_offset(const api::OffsetListed& answer, Bytes);
  void look();
  void on_look_due() { look(); }
  void begin_at(Offset position);

  std::size_t slot_;
  Uuid topic_id_;
  Offset position_ = 0;
  api::Call<api::ReadPlan> call_;
  bool in_flight_ = false;
  bool watching_ = false;
  api::Read request_;
  api::Call<api::OffsetListed> offset_call_;
  bool asks_offset_ = false;
  Offset end_before_read_ = 0;  // known when the question was asked
  Offset end_before_ = 0;       // the same of asks_offset_
  Offset start_before_read_ = 0;
  Offset start_before_ = 0;
  TimestampMs asked_timestamp_ = -1;
  TopicIdPartition asked_key_;

  // A plan whose bytes are not looked at yet.
  api::FileCache::Entry* held_ = nullptr;
  api::ReadPlan plan_;
  io::Timer look_timer_;
};

}  // namespace tailrace::sim
