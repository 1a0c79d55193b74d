#include "engine/server/shard.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>

#include "engine/base/observe.h"
#include "engine/server/shard_parts.h"

namespace tailrace::server {
namespace {

constexpr int kRecordsPerTurnMax = 4096;

}  // namespace

Shard::Shard(io::Io& io, const Settings& settings, Counters* counters)
    : io_(io), settings_(settings), directory_(io.files(), settings.data_directory) {
  checkpoint_timer_.bind<&Shard::on_checkpoint_due>(this);
  sync_retry_timer_.bind<&Shard::on_sync_retry_due>(this);
  expiry_timer_.bind<&Shard::on_expiry_due>(this);
  removal_timer_.bind<&Shard::on_removal_due>(this);
  room_timer_.bind<&Shard::on_room_due>(this);
  upkeep_timer_.bind<&Shard::on_upkeep_due>(this);
  log_starts_saved_.bind<&Shard::on_log_starts_saved>(this);
  directory_synced_.bind<&Shard::on_directory_synced>(this);
  if (counters == nullptr) return;
  appends_ = counters->make("appends");
  appended_bytes_ = counters->make("appended_bytes");
  reads_ = counters->make("reads");
  planned_bytes_ = counters->make("planned_bytes");
  writes_ = counters->make("writes");
  syncs_ = counters->make("syncs");
  partitions_ = counters->make("partitions");
  sessions_open_ = counters->make("sessions");
}

Shard::~Shard() {
  io_.disarm(checkpoint_timer_);
  io_.disarm(sync_retry_timer_);
  io_.disarm(expiry_timer_);
  io_.disarm(removal_timer_);
  io_.disarm(room_timer_);
  io_.disarm(upkeep_timer_);
}

std::uint64_t Shard::add_session(std::unique_ptr<ipc::Link> link) {
  auto session = std::make_shared<Session>();
  session->id = next_session_++;
  session->link = std::move(link);
  sessions_.push_back(std::move(session));
  sessions_open_.set(sessions_.size());
  return sessions_.back()->id;
}

void Shard::end_session(std::uint64_t id) {
  const auto found = std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& each) { return each->id == id; });
  if (found == sessions_.end()) return;
  for (auto& [key, hosted] : hosted_) hosted->partition->waiters().cancel_session(id);
  ended_sessions_.push_back(std::move(*found));
  sessions_.erase(found);
  sessions_open_.set(sessions_.size());
}

Uuid Shard::random_uuid() {
  Uuid id;
  const std::uint64_t words[2] = {io_.random(), io_.random()};
  std::memcpy(id.bytes.data(), words, sizeof words);
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x40);  // RFC 4122, version 4
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
  return id;
}

bool Shard::work() {
  if (state_ == State::loading) return end_loading();
  made_in_turn_ = 0;
  bool worked = false;
  std::vector<std::uint64_t> broken;
  for (const std::shared_ptr<Session>& session : sessions_) {
    worked |= answer_fired(*session);
    if (state_ != State::running) continue;
    ipc::RingConsumer& consumer = session->link->consumer();
    for (int count = 0; count < kRecordsPerTurnMax && made_in_turn_ < kMadePerTurnMax && has_room(*session); ++count) {
      const ipc::RingRecord record = consumer.next();
      if (record.type == ipc::kPaddingType) break;
      dispatch(*session, record);
      worked = true;
    }
    consumer.release();
    if (consumer.violated()) broken.push_back(session->id);
  }
  for (const std::uint64_t id : broken) {
    log_error("session ended session={} reason=\"the peer broke the ring's format\"", id);
    end_session(id);
  }
  write_staged();
  start_syncs();
  start_settling();
  start_directory_sync();
  start_log_starts();
  for (const std::shared_ptr<Session>& session : sessions_) {
    for (; !session->gone_files.empty() && has_room(*session); session->gone_files.pop_back()) {
      reply(*session, api::FileGone{session->gone_files.back()});
    }
    session->link->publish();
  }
  ended_sessions_.clear();
  if (state_ == State::stopping && staged_.empty() && unsynced_.empty() && unsaved_log_starts_.empty() &&
      in_flight_ == 0) {
    start_closing();
  }
  if (state_ == State::closing) close_some();
  return worked;
}

bool Shard::prepare_to_sleep() {
  if (state_ == State::loading) return in_flight_ > 0;
  const bool is_ending = state_ == State::stopping || state_ == State::closing;
  if (!staged_.empty() || (is_ending && in_flight_ == 0)) return false;
  // They waited for more to be asked for, not for syncs to end.
  if (!to_settle_.empty() && settling_count_ < kSettledTogetherMax) return false;
  for (const std::shared_ptr<Session>& session : sessions_) {
    const bool is_asked = !session->link->consumer().prepare_to_sleep();
    if (!is_asked && session->fired.empty()) continue;
    if (has_room(*session)) return false;
    // Requests or watches wait, but there is no room for their answers, and nobody rings when the client has made some:
    // look again soon.
    io_.arm(room_timer_, io_.now() + Duration{200});
  }
  return true;
}

Shard::Session* Shard::find_session(std::uint64_t id) {
  for (const std::shared_ptr<Session>& each : sessions_) {
    if (each->id == id) return each.get();
  }
  return nullptr;
}

void Shard::wake() {
  for (const std::shared_ptr<Session>& session : sessions_) session->link->consumer().wake();
}

bool Shard::has_room(Session& session) {
  return session.link->producer().free_bytes() >= session.owed_bytes + 2 * kReplyBytesMax;
}

