// Seeded random messages, for tests, fuzzing and benchmarks. The same seed gives the same message everywhere. Random
// owns the strings and bytes that its messages refer to: keep it as long as they are used.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  // 0 <= result < bound; bound is not 0.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  // Often at the edges of the type.
  std::uint64_t number();
  // Sometimes empty, sometimes long, not always ASCII.
  std::string_view text();
  Bytes bytes();
  // Tags that no message knows.
  UnknownTaggedFields unknown_tagged_fields();

 private:
  std::string& keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  std::uint64_t state_;
  std::deque<std::string> kept_;
};

// The visitor that fills in a message: only fields that the version has, null only where it may be.
class RandomFields {
 public:
  RandomFields(Random& random, std::int16_t version, bool flexible)
      : random_(random), version_(version), flexible_(flexible) {}

  template <class T>
  void operator()(const char*, T& field, FieldVersions versions = {}) {
    if (versions.has(version_)) fill(field, versions.nullable(version_));
  }
  template <class T>
  void records(const char* name, T& field, FieldVersions versions = {}) {
    (*this)(name, field, versions);
  }
  template <class T>
  void tagged(std::uint32_t, const char* name, T& field, FieldVersions versions = {}, const T& = {}) {
    if (flexible_ && random_.one_in(2)) (*this)(name, field, versions);
  }

  template <Described T>
  void fill(T& value, bool /*nullable*/ = false) {
    T::describe(value, *this);
    if (flexible_ && random_.one_in(8)) value.unknown_tagged_fields = random_.unknown_tagged_fields();
  }

 private:
  void fill(bool& value, bool = false) { value = random_.one_in(2); }
  template <std::integral T>
  void fill(T& value, bool = false) {
    value = static_cast<T>(random_.number());
  }
  void fill(double& value, bool = false) { value = static_cast<double>(random_.below(1'000'000)) / 64; }
  void fill(Uuid& value, bool = false) {
    for (std::uint8_t& byte : value.bytes) byte = static_cast<std::uint8_t>(random_.next());
  }
  void fill(std::string_view& value, bool = false) { value = random_.text(); }
  void fill(Bytes& value, bool = false) { value = random_.bytes(); }
  void fill(RecordsField& value, bool nullable) { fill(value.bytes, nullable); }
  template <class T>
  void fill(std::vector<T>& value, bool = false) {
    value.resize(random_.one_in(16) ? 130 / (sizeof(T) / 8 + 1) : random_.below(4));
    for (T& element : value) fill(element);
  }
  template <class T>
  void fill(std::optional<T>& value, bool nullable) {
    value.reset();
    if (!nullable || !random_.one_in(4)) fill(value.emplace(T{}));
  }

  Random& random_;
  std::int16_t version_;
  bool flexible_;
};

}  // namespace tailrace::kafka
