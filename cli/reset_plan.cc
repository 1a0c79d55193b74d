#include "cli/reset_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cli/config_text.h"

namespace tailrace::cli {
namespace {

constexpr std::size_t kUnquotedMax = 24;

// Into the log's bounds, with a warning when it was outside.
PlannedOffset within(Offset offset, const PartitionFacts& facts) {
  if (offset > facts.end) {
    return {facts.end,
            fmt::format("the new offset {} is higher than the latest, {}, which is taken", offset, facts.end)};
  }
  if (offset < facts.begin) {
    return {facts.begin,
            fmt::format("the new offset {} is lower than the earliest, {}, which is taken", offset, facts.begin)};
  }
  return {offset, {}};
}

Offset saturating_add(Offset a, std::int64_t b) {
  Offset sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<Offset>::min() : std::numeric_limits<Offset>::max();
}

std::optional<std::int32_t> parse_partition(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

std::string quoted(std::string_view text) {
  const bool is_plain = text.size() <= kUnquotedMax && std::all_of(text.begin(), text.end(), [](char c) {
                          return static_cast<unsigned char>(c) >= '-';
                        });
  if (is_plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The fields of one line. Error: quotes that do not close, or do not enclose the whole field.
Outcome<std::vector<std::string>> split_csv(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    std::string field;
    if (!line.empty() && line[0] == '"') {
      std::size_t at = 1;
      for (; at < line.size(); ++at) {
        if (line[at] != '"') {
          field += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += '"';
          ++at;
        } else {
          break;
        }
      }
      if (at == line.size()) return std::unexpected(std::string("a quote is not closed"));
      line.remove_prefix(at + 1);
      if (!line.empty() && line[0] != ',') return std::unexpected(std::string("there is text after a quoted field"));
    } else {
      const std::size_t comma = std::min(line.find(','), line.size());
      field = line.substr(0, comma);
      line.remove_prefix(comma);
    }
    fields.push_back(std::move(field));
    if (line.empty()) return fields;
    line.remove_prefix(1);
  }
}

Outcome<ResetLine> parse_line(std::string_view text, std::size_t fields_wanted) {
  auto fields = split_csv(text);
  if (!fields) return std::unexpected(fields.error());
  if (fields->size() != fields_wanted) {
    return std::unexpected(fmt::format("there are {} fields instead of {}: {}", fields->size(), fields_wanted,
                                       fields_wanted == 4 ? "group,topic,partition,offset" : "topic,partition,offset"));
  }
  const std::size_t first = fields_wanted - 3;
  ResetLine line;
  if (first > 0) line.group = (*fields)[0];
  line.key.topic = (*fields)[first];
  if (line.key.topic.empty()) return std::unexpected(std::string("the topic is missing"));
  const auto partition = parse_partition((*fields)[first + 1]);
  if (!partition) return std::unexpected(fmt::format("\"{}\" is no partition", (*fields)[first + 1]));
  const auto offset = parse_integer((*fields)[first + 2]);
  if (!offset) return std::unexpected(fmt::format("\"{}\" is no offset", (*fields)[first + 2]));
  line.key.partition = *partition;
  line.offset = *offset;
  return line;
}

}  // namespace

Outcome<PlannedOffset> plan_offset(const ResetTarget& target, const PartitionFacts& facts) {
  using Kind = ResetTarget::Kind;
  switch (target.kind) {
    case Kind::earliest:
      return PlannedOffset{facts.begin, {}};
    case Kind::latest:
      return PlannedOffset{facts.end, {}};
    case Kind::current:
      return PlannedOffset{facts.committed.value_or(facts.end), {}};
    case Kind::offset:
      return within(target.value, facts);
    case Kind::shift:
      if (!facts.committed) return std::unexpected(std::string("there is no committed offset that could be shifted"));
      return within(saturating_add(*facts.committed, target.value), facts);
    case Kind::time:
      if (facts.at_time) return PlannedOffset{*facts.at_time, {}};
      return PlannedOffset{facts.end,
                           fmt::format("no record is that late; the latest offset, {}, is taken", facts.end)};
    case Kind::file:
      return within(facts.listed.value_or(facts.end), facts);
  }
  return std::unexpected(std::string("nobody says where to"));
}

Outcome<TopicPartitions> parse_topic_partitions(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  TopicPartitions parsed{.topic = std::string(text.substr(0, colon)), .partitions = {}};
  if (parsed.topic.empty()) return std::unexpected(fmt::format("\"{}\" names no topic", text));
  if (colon == text.size()) return parsed;
  std::string_view left = text.substr(colon + 1);
  for (bool more = true; more;) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const auto partition = parse_partition(left.substr(0, comma));
    if (!partition) {
      return std::unexpected(fmt::format("\"{}\" in \"{}\" is no partition", left.substr(0, comma), text));
    }
    parsed.partitions.push_back(*partition);
    more = comma < left.size();
    if (more) left.remove_prefix(comma + 1);
  }
  return parsed;
}

std::string reset_line_text(const ResetLine& line, bool with_group) {
  return fmt::format("{}{}{},{},{}\n", with_group ? quoted(line.group) : std::string(), with_group ? "," : "",
                     quoted(line.key.topic), line.key.partition, line.offset);
}

Outcome<ResetFile> parse_reset_file(std::string_view text) {
  ResetFile file;
  std::size_t fields_wanted = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (fields_wanted == 0) {
      const auto fields = split_csv(line);
      file.names_groups = fields && fields->size() == 4;
      fields_wanted = file.names_groups ? 4 : 3;
    }
    auto parsed = parse_line(line, fields_wanted);
    if (!parsed) return std::unexpected(fmt::format("line {}: {}", number, parsed.error()));
    file.lines.push_back(std::move(*parsed));
  }
  if (file.lines.empty()) return std::unexpected(std::string("there is no line in it"));
  return file;
}

}  // namespace tailrace::cli
