#include "tests/sim/reader.h"

#include <algorithm>

namespace tailrace::sim {

Reader::Reader(ClientProcess& client, std::size_t slot)
    : Actor(client), slot_(slot), topic_id_(client.stage().slots[slot].topic_id) {
  call_.bind<&Reader::on_plan>(this);
  offset_call_.bind<&Reader::on_offset>(this);
  look_timer_.bind<&Reader::on_look_due>(this);
}

void Reader::begin_at(Offset position) { position_ = position; }

void Reader::on_power_cut() {
  if (held_ != nullptr) client_.api().release_file(std::exchange(held_, nullptr));
  client_.io().disarm(look_timer_);
  if (!client_.stage().history.is_durable()) begin_at(0);
}

void Reader::act() {
  if (held_ != nullptr) return;
  Random& random = client_.random();
  if (in_flight_) {
    // Now and then it does not want to wait any longer.
    if (!watching_ || pauses() || !random.one_in(50)) return;
    client_.api().cancel(call_, request_.partition);
    in_flight_ = watching_ = false;
  }
  if (topic_id_ != slot().topic_id) {
    topic_id_ = slot().topic_id;
    begin_at(0);
  }
  if (pauses()) return;
  const Offset end = client_.stage().history.visible_end(slot().key());
  if (!client_.stage().healed && random.one_in(4)) begin_at(random.between(0, end));
  if (random.one_in(10) && !asks_offset_) ask_offset();
  start_read();
}

void Reader::start_read() {
  Random& random = client_.random();
  request_ = {};
  request_.partition = {topic_id_, slot().partition};
  request_.current_leader_epoch = random.one_in(3) ? slot().epoch : kNoLeaderEpoch;
  request_.fetch_offset = position_;
  request_.watch_from = random.one_in(4) ? kNoOffset : position_;
  request_.max_bytes =
      static_cast<std::uint32_t>(random.one_in(3) ? random.between(1, 300) : random.between(300, 20'000));
  request_.isolation = random.one_in(2) ? api::Isolation::read_committed : api::Isolation::read_uncommitted;
  request_.whole_first_batch = client_.stage().healed || !random.one_in(5) ? 1 : 0;
  in_flight_ = true;
  watching_ = false;
  start_before_read_ = client_.stage().history.log_start({topic_id_, slot().partition});
  end_before_read_ = client_.stage().history.visible_end({topic_id_, slot().partition});
  client_.schedule().note("read slot={} offset={} max={}", slot_, position_, request_.max_bytes);
  client_.api().read(request_, call_);
}

void Reader::on_plan(const api::ReadPlan& plan, Bytes) {
  Schedule& schedule = client_.schedule();
  History& history = client_.stage().history;
  const TopicIdPartition key{request_.partition.topic_id, request_.partition.partition};
  schedule.note("plan slot={} code={} watching={} moved={} length={} hw={}", slot_, plan.code, plan.watching,
                plan.moved, plan.length, plan.high_watermark);
  if (watching_ != (plan.moved != 0) && plan.code == api::kOk) schedule.fail("a watch was answered out of turn");
  watching_ = plan.watching != 0;
  in_flight_ = watching_;
  if (plan.log_start_offset != kNoOffset) history.on_log_start(key, plan.log_start_offset, start_before_read_);
  if (plan.code != api::kOk) {
    in_flight_ = watching_ = false;
    switch (static_cast<Code>(plan.code)) {
      case Code::out_of_range:
        if (plan.log_start_offset > request_.fetch_offset) {
          if (topic_id_ == key.topic_id) begin_at(plan.log_start_offset);
          break;
        }
        if (!history.is_durable() && request_.fetch_offset > std::min(end_before_read_, history.visible_end(key))) {
          begin_at(0);  // a power cut took the end
          break;
        }
        if (topic_id_ == slot().topic_id && slot().key() == key) {
          schedule.fail("offset {} was called out of range; offsets up to {} were readable", request_.fetch_offset,
                        history.visible_end(key));
        }
        break;
      case Code::peer_gone:
      case Code::not_leader:
      case Code::unknown_partition:
      case Code::unknown_epoch:
      case Code::fenced_epoch:
      case Code::retry:
        break;
      case Code::io_failed:
        if (client_.stage().plan.disk_fails()) break;
        [[fallthrough]];
      default:
        schedule.fail("a read was answered with code {}", plan.code);
    }
    return pause(500, 20'000);
  }
  if (plan.moved != 0 && plan.readable_end <= request_.watch_from) {
    schedule.fail("a watch beyond {} came back at {}", request_.watch_from, plan.readable_end);
  }
  history.on_high_watermark(key, plan.high_watermark);
  if (plan.readable_end > plan.high_watermark)
    schedule.fail("readable up to {} beyond {}", plan.readable_end, plan.high_watermark);
  if (plan.length == 0) {
    const bool must_have = request_.whole_first_batch != 0 && request_.fetch_offset < plan.readable_end;
    if (must_have && plan.diverging_epoch == kNoLeaderEpoch) {
      schedule.fail("nothing at offset {} below the readable end {}", request_.fetch_offset, plan.readable_end);
    }
    if (!watching_) pause(500, 20'000);
    if (watching_) pause(1000, 50'000);
    return;
  }
  held_ = client_.api().acquire_file(plan.file_id);
  if (held_ == nullptr) return pause(50, 500);  // dropped meanwhile: plan again
  plan_ = plan;
  if (client_.random().one_in(4)) {
    client_.io().arm(look_timer_, client_.io().now() + Duration{client_.random().between(10, 100'000)});
  } else {
    look();
  }
}

void Reader::look() {
  std::vector<std::byte> bytes(plan_.length);
  const Result<std::size_t> got = client_.io().files().read(held_->file, bytes, plan_.position);
  client_.api().release_file(std::exchange(held_, nullptr));
  Schedule& schedule = client_.schedule();
  if (!got || *got != plan_.length) {
    return schedule.fail("a plan named {} bytes at {} of a file that has {} there", plan_.length, plan_.position,
                         got.value_or(0));
  }
  const TopicIdPartition key{request_.partition.topic_id, request_.partition.partition};
  const Offset next = client_.stage().history.on_read(key, request_.fetch_offset, plan_.high_watermark, bytes);
  if (next == request_.fetch_offset && plan_.first_batch_length <= plan_.length) {
    schedule.fail("a read at offset {} brought no batch", request_.fetch_offset);
  }
  if (topic_id_ == key.topic_id && position_ == request_.fetch_offset) position_ = next;
}

void Reader::ask_offset() {
  api::ListOffset request;
  request.partition = {slot().topic_id, slot().partition};
  request.timestamp = client_.random().one_in(2) ? -1 : -2;
  asks_offset_ = true;
  asked_timestamp_ = request.timestamp;
  asked_key_ = slot().key();
  start_before_ = client_.stage().history.log_start(asked_key_);
  end_before_ = request.timestamp == -1 ? client_.stage().history.visible_end(slot().key()) : 0;
  client_.api().list_offset(request, offset_call_);
}

void Reader::on_offset(const api::OffsetListed& answer, Bytes) {
  asks_offset_ = false;
  if (answer.code != api::kOk) return;
  if (asked_timestamp_ == -2) client_.stage().history.on_log_start(asked_key_, answer.offset, start_before_);
  if (answer.offset < end_before_) {
    // A power cut in between may have taken the end.
    if (client_.stage().history.is_durable())
      client_.schedule().fail("the end was {} and is {}", end_before_, answer.offset);
    return;
  }
}

std::string Reader::unfinished() const {
  const Offset end = client_.stage().history.visible_end(slot().key());
  if (position_ >= end && topic_id_ == slot().topic_id) return {};
  return fmt::format("a reader of slot {} is at {} of {}", slot_, position_, end);
}

}  // namespace tailrace::sim
