#include "engine/server/shard.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/observe.h"

namespace tailrace::server {
namespace {

// Of aborted transactions one plan names at most this many; a read that overlaps more is cut shorter.
constexpr std::size_t kAbortedMax = 512;
constexpr std::size_t kReplyBytesMax =
    ipc::record_space(sizeof(api::ReadPlan) + kAbortedMax * sizeof(api::AbortedRange));
// The answer to an append comes later and has its room in the ring kept from the start.
constexpr std::size_t kOwedBytes = ipc::record_space(sizeof(api::Appended));
constexpr int kRecordsPerTurnMax = 4096;
// Of one session; a read beyond is answered without a watch. At about 200 bytes each this bounds their memory to 50 MB.
constexpr std::size_t kWatchesMax = std::size_t{1} << 18;

bool is_sound(const api::Partition& partition) { return partition.partition >= 0 && !partition.topic_id.is_zero(); }

}  // namespace

struct Shard::Session {
  std::uint64_t id = 0;
  std::unique_ptr<ipc::Link> link;
  bool identified = false;
  std::size_t owed_bytes = 0;  // of ring space, for appends whose answers are still to come
  std::unordered_set<std::uint64_t> files_passed;
  // No room is kept for the answers to watches: they may wait for ever, and what would make room (an append, a cancel)
  // waits in the ring. Those that have fired are answered when there is room.
  std::unordered_map<std::uint64_t, api::Read> watched;  // by request
  std::deque<api::Read> fired;
  std::vector<std::uint64_t> gone_files;  // to be told when there is room
};

struct Shard::Hosted {
  Shard* shard = nullptr;
  TopicIdPartition key;
  std::string name;  // "<topic>-<partition>", for people
  std::string topic;
  std::unique_ptr<partition::Partition> partition;
  io::Completion written;
  io::Completion synced;
  bool in_staged_list = false;
  bool in_unsynced_list = false;
  bool writing = false;
  bool syncing = false;
  bool has_topic_id = true;  // false: adopted, under an id that stands in for the topic's
  bool deleted = false;      // renamed to removed_path, which is to be made durable
  std::string removed_path;

