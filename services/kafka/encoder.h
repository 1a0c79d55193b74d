// The visitors that write a message: Writer puts the bytes of the wire into a sink, and the sink either keeps them
// (BufferSink) or counts them (SizeSink), so that size and encoding cannot disagree.
#pragma once

#include <bit>
#include <vector>

#include "engine/base/check.h"
#include "services/kafka/codec.h"
#include "services/kafka/describe.h"

namespace tailrace::kafka {

class BufferSink {
 public:
  BufferSink(Buffer& to, std::vector<Gap>* gaps) : to_(to), gaps_(gaps) {}

  template <std::integral T>
  void put(T value) {
    store_big_endian(to_.extend(sizeof(T)), value);
  }
  void put_varint(std::uint32_t value) {
    if (value < 0x80) return put(static_cast<std::uint8_t>(value));
    write_unsigned_varint(to_.extend(unsigned_varint_size(value)), value);
  }
  void put_bytes(Bytes bytes) { to_.append(bytes); }
  void put_gap(std::uint32_t length) {
    CHECK(gaps_ != nullptr);
    gaps_->push_back(Gap{to_.size(), length});
  }

 private:
  Buffer& to_;
  std::vector<Gap>* gaps_;
};

class SizeSink {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }

  template <std::integral T>
  void put(T) {
    size_ += sizeof(T);
  }
  void put_varint(std::uint32_t value) { size_ += unsigned_varint_size(value); }
  void put_bytes(Bytes bytes) { size_ += bytes.size(); }
  void put_gap(std::uint32_t) {}

 private:
  std::size_t size_ = 0;
};

// A tagged field at its default is not sent. Of those that may be null, null is the default or empty.
template <class T>
bool is_default(const T& value, const T& its_default) {
  return value == its_default;
}
template <class T>
bool is_default(const std::vector<T>& value, const std::vector<T>&) {
  return value.empty();
}
template <class T>
bool is_default(const std::optional<T>& value, const std::optional<T>& its_default) {
  if (!value || !its_default) return !value && !its_default;
  return is_default(*value, *its_default);
}

template <class Sink>
class Writer {
 public:
  Writer(Sink& sink, std::int16_t version, bool flexible) : sink_(sink), version_(version), flexible_(flexible) {}

  // A string was longer than the protocol allows, and was cut.
  [[nodiscard]] bool cut() const { return cut_; }

  template <class T>
  void operator()(const char* /*name*/, const T& field, FieldVersions versions = {}) {
    if (versions.has(version_)) write(field, versions.nullable(version_));
  }
  template <class T>
  void records(const char* /*name*/, const T& field, FieldVersions versions = {}) {
    if (versions.has(version_)) write(field, versions.nullable(version_));
  }
  // They stand behind all other fields: see write_tagged_fields.
  template <class T>
  void tagged(std::uint32_t, const char*, const T&, FieldVersions = {}, const T& = {}) {}

  template <Described T>
  void write(const T& value, bool /*nullable*/ = false) {
    T::describe(value, *this);
    if (flexible_) write_tagged_fields(value);
  }

 private:
  struct TaggedFieldCount {
    std::int16_t version;
    std::uint32_t count = 0;

    template <class T>
    void operator()(const char*, const T&, FieldVersions = {}) {}
    template <class T>
    void records(const char*, const T&, FieldVersions = {}) {}
    template <class T>
    void tagged(std::uint32_t, const char*, const T& field, FieldVersions versions = {}, const T& its_default = {}) {
      if (versions.has(version) && !is_default(field, its_default)) ++count;
    }
  };
  struct TaggedFields {
    Writer& writer;

