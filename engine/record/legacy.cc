#include "engine/record/legacy.h"

#include <zlib.h>

#include "engine/record/records.h"

namespace tailrace::record {
namespace {

// Positions of an entry's fields.
constexpr std::size_t kSizeAt = 8;
constexpr std::size_t kCrcAt = 12;
constexpr std::size_t kAttributesAt = 17;
constexpr std::size_t kTimestampAt = 18;  // magic 1 only
constexpr std::size_t kChecksummedAt = kMagicPosition;

// The size of the entry at the start of `from`, once its fixed part is there and is good.
Result<std::size_t> entry_size(Bytes from) {
  if (from.size() < kLogOverhead + kLegacyOverheadV0)
    return failure(Code::corrupt, "message is shorter than its header");
  const auto magic = static_cast<std::int8_t>(from[kMagicPosition]);
  if (magic != 0 && magic != 1) return failure(Code::unsupported, "magic of a message");
  const auto size = load_big_endian<std::int32_t>(from.data() + kSizeAt);
  const std::size_t size_min = magic == 0 ? kLegacyOverheadV0 : kLegacyOverheadV1;
  if (size < 0 || static_cast<std::size_t>(size) < size_min) return failure(Code::corrupt, "size of a message");
  if (from.size() < kLogOverhead + size_min) return failure(Code::corrupt, "message is shorter than its header");
  return kLogOverhead + static_cast<std::size_t>(size);
}

// The whole entry at the start of `from`.
Result<Bytes> whole_entry(Bytes from) {
  const auto size = entry_size(from);
  if (!size) return std::unexpected(size.error());
  if (*size > from.size()) return failure(Code::corrupt, "message is shorter than its size");
  return from.first(*size);
}

// A size (negative: null) and so many bytes at the front of `from`, which moves behind them.
bool take_nullable(Bytes& from, std::optional<Bytes>& value) {
  if (from.size() < 4) return false;
  const auto size = load_big_endian<std::int32_t>(from.data());
  from = from.subspan(4);
  if (size < 0) {
    value.reset();
    return true;
  }
  if (static_cast<std::size_t>(size) > from.size()) return false;
  value = from.first(static_cast<std::size_t>(size));
  from = from.subspan(static_cast<std::size_t>(size));
  return true;
}

std::uint32_t computed_crc(Bytes entry) {
  const Bytes checked = entry.subspan(kChecksummedAt);
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(checked.data()), checked.size()));
}

struct InnerMessages {
  Bytes all;  // without a partial one at the end
  std::int32_t count = 0;
  Offset first_offset = 0;
  Offset last_offset = 0;
};

// Old brokers could cut the last inner message; like Kafka (DataLogInputStream) that is the end of the set.
Result<InnerMessages> walk_inner(Bytes messages) {
  InnerMessages inner;
  std::size_t position = 0;
  while (messages.size() - position >= kLogOverhead) {
    const Bytes from = messages.subspan(position);
    const auto size = load_big_endian<std::int32_t>(from.data() + kSizeAt);
    if (size < static_cast<std::int32_t>(kLegacyOverheadV0)) return failure(Code::corrupt, "size of an inner message");
    if (static_cast<std::size_t>(size) > from.size() - kLogOverhead) break;
    inner.last_offset = load_big_endian<std::int64_t>(from.data());
    if (inner.count++ == 0) inner.first_offset = inner.last_offset;
    position += kLogOverhead + static_cast<std::size_t>(size);
  }
  if (inner.count == 0) return failure(Code::corrupt, "compressed message without inner messages");
  inner.all = messages.first(position);
  return inner;
}

