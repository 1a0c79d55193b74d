#include "tests/sim/controller.h"

#include <algorithm>
#include <cstring>

namespace tailrace::sim {

Controller::Controller(ClientProcess& client) : Actor(client) {
  role_call_.bind<&Controller::on_role>(this);
  delete_call_.bind<&Controller::on_deleted>(this);
}

void Controller::on_session() {
  for (Slot& slot : client_.stage().slots) slot.has_role = false;
}

void Controller::act() {
  if (in_flight_ || pauses()) return;
  std::vector<Slot>& slots = client_.stage().slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].deleting && slots[i].has_role) continue;
    slot_ = i;
    in_flight_ = true;
    if (!slots[i].deleting) return set_role(i);
    client_.stage().history.on_deleting(slots[i].key());
    api::DeletePartition request;
    request.partition = {slots[i].topic_id, slots[i].partition};
    return client_.api().delete_partition(request, delete_call_);
  }
  if (!client_.stage().healed) disturb();
  pause(1000, 50'000);
}

void Controller::disturb() {
  Random& random = client_.random();
  std::vector<Slot>& slots = client_.stage().slots;
  Slot& slot = slots[random.below(slots.size())];
  if (client_.stage().plan.raises_epochs && random.one_in(8)) {
    ++slot.epoch;
    slot.has_role = false;
  }
  if (client_.stage().plan.deletes_topics && random.one_in(15)) slot.deleting = true;
}

void Controller::set_role(std::size_t index) {
  const Slot& slot = client_.stage().slots[index];
  const Plan& plan = client_.stage().plan;
  api::SetRole request;
  end_before_ = client_.stage().history.visible_end(slot.key());
  request.partition = {slot.topic_id, slot.partition};
  request.leader_epoch = epoch_ = slot.epoch;
  request.segment_bytes = plan.segment_bytes;
  request.index_bytes_max = 10u << 20;
  request.index_interval_bytes = plan.index_interval_bytes;
  request.segment_ms = plan.segment_ms;
  request.deletes_segments = 1;
  request.retention_ms = plan.retention_ms;
  request.retention_bytes = plan.retention_bytes;
  request.file_delete_delay_ms = 200;
  start_before_ = client_.stage().history.log_start(slot.key());
  request.topic_name_size = static_cast<std::uint16_t>(slot.topic.size());
  request.create = slot.created ? 0 : 1;
  std::memcpy(request.topic_name, slot.topic.data(), slot.topic.size());
  client_.api().set_role(request, role_call_);
}

void Controller::on_role(const api::RoleSet& answer, Bytes) {
  in_flight_ = false;
  Schedule& schedule = client_.schedule();
  Slot& slot = client_.stage().slots[slot_];
  schedule.note("role slot={} code={} end={}", slot_, answer.code, answer.end_offset);
  if (answer.code == api::kOk) {
    if (!slot.created) client_.stage().history.on_created(slot.key());
    slot.created = true;
    slot.has_role = epoch_ == slot.epoch;
    // An answer from before a power cut that took the end is stale.
    const Offset end = std::min(end_before_, client_.stage().history.visible_end(slot.key()));
    client_.stage().history.on_log_start(slot.key(), answer.log_start_offset, start_before_);
    if (answer.end_offset < end)
      schedule.fail("the log ends at {}, but offsets up to {} were readable", answer.end_offset, end);
    return;
  }
  switch (static_cast<Code>(answer.code)) {
    case Code::peer_gone:
    case Code::retry:
      break;
    case Code::disk_full:
    case Code::io_failed:
      if (client_.stage().plan.disk_fails()) break;
      [[fallthrough]];
    default:
      schedule.fail("a role was answered with code {}", answer.code);
  }
  pause(1000, 20'000);
}

void Controller::on_deleted(const api::Done& answer, Bytes) {
  in_flight_ = false;
  Schedule& schedule = client_.schedule();
  Slot& slot = client_.stage().slots[slot_];
  schedule.note("deleted slot={} code={}", slot_, answer.code);
  if (answer.code == api::kOk) {
    client_.stage().history.on_deleted(slot.key());
    if (client_.random().one_in(2)) pause(1000, 200'000);  // before the new topic makes the directory durable anyway
    slot = {.topic = slot.topic, .partition = slot.partition, .topic_id = random_topic_id(client_.random())};
    return;
  }
  const auto code = static_cast<Code>(answer.code);
  const bool excused = code == Code::peer_gone || code == Code::retry || client_.stage().plan.disk_fails();
  if (!excused) schedule.fail("a deletion was answered with code {}", answer.code);
  pause(1000, 20'000);
}

std::string Controller::unfinished() const {
  for (const Slot& slot : client_.stage().slots) {
    if (slot.deleting || !slot.has_role) return fmt::format("partition {}-{} has no role", slot.topic, slot.partition);
  }
  return {};
}

}  // namespace tailrace::sim
