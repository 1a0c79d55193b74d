#include "engine/partition/producers.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "engine/base/crc32c.h"

namespace tailrace::partition {
namespace {

constexpr std::int32_t kSequenceMax = std::numeric_limits<std::int32_t>::max();
constexpr ProducerEpoch kNoProducerEpoch = -1;
constexpr std::int32_t kNoSequence = -1;

// DefaultRecordBatch.decrementSequence: before 0 comes 2^31-1.
std::int32_t decrement_sequence(std::int32_t sequence, std::int32_t by) {
  const std::int64_t before = static_cast<std::int64_t>(sequence) - by;
  return static_cast<std::int32_t>(before >= 0 ? before : before + kSequenceMax + 1);
}

bool follows(std::int32_t last_sequence, std::int32_t next_sequence) {
  return next_sequence == static_cast<std::int64_t>(last_sequence) + 1 ||
         (next_sequence == 0 && last_sequence == kSequenceMax);
}

std::int32_t last_sequence_of(const ProducerState& state) {
  return state.batches.empty() ? kNoSequence : state.batches.back().last_sequence;
}

const RememberedBatch* find_duplicate(const ProducerState& state, const record::BatchHeader& header) {
  if (header.producer_epoch != state.producer_epoch) return nullptr;
  const auto found = std::ranges::find_if(state.batches, [&header](const RememberedBatch& batch) {
    return batch.first_sequence == header.base_sequence && batch.last_sequence == header.last_sequence();
  });
  return found == state.batches.end() ? nullptr : &*found;
}

bool is_in_sequence(const ProducerState& state, const record::BatchHeader& header) {
  if (state.producer_epoch == kNoProducerEpoch) return true;
  if (header.producer_epoch != state.producer_epoch) return header.base_sequence == 0;
  return follows(last_sequence_of(state), header.base_sequence);
}

// Batches of an older epoch cannot be repeated any more.
void set_epoch(ProducerState& state, ProducerEpoch epoch) {
  if (state.producer_epoch == epoch) return;
  state.batches.clear();
  state.producer_epoch = epoch;
}

void remember(ProducerState& state, const record::BatchHeader& header) {
  if (state.batches.size() == ProducerState::kBatchesMax) state.batches.erase(state.batches.begin());
  const std::int32_t last_sequence = header.last_sequence();
  state.batches.push_back({.first_sequence = decrement_sequence(last_sequence, header.last_offset_delta),
                           .last_sequence = last_sequence,
                           .last_offset = header.last_offset(),
                           .offset_delta = header.last_offset_delta,
                           .timestamp = header.max_timestamp});
}

// The snapshot file: {int16 version, uint32 CRC of what follows, int32 count, entries}.
constexpr std::int16_t kSnapshotVersion = 1;
constexpr std::size_t kSnapshotCrcAt = 2;
constexpr std::size_t kSnapshotCheckedAt = 6;
constexpr std::size_t kSnapshotEntriesAt = 10;
constexpr std::size_t kSnapshotEntrySize = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;

void encode_entry(const ProducerState& state, std::byte* to) {
  const RememberedBatch none{.first_sequence = -1, .last_sequence = kNoSequence, .last_offset = -1, .offset_delta = 0};
  const RememberedBatch& last = state.batches.empty() ? none : state.batches.back();
  store_big_endian(to, state.producer_id);
  store_big_endian(to + 8, state.producer_epoch);
  store_big_endian(to + 10, last.last_sequence);
  store_big_endian(to + 14, last.last_offset);
  store_big_endian(to + 22, last.offset_delta);
  store_big_endian(to + 26, state.last_timestamp);
  store_big_endian(to + 34, state.coordinator_epoch);
  store_big_endian(to + 38, state.current_transaction_first_offset);
}

ProducerState decode_entry(const std::byte* from) {
  ProducerState state;
  state.producer_id = load_big_endian<std::int64_t>(from);
  state.producer_epoch = load_big_endian<std::int16_t>(from + 8);
  const auto last_sequence = load_big_endian<std::int32_t>(from + 10);
  const auto last_offset = load_big_endian<std::int64_t>(from + 14);
  const auto offset_delta = load_big_endian<std::int32_t>(from + 22);
  state.last_timestamp = load_big_endian<std::int64_t>(from + 26);
  state.coordinator_epoch = load_big_endian<std::int32_t>(from + 34);
  state.current_transaction_first_offset = std::max(load_big_endian<std::int64_t>(from + 38), kNoOffset);
  if (last_offset >= 0 && offset_delta >= 0) {
    state.batches.push_back({.first_sequence = decrement_sequence(last_sequence, offset_delta),
                             .last_sequence = last_sequence,
                             .last_offset = last_offset,
                             .offset_delta = offset_delta,
                             .timestamp = state.last_timestamp});
  }
  return state;
}

// The bucket of a producer id in a java.util.HashMap of so many buckets (a power of two).
std::uint32_t java_bucket(ProducerId producer_id, std::uint32_t buckets) {
  const auto bits = static_cast<std::uint64_t>(producer_id);
  const auto hash = static_cast<std::uint32_t>(bits ^ bits >> 32);
  return (hash ^ hash >> 16) & (buckets - 1);
}

std::vector<const ProducerState*> in_java_order(const std::map<ProducerId, ProducerState>& producers) {
  std::vector<const ProducerState*> ordered;
  ordered.reserve(producers.size());
  for (const auto& [id, state] : producers) ordered.push_back(&state);
  // It begins with 16 buckets and doubles them when it is more than three quarters full.
  const auto buckets =
      static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(16, (producers.size() * 4 + 2) / 3)));
  std::ranges::sort(ordered, {}, [buckets](const ProducerState* state) {
    return std::pair(java_bucket(state->producer_id, buckets), state->producer_id);
  });
  return ordered;
}

}  // namespace