  void on_written(std::int64_t result) { shard->on_written(*this, result); }
  void on_synced(std::int64_t result) { shard->on_synced(*this, result); }
};

Shard::Shard(io::Io& io, const Settings& settings, Counters* counters)
    : io_(io), settings_(settings), directory_(io.files(), settings.data_directory) {
  checkpoint_timer_.bind<&Shard::on_checkpoint_due>(this);
  expiry_timer_.bind<&Shard::on_expiry_due>(this);
  removal_timer_.bind<&Shard::on_removal_due>(this);
  room_timer_.bind<&Shard::on_room_due>(this);
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
  io_.disarm(expiry_timer_);
  io_.disarm(removal_timer_);
  io_.disarm(room_timer_);
}

Result<void> Shard::load() {
  Result<std::vector<FoundPartition>> found = directory_.load();
  if (!found) return std::unexpected(found.error());
  bool lost_below_checkpoint = false;
  for (FoundPartition& each : *found) {
    Result<std::unique_ptr<partition::Partition>> opened = partition::Partition::open(
        io_.files(), each.path, log::LogConfig{}, each.hints, settings_.producer_expiration_ms, io_.wall_clock_ms());
    if (!opened) {
      log_error("partition not opened directory={} reason=\"{}\"", each.path, opened.error().text());
      return std::unexpected(opened.error());
    }
    lost_below_checkpoint |= (*opened)->log().end_offset() < each.hints.recovery_point;
    // An adopted directory may not tell its topic's id; until the controller names one, it waits under an id that
    // nobody knows.
    const bool has_topic_id = !each.topic_id.is_zero();
    const TopicIdPartition key{has_topic_id ? each.topic_id : random_uuid(), each.partition};
    Hosted& hosted = host(key, each.topic, std::move(*opened));
    hosted.has_topic_id = has_topic_id;
    log_debug("partition opened name={} start={} end={}", hosted.name, hosted.partition->log_start_offset(),
              hosted.partition->log().end_offset());
  }
  // A recovery point above an end would hide what is written there next from the recovery after this one.
  if (lost_below_checkpoint) {
    if (Result<void> written = write_checkpoints(); !written) return written;
  }
  io_.arm(checkpoint_timer_, io_.now() + std::chrono::milliseconds(settings_.checkpoint_interval_ms));
  io_.arm(expiry_timer_, io_.now() + std::chrono::milliseconds(settings_.producer_expiration_check_interval_ms));
  io_.arm(removal_timer_, io_.now() + std::chrono::milliseconds(settings_.file_delete_delay_ms));
  return {};
}

Shard::Hosted& Shard::host(const TopicIdPartition& key, std::string topic,
                           std::unique_ptr<partition::Partition> partition) {
  auto hosted = std::make_unique<Hosted>();
  hosted->shard = this;
  hosted->key = key;
  hosted->name = topic + "-" + std::to_string(key.partition);
  hosted->topic = std::move(topic);
  hosted->partition = std::move(partition);
  hosted->written.bind<&Hosted::on_written>(hosted.get());
  hosted->synced.bind<&Hosted::on_synced>(hosted.get());
  hosted->partition->log().on_file_gone = [this](std::uint64_t file_id) { tell_file_gone(file_id); };
  Hosted& reference = *hosted;
  hosted_[key] = std::move(hosted);
  partitions_.set(hosted_.size());
  return reference;
}

std::uint64_t Shard::add_session(std::unique_ptr<ipc::Link> link) {
  auto session = std::make_unique<Session>();
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

// Batches staged from a session's arena are written from there: the mapping stays until nothing is staged or being
// written.
void Shard::release_ended_sessions() {
  if (!ended_sessions_.empty() && staged_.empty() && in_flight_ == 0) ended_sessions_.clear();
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
  bool worked = false;
  std::vector<std::uint64_t> broken;
  for (const std::unique_ptr<Session>& session : sessions_) {
    worked |= answer_fired(*session);
    if (state_ != State::running) continue;
    ipc::RingConsumer& consumer = session->link->consumer();
    for (int count = 0; count < kRecordsPerTurnMax && has_room(*session); ++count) {
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
  for (const std::unique_ptr<Session>& session : sessions_) {
    for (; !session->gone_files.empty() && has_room(*session); session->gone_files.pop_back()) {
      reply(*session, api::FileGone{session->gone_files.back()});
    }
    session->link->publish();
  }
  release_ended_sessions();
  if (state_ == State::stopping && staged_.empty() && unsynced_.empty() && in_flight_ == 0) finish_stop();
  return worked;
}

bool Shard::prepare_to_sleep() {
  if (!staged_.empty() || (state_ == State::stopping && in_flight_ == 0)) return false;
  for (const std::unique_ptr<Session>& session : sessions_) {
    const bool is_asked = !session->link->consumer().prepare_to_sleep();
    if (!is_asked && session->fired.empty()) continue;
    if (has_room(*session)) return false;
    // Requests or watches wait, but there is no room for their answers, and nobody rings when the client has made some:
    // look again soon.
    io_.arm(room_timer_, io_.now() + Duration{200});
  }
  return true;
}

void Shard::wake() {
  for (const std::unique_ptr<Session>& session : sessions_) session->link->consumer().wake();
}

bool Shard::has_room(Session& session) {
  return session.link->producer().free_bytes() >= session.owed_bytes + 2 * kReplyBytesMax;
}

template <class T>
bool Shard::reply(Session& session, const T& record) {
  std::byte* const space =
      session.link->producer().reserve(static_cast<std::uint32_t>(api::type_of<T>()), sizeof record);
  if (space == nullptr) return false;
  std::memcpy(space, &record, sizeof record);
  return true;
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
    case api::Type::forget_file:
      return take(session, record, &Shard::on_forget_file);
    case api::Type::done:
    case api::Type::role_set:
    case api::Type::appended:
    case api::Type::read_plan:
    case api::Type::offset_listed:
    case api::Type::epoch_ended:
    case api::Type::file_gone:
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

Shard::Hosted* Shard::find(const api::Partition& partition) {
  const auto found = hosted_.find(TopicIdPartition{partition.topic_id, partition.partition});
  return found == hosted_.end() || found->second->deleted ? nullptr : found->second.get();
}

void Shard::on_set_role(Session& session, const api::SetRole& request) {
  api::RoleSet answer{.request = request.request};
  const std::string name(request.topic_name, std::min<std::size_t>(request.topic_name_size, sizeof request.topic_name));
  log::LogConfig config;
  config.segment_bytes = request.segment_bytes;
  config.index_bytes_max = request.index_bytes_max;
  config.index_interval_bytes = request.index_interval_bytes;
  config.segment_ms = request.segment_ms;
  config.segment_jitter_ms = request.segment_jitter_ms;

  Result<Hosted*> hosted = failure(Code::invalid_argument, "setting a role");
  if (is_sound(request.partition) && log::is_valid_topic_name(name)) hosted = find_or_create(request, name, config);
  Result<void> led =
      hosted ? (*hosted)->partition->become_leader(request.leader_epoch) : std::unexpected(hosted.error());
  if (led) {
    partition::Partition& partition = *(*hosted)->partition;
    partition.log().set_config(config);
    answer.log_start_offset = partition.log_start_offset();
    answer.end_offset = partition.log().end_offset();
  } else if (led.error().code != Code::fenced_epoch) {
    log_error("role not set partition={}-{} reason=\"{}\"", name, request.partition.partition, led.error().text());
  }
  answer.code = api::to_code(led);
  reply(session, answer);
}

Result<Shard::Hosted*> Shard::find_or_create(const api::SetRole& request, const std::string& name,
                                             const log::LogConfig& config) {
  if (Hosted* const known = find(request.partition)) return known;
  const TopicIdPartition key{request.partition.topic_id, request.partition.partition};
  const std::string path = directory_.partition_path(name, key.partition);
  if (hosted_.contains(key)) return failure(Code::retry, "making a partition while its old one is being deleted");

  // The name may be taken by an adopted directory without an id, which becomes this topic's, or by an older topic of
  // the same name.
  const auto taken = std::find_if(hosted_.begin(), hosted_.end(), [&](const auto& each) {
    return each.second->topic == name && each.second->key.partition == key.partition && !each.second->deleted;
  });
  if (taken != hosted_.end()) {
    std::unique_ptr<Hosted>& old = taken->second;
    if (!old->has_topic_id) {
      if (Result<void> noted = directory_.note_topic_id(path, key.topic_id); !noted)
        return std::unexpected(noted.error());
      auto node = hosted_.extract(taken);
      node.key() = key;
      node.mapped()->key = key;
      node.mapped()->has_topic_id = true;
      return hosted_.insert(std::move(node)).position->second.get();
    }
    if (old->writing || old->syncing || old->in_staged_list)
      return failure(Code::retry, "setting an old partition aside");
    log_warning("partition set aside name={} topic_id={} reason=\"a new topic has its name\"", old->name,
                old->key.topic_id.text());
    if (Result<void> closed = old->partition->close(); !closed) return std::unexpected(closed.error());
    if (Result<void> renamed = directory_.rename_as_stray(name, key.partition, random_uuid()); !renamed) {
      return std::unexpected(renamed.error());
    }
    forget_files(*old);
    std::erase(unsynced_, old.get());
    hosted_.erase(taken);
  }
  if (request.create == 0) return failure(Code::not_found, "looking for a partition");
  // What the checkpoints say of an older partition of this name must not be believed of the new one.
  if (directory_.is_checkpointed(name, key.partition)) {
    if (Result<void> written = write_checkpoints(); !written) return std::unexpected(written.error());
  }
  Result<std::string> made = directory_.make_partition(name, key.partition, key.topic_id);
  if (!made) return std::unexpected(made.error());
  Result<std::unique_ptr<partition::Partition>> created =
      partition::Partition::create(io_.files(), *made, config, io_.wall_clock_ms());
  if (!created) return std::unexpected(created.error());
  return &host(key, name, std::move(*created));
}

void Shard::on_delete_partition(Session& session, const api::DeletePartition& request) {
  api::Done answer{.request = request.request};
  const auto found = hosted_.find(TopicIdPartition{request.partition.topic_id, request.partition.partition});
  if (found != hosted_.end()) {
    Result<void> removed = remove(*found->second);
    if (!removed && removed.error().code != Code::retry) {
      log_error("partition not deleted name={} reason=\"{}\"", found->second->name, removed.error().text());
    }
    if (removed) hosted_.erase(found);
    answer.code = api::to_code(removed);
  }
  partitions_.set(hosted_.size());
  reply(session, answer);
}

// Until it has succeeded the client asks again: a partition that has lost its name but not yet durably stays, as
// deleted.
Result<void> Shard::remove(Hosted& hosted) {
  if (hosted.writing || hosted.syncing || hosted.in_staged_list)
    return failure(Code::retry, "deleting a partition that is busy");
  if (!hosted.deleted) {
    Result<std::string> renamed = directory_.rename_for_removal(hosted.topic, hosted.key.partition, random_uuid());
    if (!renamed) return std::unexpected(renamed.error());
    hosted.removed_path = std::move(*renamed);
    hosted.deleted = true;
    std::erase(unsynced_, &hosted);
    hosted.in_unsynced_list = false;
    fail_lost(hosted, Code::unknown_partition);
    forget_files(hosted);
  }
  return directory_.finish_removal(hosted.removed_path);
}

void Shard::on_append(Session& session, const api::Append& request) {
  const auto refuse = [&](Code code) {
    reply(session, api::Appended{.request = request.request, .code = static_cast<std::uint16_t>(code)});
  };
  Hosted* const hosted = find(request.partition);
  if (hosted == nullptr) return refuse(Code::unknown_partition);
  const Bytes arena = session.link->arena();
  if (request.arena_offset > arena.size() || request.length > arena.size() - request.arena_offset)
    return refuse(Code::corrupt);

  partition::Partition& partition = *hosted->partition;
  const Bytes batch = arena.subspan(request.arena_offset, request.length);
  const Result<partition::AppendOutcome> outcome = partition.append(batch, request.leader_epoch, io_.wall_clock_ms());
  if (!outcome) {
    if (outcome.error().code == Code::disk_full || outcome.error().code == Code::io_failed) {
      log_warning("append refused partition={} reason=\"{}\"", hosted->name, outcome.error().text());
    }
    return refuse(outcome.error().code);
  }
  appends_.add();
  appended_bytes_.add(request.length);
  if (!outcome->duplicate && !hosted->in_staged_list) {
    hosted->in_staged_list = true;
    staged_.push_back(hosted);
  }
  session.owed_bytes += kOwedBytes;
  const partition::Waiters::Acknowledgement acknowledgement{.end = outcome->end_offset,
                                                            .token = {session.id, request.request},
                                                            .base_offset = outcome->base_offset,
                                                            .timestamp = outcome->timestamp,
                                                            .duplicate = outcome->duplicate};
  if (request.wait == api::Wait::local) {
    partition.waiters().acknowledge_local(acknowledgement);
  } else {
    partition.waiters().acknowledge_replicated(acknowledgement);
  }
  // A duplicate may be safe already.
  if (outcome->duplicate) advance(*hosted, partition.high_watermark());
}

Result<partition::PlannedRead> Shard::plan(Hosted& hosted, const api::Read& request) const {
  const bool committed_only = request.isolation == api::Isolation::read_committed;
  std::uint32_t max_bytes = request.max_bytes;
  for (;;) {
    Result<partition::PlannedRead> planned =
        hosted.partition->plan_read(request.fetch_offset, max_bytes, request.whole_first_batch != 0, committed_only,
                                    request.current_leader_epoch, request.last_fetched_epoch);
    if (!planned || planned->aborted.size() <= kAbortedMax) return planned;
    if (max_bytes <= 1) return failure(Code::limit_reached, "naming the aborted transactions of one batch");
    max_bytes /= 2;
  }
}

void Shard::on_read(Session& session, const api::Read& request) {
  reads_.add();
  Hosted* const hosted = find(request.partition);
  if (hosted != nullptr) return reply_read(session, *hosted, request, false);
  reply(session,
        api::ReadPlan{.request = request.request, .code = static_cast<std::uint16_t>(Code::unknown_partition)});
}

void Shard::reply_read(Session& session, Hosted& hosted, const api::Read& request, bool moved) {
  partition::Partition& partition = *hosted.partition;
  api::ReadPlan answer{.request = request.request};
  answer.moved = moved ? 1 : 0;
  answer.high_watermark = partition.high_watermark();
  answer.last_stable_offset = partition.last_stable_offset();
  answer.log_start_offset = partition.log_start_offset();
  answer.leader_epoch = partition.leader_epoch();

  Result<partition::PlannedRead> planned = plan(hosted, request);
  Result<void> done = planned ? Result<void>{} : std::unexpected(planned.error());
  if (planned && planned->extent.length != 0) done = pass_file(session, planned->extent);
  answer.code = api::to_code(done);
  if (done) {
    answer.length = planned->extent.length;
    answer.first_batch_length = planned->extent.first_batch_length;
    answer.file_id = planned->extent.segment.file_id;
    answer.position = planned->extent.position;
    answer.available = planned->available_bytes;
    answer.readable_end = planned->readable_end;
    answer.diverging_epoch = planned->diverging.leader_epoch;
    answer.diverging_end_offset = planned->diverging.end_offset;
    answer.aborted_count = static_cast<std::uint32_t>(planned->aborted.size());
    planned_bytes_.add(answer.length);
    const bool wants_more = request.watch_from != kNoOffset && planned->readable_end <= request.watch_from;
    if (!moved && wants_more && planned->diverging.leader_epoch == kNoLeaderEpoch &&
        session.watched.size() < kWatchesMax) {
      partition.waiters().watch({.beyond = request.watch_from,
                                 .committed_only = request.isolation == api::Isolation::read_committed,
                                 .token = {session.id, request.request}});
      session.watched[request.request] = request;
      answer.watching = 1;
    }
  }
  const std::size_t aborted_bytes = answer.aborted_count * sizeof(api::AbortedRange);
  std::byte* const space =
      session.link->producer().reserve(static_cast<std::uint32_t>(api::Type::read_plan), sizeof answer + aborted_bytes);
  CHECK(space != nullptr);
  std::memcpy(space, &answer, sizeof answer);
  for (std::size_t i = 0; i < answer.aborted_count; ++i) {
    const api::AbortedRange range{planned->aborted[i].producer_id, planned->aborted[i].first_offset};
    std::memcpy(space + sizeof answer + i * sizeof range, &range, sizeof range);
  }
}

Result<void> Shard::pass_file(Session& session, const log::Extent& extent) {
  if (session.files_passed.contains(extent.segment.file_id)) return {};
  Result<void> sent = session.link->send_file(extent.segment.file_id, extent.file);
  if (sent) session.files_passed.insert(extent.segment.file_id);
  return sent;
}

void Shard::on_cancel(Session& session, const api::Cancel& request) {
  if (session.watched.erase(request.request) == 0) return;  // it has fired already
  if (Hosted* const hosted = find(request.partition))
    hosted->partition->waiters().cancel_watch({session.id, request.request});
}

void Shard::on_list_offset(Session& session, const api::ListOffset& request) {
  api::OffsetListed answer{.request = request.request};
  Hosted* const hosted = find(request.partition);
  Result<partition::ListedOffset> listed = failure(Code::unknown_partition);
  if (hosted != nullptr) {
    listed = hosted->partition->list_offset(request.timestamp, request.isolation == api::Isolation::read_committed,
                                            request.current_leader_epoch);
  }
  if (listed) {
    answer.offset = listed->offset;
    answer.timestamp = listed->timestamp;
    answer.leader_epoch = listed->leader_epoch;
  } else {
    answer.code = static_cast<std::uint16_t>(listed.error().code);
  }
  reply(session, answer);
}

void Shard::on_end_of_epoch(Session& session, const api::EndOfEpoch& request) {
  api::EpochEnded answer{.request = request.request};
  Hosted* const hosted = find(request.partition);
  Result<log::EpochEnd> end = failure(Code::unknown_partition);
  if (hosted != nullptr) end = hosted->partition->end_of_epoch(request.leader_epoch, request.current_leader_epoch);
  if (end) {
    answer.leader_epoch = end->leader_epoch;
    answer.end_offset = end->end_offset;
  } else {
    answer.code = static_cast<std::uint16_t>(end.error().code);
  }
  reply(session, answer);
}

void Shard::on_forget_file(Session& session, const api::ForgetFile& request) {
  session.files_passed.erase(request.file_id);
}

void Shard::forget_files(const Hosted& hosted) {
  for (const log::SegmentInfo& segment : hosted.partition->log().segments()) tell_file_gone(segment.file_id);
}

void Shard::tell_file_gone(std::uint64_t file_id) {
  for (const std::unique_ptr<Session>& session : sessions_) {
    if (session->files_passed.erase(file_id) != 0) session->gone_files.push_back(file_id);
  }
}

void Shard::write_staged() {
  std::vector<Hosted*> staged;
  staged.swap(staged_);
  for (Hosted* const hosted : staged) {
    if (hosted->writing) {  // what was staged since goes with the next write
      staged_.push_back(hosted);
      continue;
    }
    hosted->in_staged_list = false;
    hosted->writing = true;
    ++in_flight_;
    writes_.add();
    hosted->partition->log().write_staged(hosted->written);
  }
}

void Shard::on_written(Hosted& hosted, std::int64_t result) {
  --in_flight_;
  hosted.writing = false;
  log::Log& log = hosted.partition->log();
  if (result < 0) {
    log_error("write failed partition={} error=\"{}\"", hosted.name, std::strerror(static_cast<int>(-result)));
    std::erase(staged_, &hosted);
    hosted.in_staged_list = false;
    hosted.partition->on_write_failed(io_.wall_clock_ms());
    return fail_lost(hosted, result == -ENOSPC ? Code::disk_full : Code::io_failed);
  }
  if (hosted.partition->failed()) return fail_unsafe(hosted);
  if (settings_.durability == Durability::memory) return advance(hosted, log.written_end());
  if (!hosted.in_unsynced_list) {
    hosted.in_unsynced_list = true;
    unsynced_.push_back(&hosted);
  }
}

// One sync at a time for a partition: what is written meanwhile shares the next one. That is group commit.
void Shard::start_syncs() {
  std::vector<Hosted*> unsynced;
  unsynced.swap(unsynced_);
  for (Hosted* const hosted : unsynced) {
    if (hosted->syncing || hosted->writing) {
      unsynced_.push_back(hosted);
      continue;
    }
    hosted->in_unsynced_list = false;
    // The sync that was in flight when it was listed may have been enough; after a failed one no other helps.
    if (hosted->partition->failed() || !hosted->partition->log().needs_sync()) continue;
    hosted->syncing = true;
    ++in_flight_;
    syncs_.add();
    hosted->partition->log().sync(hosted->synced);
  }
}

void Shard::on_synced(Hosted& hosted, std::int64_t result) {
  --in_flight_;
  hosted.syncing = false;
  if (result < 0) {
    log_error("sync failed partition={} error=\"{}\"", hosted.name, std::strerror(static_cast<int>(-result)));
    hosted.partition->on_sync_failed();
  }
  if (hosted.partition->failed()) return fail_unsafe(hosted);
  if (settings_.durability == Durability::disk) advance(hosted, hosted.partition->log().durable_end());
}

void Shard::advance(Hosted& hosted, Offset safe_end) {
  partition::Partition& partition = *hosted.partition;
  partition.on_safe(safe_end);
  const auto session_of = [&](const partition::WaiterToken& token) -> Session* {
    for (const std::unique_ptr<Session>& each : sessions_) {
      if (each->id == token.session) return each.get();
    }
    return nullptr;
  };
  const Offset log_start_offset = partition.log_start_offset();
  partition.waiters().take_acknowledged(safe_end, partition.high_watermark(), [&](const auto& due) {
    Session* const session = session_of(due.token);
    if (session == nullptr) return;
    session->owed_bytes -= kOwedBytes;
    CHECK(reply(*session, api::Appended{.request = due.token.request,
                                        .duplicate = due.duplicate,
                                        .base_offset = due.base_offset,
                                        .log_start_offset = log_start_offset,
                                        .timestamp = due.timestamp}));
  });
  partition.waiters().take_readable(partition.high_watermark(), partition.last_stable_offset(), [&](const auto& due) {
    if (Session* const session = session_of(due.token)) fire(*session, due.token.request);
  });
}

void Shard::fire(Session& session, std::uint64_t request) {
  const auto watched = session.watched.find(request);
  if (watched == session.watched.end()) return;
  session.fired.push_back(watched->second);
  session.watched.erase(watched);
}

bool Shard::answer_fired(Session& session) {
  bool answered = false;
  for (; !session.fired.empty() && has_room(session); session.fired.pop_front()) {
    const api::Read& request = session.fired.front();
    answered = true;
    if (Hosted* const hosted = find(request.partition)) {
      reply_read(session, *hosted, request, true);
    } else {
      reply(session,
            api::ReadPlan{
                .request = request.request, .code = static_cast<std::uint16_t>(Code::unknown_partition), .moved = 1});
    }
  }
  return answered;
}

// After a failed sync nothing that comes later can be safe. What is still to be written is read from the clients'
// memory, which they use again once they are answered: so the last write answers all.
void Shard::fail_unsafe(Hosted& hosted) {
  if (!hosted.writing && !hosted.in_staged_list) fail_lost(hosted, Code::io_failed);
}

// What waited for bytes that will never be safe, or for a partition that goes, is told so.
void Shard::fail_lost(Hosted& hosted, Code code) {
  partition::Waiters& waiters = hosted.partition->waiters();
  const Offset kept = hosted.deleted || hosted.partition->failed() ? -1 : hosted.partition->log().written_end();
  waiters.take_beyond(kept, [&](const auto& lost) {
    for (const std::unique_ptr<Session>& session : sessions_) {
      if (session->id != lost.token.session) continue;
      session->owed_bytes -= kOwedBytes;
      CHECK(reply(*session, api::Appended{.request = lost.token.request, .code = static_cast<std::uint16_t>(code)}));
    }
  });
  if (!hosted.deleted) return;
  waiters.take_all_watches([&](const auto& watch) {
    for (const std::unique_ptr<Session>& session : sessions_) {
      if (session->id == watch.token.session) fire(*session, watch.token.request);
    }
  });
}

Result<void> Shard::write_checkpoints() {
  std::vector<PartitionCheckpoint> checkpoints;
  checkpoints.reserve(hosted_.size());
  for (const auto& [key, hosted] : hosted_) {
    if (hosted->deleted) continue;
    const partition::Partition& partition = *hosted->partition;
    checkpoints.push_back({.topic = hosted->topic,
                           .partition = key.partition,
                           .recovery_point = partition.log().recovery_point(),
                           .log_start_offset = partition.log_start_offset(),
                           .high_watermark = partition.high_watermark()});
  }
  return directory_.write_checkpoints(checkpoints);
}

void Shard::on_checkpoint_due() {
  if (Result<void> written = write_checkpoints(); !written)
    log_warning("checkpoints not written reason=\"{}\"", written.error().text());
  // With durability=memory nothing else makes bytes durable: this bounds what recovery has to read again.
  for (auto& [key, hosted] : hosted_) {
    if (settings_.durability != Durability::memory || hosted->deleted || hosted->in_unsynced_list ||
        !hosted->partition->log().needs_sync())
      continue;
    hosted->in_unsynced_list = true;
    unsynced_.push_back(hosted.get());
  }
  io_.arm(checkpoint_timer_, io_.now() + std::chrono::milliseconds(settings_.checkpoint_interval_ms));
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
  if (state_ != State::running) return;
  state_ = State::stopping;
  for (auto& [key, hosted] : hosted_) {
    if (hosted->deleted || hosted->in_unsynced_list || !hosted->partition->log().needs_sync()) continue;
    hosted->in_unsynced_list = true;
    unsynced_.push_back(hosted.get());
  }
}

void Shard::finish_stop() {
  bool clean = true;
  for (auto& [key, hosted] : hosted_) {
    if (hosted->deleted) continue;
    if (Result<void> closed = hosted->partition->close(); !closed) {
      log_error("partition not closed name={} reason=\"{}\"", hosted->name, closed.error().text());
      clean = false;
    }
  }
  if (Result<void> written = write_checkpoints(); !written) {
    log_error("checkpoints not written reason=\"{}\"", written.error().text());
    clean = false;
  }
  if (clean && !directory_.mark_clean()) log_error("the clean-shutdown mark was not written");
  state_ = State::stopped;
}

}  // namespace tailrace::server
