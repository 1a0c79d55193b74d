// PURE. ProducerIds: hands out producer ids from blocks that the controller allocates to this node (Kafka's
// RPCProducerIdManager). An id is given at most once: a block is used from its start by the life of the process that
// asked for it, and what a dead process or a lost answer leaves of one is skipped. The next block is asked for when 90
// % of the current one is used; where none is left, requests wait in their order. The owner carries the effects out:
// answers go to who asked, and one request to the controller.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::groupcoord {

struct ProducerIdBlock {
  ProducerId first = 0;
  std::int32_t size = 0;
};

class ProducerIds {
 public:
  using Token = std::uint64_t;  // the owner's name of a request

  static constexpr std::size_t kWaitingMax = 10'000;                    // one more gets no id, at once
  static constexpr Duration kPatience = std::chrono::seconds(10);       // how long a request waits for a block
  static constexpr Duration kBackoff = std::chrono::milliseconds(50);   // after a refusal: RETRY_BACKOFF_MS
  static constexpr Duration kBlockPatience = std::chrono::seconds(10);  // then the answer counts as lost

  struct Answer {
    Token token = 0;
    ProducerId id = kNoProducerId;  // none: there is no block; the client shall try again
  };
  struct Effects {
    std::vector<Answer> answers;
    bool request_block = false;  // ask the controller now; whatever was asked before is of no interest any more
  };

  // A request for one id: answered now or, in its turn, later; once in any case.
  Effects take(Token token, Instant now);
  // The controller can be asked.
  Effects on_reachable(Instant now);
  // It cannot; a block on its way is lost.
  void on_unreachable();
  // False: the block is none, or may hold ids that were given already.
  [[nodiscard]] bool accepts(const ProducerIdBlock& block) const;
  // The answer to the last request_block. A block that is not accepted is a refusal.
  Effects on_block(const ProducerIdBlock& block, Instant now);
  Effects on_refused(Instant now);
  // due() has come.
  Effects on_time(Instant now);
  // When on_time has something to do; nullopt: never.
  [[nodiscard]] std::optional<Instant> due() const;

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  enum class Controller : std::uint8_t { unreachable, idle, asked, backing_off };
  struct Waiting {
    Token token = 0;
    Instant until;
  };

  std::optional<ProducerId> next_id();
  [[nodiscard]] bool needs_block() const;
  void settle(Instant now, Effects& effects);

  ProducerIdBlock current_;
  std::int32_t used_ = 0;  // of the current block
  std::optional<ProducerIdBlock> next_;
  ProducerId beyond_ = 0;  // no block yet held this id or a later one
  std::deque<Waiting> waiting_;
  Controller controller_ = Controller::unreachable;
  Instant asked_until_;  // asked: when the answer counts as lost
  Instant ask_again_;    // not before this time, after a refusal
};

}  // namespace tailrace::groupcoord
