// The visitor that documents a message: a Markdown table of its fields, for docs/messages.md.
#pragma once

#include <string>
#include <vector>

#include "services/kafka/describe.h"
#include "services/kafka/json.h"

namespace tailrace::kafka {

class MarkdownTable {
 public:
  MarkdownTable(std::string& out, const MessageInfo& info) : out_(out), info_(info) {}

  template <Described T>
  void message() {
    begin();
    T value{};
    T::describe(value, *this);
  }

  template <class T>
  void operator()(const char* name, T& field, FieldVersions versions = {}) {
    describe_field(name, type_name(field), field, versions, default_text(field), -1);
  }
  template <class T>
  void records(const char* name, T& field, FieldVersions versions = {}) {
    describe_field(name, "records", field, versions, {}, -1);
  }
  template <class T>
  void tagged(std::uint32_t tag, const char* name, T& field, FieldVersions versions = {}, const T& = {}) {
    describe_field(name, type_name(field), field, versions, default_text(field), static_cast<int>(tag));
  }

 private:
  void begin();
  void row(const char* name, std::string_view type, FieldVersions versions, bool nullable,
           const std::string& its_default, int tag);

  template <class T>
  void describe_field(const char* name, std::string_view type, T& field, FieldVersions versions,
                      const std::string& its_default, int tag) {
    row(name, type, versions, is_nullable(field), its_default, tag);
    const FieldVersions around = around_;
    around_ = within(versions);
    ++depth_;
    parts(field);
    --depth_;
    around_ = around;
  }
  [[nodiscard]] FieldVersions within(FieldVersions versions) const;

  template <class T>
  static bool is_nullable(const std::optional<T>&) {
    return true;
  }
  static bool is_nullable(const RecordsField&) { return true; }
  template <class T>
  static bool is_nullable(const T&) {
    return false;
  }

  template <class T>
  void parts(T& field) {
    if constexpr (Described<T>) T::describe(field, *this);
  }
  template <class T>
  void parts(std::vector<T>&) {
    T element{};
    parts(element);
  }
  template <class T>
  void parts(std::optional<T>&) {
    T value{};
    parts(value);
  }

  static std::string type_name(bool) { return "bool"; }
  static std::string type_name(std::int8_t) { return "int8"; }
  static std::string type_name(std::int16_t) { return "int16"; }
  static std::string type_name(std::uint16_t) { return "uint16"; }
  static std::string type_name(std::int32_t) { return "int32"; }
  static std::string type_name(std::uint32_t) { return "uint32"; }
  static std::string type_name(std::int64_t) { return "int64"; }
  static std::string type_name(double) { return "float64"; }
  static std::string type_name(const Uuid&) { return "uuid"; }
  static std::string type_name(std::string_view) { return "string"; }
  static std::string type_name(Bytes) { return "bytes"; }
  template <Described T>
  static std::string type_name(const T&) {
    return "struct";
  }
  template <class T>
  static std::string type_name(const std::vector<T>&) {
    return "array of " + type_name(T{});
  }
  template <class T>
  static std::string type_name(const std::optional<T>&) {
    return type_name(T{});
  }

  // Defaults are worth a word where they are not zero.
  template <class T>
  static std::string default_text(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      return value ? "true" : "";
    } else if constexpr (std::integral<T>) {
      return value == 0 ? std::string{} : std::to_string(value);
    } else {
      return {};
    }
  }

  std::string& out_;
  MessageInfo info_;
  FieldVersions around_{};
  int depth_ = 0;
};

}  // namespace tailrace::kafka
