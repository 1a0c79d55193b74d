// Records of `__consumer_offsets`: how the messages of messages/group_records.h and messages/consumer_group_records.h
// stand in the key and the value of a record. Pure functions over bytes; any thread.
//
// A key is the type of the record in two bytes, then a message of version 0. A value is its version in two bytes, then
// a message of that version. A record with a null value removes what its key names. As everywhere in the codec, what
// is decoded borrows its strings from the record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "services/kafka/codec.h"
#include "services/kafka/describe.h"

namespace tailrace::kafka {

// The types that Kafka 4.4 has; a key's message has it as its api_key. Kafka skips records of other types when it loads
// a partition, with a warning, so that a broker can be put back to an older version.
enum class GroupRecordType : std::int16_t {
  legacy_offset_commit = 0,
  offset_commit = 1,
  group_metadata = 2,
  consumer_group_metadata = 3,
  consumer_group_partition_metadata = 4,
  consumer_group_member_metadata = 5,
  consumer_group_target_assignment_metadata = 6,
  consumer_group_target_assignment_member = 7,
  consumer_group_current_member_assignment = 8,
  share_group_member_metadata = 10,
  share_group_metadata = 11,
  share_group_target_assignment_metadata = 12,
  share_group_target_assignment_member = 13,
  share_group_current_member_assignment = 14,
  share_group_state_partition_metadata = 15,
  consumer_group_regular_expression = 16,
  streams_group_metadata = 17,
  streams_group_member_metadata = 19,
  streams_group_target_assignment_metadata = 20,
  streams_group_target_assignment_member = 21,
  streams_group_current_member_assignment = 22,
  streams_group_topology = 23,
};

// The versions of values that Kafka 4.4 writes. All others are 0, the only one that they have.
constexpr std::int16_t kOffsetCommitValueVersion = 4;          // 3 until Kafka 4.0: without the topic id
constexpr std::int16_t kExpiringOffsetCommitValueVersion = 1;  // with an expire_timestamp: no other version has it
constexpr std::int16_t kGroupMetadataValueVersion = 3;         // 4 says the same in other bytes

// The prefix of a key or a value. corrupt: shorter than two bytes.
[[nodiscard]] Result<std::int16_t> record_prefix(Bytes key_or_value);

// The type of the record; it need not be one of the enumeration's.
[[nodiscard]] inline Result<GroupRecordType> group_record_type(Bytes key) {
  const Result<std::int16_t> type = record_prefix(key);
  if (!type) return std::unexpected(type.error());
  return static_cast<GroupRecordType>(*type);
}

// Appends a version in two bytes and a message of that version. too_large, with `to` as it was: a string that is
// longer than Kafka's protocol can say.
template <class M>
[[nodiscard]] Result<void> encode_prefixed(std::int16_t prefix, const M& message, std::int16_t version, Buffer& to) {
  const std::size_t start = to.size();
  store_big_endian(to.extend(sizeof prefix), prefix);
  if (encode(message, version, to)) return {};
  to.truncate(start);
  return failure(Code::too_large, "writing a group's record with a string too long");
}

// Reads a version in two bytes and a message of that version; `version`, when given, receives it. corrupt, too_large,
// and unsupported for a version that the message does not have. Bytes behind the message are ignored, as Kafka does.
template <class M>
[[nodiscard]] Result<M> decode_prefixed(Bytes bytes, std::int16_t* version = nullptr) {
  const Result<std::int16_t> prefix = record_prefix(bytes);
  if (!prefix) return std::unexpected(prefix.error());
  if (version != nullptr) *version = *prefix;
  return decode<M>(bytes.subspan(sizeof *prefix), *prefix);
}

template <class Key>
[[nodiscard]] Result<void> encode_group_key(const Key& key, Buffer& to) {
  static_assert(Key::kMessage.kind == MessageKind::record_key);
  return encode_prefixed(Key::kMessage.api_key, key, 0, to);
}

// mismatch: a record of another type.
template <class Key>
[[nodiscard]] Result<Key> decode_group_key(Bytes key) {
  static_assert(Key::kMessage.kind == MessageKind::record_key);
  const Result<std::int16_t> type = record_prefix(key);
  if (!type) return std::unexpected(type.error());
  if (*type != Key::kMessage.api_key) return failure(Code::mismatch, "reading the key of a group's record");
  return decode<Key>(key.subspan(sizeof *type), 0);
}

template <class Value>
[[nodiscard]] Result<void> encode_group_value(const Value& value, std::int16_t version, Buffer& to) {
  static_assert(Value::kMessage.kind == MessageKind::record_value);
  return encode_prefixed(version, value, version, to);
}

template <class Value>
[[nodiscard]] Result<Value> decode_group_value(Bytes value, std::int16_t* version = nullptr) {
  static_assert(Value::kMessage.kind == MessageKind::record_value);
  return decode_prefixed<Value>(value, version);
}

}  // namespace tailrace::kafka
