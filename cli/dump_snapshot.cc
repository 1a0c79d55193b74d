// `tailrace dump` of what a partition knows of producers: .snapshot files and the aborted transactions of a .txnindex.
#include <fmt/format.h>

#include "cli/dump_parts.h"
#include "engine/log/format.h"
#include "engine/partition/producers.h"

namespace tailrace::cli {
namespace {

bool read_all(Dump& dump, const std::string& path, record::Scratch& bytes) {
  const auto file = DumpFile::open(path);
  Result<void> read;
  if (!file) {
    read = std::unexpected(file.error());
  } else {
    read = file->read(0, file->size(), bytes);
  }
  if (!read) dump.complain(path, "cannot be read", read.error());
  return read.has_value();
}

void print_producer(Dump& dump, const partition::ProducerState& state) {
  dump.print("producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: ", state.producer_id,
             state.producer_epoch, state.coordinator_epoch);
  if (state.current_transaction_first_offset == kNoOffset) {
    dump.print("OptionalLong.empty");
  } else {
    dump.print("OptionalLong[{}]", state.current_transaction_first_offset);
  }
  dump.print(" lastTimestamp: {}", state.last_timestamp);
  if (!state.batches.empty()) {
    const partition::RememberedBatch& batch = state.batches.front();
    dump.print(" firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}", batch.first_sequence,
               batch.last_sequence, batch.last_offset, batch.offset_delta, batch.timestamp);
  }
  dump.print("\n");
}

}  // namespace

void dump_snapshot(Dump& dump, const std::string& path) {
  record::Scratch bytes;
  if (!read_all(dump, path, bytes)) return;
  const auto states = partition::decode_snapshot(bytes.bytes());
  if (!states) return dump.complain(path, "is not a snapshot", states.error());
  for (const partition::ProducerState& state : *states) print_producer(dump, state);
}

void dump_transaction_index(Dump& dump, const std::string& path) {
  record::Scratch bytes;
  if (!read_all(dump, path, bytes)) return;
  Bytes left = bytes.bytes();
  for (; left.size() >= log::kTransactionEntrySize; left = left.subspan(log::kTransactionEntrySize)) {
    const auto version = load_big_endian<std::int16_t>(left.data());
    if (version > log::kTransactionEntryVersion) {
      return dump.complain(path, fmt::format("entry of the unknown version {}", version));
    }
    const auto field = [&left](std::size_t at) { return load_big_endian<std::int64_t>(left.data() + at); };
    dump.print("version: {} producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}\n",
               log::kTransactionEntryVersion, field(2), field(10), field(18), field(26));
  }
  if (!left.empty()) dump.complain(path, fmt::format("{} bytes at the end are no entry", left.size()));
}

}  // namespace tailrace::cli
