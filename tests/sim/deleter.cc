#include "tests/sim/deleter.h"

#include <algorithm>

namespace tailrace::sim {

Deleter::Deleter(ClientProcess& client, std::size_t slot) : Actor(client), slot_(slot) {
  call_.bind<&Deleter::on_deleted>(this);
}

void Deleter::act() {
  if (in_flight_ || pauses() || client_.stage().healed || !slot().created) return;
  Random& random = client_.random();
  const History& history = client_.stage().history;
  key_ = slot().key();
  end_before_ = history.visible_end(key_);
  start_before_ = history.log_start(key_);
  const Offset low = std::max<Offset>(0, start_before_ - 3);
  offset_ = random.one_in(5) ? -1 : random.between(low, std::max(low, end_before_ + 3));
  in_flight_ = true;
  client_.schedule().note("delete records slot={} offset={}", slot_, offset_);
  client_.api().delete_records({.request = 0, .partition = {key_.topic_id, key_.partition}, .offset = offset_}, call_);
}

void Deleter::on_deleted(const api::RecordsDeleted& answer, Bytes) {
  in_flight_ = false;
  Schedule& schedule = client_.schedule();
  History& history = client_.stage().history;
  schedule.note("records deleted slot={} code={} low_watermark={}", slot_, answer.code, answer.low_watermark);
  if (answer.code == api::kOk) {
    if (answer.low_watermark < offset_)
      schedule.fail("deleted up to {}, and {} was asked", answer.low_watermark, offset_);
    history.on_log_start(key_, answer.low_watermark, start_before_);
    return pause(1000, 60'000);
  }
  switch (static_cast<Code>(answer.code)) {
    case Code::out_of_range:
      // A power cut may have taken the end.
      if (history.is_durable() && offset_ <= end_before_)
        schedule.fail("deleting up to {} was out of range, {} was readable", offset_, end_before_);
      break;
    case Code::peer_gone:
    case Code::not_leader:
    case Code::unknown_partition:
      break;
    case Code::disk_full:
    case Code::io_failed:
      if (client_.stage().plan.disk_fails()) break;
      [[fallthrough]];
    default:
      schedule.fail("deleting records was answered with code {}", answer.code);
  }
  pause(500, 30'000);
}

}  // namespace tailrace::sim
