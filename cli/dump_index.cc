// `tailrace dump` of .index and .timeindex: their entries, and whether each points to what the .log has there.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/dump_parts.h"
#include "engine/log/format.h"
#include "engine/record/records.h"

namespace tailrace::cli {
namespace {

struct OffsetEntry {
  Offset offset = 0;
  std::int32_t position = 0;
};

struct TimeEntry {
  TimestampMs timestamp = 0;
  Offset offset = 0;
};

// The base offset is a file's name and may be anything.
Offset absolute_offset(Offset base_offset, std::int32_t relative) {
  return static_cast<Offset>(static_cast<std::uint64_t>(base_offset) + static_cast<std::uint64_t>(relative));
}

OffsetEntry read_offset_entry(const std::byte* from, Offset base_offset) {
  return {.offset = absolute_offset(base_offset, load_big_endian<std::int32_t>(from)),
          .position = load_big_endian<std::int32_t>(from + 4)};
}

TimeEntry read_time_entry(const std::byte* from, Offset base_offset) {
  return {.timestamp = load_big_endian<std::int64_t>(from),
          .offset = absolute_offset(base_offset, load_big_endian<std::int32_t>(from + 8))};
}

// The whole index in memory (they are small), with what a broker checks at start.
class Index {
 public:
  static Result<Index> open(const std::string& path, std::uint32_t entry_size) {
    auto file = DumpFile::open(path);
    if (!file) return std::unexpected(file.error());
    Index index;
    if (auto read = file->read(0, file->size(), index.bytes_); !read) return std::unexpected(read.error());
    index.entry_size_ = entry_size;
    return index;
  }

  [[nodiscard]] std::size_t count() const { return bytes_.size() / entry_size_; }
  [[nodiscard]] std::size_t trailing_bytes() const { return bytes_.size() % entry_size_; }
  [[nodiscard]] const std::byte* entry(std::size_t i) const { return entry_bytes(i).data(); }
  [[nodiscard]] Bytes entry_bytes(std::size_t i) const { return bytes_.bytes().subspan(i * entry_size_, entry_size_); }

 private:
  record::Scratch bytes_;
  std::uint32_t entry_size_ = 1;
};

// An index is extended by zeros while it is written to, and stays so when its broker is killed: an entry for the base
// offset that is not the first ends it. Where the first is zeros too, nothing was written yet; it is shown, as by
// Kafka, but points to nothing.
bool is_end(std::size_t i, Offset offset, Offset base_offset) { return i > 0 && offset == base_offset; }

bool is_unwritten(const Index& index, std::size_t i) {
  const Bytes entry = index.entry_bytes(i);
  return std::ranges::all_of(entry, [](std::byte byte) { return byte == std::byte{0}; });
}

void complain_of_trailing_bytes(Dump& dump, const std::string& path, const Index& index) {
  if (index.trailing_bytes() == 0) return;
  dump.complain(path, fmt::format("{} bytes at the end are no entry", index.trailing_bytes()));
}

// --index-sanity-check of both kinds, when `offset` is that of the last entry.
bool is_sane(Dump& dump, const std::string& path, const Index& index, Offset last_offset, Offset base_offset) {
  if (index.count() != 0 && last_offset < base_offset) {
    dump.complain(path,
                  fmt::format("the last entry's offset {} is below the base offset {}", last_offset, base_offset));
    return false;
  }
  complain_of_trailing_bytes(dump, path, index);
  return index.trailing_bytes() == 0;
}

// What the .log has at an entry of the .index.
Result<StoredBatch> batch_at(Dump& dump, const DumpFile& log, std::int32_t position) {
  if (position < 0 || static_cast<std::uint64_t>(position) >= log.size()) {
    return failure(Code::corrupt, "position is not in the log");
  }
  const auto from = static_cast<std::uint64_t>(position);
  const auto size_max = static_cast<std::uint64_t>(std::max(dump.options().max_message_size, 0));
  BatchWalk walk(log, from, from + std::min(log.size() - from, size_max));
  StoredBatch batch;
  const auto has_batch = walk.next(batch);
  if (!has_batch) return std::unexpected(has_batch.error());
  if (!*has_batch) return failure(Code::corrupt, "no whole batch of up to --max-message-size is there");
  return batch;
}

Result<void> check_offset_entry(Dump& dump, const std::string& path, const DumpFile& log, const OffsetEntry& entry) {
  const auto batch = batch_at(dump, log, entry.position);
  if (!batch) return std::unexpected(batch.error());
  const Offset last_offset = batch->header.last_offset();
  if (last_offset != entry.offset) dump.findings().index_mismatches[absolute_path(path)][entry.offset] = last_offset;
  return {};
}

// The position where the search for an offset begins: that of the last entry of the .index at or below it.
std::int32_t start_position(const std::optional<Index>& offsets, Offset base_offset, Offset offset) {
  std::int32_t position = 0;
  if (!offsets) return position;
  for (std::size_t i = 0; i < offsets->count(); ++i) {
    const OffsetEntry entry = read_offset_entry(offsets->entry(i), base_offset);
    if (is_end(i, entry.offset, base_offset) || entry.offset > offset) break;
    position = entry.position;
  }
  return position;
}

Result<TimestampMs> max_timestamp(BatchWalk& walk, const StoredBatch& batch) {
  const auto bytes = walk.read_whole(batch);
  if (!bytes) return std::unexpected(bytes.error());
  record::Scratch scratch;
  auto records = record::Records::open(*bytes, scratch, kUnpackedBytesMax);
  if (!records) return std::unexpected(records.error());
  TimestampMs max = kNoTimestamp;
  record::Record record;
  while (true) {
    const auto has_record = records->next(record);
    if (!has_record) return std::unexpected(has_record.error());
    if (!*has_record) return max;
    max = std::max(max, record.timestamp);
  }
}

class TimeIndexCheck {
 public:
  TimeIndexCheck(Dump& dump, const std::string& path, const DumpFile& log) : dump_(dump), path_(path), log_(log) {}

