#include "services/groupcoord/partition_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/record/control.h"
#include "engine/record/records.h"
#include "services/node/offsets_topic.h"

namespace tailrace::groupcoord {
namespace {

constexpr std::uint32_t kReadBytes = 1u << 20;        // of the log, for each call
constexpr std::size_t kUnpackedBytesMax = 64u << 20;  // of one batch
constexpr std::size_t kBatchBytesMax =
    1'048'588 - 4'096;                       // Kafka's max.message.bytes, with room for what frames records
constexpr std::size_t kRecordOverhead = 32;  // lengths, deltas and attributes, at most
constexpr Duration kPauseMin = std::chrono::milliseconds(10);
constexpr Duration kPauseMax = std::chrono::seconds(1);

std::size_t size_of(const Record& record) {
  return record.key.size() + (record.value ? record.value->size() : 0) + kRecordOverhead;
}

// Nothing was done, and it may be possible soon: the broker has yet to tell the engine who leads.
bool is_early(std::uint16_t code) {
  return code == static_cast<std::uint16_t>(Code::not_leader) ||
         code == static_cast<std::uint16_t>(Code::unknown_partition) ||
         code == static_cast<std::uint16_t>(Code::unknown_epoch) ||
         code == static_cast<std::uint16_t>(Code::fenced_epoch) || code == static_cast<std::uint16_t>(Code::retry);
}

}  // namespace

PartitionLog::PartitionLog(io::Io& io, api::Client& engine, ipc::Arena& arena, const TopicIdPartition& partition,
                           Reader& reader)
    : io_(io), engine_(engine), arena_(arena), partition_(partition), reader_(reader) {
  list_.bind<&PartitionLog::on_start>(this);
  plan_.bind<&PartitionLog::on_plan>(this);
  append_.bind<&PartitionLog::on_appended>(this);
  retry_.bind<&PartitionLog::on_retry_due>(this);
}

PartitionLog::~PartitionLog() {
  io_.disarm(retry_);
  if (chunk_) arena_.free(*chunk_);
}

// -- Reading -------------------------------------------------------------------------------------------------------

void PartitionLog::read() {
  CHECK(calls_ == 0);
  state_ = State::reading;
  pause_ = {};
  ask_start();
}

void PartitionLog::ask_start() {
  api::ListOffset request;
  request.partition = {partition_.topic_id, partition_.partition};
  request.current_leader_epoch = epoch_;
  request.timestamp = -2;
  ++calls_;
  engine_.list_offset(request, list_);
}

void PartitionLog::on_start(const api::OffsetListed& answer, Bytes) {
  --calls_;
  if (state_ == State::idle) return;  // nobody wants it any more
  if (answer.code == api::kOk) {
    next_offset_ = answer.offset;
    read_max_ = kReadBytes;
    return read_next();
  }
  if (is_early(answer.code)) return retry_later();
  lose();
}

void PartitionLog::read_next() {
  api::Read request;
  request.partition = {partition_.topic_id, partition_.partition};
  request.current_leader_epoch = epoch_;
  request.fetch_offset = next_offset_;
  request.max_bytes = read_max_;
  request.whole_first_batch = 1;
  ++calls_;
  engine_.read(request, plan_);
}

void PartitionLog::on_plan(const api::ReadPlan& plan, Bytes) {
  --calls_;
  if (state_ == State::idle) return;
  if (state_ == State::ending) return on_end(plan);
  if (plan.code == static_cast<std::uint16_t>(Code::out_of_range)) return ask_start();  // retention was faster
  if (is_early(plan.code)) return retry_later();
  if (plan.code != api::kOk) return lose();
  if (next_offset_ >= plan.high_watermark) return ask_end();
  if (plan.length == 0 || !take(plan)) return retry_later();
  pause_ = {};
  read_next();
}

// What a coordinator before us had sent may be written and not durable yet. It will be part of the log, so it has to be
// waited for: there is something behind the high watermark if one can read there, and nothing if that is out of range.
void PartitionLog::ask_end() {
  state_ = State::ending;
  api::Read request;
  request.partition = {partition_.topic_id, partition_.partition};
  request.current_leader_epoch = epoch_;
  request.fetch_offset = next_offset_ + 1;
  request.max_bytes = 1;
  ++calls_;
  engine_.read(request, plan_);
}

void PartitionLog::on_end(const api::ReadPlan& plan) {
  if (plan.code == api::kOk || is_early(plan.code)) return retry_later();
  if (plan.code != static_cast<std::uint16_t>(Code::out_of_range)) return lose();
  state_ = State::open;
  pause_ = {};
  bytes_ = {};
  unpacked_ = {};
  reader_.on_read();
}

bool PartitionLog::take(const api::ReadPlan& plan) {
  api::FileCache::Entry* const file = engine_.acquire_file(plan.file_id);
  if (file == nullptr) return false;  // planned anew
  bytes_.resize(std::max(plan.length, plan.first_batch_length));
  const Result<std::size_t> got = io_.files().read(file->file, bytes_, plan.position);
  engine_.release_file(file);
  if (!got) {
    if (!std::exchange(is_trouble_logged_, true)) {
      log_error("partition not read topic={} partition={} reason=\"{}\"", node::kOffsetsTopic, partition_.partition,
                got.error().text());
    }
    return false;
  }
  Bytes left(bytes_.data(), std::min(*got, bytes_.size()));
  const Offset before = next_offset_;
  while (left.size() >= record::kBatchHeaderSize) {
    const record::BatchHeader header = record::read_header(left.data());
    if (header.batch_length < 0 || left.size() < header.size_bytes()) break;
    const Bytes batch = left.first(header.size_bytes());
    left = left.subspan(batch.size());
    if (header.magic != record::kMagicV2) {
      take_batch(batch);
    } else if (header.last_offset() >= next_offset_) {
      take_batch(batch);
      next_offset_ = header.next_offset();
    }
  }
  return next_offset_ > before;
}

void PartitionLog::take_batch(Bytes batch) {
  Result<record::Records> records = record::Records::open(batch, unpacked_, kUnpackedBytesMax);
  Result<bool> more = true;
  record::Record each;
  while (records && (more = records->next(each)) && *more) {
    if (each.offset < next_offset_) continue;
    if (each.magic != record::kMagicV2) next_offset_ = each.offset + 1;
    const record::BatchHeader& header = records->header();
    if (header.is_control()) {
      const auto marker = record::end_marker(each);
      if (marker && *marker) reader_.on_transaction_end(header.producer_id, !(*marker)->aborts);
      continue;
    }
    const bool is_open = header.is_transactional();
    if (each.key) reader_.on_record(*each.key, each.value, is_open ? header.producer_id : kNoProducerId);
  }
  if (records && more) return;
  log_error("batch not understood topic={} partition={} offset={} reason=\"{}\"", node::kOffsetsTopic,
            partition_.partition, next_offset_, (records ? more.error() : records.error()).text());
}

// -- Appending -----------------------------------------------------------------------------------------------------

void PartitionLog::append(std::vector<Record> records, std::vector<Reply> replies) {
  CHECK(state_ == State::open);
  const bool is_clear = gathered_.empty() && batch_.empty();
  if (records.empty() && is_clear) {
    for (Reply& each : replies) reader_.on_durable(std::move(each));
    return;
  }
  // What is more than a batch may be is spread over several; the replies wait for the last.
  Entry entry;
  for (Record& each : records) {
    const std::size_t size_bytes = size_of(each);
    if (!entry.records.empty() && entry.size_bytes + size_bytes > kBatchBytesMax) {
      gathered_.push_back(std::exchange(entry, {}));
    }
    entry.records.push_back(std::move(each));
    entry.size_bytes += size_bytes;
  }
  entry.replies = std::move(replies);
  gathered_.push_back(std::move(entry));
}

void PartitionLog::flush() {
  if (state_ != State::open || !batch_.empty() || gathered_.empty()) return;
  const TimestampMs now_ms = io_.wall_clock_ms();
  builder_.start({});
  std::size_t taken_bytes = 0;
  while (!gathered_.empty()) {
    Entry& entry = gathered_.front();
    if (taken_bytes != 0 && taken_bytes + entry.size_bytes > kBatchBytesMax) break;
    for (const Record& each : entry.records) {
      const std::optional<Bytes> value = each.value ? std::optional<Bytes>(*each.value) : std::nullopt;
      if (!builder_.add(now_ms, Bytes(each.key), value)) return lose();
    }
    taken_bytes += entry.size_bytes;
    std::ranges::move(entry.replies, std::back_inserter(in_flight_));
    gathered_.pop_front();
  }
  // Only replies are left: those that waited for a batch that is durable now.
  if (builder_.count() == 0) {
    for (Reply& each : std::exchange(in_flight_, {})) reader_.on_durable(std::move(each));
    return;
  }
  const Result<Bytes> batch = builder_.finish();
  if (!batch || batch->size() > arena_.size()) {
    log_error("batch not appended topic={} partition={} reason=\"too large\"", node::kOffsetsTopic,
              partition_.partition);
    return lose();
  }
  batch_ = *batch;
  send();
}

void PartitionLog::send() {
  if (!chunk_) {
    chunk_ = arena_.allocate(batch_.size());
    if (!chunk_) return retry_later();  // others have it just now
    std::memcpy(arena_.bytes(*chunk_).data(), batch_.data(), batch_.size());
  }
  api::Append request;
  request.partition = {partition_.topic_id, partition_.partition};
  request.leader_epoch = epoch_;
  request.arena_offset = chunk_->offset;
  request.length = static_cast<std::uint32_t>(batch_.size());
  request.wait = api::Wait::high_watermark;
  ++calls_;
  engine_.append(request, append_);
}

void PartitionLog::on_appended(const api::Appended& answer, Bytes) {
  --calls_;
  if (state_ != State::open) return arena_.free(*std::exchange(chunk_, std::nullopt));  // given up meanwhile
  if (is_early(answer.code)) return retry_later();
  arena_.free(*std::exchange(chunk_, std::nullopt));
  batch_ = {};
  // Somebody else has written since it was read: what was decided rests on less than the log says.
  if (answer.code == api::kOk && answer.base_offset != next_offset_) {
    log_warning("batch not expected topic={} partition={} offset={} expected={}", node::kOffsetsTopic,
                partition_.partition, answer.base_offset, next_offset_);
    return lose();
  }
  if (answer.code != api::kOk) {
    log_warning("batch not appended topic={} partition={} reason={}", node::kOffsetsTopic, partition_.partition,
                name(static_cast<Code>(answer.code)));
    return lose();
  }
  pause_ = {};
  next_offset_ += builder_.count();
  for (Reply& each : std::exchange(in_flight_, {})) reader_.on_durable(std::move(each));
}

// -- Trouble -------------------------------------------------------------------------------------------------------

void PartitionLog::retry_later() {
  pause_ = std::clamp(2 * pause_, kPauseMin, kPauseMax);
  io_.arm(retry_, io_.now() + pause_);
}

void PartitionLog::on_retry_due() {
  if (state_ == State::ending) {
    state_ = State::reading;
    return read_next();
  }
  if (state_ == State::reading) return ask_start();
  if (state_ == State::open && !batch_.empty()) send();
}

void PartitionLog::lose() {
  io_.disarm(retry_);
  state_ = State::idle;
  // The engine may still read what is on its way.
  if (chunk_ && calls_ == 0) arena_.free(*std::exchange(chunk_, std::nullopt));
  batch_ = {};
  std::vector<Reply> unsent = std::exchange(in_flight_, {});
  for (Entry& entry : gathered_) std::ranges::move(entry.replies, std::back_inserter(unsent));
  gathered_.clear();
  reader_.on_lost(std::move(unsent));
}

}  // namespace tailrace::groupcoord
