// The visitor that reads a message. It trusts no byte: every length and count is bounded by the bytes left, memory by
// kDecodedBytesMax, and after the first error nothing more is read (the error is sticky, so that describe() need not
// look).
#pragma once

#include <bit>
#include <vector>

#include "engine/base/result.h"
#include "services/kafka/codec.h"
#include "services/kafka/describe.h"

namespace tailrace::kafka {

class Decoder {
 public:
  Decoder(Bytes body, std::int16_t version, bool flexible)
      : begin_(body.data()), at_(begin_), end_(begin_ + body.size()), version_(version), flexible_(flexible) {}

  [[nodiscard]] bool failed() const { return context_ != nullptr; }
  [[nodiscard]] Error error() const { return Error{code_, 0, context_}; }
  [[nodiscard]] std::size_t used() const { return static_cast<std::size_t>(at_ - begin_); }

  template <class T>
  void operator()(const char* /*name*/, T& field, FieldVersions versions = {}) {
    if (versions.has(version_)) read(field, versions.nullable(version_));
  }
  template <class T>
  void records(const char* /*name*/, T& field, FieldVersions versions = {}) {
    if (versions.has(version_)) read(field, versions.nullable(version_));
  }
  // Tagged fields stand behind all others, in any number and order: see read_tagged_fields.
  template <class T>
  void tagged(std::uint32_t, const char*, T&, FieldVersions = {}, const T& = {}) {}

  template <Described T>
  void read(T& value, bool /*nullable*/ = false) {
    T::describe(value, *this);
    if (flexible_) read_tagged_fields(value);
  }

 private:
  // Finds the one tagged field of a struct that has the tag just read.
  struct TaggedField {
    Decoder& decoder;
    std::uint32_t tag;
    bool found = false;

    template <class T>
    void operator()(const char*, T&, FieldVersions = {}) {}
    template <class T>
    void records(const char*, T&, FieldVersions = {}) {}
    template <class T>
    void tagged(std::uint32_t its_tag, const char*, T& field, FieldVersions versions = {}, const T& = {}) {
      if (its_tag != tag) return;
      found = true;
      // Kafka closes the connection here, too: a sender that knows the field knows in which versions it exists.
      if (!versions.has(decoder.version_)) {
        return decoder.fail("reading a message with a tagged field that its version does not have");
      }
      decoder.read_tagged(field, versions.nullable(decoder.version_));
    }
  };

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  void fail(const char* context, Code code = Code::corrupt) {
    if (context_ == nullptr) {
      context_ = context;
      code_ = code;
    }
    at_ = end_;
  }
  void fail_short() { fail("reading a message that ends too early"); }
  void fail_null() { fail("reading a message with null where null may not be"); }

