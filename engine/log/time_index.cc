#include "engine/log/time_index.h"

#include <algorithm>

namespace tailrace::log {
namespace {

bool is_zero(const std::byte* entry) {
  return std::all_of(entry, entry + kTimeEntrySize, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

IndexedTimestamp TimeIndex::decode(const std::byte* entry) const {
  return {load_big_endian<std::int64_t>(entry), base_offset_ + load_big_endian<std::int32_t>(entry + 8)};
}

Result<void> TimeIndex::create() {
  last_ = {kNoTimestamp, base_offset_};
  return file_.create();
}

Result<void> TimeIndex::load() {
  if (auto loaded = file_.load(); !loaded) return loaded;
  // Zeros are padding, but {timestamp 0, base offset} may be the one entry at the front.
  if (file_.count() > 1) {
    Result<std::uint32_t> count = file_.count_before([](const std::byte* entry) { return !is_zero(entry); }, 1);
    if (!count) return std::unexpected(count.error());
    std::byte first[kTimeEntrySize];
    if (auto got = file_.read(0, first); !got) return got;
    if (*count == 1 && is_zero(first)) count = 0;
    if (*count != file_.count()) {
      if (auto done = file_.keep(*count); !done) return done;
    }
  }
  if (auto loaded = load_last(); !loaded) return loaded;
  if (file_.count() > 0 && (last_.offset < base_offset_ || last_.timestamp < 0))
    return failure(Code::corrupt, "last entry of a time index");
  return {};
}

Result<void> TimeIndex::load_last() {
  last_ = {kNoTimestamp, base_offset_};
  if (file_.count() == 0) return {};
  std::byte entry[kTimeEntrySize];
  if (auto got = file_.read(file_.count() - 1, entry); !got) return got;
  last_ = decode(entry);
  return {};
}

void TimeIndex::maybe_append(TimestampMs timestamp, Offset offset) {
  if (timestamp <= last_.timestamp) return;
  std::byte entry[kTimeEntrySize];
  store_big_endian(entry, timestamp);
  store_big_endian(entry + 8, static_cast<std::int32_t>(offset - base_offset_));
  file_.append(entry);
  last_ = {timestamp, offset};
}

Result<IndexedTimestamp> TimeIndex::floor(TimestampMs timestamp) const {
  if (file_.count() > 0 && timestamp >= last_.timestamp) return last_;
  Result<std::uint32_t> count =
      file_.count_before([&](const std::byte* entry) { return decode(entry).timestamp <= timestamp; });
  if (!count) return std::unexpected(count.error());
  if (*count == 0) return IndexedTimestamp{kNoTimestamp, base_offset_};
  std::byte entry[kTimeEntrySize];
  if (auto got = file_.read(*count - 1, entry); !got) return std::unexpected(got.error());
  return decode(entry);
}

Result<void> TimeIndex::truncate_to(Offset offset) {
  if (file_.count() == 0 || last_.offset < offset) return {};
  Result<std::uint32_t> count =
      file_.count_before([&](const std::byte* entry) { return decode(entry).offset < offset; });
  if (!count) return std::unexpected(count.error());
  if (auto done = file_.keep(*count); !done) return done;
  return load_last();
}

}  // namespace tailrace::log