    template <class T>
    void operator()(const char*, const T&, FieldVersions = {}) {}
    template <class T>
    void records(const char*, const T&, FieldVersions = {}) {}
    template <class T>
    void tagged(std::uint32_t tag, const char*, const T& field, FieldVersions versions = {},
                const T& its_default = {}) {
      if (!versions.has(writer.version_) || is_default(field, its_default)) return;
      SizeSink size;
      Writer<SizeSink>(size, writer.version_, writer.flexible_).write_tagged(field);
      writer.sink_.put_varint(tag);
      writer.sink_.put_varint(static_cast<std::uint32_t>(size.size()));
      writer.write_tagged(field);
    }
  };
  template <class>
  friend class Writer;

  template <class T>
  void write_tagged(const T& field) {
    write(field, true);
  }
  // Before a struct that may be null stands a varint here, and not a byte.
  template <Described T>
  void write_tagged(const std::optional<T>& field) {
    sink_.put_varint(field ? 1 : 0);
    if (field) write(*field);
  }

  template <Described T>
  void write_tagged_fields(const T& value) {
    TaggedFieldCount known{version_};
    T::describe(value, known);
    const UnknownTaggedFields& unknown = value.unknown_tagged_fields;
    sink_.put_varint(known.count + unknown.count);
    if (known.count != 0) {
      TaggedFields fields{*this};
      T::describe(value, fields);
    }
    if (unknown.count != 0) sink_.put_bytes({unknown.data, unknown.size_bytes});
  }

  template <std::signed_integral T>
  void write_length(std::size_t length) {
    if (flexible_) {
      sink_.put_varint(static_cast<std::uint32_t>(length + 1));
    } else {
      sink_.put(static_cast<T>(length));
    }
  }
  template <std::signed_integral T>
  void write_null() {
    if (flexible_) {
      sink_.put_varint(0);
    } else {
      sink_.put(T{-1});
    }
  }

  void write(bool value, bool = false) { sink_.put(static_cast<std::uint8_t>(value ? 1 : 0)); }
  template <std::integral T>
  void write(T value, bool = false) {
    sink_.put(value);
  }
  void write(double value, bool = false) { sink_.put(std::bit_cast<std::uint64_t>(value)); }
  void write(const Uuid& value, bool = false) { sink_.put_bytes(std::as_bytes(std::span(value.bytes))); }

  void write(std::string_view value, bool = false) {
    if (value.size() > kStringBytesMax) {
      cut_ = true;
      std::size_t end = kStringBytesMax;
      while (end > 0 && (static_cast<std::uint8_t>(value[end]) & 0xC0) == 0x80) --end;  // not inside a character
      value = value.substr(0, end);
    }
    write_length<std::int16_t>(value.size());
    sink_.put_bytes(as_bytes(value));
  }
  void write(const std::optional<std::string_view>& value, bool nullable) {
    if (!value && nullable) return write_null<std::int16_t>();
    write(value.value_or(std::string_view{}));
  }
  void write(Bytes value, bool = false) {
    write_length<std::int32_t>(value.size());
    sink_.put_bytes(value);
  }
  void write(const std::optional<Bytes>& value, bool nullable) {
    if (!value && nullable) return write_null<std::int32_t>();
    write(value.value_or(Bytes{}));
  }
  void write(const RecordsField& value, bool nullable) {
    if (value.external_length == 0) return write(value.bytes, nullable);
    write_length<std::int32_t>(value.external_length);
    sink_.put_gap(value.external_length);
  }

  template <class T>
  void write(const std::vector<T>& value, bool = false) {
    write_length<std::int32_t>(value.size());
    for (const T& element : value) write(element);
  }
  template <class T>
  void write(const std::optional<std::vector<T>>& value, bool nullable) {
    if (value) return write(*value);
    if (nullable) return write_null<std::int32_t>();
    write_length<std::int32_t>(0);
  }
  template <Described T>
  void write(const std::optional<T>& value, bool nullable) {
    if (!value && nullable) return sink_.put(std::int8_t{-1});
    sink_.put(std::int8_t{1});
    if (value) return write(*value);
    write(T{});
  }

  Sink& sink_;
  std::int16_t version_;
  bool flexible_;
  bool cut_ = false;
};

}  // namespace tailrace::kafka
