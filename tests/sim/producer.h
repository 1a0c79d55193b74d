// Producer: a client that appends batches to one slot. An idempotent one keeps up to five batches in flight, and
// retries all that are not acknowledged, in order, as Kafka's producers do; at times it sends again what was
// acknowledged already. One that is not idempotent sends every batch once.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/api/messages.h"
#include "engine/record/builder.h"
#include "tests/sim/client_process.h"

namespace tailrace::sim {

// In Appended::duplicate: Kafka's protocol does not say.
constexpr std::uint8_t kDuplicateNotTold = 2;

class Producer final : public Actor {
 public:
  Producer(ClientProcess& client, std::size_t slot, ProducerId first_producer_id, bool idempotent);
  void act() override;
  void on_power_cut() override;
  [[nodiscard]] std::string unfinished() const override;

 private:
  struct Batch {
    Producer* producer = nullptr;
    SentBatch* sent = nullptr;
    std::vector<std::byte> bytes;
    ipc::Arena::Chunk chunk;
    api::Call<api::Appended> call;
    bool in_flight = false;
    bool acknowledged = false;
    int times_acknowledged = 0;
    bool is_newest = false;  // sent again while nothing newer had been acknowledged
    bool failed = false;
    bool given_up = false;            // its producer began anew; only its answer is awaited
    std::uint64_t first_sent_in = 0;  // the engine's incarnation
    void on_answer(const api::Appended& answer, Bytes) { producer->on_answer(*this, answer); }
  };
  [[nodiscard]] Slot& slot() const { return client_.stage().slots[slot_]; }
  void begin_anew();
  bool make_batch();
  bool send(Batch& batch);
  void on_answer(Batch& batch, const api::Appended& answer);
  void on_out_of_order(Batch& batch);
  void settle();
  [[nodiscard]] bool any_in_flight() const;
  [[nodiscard]] bool may_have_forgotten(const Batch& batch) const;

  std::size_t slot_;
  Uuid topic_id_;  // that the window is for
  bool idempotent_;
  ProducerId producer_id_;
  std::int32_t next_sequence_ = 0;
  bool any_acknowledged_ = false;
  std::size_t window_max_;
  std::deque<std::unique_ptr<Batch>> window_;        // not acknowledged, in order
  std::deque<std::unique_ptr<Batch>> acknowledged_;  // the last ones, to be sent again
  std::deque<std::unique_ptr<Batch>> given_up_;
  record::BatchBuilder builder_;
};

}  // namespace tailrace::sim
