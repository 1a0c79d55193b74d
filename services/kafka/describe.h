// How a Kafka message describes itself. A message is a struct with one function,
//
//   template <class M, class V>
//   static void describe(M& m, V& v) {
//     v("transactional_id", m.transactional_id, since(3));
//     v("timeout_ms", m.timeout_ms);
//     v.records("records", m.records);
//     v.tagged(0, "node_endpoints", m.node_endpoints, since(10));
//   }
//
// and every visitor (decoder, encoder, size, random values, JSON, docs) follows from it. Fields are visited in the
// order of the wire; names are Kafka's in snake_case. The C++ type is the wire type: std::optional is a nullable one,
// std::vector an array, std::string_view and Bytes are borrowed from the decoded frame, or from the caller who encodes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "engine/base/bytes.h"
#include "engine/base/types.h"

namespace tailrace::kafka {

constexpr std::int16_t kAnyVersion = std::numeric_limits<std::int16_t>::max();
constexpr std::int32_t kInt32Min = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

// The versions (both ends inclusive) that have a field, and from which on it may be null (std::optional types only:
// before that version null is refused when decoding, and written as empty when encoding).
struct FieldVersions {
  std::int16_t first = 0;
  std::int16_t last = kAnyVersion;
  std::int16_t nullable_first = 0;
  bool secret = false;  // not to be shown in logs

  [[nodiscard]] constexpr bool has(std::int16_t version) const { return version >= first && version <= last; }
  [[nodiscard]] constexpr bool nullable(std::int16_t version) const { return version >= nullable_first; }

  [[nodiscard]] constexpr FieldVersions until(std::int16_t version) const {
    FieldVersions versions = *this;
    versions.last = version;
    return versions;
  }
  [[nodiscard]] constexpr FieldVersions nullable_since(std::int16_t version) const {
    FieldVersions versions = *this;
    versions.nullable_first = version;
    return versions;
  }
  [[nodiscard]] constexpr FieldVersions hidden() const {
    FieldVersions versions = *this;
    versions.secret = true;
    return versions;
  }
};

constexpr FieldVersions since(std::int16_t version) { return FieldVersions{.first = version}; }
constexpr FieldVersions until(std::int16_t version) { return FieldVersions{.last = version}; }
constexpr FieldVersions nullable_since(std::int16_t version) { return FieldVersions{.nullable_first = version}; }
constexpr FieldVersions hidden() { return FieldVersions{.secret = true}; }

enum class MessageKind : std::uint8_t {
  request,
  response,
  internal,      // between processes of ours
  record_key,    // of a record of `__consumer_offsets`; its api_key is the type of the record
  record_value,  // of such a record
  data,          // inside of other messages, as bytes; it has no key
};

// What a message says about itself as a whole, in its constant kMessage. Versions are those that the codec knows;
// which of them are served is the matter of api_table.h.
struct MessageInfo {
  std::string_view name;  // "ProduceRequest"
  std::int16_t api_key = 0;
  MessageKind kind = MessageKind::request;
  std::int16_t version_min = 0;
  std::int16_t version_max = 0;
  std::int16_t flexible_from = kAnyVersion;  // compact lengths and tagged fields from this version on (KIP-482)

  [[nodiscard]] constexpr bool knows(std::int16_t version) const {
    return version >= version_min && version <= version_max;
  }
};

// Tagged fields that a struct does not know, as they stood in the frame, so that encoding gives the same bytes again.
// Each struct of a message has one, named unknown_tagged_fields.
struct UnknownTaggedFields {
  const std::byte* data = nullptr;
  std::uint32_t size_bytes = 0;
  std::uint32_t count = 0;
  friend bool operator==(const UnknownTaggedFields&, const UnknownTaggedFields&) = default;
};

// A struct that describes itself, whole message or part of one.
template <class T>
concept Described = requires(T value) {
  { value.unknown_tagged_fields } -> std::same_as<UnknownTaggedFields&>;
};

// The record batches of a Fetch response: bytes at hand, null, or a length whose bytes the caller sends from
// elsewhere (a file), see Gap in codec.h.
struct RecordsField {
  std::optional<Bytes> bytes = Bytes{};
  std::uint32_t external_length = 0;  // in bytes; not 0: `bytes` is not looked at

  static RecordsField of(Bytes records) { return {.bytes = records}; }
  static RecordsField null() { return {.bytes = std::nullopt}; }
  static RecordsField external(std::uint32_t length) { return {.external_length = length}; }
};

}  // namespace tailrace::kafka