  Result<void> check(const TimeEntry& entry, std::int32_t start) {
    if (start < 0 || static_cast<std::uint64_t>(start) > log_.size()) {
      return failure(Code::corrupt, "the .index points behind the log");
    }
    BatchWalk walk(log_, static_cast<std::uint64_t>(start), log_.size());
    StoredBatch batch;
    Offset found = kNoOffset;
    while (found < entry.offset) {
      const auto has_batch = walk.next(batch);
      if (!has_batch) return std::unexpected(has_batch.error());
      if (!*has_batch) break;
      found = batch.header.last_offset();
    }
    if (found != entry.offset) {
      dump_.findings().offsets_not_found[absolute_path(path_)].emplace_back(entry.offset, std::max(found, kNoOffset));
      return {};
    }
    const auto timestamp = max_timestamp(walk, batch);
    if (!timestamp) return std::unexpected(timestamp.error());
    if (*timestamp != entry.timestamp) {
      dump_.findings().time_mismatches[absolute_path(path_)].emplace_back(entry.timestamp, *timestamp);
    }
    if (previous_ >= entry.timestamp) {
      dump_.findings().times_out_of_order[absolute_path(path_)].emplace_back(entry.timestamp, previous_);
    }
    return {};
  }
  void passed(const TimeEntry& entry) { previous_ = entry.timestamp; }

 private:
  Dump& dump_;
  const std::string& path_;
  const DumpFile& log_;
  TimestampMs previous_ = kNoTimestamp;
};

// What both kinds need: the index and the .log beside it, which is missed even where it is not looked at, as by Kafka.
struct IndexAndLog {
  Offset base_offset;
  Index index;
  DumpFile log;
};

std::optional<IndexAndLog> open_both(Dump& dump, const std::string& path, std::uint32_t entry_size) {
  const Offset base_offset = base_offset_of_file(path);
  if (base_offset < 0) {
    dump.complain(path, "the name does not begin with an offset");
    return std::nullopt;
  }
  auto index = Index::open(path, entry_size);
  if (!index) {
    dump.complain(path, "cannot be read", index.error());
    return std::nullopt;
  }
  const std::string log_path = sibling(path, log::kLogSuffix);
  auto log = DumpFile::open(log_path);
  if (!log) {
    dump.complain(log_path, "cannot be read", log.error());
    return std::nullopt;
  }
  return IndexAndLog{base_offset, std::move(*index), std::move(*log)};
}

}  // namespace

void dump_offset_index(Dump& dump, const std::string& path) {
  const auto opened = open_both(dump, path, log::kOffsetEntrySize);
  if (!opened) return;
  const auto& [base_offset, index, log] = *opened;
  if (index.count() == 0) {
    dump.print("{} is empty.\n", path);
    return complain_of_trailing_bytes(dump, path, index);
  }
  if (dump.options().index_sanity_check) {
    const Offset last_offset = read_offset_entry(index.entry(index.count() - 1), base_offset).offset;
    if (is_sane(dump, path, index, last_offset, base_offset)) dump.print("{} passed sanity check.\n", path);
    return;
  }
  for (std::size_t i = 0; i < index.count(); ++i) {
    const OffsetEntry entry = read_offset_entry(index.entry(i), base_offset);
    if (is_end(i, entry.offset, base_offset)) break;
    if (!is_unwritten(index, i)) {
      if (auto checked = check_offset_entry(dump, path, log, entry); !checked) {
        return dump.complain(path, fmt::format("entry of offset {}", entry.offset), checked.error());
      }
    }
    if (!dump.options().verify_index_only) dump.print("offset: {} position: {}\n", entry.offset, entry.position);
  }
  complain_of_trailing_bytes(dump, path, index);
}

void dump_time_index(Dump& dump, const std::string& path) {
  const auto opened = open_both(dump, path, log::kTimeEntrySize);
  if (!opened) return;
  const auto& [base_offset, index, log] = *opened;
  if (dump.options().index_sanity_check) {
    TimeEntry first{.timestamp = 0, .offset = base_offset};
    TimeEntry last = first;
    if (index.count() != 0) {
      first = read_time_entry(index.entry(0), base_offset);
      last = read_time_entry(index.entry(index.count() - 1), base_offset);
    }
    if (last.timestamp < first.timestamp) {
      return dump.complain(
          path, fmt::format("the last timestamp {} is below the first, {}", last.timestamp, first.timestamp));
    }
    if (is_sane(dump, path, index, last.offset, base_offset)) dump.print("{} passed sanity check.\n", path);
    return;
  }
  // Without the .index the search begins at the start of the log.
  std::optional<Index> offsets;
  if (auto beside = Index::open(sibling(path, log::kOffsetIndexSuffix), log::kOffsetEntrySize))
    offsets = std::move(*beside);

  TimeIndexCheck check(dump, path, log);
  for (std::size_t i = 0; i < index.count(); ++i) {
    const TimeEntry entry = read_time_entry(index.entry(i), base_offset);
    if (is_end(i, entry.offset, base_offset)) break;
    if (!is_unwritten(index, i)) {
      if (auto checked = check.check(entry, start_position(offsets, base_offset, entry.offset)); !checked) {
        return dump.complain(path, fmt::format("entry of offset {}", entry.offset), checked.error());
      }
    }
    if (!dump.options().verify_index_only) dump.print("timestamp: {} offset: {}\n", entry.timestamp, entry.offset);
    check.passed(entry);
  }
  complain_of_trailing_bytes(dump, path, index);
}

}  // namespace tailrace::cli
