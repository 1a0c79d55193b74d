// What a partition's directory looks like on disk (docs/formats.md): names of files, sizes and layouts of entries. All
// of it is Kafka's format; integers are big-endian. The layout of batches is in engine/record/batch.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/types.h"

namespace tailrace::log {

// "<base offset, 20 digits><suffix>": one segment is a .log, its two indexes, and a .txnindex once it holds an abort
// marker. A .snapshot holds the producer state before its offset.
constexpr std::string_view kLogSuffix = ".log";
constexpr std::string_view kOffsetIndexSuffix = ".index";
constexpr std::string_view kTimeIndexSuffix = ".timeindex";
constexpr std::string_view kTransactionIndexSuffix = ".txnindex";
constexpr std::string_view kSnapshotSuffix = ".snapshot";

constexpr std::string_view kSegmentSuffixes[] = {kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix,
                                                 kTransactionIndexSuffix, kSnapshotSuffix};

// Behind any of those names: about to be removed; being written by the cleaner; written by it and about to take the
// place of segments (LogLoader finishes or undoes such work at start).
constexpr std::string_view kDeletedSuffix = ".deleted";
constexpr std::string_view kCleanedSuffix = ".cleaned";
constexpr std::string_view kSwapSuffix = ".swap";

constexpr std::string_view kLeaderEpochFile = "leader-epoch-checkpoint";

// A position in a .log file is a signed 32-bit number in the index and in Kafka's memory.
constexpr std::uint64_t kSegmentBytesMax = std::numeric_limits<std::int32_t>::max();
// An offset in an index is a signed 32-bit distance to the base offset.
constexpr Offset kRelativeOffsetMax = std::numeric_limits<std::int32_t>::max();

// .index: {int32 last offset of a batch - base, int32 position of the batch}.
constexpr std::uint32_t kOffsetEntrySize = 8;
// .timeindex: {int64 largest timestamp so far, int32 last offset of the batch that has it - base}.
constexpr std::uint32_t kTimeEntrySize = 12;
// .txnindex: {int16 version 0, int64 producer id, int64 first offset, int64 offset of the abort marker, int64 last
// stable offset when it was written}.
constexpr std::uint32_t kTransactionEntrySize = 34;
constexpr std::int16_t kTransactionEntryVersion = 0;

// "00000000000000000012.log"
std::string segment_file_name(Offset base_offset, std::string_view suffix);
// The base offset in `name` if it is 20 digits followed by exactly `suffix`.
std::optional<Offset> parse_segment_file_name(std::string_view name, std::string_view suffix);

// Names one file of a segment. The directory is the log's and may change while the file is open (a topic is deleted).
struct SegmentFileName {
  const std::string* directory = nullptr;
  Offset base_offset = 0;
  std::string_view suffix;
  [[nodiscard]] std::string path() const { return *directory + "/" + segment_file_name(base_offset, suffix); }
};

}  // namespace tailrace::log