template <class T>
void Shard::take(Session& session, const ipc::RingRecord& record, void (Shard::*handler)(Session&, const T&)) {
  if (record.payload.size() < sizeof(T)) return;  // of no known shape: the client waits in vain, which is its own doing
  T copy;
  std::memcpy(static_cast<void*>(&copy), record.payload.data(), sizeof copy);
  (this->*handler)(session, copy);
}

void Shard::dispatch(Session& session, const ipc::RingRecord& record) {
  const auto type = static_cast<api::Type>(record.type);
  if (!session.identified && type != api::Type::identify) return;
  switch (type) {
    case api::Type::identify:
      return take(session, record, &Shard::on_identify);
    case api::Type::set_role:
      return take(session, record, &Shard::on_set_role);
    case api::Type::delete_partition:
      return take(session, record, &Shard::on_delete_partition);
    case api::Type::append:
      return take(session, record, &Shard::on_append);
    case api::Type::read:
      return take(session, record, &Shard::on_read);
    case api::Type::cancel:
      return take(session, record, &Shard::on_cancel);
    case api::Type::list_offset:
      return take(session, record, &Shard::on_list_offset);
    case api::Type::end_of_epoch:
      return take(session, record, &Shard::on_end_of_epoch);
    case api::Type::delete_records:
      return take(session, record, &Shard::on_delete_records);
    case api::Type::describe_log:
      return take(session, record, &Shard::on_describe_log);
    case api::Type::describe_producers:
      return take(session, record, &Shard::on_describe_producers);
    case api::Type::forget_file:
      return take(session, record, &Shard::on_forget_file);
    case api::Type::done:
    case api::Type::role_set:
    case api::Type::appended:
    case api::Type::read_plan:
    case api::Type::offset_listed:
    case api::Type::epoch_ended:
    case api::Type::file_gone:
    case api::Type::records_deleted:
    case api::Type::log_described:
    case api::Type::producers_described:
      return;
  }
}

void Shard::on_identify(Session& session, const api::Identify& request) {
  Result<void> identified = failure(Code::invalid_argument);
  if (request.cluster_id_size > 0 && request.cluster_id_size <= sizeof request.cluster_id) {
    const std::string_view cluster_id(request.cluster_id, request.cluster_id_size);
    identified = directory_.identify(cluster_id, request.node_id, random_uuid());
    if (!identified) log_error("session refused reason=\"{}\"", identified.error().text());
  }
  session.identified = identified.has_value();
  reply(session, api::Done{request.request, api::to_code(identified)});
}

void Shard::on_checkpoint_due() {
  if (Result<void> written = write_checkpoints(); !written)
    log_warning("checkpoints not written reason=\"{}\"", written.error().text());
  // With durability=memory nothing else makes bytes durable: this bounds what recovery has to read again.
  if (settings_.durability == Durability::memory) {
    for (auto& [key, hosted] : hosted_) list_unsynced(*hosted);
  }
  io_.arm(checkpoint_timer_, io_.now() + std::chrono::milliseconds(settings_.checkpoint_interval_ms));
}

void Shard::on_sync_retry_due() {
  for (auto& [key, hosted] : hosted_) list_unsynced(*hosted);
}

void Shard::on_expiry_due() {
  for (auto& [key, hosted] : hosted_) hosted->partition->expire_producers(io_.wall_clock_ms());
  io_.arm(expiry_timer_, io_.now() + std::chrono::milliseconds(settings_.producer_expiration_check_interval_ms));
}

void Shard::on_removal_due() {
  const bool more = directory_.remove_some();
  io_.arm(removal_timer_,
          io_.now() + (more ? Duration{1000} : Duration{std::chrono::milliseconds(settings_.file_delete_delay_ms)}));
}

void Shard::stop() {
  stops_when_loaded_ = true;
  if (state_ == State::running) state_ = State::stopping;
}

// Nothing is in flight, and nothing but the syncs of closing begins from here on.
void Shard::start_closing() {
  state_ = State::closing;
  io_.disarm(checkpoint_timer_);
  io_.disarm(sync_retry_timer_);
  for (auto& [key, hosted] : hosted_) {
    if (!hosted->deleted) to_close_.push_back(hosted.get());
  }
}

// Many at a time, as when they are loaded.
void Shard::close_some() {
  while (!to_close_.empty() && closing_count_ < kSettledTogetherMax) {
    Hosted& hosted = *to_close_.back();
    to_close_.pop_back();
    ++closing_count_;
    if (Result<void> begun = hosted.partition->begin_close(); !begun) {
      on_closed(hosted, begun);
    } else {
      start_sync(hosted);
    }
  }
  if (to_close_.empty() && closing_count_ == 0) finish_stop();
}

void Shard::on_closed(Hosted& hosted, Result<void> closed) {
  --closing_count_;
  hosted.partition->end_close();
  if (closed) return;
  log_error("partition not closed name={} reason=\"{}\"", hosted.name, closed.error().text());
  is_unclean_ = true;
}

void Shard::finish_stop() {
  bool clean = !is_left_half_made_ && !is_unclean_;
  if (Result<void> written = write_checkpoints(); !written) {
    log_error("checkpoints not written reason=\"{}\"", written.error().text());
    clean = false;
  }
  if (clean && !directory_.mark_clean()) log_error("the clean-shutdown mark was not written");
  state_ = State::stopped;
}

}  // namespace tailrace::server
