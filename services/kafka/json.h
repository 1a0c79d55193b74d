// The visitor that prints a message as compact JSON, with Kafka's field names ("topicData") and in the form of Kafka's
// own converters: tagged fields only when not at their default, records as their size, bytes and ids as base64.
#pragma once

#include <charconv>
#include <string>
#include <vector>

#include "services/kafka/describe.h"
#include "services/kafka/encoder.h"

namespace tailrace::kafka {

// "topic_data" is "topicData".
[[nodiscard]] std::string camel_case(std::string_view snake_case);
// With quotes, and escaped as Jackson does it; bytes that are not UTF-8 are replaced as Java does it (java_text.h).
void append_json_string(std::string_view text, std::string& out);
void append_base64(Bytes bytes, std::string& out);
void append_json_number(double value, std::string& out);

class JsonPrinter {
 public:
  JsonPrinter(std::string& out, std::int16_t version) : out_(out), version_(version) {}

  template <class T>
  void operator()(const char* name, const T& field, FieldVersions versions = {}) {
    if (!versions.has(version_)) return;
    key(name);
    if (versions.secret) return void(out_ += "\"***\"");
    print(field);
  }
  void records(const char* name, const std::optional<Bytes>& field, FieldVersions versions = {}) {
    if (!versions.has(version_)) return;
    if (field) return records_size(name, field->size());
    key(name);
    out_ += "null";
  }
  void records(const char* name, const RecordsField& field, FieldVersions versions = {}) {
    if (field.external_length == 0) return records(name, field.bytes, versions);
    if (versions.has(version_)) records_size(name, field.external_length);
  }
  template <class T>
  void tagged(std::uint32_t, const char* name, const T& field, FieldVersions versions = {}, const T& its_default = {}) {
    if (!is_default(field, its_default)) (*this)(name, field, versions);
  }

  template <Described T>
  void print(const T& value) {
    out_ += '{';
    first_ = true;
    T::describe(value, *this);
    out_ += '}';
    first_ = false;
  }

 private:
  void key(const char* name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(camel_case(name), out_);
    out_ += ':';
  }
  void records_size(const char* name, std::size_t size) {
    key((std::string(name) + "_size_in_bytes").c_str());
    print(size);
  }

  void print(bool value) { out_ += value ? "true" : "false"; }
  template <std::integral T>
  void print(T value) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out_.append(digits, end);
  }
  void print(double value) { append_json_number(value, out_); }
  void print(const Uuid& value) { append_json_string(value.text(), out_); }
  void print(std::string_view value) { append_json_string(value, out_); }
  void print(Bytes value) { append_base64(value, out_); }
  template <class T>
  void print(const std::vector<T>& value) {
    out_ += '[';
    bool first = true;
    for (const T& element : value) {
      if (!first) out_ += ',';
      first = false;
      print(element);
    }
    out_ += ']';
  }
  template <class T>
  void print(const std::optional<T>& value) {
    if (value) return print(*value);
    out_ += "null";
  }

  std::string& out_;
  std::int16_t version_;
  bool first_ = true;
};

}  // namespace tailrace::kafka
