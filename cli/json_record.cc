#include "cli/json_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/text.h"

namespace tailrace::cli {
namespace {

using nlohmann::json;

// The field `name` or `name`_base64 of an object into `out`.
Outcome<void> read_bytes(const json& object, const std::string& name, std::optional<std::string>& out) {
  const auto text = object.find(name);
  const auto encoded = object.find(name + "_base64");
  const bool has_text = text != object.end() && !text->is_null();
  const bool has_encoded = encoded != object.end() && !encoded->is_null();
  if (has_text && has_encoded) return std::unexpected(fmt::format("it has both \"{0}\" and \"{0}_base64\"", name));
  if (has_text) {
    out = text->is_string() ? text->get<std::string>() : text->dump();  // a number or an object: its JSON text
  } else if (has_encoded) {
    if (encoded->is_string()) out = from_base64(encoded->get_ref<const std::string&>());
    if (!out) return std::unexpected(fmt::format("\"{}_base64\" is no base64", name));
  }
  return {};
}

Outcome<void> read_headers(const json& headers, JsonRecord& record) {
  auto refuse = [] {
    return std::unexpected(std::string("\"headers\" is neither an object nor a list of {\"key\", \"value\"}"));
  };
  if (headers.is_object()) {
    for (const auto& [key, value] : headers.items()) {
      if (!value.is_string() && !value.is_null()) return refuse();
      record.headers.emplace_back(key, value.is_null() ? std::nullopt : std::optional(value.get<std::string>()));
    }
    return {};
  }
  if (!headers.is_array()) return refuse();
  for (const json& header : headers) {
    if (!header.is_object() || !header.contains("key") || !header["key"].is_string()) return refuse();
    std::optional<std::string> value;
    if (auto read = read_bytes(header, "value", value); !read) return read;
    record.headers.emplace_back(header["key"].get<std::string>(), std::move(value));
  }
  return {};
}

void append_bytes(std::string_view name, const std::optional<Bytes>& bytes, std::string& out) {
  if (!bytes) {
    out += fmt::format(",\"{}\":null", name);
  } else if (is_utf8(as_text(*bytes))) {
    out += fmt::format(",\"{}\":{}", name, json(as_text(*bytes)).dump());
  } else {
    out += fmt::format(",\"{}_base64\":\"{}\"", name, to_base64(*bytes));
  }
}

}  // namespace

Outcome<JsonRecord> parse_json_record(std::string_view line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return std::unexpected(std::string("it is no JSON object"));
  JsonRecord record;
  for (const auto& [name, value] : object.items()) {
    if (name == "topic") {
      if (!value.is_string()) return std::unexpected(std::string("\"topic\" is no string"));
      record.topic = value.get<std::string>();
    } else if (name == "partition" && !value.is_null()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > INT32_MAX) {
        return std::unexpected(std::string("\"partition\" is no partition number"));
      }
      record.partition = value.get<std::int32_t>();
    } else if (name == "timestamp" && !value.is_null()) {
      const auto time = value.is_number_integer() ? std::optional(value.get<TimestampMs>())
                        : value.is_string()       ? parse_time(value.get_ref<const std::string&>())
                                                  : std::nullopt;
      if (!time || *time < 0) return std::unexpected(std::string("\"timestamp\" is no time"));
      record.timestamp = *time;
    } else if (name == "headers" && !value.is_null()) {
      if (auto read = read_headers(value, record); !read) return std::unexpected(read.error());
    } else if (!value.is_null() && name != "key" && name != "key_base64" && name != "value" && name != "value_base64" &&
               name != "offset") {
      return std::unexpected(fmt::format("nobody knows the field \"{}\"", name));
    }
  }
  if (auto read = read_bytes(object, "key", record.key); !read) return std::unexpected(read.error());
  if (auto read = read_bytes(object, "value", record.value); !read) return std::unexpected(read.error());
  return record;
}

void append_json_record(std::string_view topic, std::int32_t partition, const record::Record& record,
                        std::string& out) {
  out += fmt::format("{{\"topic\":{},\"partition\":{},\"offset\":{}", json(topic).dump(), partition, record.offset);
  if (record.timestamp != kNoTimestamp) out += fmt::format(",\"timestamp\":{}", record.timestamp);
  append_bytes("key", record.key, out);
  append_bytes("value", record.value, out);
  if (record.headers.count() > 0) {
    out += ",\"headers\":[";
    record::Headers headers = record.headers;
    record::Header header;
    for (bool first = true; headers.next(header); first = false) {
      const std::string_view key = as_text(header.key);
      out += fmt::format("{}{{\"key\":{}", first ? "" : ",",
                         json(key).dump(-1, ' ', false, json::error_handler_t::replace));
      append_bytes("value", header.value, out);
      out += '}';
    }
    out += ']';
  }
  out += "}\n";
}

}  // namespace tailrace::cli
