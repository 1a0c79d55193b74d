#include "engine/api/client.h"

#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/observe.h"

namespace tailrace::api {
namespace {

constexpr std::uint16_t kPeerGone = static_cast<std::uint16_t>(Code::peer_gone);
constexpr Duration kRoomPause{200};

}  // namespace

Client::Client(io::Io& io, std::size_t descriptors_max) : io_(io), files_(io.files(), descriptors_max) {
  room_timer_.bind<&Client::on_room_due>(this);
}

Client::~Client() { io_.disarm(room_timer_); }

bool Client::prepare_to_sleep() {
  if (!lost_.empty()) return false;
  if (link_ == nullptr) return true;
  if (!link_->consumer().prepare_to_sleep()) return false;
  if (!overflow_.empty() && !room_timer_.armed()) io_.arm(room_timer_, io_.now() + kRoomPause);
  return true;
}

void Client::attach(std::unique_ptr<ipc::Link> link) {
  CHECK(link_ == nullptr);
  link_ = std::move(link);
  const auto forget = [this](std::uint64_t file_id) {
    const ForgetFile request{file_id};
    send(Type::forget_file, std::as_bytes(std::span(&request, 1)));
  };
  link_->on_file = [this, forget](std::uint64_t file_id, io::File file) {
    if (!file) return forget(file_id);  // it comes again when a plan needs it
    files_.add(file_id, file, forget);
  };
}

void Client::detach() {
  link_.reset();
  overflow_.clear();
  files_.drop_all();  // ids of the next session mean other files
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].in_use) lost_.push_back(std::uint64_t(slots_[i].generation) << 32 | i);
  }
}

std::uint64_t Client::take_slot(Type answer_type, void* call) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[index];
  ++slot.generation;
  slot.in_use = true;
  slot.answer_type = answer_type;
  slot.call = call;
  return std::uint64_t(slot.generation) << 32 | index;
}

Client::Slot* Client::slot_of(std::uint64_t request) {
  const std::uint64_t index = request & 0xFFFFFFFFu;
  if (index >= slots_.size() || !slots_[index].in_use || slots_[index].generation != request >> 32) return nullptr;
  return &slots_[index];
}

void Client::free_slot(std::uint64_t request) {
  const auto index = static_cast<std::uint32_t>(request);
  slots_[index].in_use = false;
  free_slots_.push_back(index);
}

template <class Request, class Answer>
void Client::start(Request request, Call<Answer>& call) {
  request.request = take_slot(type_of<Answer>(), &call);
  call.request = request.request;
  if (link_ == nullptr) {
    lost_.push_back(request.request);
  } else {
    send(type_of<Request>(), std::as_bytes(std::span(&request, 1)));
  }
}
template void Client::start(Identify, Call<Done>&);
template void Client::start(SetRole, Call<RoleSet>&);
template void Client::start(DeletePartition, Call<Done>&);
template void Client::start(Append, Call<Appended>&);
template void Client::start(Read, Call<ReadPlan>&);
template void Client::start(ListOffset, Call<OffsetListed>&);
template void Client::start(EndOfEpoch, Call<EpochEnded>&);
template void Client::start(DeleteRecords, Call<RecordsDeleted>&);
template void Client::start(DescribeLog, Call<LogDescribed>&);
template void Client::start(DescribeProducers, Call<ProducersDescribed>&);

bool Client::try_send(Type type, Bytes record) {
  std::byte* const space = link_->producer().reserve(static_cast<std::uint32_t>(type), record.size());
  if (space == nullptr) return false;
  std::memcpy(space, record.data(), record.size());
  return true;
}

void Client::send(Type type, Bytes record) {
  // Order is kept: nothing passes what waits already.
  if (overflow_.empty() && try_send(type, record)) return;
  overflow_.push_back({type, {record.begin(), record.end()}});
}

void Client::cancel(Call<ReadPlan>& call, const Partition& partition) {
  if (slot_of(call.request) == nullptr) return;
  free_slot(call.request);
  if (link_ == nullptr) return;
  const Cancel request{call.request, partition};
  send(Type::cancel, std::as_bytes(std::span(&request, 1)));
}

