// Deleter: a client that deletes records of one slot, as Kafka's admin clients do with DeleteRecords.
#pragma once

#include <cstddef>

#include "engine/api/messages.h"
#include "tests/sim/client_process.h"

namespace tailrace::sim {

class Deleter final : public Actor {
 public:
  Deleter(ClientProcess& client, std::size_t slot);
  void act() override;
  [[nodiscard]] std::string unfinished() const override { return {}; }

 private:
  [[nodiscard]] Slot& slot() const { return client_.stage().slots[slot_]; }
  void on_deleted(const api::RecordsDeleted& answer, Bytes);

  std::size_t slot_;
  bool in_flight_ = false;
  TopicIdPartition key_;
  Offset offset_ = -1;       // asked for
  Offset end_before_ = 0;    // readable when the call was made
  Offset start_before_ = 0;  // the log start known then
  api::Call<api::RecordsDeleted> call_;
};

}  // namespace tailrace::sim