Result<MessageSet> unwrap(Bytes entry, BatchHeader header, Scratch& scratch, std::size_t bytes_max) {
  if (header.compression() > Compression::lz4) return failure(Code::unsupported, "compression of a message");
  Record wrapper;
  if (auto size = decode_message(entry, wrapper); !size) return std::unexpected(size.error());
  if (!wrapper.value) return failure(Code::corrupt, "compressed message without a value");
  scratch.clear();
  if (auto unpacked = decompress(header.compression(), *wrapper.value, header.magic, bytes_max, scratch); !unpacked) {
    return std::unexpected(unpacked.error());
  }
  const auto inner = walk_inner(scratch.bytes());
  if (!inner) return std::unexpected(inner.error());

  MessageSet set{.header = header, .messages = inner->all, .offset_base = 0, .is_wrapped = true};
  const Offset wrapper_offset = header.base_offset;
  // The wrapper's offset may be 0 in what certain versions of librdkafka produced; inner offsets then count.
  if (header.magic == 1 && wrapper_offset != 0) {
    if (inner->last_offset < 0 || wrapper_offset < inner->last_offset) {
      return failure(Code::corrupt, "inner offset above that of its compressed message");
    }
    set.offset_base = wrapper_offset - inner->last_offset;
  }
  const auto first_offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(inner->first_offset) +
                                                      static_cast<std::uint64_t>(set.offset_base));
  // Inner offsets out of order or far apart are nothing that a delta can tell; the wrapper's own offset then stands for
  // all.
  const bool is_sane = first_offset >= 0 && first_offset <= wrapper_offset && wrapper_offset - first_offset < INT32_MAX;
  if (is_sane) {
    set.header.base_offset = first_offset;
    set.header.last_offset_delta = static_cast<std::int32_t>(wrapper_offset - first_offset);
  }
  set.header.record_count = inner->count;
  return set;
}

}  // namespace

Result<BatchHeader> shallow_batch_header(Bytes entry) {
  if (const auto size = entry_size(entry); !size) return std::unexpected(size.error());
  const std::byte* from = entry.data();
  BatchHeader header;
  header.base_offset = load_big_endian<std::int64_t>(from);
  header.batch_length = load_big_endian<std::int32_t>(from + kSizeAt);
  header.magic = static_cast<std::int8_t>(from[kMagicPosition]);
  header.crc = load_big_endian<std::uint32_t>(from + kCrcAt);
  const auto attributes = static_cast<std::int16_t>(from[kAttributesAt]);
  const auto known =
      static_cast<std::int16_t>(header.magic == 0 ? kCompressionMask : kCompressionMask | kLogAppendTimeBit);
  header.attributes = static_cast<std::int16_t>(attributes & known);
  header.max_timestamp = header.magic == 0 ? kNoTimestamp : load_big_endian<std::int64_t>(from + kTimestampAt);
  header.base_timestamp = header.max_timestamp;
  header.record_count = header.compression() == Compression::none ? 1 : -1;
  return header;
}

Result<BatchHeader> batch_header(Bytes entry, Scratch& scratch, std::size_t bytes_max) {
  auto set = open_message_set(entry, scratch, bytes_max);
  if (!set) return std::unexpected(set.error());
  return set->header;
}

bool legacy_crc_is_valid(Bytes entry) {
  const auto whole = whole_entry(entry);
  return whole && load_big_endian<std::uint32_t>(whole->data() + kCrcAt) == computed_crc(*whole);
}

Result<MessageSet> open_message_set(Bytes entry, Scratch& scratch, std::size_t bytes_max) {
  const auto header = shallow_batch_header(entry);
  if (!header) return std::unexpected(header.error());
  if (header->size_bytes() > entry.size()) return failure(Code::corrupt, "message is shorter than its size");
  entry = entry.first(header->size_bytes());
  if (header->compression() != Compression::none) return unwrap(entry, *header, scratch, bytes_max);
  return MessageSet{.header = *header, .messages = entry, .offset_base = 0, .is_wrapped = false};
}

Result<std::size_t> decode_message(Bytes from, Record& record) {
  const auto entry = whole_entry(from);
  if (!entry) return std::unexpected(entry.error());
  record = Record{};
  record.magic = static_cast<std::int8_t>((*entry)[kMagicPosition]);
  record.offset = load_big_endian<std::int64_t>(entry->data());
  record.crc = load_big_endian<std::uint32_t>(entry->data() + kCrcAt);
  record.crc_is_valid = record.crc == computed_crc(*entry);
  record.attributes = static_cast<std::int8_t>((*entry)[kAttributesAt]);
  record.timestamp = record.magic == 0 ? kNoTimestamp : load_big_endian<std::int64_t>(entry->data() + kTimestampAt);
  record.size_bytes = static_cast<std::uint32_t>(entry->size() - kLogOverhead);
  Bytes left = entry->subspan(record.magic == 0 ? kTimestampAt : kTimestampAt + 8);
  if (!take_nullable(left, record.key) || !take_nullable(left, record.value)) {
    return failure(Code::corrupt, "message is larger than its size");
  }
  return entry->size();
}

}  // namespace tailrace::record
