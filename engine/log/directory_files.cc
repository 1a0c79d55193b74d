#include "engine/log/directory_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/log/text_lines.h"

namespace tailrace::log {
namespace {

constexpr std::size_t kTopicNameMax = 249;
constexpr std::size_t kDirectoryNameMax = 255;
constexpr std::size_t kUniqueIdSize = 32;

struct Suffix {
  DirectoryState state;
  std::string_view text;
};
constexpr Suffix kSuffixes[] = {
    {DirectoryState::deleted, "-delete"}, {DirectoryState::stray, "-stray"}, {DirectoryState::future, "-future"}};

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

int hexadecimal_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Appends a code point of at most 16 bits as UTF-8.
void append_utf8(std::string& to, unsigned code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xC0 | code >> 6);
    to += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    to += static_cast<char>(0xE0 | code >> 12);
    to += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    to += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// One key or value of java.util.Properties: undoes its escapes. A key ends at an unescaped separator.
std::string take_property_text(std::string_view& line, bool is_key) {
  std::string text;
  while (!line.empty()) {
    const char c = line[0];
    if (is_key && (c == '=' || c == ':' || is_blank(c))) break;
    line.remove_prefix(1);
    if (c != '\\' || line.empty()) {
      text += c;
      continue;
    }
    const char escaped = line[0];
    line.remove_prefix(1);
    if (escaped == 'u' && line.size() >= 4 &&
        std::all_of(line.begin(), line.begin() + 4, [](char d) { return hexadecimal_digit(d) >= 0; })) {
      unsigned code = 0;
      for (int i = 0; i < 4; ++i) code = code << 4 | static_cast<unsigned>(hexadecimal_digit(line[std::size_t(i)]));
      line.remove_prefix(4);
      append_utf8(text, code);
    } else if (escaped == 't') {
      text += '\t';
    } else if (escaped == 'n') {
      text += '\n';
    } else if (escaped == 'r') {
      text += '\r';
    } else if (escaped == 'f') {
      text += '\f';
    } else {
      text += escaped;
    }
  }
  return text;
}

void skip_blanks(std::string_view& line) {
  while (!line.empty() && is_blank(line[0])) line.remove_prefix(1);
}

std::map<std::string, std::string> parse_properties(std::string_view text) {
  std::map<std::string, std::string> properties;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    skip_blanks(line);
    if (line.empty() || line[0] == '#' || line[0] == '!') continue;
    std::string key = take_property_text(line, true);
    skip_blanks(line);
    if (!line.empty() && (line[0] == '=' || line[0] == ':')) line.remove_prefix(1);
    skip_blanks(line);
    properties[std::move(key)] = take_property_text(line, false);
  }
  return properties;
}

std::string escape_property(std::string_view text, bool is_key) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\r') {
      escaped += "\\r";
    } else {
      if (c == '=' || c == ':' || c == '#' || c == '!' || c == '\\' || (is_blank(c) && (is_key || i == 0)))
        escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

// Takes `key` out of `properties`.
std::optional<std::string> take(std::map<std::string, std::string>& properties, const char* key) {
  auto node = properties.extract(key);
  return node ? std::optional(std::move(node.mapped())) : std::nullopt;
}

}  // namespace

bool is_valid_topic_name(std::string_view topic) {
  return !topic.empty() && topic.size() <= kTopicNameMax && topic != "." && topic != ".." &&
         std::ranges::all_of(topic, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
         });
}

std::string partition_directory_name(const PartitionDirectory& directory) {
  if (directory.state == DirectoryState::current) return fmt::format("{}-{}", directory.topic, directory.partition);
  const auto* suffix = std::ranges::find(kSuffixes, directory.state, &Suffix::state);
  const std::string behind = fmt::format("-{}.{}{}", directory.partition, directory.unique_id, suffix->text);
  return directory.topic.substr(0, kDirectoryNameMax - behind.size()) + behind;
}

