#include "services/broker/otlp.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace tailrace::broker {
namespace {

constexpr std::size_t kNameBytesMax = 512;

// One field of a protobuf message: a number (varint, fixed) or bytes.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  Bytes bytes;
};

// Goes through the fields of a message. Every length is within the message, and a message that is not one ends with
// is_corrupt().
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}

  std::optional<Field> next() {
    if (rest_.empty() || is_corrupt_) return std::nullopt;
    Field field;
    const std::uint64_t tag = varint();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        is_corrupt_ = true;
    }
    if (is_corrupt_ || field.number == 0) {
      is_corrupt_ = true;
      return std::nullopt;
    }
    return field;
  }
  [[nodiscard]] bool is_corrupt() const { return is_corrupt_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    is_corrupt_ = true;
    return 0;
  }
  std::uint64_t fixed(std::size_t size) {  // little-endian, as we are
    std::uint64_t value = 0;
    const Bytes bytes = take(size);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  Bytes take(std::uint64_t size) {
    if (is_corrupt_ || size > rest_.size()) {
      is_corrupt_ = true;
      return {};
    }
    const Bytes taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return taken;
  }

  Bytes rest_;
  bool is_corrupt_ = false;
};

class Reader {
 public:
  explicit Reader(std::size_t series_max) : series_max_(series_max) {}
  std::vector<MetricSeries> series;

  // MetricsData{resource_metrics = 1}, ResourceMetrics{scope_metrics = 2}, ScopeMetrics{metrics = 2}: calls `inner` for
  // each message in that field. False: corrupt.
  template <class Inner>
  static bool each(Bytes message, std::uint32_t number, Inner inner) {
    Fields fields(message);
    while (const std::optional<Field> field = fields.next()) {
      if (field->number == number && !inner(field->bytes)) return false;
    }
    return !fields.is_corrupt();
  }

  // Metric{name = 1, gauge = 5, sum = 7, histogram = 9}; each of these has its data points in field 1.
  bool metric(Bytes message) {
    std::string_view name;
    Bytes gauge_or_sum;
    Bytes histogram;
    Fields fields(message);
    while (const std::optional<Field> field = fields.next()) {
      if (field->number == 1) name = as_name(field->bytes);
      if (field->number == 5 || field->number == 7) gauge_or_sum = field->bytes;
      if (field->number == 9) histogram = field->bytes;
    }
    if (fields.is_corrupt()) return false;
    return each(gauge_or_sum, 1, [&](Bytes message) { return point(name, kNumber, message); }) &&
           each(histogram, 1, [&](Bytes message) { return point(name, kHistogram, message); });
  }

 private:
  // The numbers of a data point's fields; 0: it has none.
  struct PointFields {
    std::uint32_t as_double;
    std::uint32_t as_int;
    std::uint32_t attributes;
  };
  static constexpr PointFields kNumber{.as_double = 4, .as_int = 6, .attributes = 7};     // NumberDataPoint
  static constexpr PointFields kHistogram{.as_double = 5, .as_int = 0, .attributes = 9};  // HistogramDataPoint: its sum

  bool point(std::string_view name, const PointFields& numbers, Bytes message) {
    double value = 0;
    std::string attributes;
    Fields fields(message);
    while (const std::optional<Field> field = fields.next()) {
      if (field->number == numbers.as_double) value = std::bit_cast<double>(field->value);
      if (field->number == numbers.as_int) value = static_cast<double>(static_cast<std::int64_t>(field->value));
      if (field->number == numbers.attributes && !attribute(field->bytes, attributes)) return false;
    }
    add(name, attributes, value);
    return !fields.is_corrupt();
  }
  // KeyValue{key = 1, value = 2}, AnyValue{string = 1, bool = 2, int = 3, double = 4}
  static bool attribute(Bytes message, std::string& out) {
    std::string_view key;
    std::string value;
    Fields fields(message);
    while (const std::optional<Field> field = fields.next()) {
      if (field->number == 1) key = as_name(field->bytes);
      if (field->number != 2) continue;
      Fields inside(field->bytes);
      while (const std::optional<Field> any = inside.next()) {
        if (any->number == 1) value = as_name(any->bytes);
        if (any->number == 2) value = any->value != 0 ? "true" : "false";
        if (any->number == 3) value = std::to_string(static_cast<std::int64_t>(any->value));
        if (any->number == 4) value = fmt::format("{}", std::bit_cast<double>(any->value));
      }
      if (inside.is_corrupt()) return false;
    }
    if (out.size() < kNameBytesMax) {
      if (!out.empty()) out += ',';
      out += key;
      out += '=';
      out += value;
    }
    return !fields.is_corrupt();
  }
  // As much of a text as may go into a name: a client's text may be as long as its whole message.
  static std::string_view as_name(Bytes text) { return as_text(text.first(std::min(text.size(), kNameBytesMax))); }
  void add(std::string_view name, std::string_view attributes, double value) {
    if (series.size() >= series_max_) return;
    std::string whole(name);
    if (!attributes.empty()) whole.append(1, '{').append(attributes).append(1, '}');
    series.push_back({.name = whole.substr(0, kNameBytesMax), .value = value});
  }

  std::size_t series_max_;
};

}  // namespace

Result<std::vector<MetricSeries>> read_otlp(Bytes data, std::size_t series_max) {
  Reader reader(series_max);
  const bool is_sound = Reader::each(data, 1, [&](Bytes resource) {
    return Reader::each(resource, 2, [&](Bytes scope) {
      return Reader::each(scope, 2, [&](Bytes metric) { return reader.metric(metric); });
    });
  });
  if (!is_sound) return failure(Code::corrupt, "reading metrics of a client");
  return std::move(reader.series);
}

}  // namespace tailrace::broker
