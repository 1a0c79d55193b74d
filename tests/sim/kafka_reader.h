// KafkaReader: a consumer of one slot through the broker: Fetch with long polls, with and without a fetch session, of
// versions that name topics and of those that give their ids.
#pragma once

#include "tests/sim/kafka_client.h"

namespace tailrace::sim {

class KafkaReader final : public Actor {
 public:
  KafkaReader(KafkaClient& client, std::size_t slot) : Actor(client), kafka_(client), slot_(slot) {}
  void act() override;
  void on_session() override;
  void on_power_cut() override;
  [[nodiscard]] std::string unfinished() const override;

 private:
  [[nodiscard]] Slot& slot() const { return client_.stage().slots[slot_]; }
  void fetch();
  void on_answer(const TopicIdPartition& key, Offset position, std::optional<Bytes> body);

  KafkaClient& kafka_;
  std::size_t slot_;
  Uuid topic_id_;
  Offset position_ = 0;
  std::uint64_t incarnation_before_ = 0;  // the broker asks again when the engine is back, with less
  Offset end_before_ = 0;                 // of what was readable when the question was asked
  Offset start_before_ = 0;               // the log start known then
  bool in_flight_ = false;
  std::int16_t version_ = 12;
  std::int32_t session_id_ = 0;
  std::int32_t session_epoch_ = 0;  // 0: make a session; -1: none
  Offset session_position_ = -1;    // as the session knows it
};

}  // namespace tailrace::sim