template <class Answer>
void Client::answer(Type type, Bytes payload) {
  if (payload.size() < sizeof(Answer)) return;
  Answer copy;
  std::memcpy(static_cast<void*>(&copy), payload.data(), sizeof copy);
  Slot* const slot = slot_of(copy.request);
  if (slot == nullptr || slot->answer_type != type) return;  // cancelled meanwhile
  auto* const call = static_cast<Call<Answer>*>(slot->call);
  bool stays = false;
  if constexpr (std::is_same_v<Answer, ReadPlan>) stays = copy.watching != 0;
  if (!stays) free_slot(copy.request);
  call->function(call->owner, copy, payload.subspan(sizeof copy));
}

void Client::dispatch(const ipc::RingRecord& record) {
  const auto type = static_cast<Type>(record.type);
  switch (type) {
    case Type::done:
      return answer<Done>(type, record.payload);
    case Type::role_set:
      return answer<RoleSet>(type, record.payload);
    case Type::appended:
      return answer<Appended>(type, record.payload);
    case Type::read_plan:
      return answer<ReadPlan>(type, record.payload);
    case Type::offset_listed:
      return answer<OffsetListed>(type, record.payload);
    case Type::epoch_ended:
      return answer<EpochEnded>(type, record.payload);
    case Type::records_deleted:
      return answer<RecordsDeleted>(type, record.payload);
    case Type::log_described:
      return answer<LogDescribed>(type, record.payload);
    case Type::producers_described:
      return answer<ProducersDescribed>(type, record.payload);
    case Type::file_gone: {
      FileGone gone;
      if (record.payload.size() < sizeof gone) return;
      std::memcpy(&gone, record.payload.data(), sizeof gone);
      return files_.drop(gone.file_id);
    }
    case Type::identify:
    case Type::set_role:
    case Type::delete_partition:
    case Type::append:
    case Type::read:
    case Type::cancel:
    case Type::list_offset:
    case Type::end_of_epoch:
    case Type::forget_file:
    case Type::delete_records:
    case Type::describe_log:
    case Type::describe_producers:
      return;
  }
}

void Client::lose(std::uint64_t request) {
  Slot* const slot = slot_of(request);
  if (slot == nullptr) return;
  const auto lost = [&]<class Answer>(Answer answer) {
    auto* const call = static_cast<Call<Answer>*>(slot->call);
    free_slot(request);
    answer.request = request;
    answer.code = kPeerGone;
    call->function(call->owner, answer, {});
  };
  switch (slot->answer_type) {
    case Type::done:
      return lost(Done{});
    case Type::role_set:
      return lost(RoleSet{});
    case Type::appended:
      return lost(Appended{});
    case Type::read_plan:
      return lost(ReadPlan{});
    case Type::offset_listed:
      return lost(OffsetListed{});
    case Type::epoch_ended:
      return lost(EpochEnded{});
    case Type::records_deleted:
      return lost(RecordsDeleted{});
    case Type::log_described:
      return lost(LogDescribed{});
    case Type::producers_described:
      return lost(ProducersDescribed{});
    case Type::identify:
    case Type::set_role:
    case Type::delete_partition:
    case Type::append:
    case Type::read:
    case Type::cancel:
    case Type::list_offset:
    case Type::end_of_epoch:
    case Type::forget_file:
    case Type::delete_records:
    case Type::describe_log:
    case Type::describe_producers:
    case Type::file_gone:
      CHECK(false);
  }
}

bool Client::poll() {
  bool worked = false;
  std::vector<std::uint64_t> lost;
  lost.swap(lost_);
  for (const std::uint64_t request : lost) {
    lose(request);
    worked = true;
  }
  if (link_ == nullptr) return worked;
  ipc::RingConsumer& consumer = link_->consumer();
  for (ipc::RingRecord record = consumer.next(); record.type != ipc::kPaddingType; record = consumer.next()) {
    dispatch(record);
    worked = true;
  }
  consumer.release();
  while (!overflow_.empty() && try_send(overflow_.front().type, overflow_.front().bytes)) {
    overflow_.pop_front();
    worked = true;
  }
  return worked;
}

void Client::publish() {
  if (link_ != nullptr) link_->publish();
}

FileCache::Entry* Client::acquire_file(std::uint64_t file_id) {
  FileCache::Entry* entry = files_.acquire(file_id);
  if (entry != nullptr || link_ == nullptr) return entry;
  link_->receive_files();
  return files_.acquire(file_id);
}

}  // namespace tailrace::api