Result<std::optional<RememberedBatch>> Producers::check(const record::BatchHeader& header) const {
  if (!header.has_producer()) return std::nullopt;
  const auto found = producers_.find(header.producer_id);
  if (found == producers_.end()) return std::nullopt;
  const ProducerState& state = found->second;

  if (header.base_sequence != kNoSequence) {
    if (const RememberedBatch* duplicate = find_duplicate(state, header)) return *duplicate;
  }
  if (header.producer_epoch < state.producer_epoch) {
    return failure(Code::invalid_producer_epoch, "the producer has a newer epoch");
  }
  if (header.base_sequence != kNoSequence && !is_in_sequence(state, header)) {
    return failure(Code::out_of_order_sequence, "the producer's sequence has a gap");
  }
  const bool is_in_transaction = state.current_transaction_first_offset != kNoOffset;
  if (is_in_transaction && !header.is_transactional()) {
    return failure(Code::invalid_transaction, "the producer has an open transaction");
  }
  return std::nullopt;
}

Result<void> Producers::check_marker(const record::BatchHeader& header, const EndMarker& marker,
                                     std::int16_t transaction_version) const {
  const auto found = producers_.find(header.producer_id);
  if (found == producers_.end()) return {};
  const ProducerState& state = found->second;
  const bool raises_epoch = transaction_version >= 2;
  const bool is_in_transaction = state.current_transaction_first_offset != kNoOffset;
  const bool is_same_epoch = header.producer_epoch == state.producer_epoch;
  // Written again after it had ended the transaction, or by a producer whose epoch cannot rise any further.
  const bool may_repeat = !is_in_transaction || header.producer_epoch == std::numeric_limits<ProducerEpoch>::max();
  if (header.producer_epoch < state.producer_epoch || (raises_epoch && is_same_epoch && !may_repeat)) {
    return failure(Code::invalid_producer_epoch, "the producer has a newer epoch than the marker");
  }
  if (marker.coordinator_epoch < state.coordinator_epoch) {
    return failure(Code::fenced_epoch, "a newer transaction coordinator has written here");
  }
  return {};
}

std::optional<Producers::EndedTransaction> Producers::apply(const record::BatchHeader& header,
                                                            const std::optional<EndMarker>& end_marker) {
  if (!header.has_producer()) return std::nullopt;
  if (header.is_control() && !end_marker) return std::nullopt;
  ProducerState& state = producers_[header.producer_id];
  state.producer_id = header.producer_id;
  set_epoch(state, header.producer_epoch);
  state.last_timestamp = header.max_timestamp;
  if (header.is_control()) return end_transaction(state, header.base_offset, *end_marker);

  remember(state, header);
  if (header.is_transactional() && state.current_transaction_first_offset == kNoOffset) {
    state.current_transaction_first_offset = header.base_offset;
    open_transactions_[header.base_offset] = header.producer_id;
  }
  return std::nullopt;
}

std::optional<Producers::EndedTransaction> Producers::end_transaction(ProducerState& state, Offset marker_offset,
                                                                      const EndMarker& marker) {
  state.coordinator_epoch = marker.coordinator_epoch;
  const Offset first_offset = std::exchange(state.current_transaction_first_offset, kNoOffset);
  // A marker without records before it ends nothing that anybody could have seen.
  if (first_offset == kNoOffset) return std::nullopt;
  open_transactions_.erase(first_offset);
  if (high_watermark_ && marker_offset >= *high_watermark_) unreplicated_transactions_[first_offset] = marker_offset;
  const Offset stable = open_transactions_.empty() ? marker_offset + 1 : open_transactions_.begin()->first;
  return EndedTransaction{.producer_id = state.producer_id,
                          .first_offset = first_offset,
                          .last_offset = marker_offset,
                          .last_stable_offset = stable,
                          .aborted = marker.aborts};
}

