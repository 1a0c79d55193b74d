#include "engine/log/offset_index.h"

#include "engine/base/check.h"

namespace tailrace::log {

IndexedPosition OffsetIndex::decode(const std::byte* entry) const {
  return {base_offset_ + load_big_endian<std::int32_t>(entry),
          static_cast<Position>(load_big_endian<std::int32_t>(entry + 4))};
}

Result<void> OffsetIndex::create() {
  last_ = {base_offset_, 0};
  return file_.create();
}

Result<void> OffsetIndex::load(std::uint64_t log_size) {
  if (auto loaded = file_.load(); !loaded) return loaded;
  // The first batch of a segment is never indexed, so a position of 0 is padding.
  Result<std::uint32_t> count =
      file_.count_before([](const std::byte* entry) { return load_big_endian<std::int32_t>(entry + 4) != 0; });
  if (!count) return std::unexpected(count.error());
  if (*count != file_.count()) {
    if (auto done = file_.keep(*count); !done) return done;
  }
  if (auto loaded = load_last(); !loaded) return loaded;
  if (last_.offset < base_offset_ || (file_.count() > 0 && last_.position >= log_size))
    return failure(Code::corrupt, "last entry of an offset index");
  return {};
}

Result<void> OffsetIndex::load_last() {
  last_ = {base_offset_, 0};
  if (file_.count() == 0) return {};
  std::byte entry[kOffsetEntrySize];
  if (auto got = file_.read(file_.count() - 1, entry); !got) return got;
  last_ = decode(entry);
  return {};
}

void OffsetIndex::append(Offset offset, Position position) {
  DCHECK(file_.count() == 0 || (offset > last_.offset && position > last_.position));
  std::byte entry[kOffsetEntrySize];
  store_big_endian(entry, static_cast<std::int32_t>(offset - base_offset_));
  store_big_endian(entry + 4, static_cast<std::int32_t>(position));
  file_.append(entry);
  last_ = {offset, position};
}

Result<IndexedPosition> OffsetIndex::floor(Offset offset) const {
  if (file_.count() > 0 && offset >= last_.offset) return last_;
  Result<std::uint32_t> count =
      file_.count_before([&](const std::byte* entry) { return decode(entry).offset <= offset; });
  if (!count) return std::unexpected(count.error());
  if (*count == 0) return IndexedPosition{base_offset_, 0};
  std::byte entry[kOffsetEntrySize];
  if (auto got = file_.read(*count - 1, entry); !got) return std::unexpected(got.error());
  return decode(entry);
}

Result<void> OffsetIndex::truncate_to(Offset offset) {
  if (file_.count() == 0 || last_.offset < offset) return {};
  Result<std::uint32_t> count =
      file_.count_before([&](const std::byte* entry) { return decode(entry).offset < offset; });
  if (!count) return std::unexpected(count.error());
  if (auto done = file_.keep(*count); !done) return done;
  return load_last();
}

}  // namespace tailrace::log
