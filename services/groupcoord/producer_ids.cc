#include "services/groupcoord/producer_ids.h"

#include <algorithm>
#include <limits>

namespace tailrace::groupcoord {

std::optional<ProducerId> ProducerIds::next_id() {
  if (used_ == current_.size) {
    if (!next_) return std::nullopt;
    current_ = *next_;
    used_ = 0;
    next_.reset();
  }
  return current_.first + used_++;
}

bool ProducerIds::needs_block() const {
  if (next_) return false;
  return used_ == current_.size || used_ > std::int64_t{current_.size} * 9 / 10;  // PID_PREFETCH_THRESHOLD
}

void ProducerIds::settle(Instant now, Effects& effects) {
  while (!waiting_.empty()) {
    const std::optional<ProducerId> id = next_id();
    if (!id) break;
    effects.answers.push_back({waiting_.front().token, *id});
    waiting_.pop_front();
  }
  if (controller_ == Controller::backing_off && ask_again_ <= now) controller_ = Controller::idle;
  if (controller_ != Controller::idle || !needs_block()) return;
  controller_ = Controller::asked;
  asked_until_ = now + kBlockPatience;
  effects.request_block = true;
}

ProducerIds::Effects ProducerIds::take(Token token, Instant now) {
  Effects effects;
  if (waiting_.size() < kWaitingMax) {
    waiting_.push_back({token, now + kPatience});
  } else {
    effects.answers.push_back({.token = token});
  }
  settle(now, effects);
  return effects;
}

ProducerIds::Effects ProducerIds::on_reachable(Instant now) {
  Effects effects;
  controller_ = Controller::backing_off;  // a refusal may have been the reason for a new session
  settle(now, effects);
  return effects;
}

void ProducerIds::on_unreachable() { controller_ = Controller::unreachable; }

bool ProducerIds::accepts(const ProducerIdBlock& block) const {
  return block.size > 0 && block.first >= beyond_ && block.first < std::numeric_limits<ProducerId>::max() - block.size;
}

ProducerIds::Effects ProducerIds::on_block(const ProducerIdBlock& block, Instant now) {
  if (controller_ != Controller::asked) return {};
  if (!accepts(block)) return on_refused(now);
  Effects effects;
  controller_ = Controller::idle;
  next_ = block;
  beyond_ = block.first + block.size;
  settle(now, effects);
  return effects;
}

ProducerIds::Effects ProducerIds::on_refused(Instant now) {
  Effects effects;
  if (controller_ != Controller::asked) return effects;
  controller_ = Controller::backing_off;
  ask_again_ = now + kBackoff;
  settle(now, effects);
  return effects;
}

ProducerIds::Effects ProducerIds::on_time(Instant now) {
  Effects effects;
  while (!waiting_.empty() && waiting_.front().until <= now) {
    effects.answers.push_back({.token = waiting_.front().token});
    waiting_.pop_front();
  }
  if (controller_ == Controller::asked && asked_until_ <= now) controller_ = Controller::idle;
  settle(now, effects);
  return effects;
}

std::optional<Instant> ProducerIds::due() const {
  std::optional<Instant> due;
  const auto consider = [&due](Instant at) { due = due ? std::min(*due, at) : at; };
  if (!waiting_.empty()) consider(waiting_.front().until);
  if (controller_ == Controller::asked) consider(asked_until_);
  if (controller_ == Controller::backing_off) consider(ask_again_);
  return due;
}

}  // namespace tailrace::groupcoord