std::optional<ProducerState> Producers::state_of(ProducerId producer_id) const {
  const auto found = producers_.find(producer_id);
  return found == producers_.end() ? std::nullopt : std::optional(found->second);
}

void Producers::restore(ProducerId producer_id, std::optional<ProducerState> state) {
  if (const auto found = producers_.find(producer_id); found != producers_.end()) {
    open_transactions_.erase(found->second.current_transaction_first_offset);
    producers_.erase(found);
  }
  if (!state) return;
  if (state->current_transaction_first_offset != kNoOffset) {
    open_transactions_[state->current_transaction_first_offset] = producer_id;
  }
  producers_[producer_id] = std::move(*state);
}

std::optional<Offset> Producers::first_unstable_offset() const {
  std::optional<Offset> first;
  if (!open_transactions_.empty()) first = open_transactions_.begin()->first;
  if (!unreplicated_transactions_.empty()) {
    const Offset unreplicated = unreplicated_transactions_.begin()->first;
    if (!first || unreplicated < *first) first = unreplicated;
  }
  return first;
}

void Producers::on_high_watermark(Offset high_watermark) {
  high_watermark_ = high_watermark;
  std::erase_if(unreplicated_transactions_,
                [high_watermark](const auto& ended) { return ended.second < high_watermark; });
}

void Producers::expire(TimestampMs now_ms, std::int64_t expiration_ms) {
  std::erase_if(producers_, [now_ms, expiration_ms](const auto& entry) {
    const ProducerState& state = entry.second;
    // Compared without overflow: the time is a client's.
    const bool is_old = static_cast<__int128>(now_ms) - state.last_timestamp >= expiration_ms;
    return is_old && state.current_transaction_first_offset == kNoOffset;
  });
}

void Producers::clear() {
  producers_.clear();
  open_transactions_.clear();
  unreplicated_transactions_.clear();
}

std::string Producers::encode_snapshot() const {
  std::string encoded(kSnapshotEntriesAt + producers_.size() * kSnapshotEntrySize, '\0');
  auto* at = reinterpret_cast<std::byte*>(encoded.data());
  store_big_endian(at, kSnapshotVersion);
  store_big_endian(at + kSnapshotCheckedAt, static_cast<std::int32_t>(producers_.size()));
  std::byte* entry = at + kSnapshotEntriesAt;
  for (const ProducerState* state : in_java_order(producers_)) {
    encode_entry(*state, entry);
    entry += kSnapshotEntrySize;
  }
  store_big_endian(at + kSnapshotCrcAt, crc32c(as_bytes(encoded).subspan(kSnapshotCheckedAt)));
  return encoded;
}

Result<std::vector<ProducerState>> decode_snapshot(Bytes snapshot) {
  if (snapshot.size() < kSnapshotEntriesAt) return failure(Code::corrupt, "producer snapshot is too short");
  if (load_big_endian<std::int16_t>(snapshot.data()) != kSnapshotVersion) {
    return failure(Code::corrupt, "version of a producer snapshot");
  }
  const auto count = load_big_endian<std::int32_t>(snapshot.data() + kSnapshotCheckedAt);
  if (count < 0 || static_cast<std::size_t>(count) > (snapshot.size() - kSnapshotEntriesAt) / kSnapshotEntrySize) {
    return failure(Code::corrupt, "producer snapshot is shorter than its count");
  }
  if (load_big_endian<std::uint32_t>(snapshot.data() + kSnapshotCrcAt) !=
      crc32c(snapshot.subspan(kSnapshotCheckedAt))) {
    return failure(Code::corrupt, "CRC of a producer snapshot");
  }
  std::vector<ProducerState> states;
  states.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    states.push_back(
        decode_entry(snapshot.data() + kSnapshotEntriesAt + static_cast<std::size_t>(i) * kSnapshotEntrySize));
  }
  return states;
}

Result<void> Producers::load_snapshot(Bytes snapshot) {
  auto states = decode_snapshot(snapshot);
  if (!states) return std::unexpected(states.error());
  clear();
  for (ProducerState& state : *states) {
    const ProducerId producer_id = state.producer_id;
    producers_[producer_id] = std::move(state);
  }
  for (const auto& [producer_id, state] : producers_) {
    if (state.current_transaction_first_offset != kNoOffset) {
      open_transactions_[state.current_transaction_first_offset] = producer_id;
    }
  }
  return {};
}

}  // namespace tailrace::partition