  template <std::integral T>
  T take() {
    if (left() < sizeof(T)) {
      fail_short();
      return 0;
    }
    const T value = load_big_endian<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  std::uint32_t take_varint() {
    if (at_ != end_ && static_cast<std::uint8_t>(*at_) < 0x80) return static_cast<std::uint32_t>(*at_++);
    return take_long_varint();
  }
  std::uint32_t take_long_varint() {
    std::uint64_t value = 0;
    const std::size_t size = read_unsigned_varint({at_, left()}, value, 5);
    if (size == 0) {
      fail("reading a message with a broken length");
      return 0;
    }
    at_ += size;
    return static_cast<std::uint32_t>(value);
  }

  // A length or count; null is -1. `T` is its type in versions that are not flexible. Never more than the bytes left.
  template <std::signed_integral T>
  std::int64_t take_length() {
    std::int64_t length = 0;
    if (flexible_) {
      length = std::int64_t{take_varint()} - 1;
    } else {
      length = take<T>();
    }
    if (length < 0) return -1;
    if (static_cast<std::uint64_t>(length) > left()) {
      fail("reading a message with a length beyond its end");
      return 0;
    }
    return length;
  }
  Bytes take_bytes(std::int64_t length) {
    const Bytes bytes{at_, static_cast<std::size_t>(length)};
    at_ += length;
    return bytes;
  }

  void read(bool& value, bool = false) { value = take<std::uint8_t>() != 0; }
  template <std::integral T>
  void read(T& value, bool = false) {
    value = take<T>();
  }
  void read(double& value, bool = false) { value = std::bit_cast<double>(take<std::uint64_t>()); }
  void read(Uuid& value, bool = false) {
    if (left() < value.bytes.size()) return fail_short();
    std::memcpy(value.bytes.data(), at_, value.bytes.size());
    at_ += value.bytes.size();
  }

  void read(std::optional<std::string_view>& value, bool nullable) {
    const std::int64_t length = take_length<std::int16_t>();
    if (failed()) return;
    if (length < 0) {
      value.reset();
      if (!nullable) fail_null();
      return;
    }
    if (static_cast<std::size_t>(length) > kStringBytesMax) return fail("reading a message with a string too long");
    value = as_text(take_bytes(length));
  }
  void read(std::string_view& value, bool = false) {
    std::optional<std::string_view> text;
    read(text, false);
    if (text) value = *text;
  }
  void read(std::optional<Bytes>& value, bool nullable) {
    const std::int64_t length = take_length<std::int32_t>();
    if (failed()) return;
    if (length < 0) {
      value.reset();
      if (!nullable) fail_null();
      return;
    }
    value = take_bytes(length);
  }
  void read(Bytes& value, bool = false) {
    std::optional<Bytes> bytes;
    read(bytes, false);
    if (bytes) value = *bytes;
  }
  void read(RecordsField& value, bool nullable) { read(value.bytes, nullable); }

  template <class T>
  void read_elements(std::vector<T>& elements, std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);  // each element has at least a byte, so at most the bytes left
    if (size * sizeof(T) > memory_left_bytes_) return fail("reading a message of too many parts", Code::too_large);
    memory_left_bytes_ -= size * sizeof(T);
    elements.clear();
    elements.reserve(size);
    for (std::size_t i = 0; i < size && !failed(); ++i) read(elements.emplace_back(), false);
  }
  template <class T>
  void read(std::optional<std::vector<T>>& value, bool nullable) {
    const std::int64_t count = take_length<std::int32_t>();
    if (failed()) return;
    if (count < 0) {
      value.reset();
      if (!nullable) fail_null();
      return;
    }
    read_elements(value.emplace(), count);
  }
  template <class T>
  void read(std::vector<T>& value, bool = false) {
    const std::int64_t count = take_length<std::int32_t>();
    if (failed()) return;
    if (count < 0) return fail_null();
    read_elements(value, count);
  }
  // A struct that may be null has a byte before it: negative for null.
  template <Described T>
  void read(std::optional<T>& value, bool nullable) {
    const auto mark = take<std::int8_t>();
    if (failed()) return;
    if (mark < 0) {
      value.reset();
      if (!nullable) fail_null();
      return;
    }
    read(value.emplace(T{}));  // clang cannot see yet that a nested struct needs no argument
  }

  template <class T>
  void read_tagged(T& field, bool nullable) {
    read(field, nullable);
  }
  // Before a struct that may be null stands a varint here, and not a byte: 0 for null.
  template <Described T>
  void read_tagged(std::optional<T>& field, bool nullable) {
    const bool is_null = take_varint() == 0;
    if (failed()) return;
    if (!is_null) return read(field.emplace(T{}));
    field.reset();
    if (!nullable) fail_null();
  }

  template <Described T>
  void read_tagged_fields(T& value) {
    const std::uint32_t count = take_varint();
    if (count == 0) return;
    for (std::uint32_t i = 0; i < count && !failed(); ++i) read_tagged_field(value);
  }
  template <Described T>
  void read_tagged_field(T& value) {
    const std::byte* start = at_;
    const std::uint32_t tag = take_varint();
    const std::uint32_t size = take_varint();
    if (failed()) return;
    if (size > left()) return fail("reading a message with a tagged field beyond its end");
    const std::byte* message_end = end_;
    const std::byte* field_end = at_ + size;
    end_ = field_end;
    TaggedField field{*this, tag};
    T::describe(value, field);
    if (failed()) return;
    end_ = message_end;
    if (field.found) {
      if (at_ != field_end) fail("reading a message with a tagged field of another size");
      return;
    }
    at_ = field_end;
    keep(value.unknown_tagged_fields, start);
  }
  // Tags ascend, and those we know are the lowest: so the unknown ones stand together. (A sender that breaks the order
  // is read all the same, as Kafka does; then only the last run of unknown fields is kept.)
  void keep(UnknownTaggedFields& unknown, const std::byte* start) {
    if (unknown.data == nullptr || unknown.data + unknown.size_bytes != start) unknown = {.data = start};
    unknown.size_bytes = static_cast<std::uint32_t>(at_ - unknown.data);
    ++unknown.count;
  }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  std::int16_t version_;
  bool flexible_;
  Code code_ = Code::corrupt;
  const char* context_ = nullptr;
  std::size_t memory_left_bytes_ = kDecodedBytesMax;
};

}  // namespace tailrace::kafka