std::optional<PartitionDirectory> parse_partition_directory_name(std::string_view name) {
  PartitionDirectory directory;
  for (const Suffix& suffix : kSuffixes) {
    if (!name.ends_with(suffix.text)) continue;
    const std::string_view before = name.substr(0, name.size() - suffix.text.size());
    const std::size_t dot = before.rfind('.');
    if (dot == std::string_view::npos || before.size() - dot - 1 != kUniqueIdSize ||
        !is_hexadecimal(before.substr(dot + 1)))
      return std::nullopt;
    directory.state = suffix.state;
    directory.unique_id = before.substr(dot + 1);
    name = before.substr(0, dot);
    break;
  }
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view number = name.substr(dash + 1);
  const auto partition = parse_number<std::int32_t>(number);
  if (!partition || *partition < 0 || (number.size() > 1 && number[0] == '0')) return std::nullopt;
  directory.topic = name.substr(0, dash);
  directory.partition = *partition;
  if (!is_valid_topic_name(directory.topic)) return std::nullopt;
  return directory;
}

std::string encode_meta_properties(const MetaProperties& properties) {
  std::string text = "#\n";
  const auto add = [&text](std::string_view key, std::string_view value) {
    text += fmt::format("{}={}\n", escape_property(key, true), escape_property(value, false));
  };
  if (properties.cluster_id) add("cluster.id", *properties.cluster_id);
  if (properties.directory_id) add("directory.id", properties.directory_id->text());
  if (properties.node_id) add(properties.version == 0 ? "broker.id" : "node.id", std::to_string(*properties.node_id));
  add("version", std::to_string(properties.version));
  for (const auto& [key, value] : properties.others) add(key, value);
  return text;
}

Result<MetaProperties> parse_meta_properties(std::string_view text) {
  std::map<std::string, std::string> values = parse_properties(text);
  MetaProperties properties;
  // Files of the oldest versions name none and are version 0.
  const auto version = parse_number<std::int32_t>(take(values, "version").value_or("0"));
  if (version != 0 && version != 1) return failure(Code::corrupt, "reading the version of meta.properties");
  properties.version = *version;
  properties.cluster_id = take(values, "cluster.id");
  std::optional<std::string> node_id = take(values, properties.version == 0 ? "broker.id" : "node.id");
  if (node_id) {
    properties.node_id = parse_number<std::int32_t>(*node_id);
    if (!properties.node_id) return failure(Code::corrupt, "reading the node id of meta.properties");
  }
  if (std::optional<std::string> id = take(values, "directory.id")) {
    Uuid parsed;
    if (!Uuid::parse(*id, parsed)) return failure(Code::corrupt, "reading the directory id of meta.properties");
    properties.directory_id = parsed;
  }
  properties.others = std::move(values);
  return properties;
}

std::string encode_partition_metadata(const Uuid& topic_id) {
  return fmt::format("version: 0\ntopic_id: {}", topic_id.text());
}

Result<Uuid> parse_partition_metadata(std::string_view text) {
  constexpr std::string_view kTopicId = "topic_id: ";
  if (take_line(text) != "version: 0") return failure(Code::corrupt, "reading the version of partition.metadata");
  std::string_view line = take_line(text);
  Uuid topic_id;
  if (!line.starts_with(kTopicId) || !Uuid::parse(line.substr(kTopicId.size()), topic_id) || topic_id.is_zero())
    return failure(Code::corrupt, "reading the topic id of partition.metadata");
  return topic_id;
}

std::string encode_clean_shutdown(std::int64_t broker_epoch) {
  return fmt::format(R"({{"version":0,"brokerEpoch":{}}})", broker_epoch);
}

std::optional<std::int64_t> parse_clean_shutdown(std::string_view text) {
  constexpr std::string_view kKey = "\"brokerEpoch\"";
  const std::size_t key = text.find(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  std::string_view value = text.substr(key + kKey.size());
  const std::size_t begin = value.find_first_not_of(" \t\r\n:");
  if (begin == std::string_view::npos) return std::nullopt;
  value.remove_prefix(begin);
  return parse_number<std::int64_t>(value.substr(0, value.find_first_not_of("-0123456789")));
}

}  // namespace tailrace::log
