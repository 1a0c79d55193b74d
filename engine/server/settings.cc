#include "engine/server/settings.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace tailrace::server {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\f");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\f") - first + 1);
}

void take_line(std::string_view line, std::map<std::string, std::string>& values) {
  line = trim(line);
  if (line.empty() || line[0] == '#' || line[0] == '!') return;
  const std::size_t split = line.find_first_of("=: \t");
  if (split == std::string_view::npos) return;
  std::string_view value = trim(line.substr(split));
  if (!value.empty() && (value[0] == '=' || value[0] == ':')) value = trim(value.substr(1));
  values[std::string(line.substr(0, split))] = std::string(value);
}

// Only the keys of the engine are looked at, and none of them needs more of the properties format than joined lines.
bool take_file(const std::string& path, std::map<std::string, std::string>& values) {
  std::ifstream file(path);
  if (!file) return false;
  std::string line;
  std::string joined;
  while (std::getline(file, line)) {
    const bool goes_on = line.ends_with('\\') && !line.ends_with("\\\\");
    joined += goes_on ? std::string(line.substr(0, line.size() - 1)) : line;
    if (goes_on) continue;
    take_line(joined, values);
    joined.clear();
  }
  take_line(joined, values);
  return true;
}

std::string take_number(const std::map<std::string, std::string>& values, const char* key, std::int64_t least,
                        std::int64_t& into) {
  const auto found = values.find(key);
  if (found == values.end()) return {};
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (error == std::errc{} && end == text.data() + text.size() && into >= least) return {};
  return fmt::format("{}={}: must be a whole number of at least {}", key, text, least);
}

}  // namespace

std::expected<Settings, std::string> read_settings(int argument_count, char** arguments) {
  std::map<std::string, std::string> values;
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view argument = arguments[i];
    if (i + 1 >= argument_count || (argument != "--config" && argument != "--set")) {
      return std::unexpected(fmt::format("unknown argument {}: use --config FILE and --set KEY=VALUE", argument));
    }
    const std::string value = arguments[++i];
    if (argument == "--set") {
      take_line(value, values);
    } else if (!take_file(value, values)) {
      return std::unexpected(fmt::format("the configuration file {} cannot be read", value));
    }
  }
  Settings settings;
  settings.data_directory = values.contains("log.dirs") ? values["log.dirs"] : values["log.dir"];
  settings.run_directory = values["tailrace.run.dir"];
  if (settings.data_directory.empty()) return std::unexpected("log.dirs is not set: there is no data directory");
  if (settings.data_directory.find(',') != std::string::npos) {
    return std::unexpected(
        fmt::format("log.dirs={}: several data directories are not served yet", settings.data_directory));
  }
  if (settings.run_directory.empty())
    return std::unexpected("tailrace.run.dir is not set: the processes could not meet");
  if (values.contains("tailrace.durability")) {
    const std::string& durability = values["tailrace.durability"];
    if (durability != "disk" && durability != "memory") {
      return std::unexpected(fmt::format("tailrace.durability={}: must be disk or memory", durability));
    }
    settings.durability = durability == "disk" ? Durability::disk : Durability::memory;
  }
  for (const std::string& wrong :
       {take_number(values, "log.flush.offset.checkpoint.interval.ms", 0, settings.checkpoint_interval_ms),
        take_number(values, "producer.id.expiration.ms", 1, settings.producer_expiration_ms),
        take_number(values, "producer.id.expiration.check.interval.ms", 1,
                    settings.producer_expiration_check_interval_ms),
        take_number(values, "log.retention.check.interval.ms", 1, settings.retention_check_interval_ms),
        take_number(values, "log.segment.delete.delay.ms", 0, settings.file_delete_delay_ms)}) {
    if (!wrong.empty()) return std::unexpected(wrong);
  }
  // A time that can be added to, and as good as never.
  constexpr std::int64_t kYearMs = 365 * 24 * 3600 * 1000ll;
  for (std::int64_t* const time : {&settings.checkpoint_interval_ms, &settings.producer_expiration_check_interval_ms,
                                   &settings.retention_check_interval_ms, &settings.file_delete_delay_ms}) {
    *time = std::min(*time, kYearMs);
  }
  return settings;
}

}  // namespace tailrace::server
