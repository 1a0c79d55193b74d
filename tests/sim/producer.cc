#include "tests/sim/producer.h"

#include <algorithm>
#include <cstring>

namespace tailrace::sim {
namespace {

constexpr std::size_t kRememberedBatches = 5;  // as many as the engine remembers of a producer
constexpr ProducerId kProducerIdStep = 1000;

}  // namespace

Producer::Producer(ClientProcess& client, std::size_t slot, ProducerId first_producer_id, bool idempotent)
    : Actor(client),
      slot_(slot),
      topic_id_(client.stage().slots[slot].topic_id),
      idempotent_(idempotent),
      producer_id_(first_producer_id),
      window_max_(client.random().one_in(3) ? 1 : kRememberedBatches) {}

void Producer::begin_anew() {
  producer_id_ += kProducerIdStep;
  next_sequence_ = 0;
  any_acknowledged_ = false;
  acknowledged_.clear();
  for (std::unique_ptr<Batch>& batch : window_) {
    batch->given_up = true;
    if (batch->in_flight) given_up_.push_back(std::move(batch));
  }
  window_.clear();
}

void Producer::on_power_cut() {
  // Without the disk's promise the broker may have forgotten the last batches; then no retry can be right.
  if (!client_.stage().history.is_durable()) begin_anew();
}

bool Producer::any_in_flight() const {
  return std::ranges::any_of(window_, [](const auto& each) { return each->in_flight; });
}

void Producer::act() {
  Stage& stage = client_.stage();
  if (topic_id_ != slot().topic_id) {
    begin_anew();
    topic_id_ = slot().topic_id;
  }
  if (pauses()) return;
  const bool any_failed = std::ranges::any_of(window_, [](const auto& each) { return each->failed; });
  if (any_failed) {
    if (any_in_flight()) return;
    for (const std::unique_ptr<Batch>& batch : window_) {
      if (batch->acknowledged) continue;
      if (!send(*batch)) break;
    }
    if (!any_in_flight()) pause(100, 2000);
    return;
  }
  if (stage.healed) return;
  Random& random = client_.random();
  if (window_.empty() && !acknowledged_.empty() && random.percent(10)) {
    // Again, though it was acknowledged: the old offset is due. How many are remembered after a restart depends on
    // snapshots; the last one always is.
    const std::size_t index = random.below(acknowledged_.size());
    Batch& batch = *acknowledged_[index];
    if (index + 1 == acknowledged_.size() || !may_have_forgotten(batch)) {
      batch.is_newest = index + 1 == acknowledged_.size();
      window_.push_back(std::move(acknowledged_[index]));
      acknowledged_.clear();
      send(batch);
      return pause(100, 5000);
    }
  }
  // A producer that the engine does not know may begin with any sequence: one whose first batch could fail alone would
  // leave a gap.
  const std::size_t window_max = idempotent_ && !any_acknowledged_ ? 1 : window_max_;
  while (window_.size() < window_max && make_batch()) {
    if (random.one_in(3)) break;
  }
  if (random.one_in(2)) pause(50, 20'000);
}

bool Producer::make_batch() {
  Random& random = client_.random();
  History& history = client_.stage().history;
  auto batch = std::make_unique<Batch>();
  record::BatchOptions options;
  if (idempotent_) {
    options.producer_id = producer_id_;
    options.producer_epoch = 0;
    options.base_sequence = next_sequence_;
  }
  builder_.start(options);
  const std::uint64_t id = history.next_id();
  const bool is_even = client_.stage().plan.even_batches;
  const std::int64_t records = !is_even && random.one_in(3) ? random.between(1, 8) : 1;
  for (std::int64_t i = 0; i < records; ++i) {
    std::vector<std::byte> value(
        History::kIdSize + static_cast<std::size_t>(is_even ? 50 : random.between(0, random.one_in(10) ? 3000 : 200)));
    for (std::size_t at = 0; at < value.size(); ++at) value[at] = static_cast<std::byte>(id >> at % 7 * 8);
    std::memcpy(value.data(), &id, sizeof id);
    if (!builder_.add(client_.io().wall_clock_ms() - random.between(0, 50), std::nullopt, value)) return false;
  }
  const Result<Bytes> built = builder_.finish();
  if (!built) return false;
  batch->producer = this;
  batch->bytes.assign(built->begin(), built->end());
  batch->sent = &history.add_batch(slot().key(), batch->bytes);
  batch->call.bind<&Batch::on_answer>(batch.get());
  if (idempotent_) next_sequence_ += static_cast<std::int32_t>(records);
  window_.push_back(std::move(batch));
  return send(*window_.back());
}

bool Producer::send(Batch& batch) {
  Random& random = client_.random();
  api::Append request;
  request.partition = {topic_id_, slot().partition};
  request.leader_epoch = random.one_in(2) ? slot().epoch : kNoLeaderEpoch;
  request.wait = random.one_in(2) ? api::Wait::local : api::Wait::high_watermark;
  History& history = client_.stage().history;
  history.on_attempt(*batch.sent);
  batch.in_flight = client_.start_append(request, batch.bytes, batch.chunk, batch.call);
  batch.failed = !batch.in_flight;
  if (batch.failed) return false;
  if (batch.first_sent_in == 0) batch.first_sent_in = history.incarnation();
  client_.schedule().note("append batch={:x} producer={} sequence={}", batch.sent->id, batch.sent->producer_id,
                          batch.sent->base_sequence);
  return true;
}

void Producer::on_answer(Batch& batch, const api::Appended& answer) {
  History& history = client_.stage().history;
  Schedule& schedule = client_.schedule();
  client_.end_append(batch.chunk);
  batch.in_flight = false;
  batch.failed = answer.code != api::kOk;
  schedule.note("appended batch={:x} code={} offset={}", batch.sent->id, answer.code, answer.base_offset);
  if (!batch.failed) {
    const bool duplicate = answer.duplicate == kDuplicateNotTold ? batch.acknowledged : answer.duplicate != 0;
    history.on_acknowledged(*batch.sent, answer.base_offset, duplicate);
    if (idempotent_ && batch.acknowledged && !duplicate) schedule.fail("a batch sent again is no duplicate");
    batch.acknowledged = true;
    any_acknowledged_ |= !batch.given_up;
    ++batch.times_acknowledged;
    return settle();
  }
  switch (static_cast<Code>(answer.code)) {
    case Code::peer_gone:
      history.on_outcome_unknown(*batch.sent);
      break;
    case Code::disk_full:
    case Code::io_failed:
      history.on_not_stored(*batch.sent);
      if (!client_.stage().plan.disk_fails())
        schedule.fail("an append failed on a disk that works: code {}", answer.code);
      break;
    case Code::not_leader:
    case Code::fenced_epoch:
    case Code::unknown_epoch:
    case Code::unknown_partition:
    case Code::retry:
      history.on_refused(*batch.sent);
      break;
    case Code::out_of_order_sequence:
      history.on_refused(*batch.sent);
      on_out_of_order(batch);
      break;
    default:
      schedule.fail("an append was answered with code {}", answer.code);
  }
  pause(500, 20'000);
  settle();
}

// Of what was sent before a restart the engine may remember only a producer's last batch (as Kafka).
bool Producer::may_have_forgotten(const Batch& batch) const {
  return batch.first_sent_in != client_.stage().history.incarnation();
}

void Producer::on_out_of_order(Batch& batch) {
  if (batch.given_up) return;
  const bool is_first = std::ranges::none_of(window_, [&](const auto& each) {
    return !each->acknowledged && each->sent->base_sequence < batch.sent->base_sequence;
  });
  if (!is_first) return;  // one before it is missing; all are sent again
  // Of one that was acknowledged and is not the newest, or has others of the window behind it, nothing may be known any
  // more.
  const bool is_newest = batch.acknowledged ? batch.is_newest : window_max_ == 1;
  if (is_newest || !may_have_forgotten(batch)) {
    client_.schedule().fail("sequence {} of producer {} was called out of order", batch.sent->base_sequence,
                            producer_id_);
  }
  batch.given_up = true;
}

// Takes what is over out of the window.
void Producer::settle() {
  std::erase_if(given_up_, [](const auto& each) { return !each->in_flight; });
  const bool lost_count = std::ranges::any_of(window_, [](const auto& each) { return each->given_up; });
  if (lost_count && !any_in_flight()) return begin_anew();
  while (!window_.empty() && !window_.front()->in_flight) {
    Batch& batch = *window_.front();
    if (!batch.acknowledged && idempotent_) break;
    // One that was sent again is not the last one any more.
    if (idempotent_ && batch.times_acknowledged == 1 && !batch.failed)
      acknowledged_.push_back(std::move(window_.front()));
    if (acknowledged_.size() > kRememberedBatches) acknowledged_.pop_front();
    window_.pop_front();
  }
}

std::string Producer::unfinished() const {
  if (window_.empty()) return {};
  return fmt::format("producer {} waits for sequence {} to {}", producer_id_, window_.front()->sent->base_sequence,
                     window_.back()->sent->base_sequence);
}

}  // namespace tailrace::sim
