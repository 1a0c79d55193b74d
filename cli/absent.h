// How what there is not, or what is not known, is shown: "-" to people, null to programs.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace tailrace::cli {

template <class Number>
std::string or_dash(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "-";
}
inline std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

template <class Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}
inline nlohmann::ordered_json or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace tailrace::cli
