// The configuration of a node: what server.properties and the command line say, checked against the table of settings
// (settings.h). One object per process, made at the start and constant from then on. Making it from text is pure;
// load_config reads the file.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/types.h"
#include "services/node/listeners.h"

namespace tailrace::node {

using ConfigMap = std::map<std::string, std::string, std::less<>>;

// "uniform" or "range" for an assignor of consumer groups by its name or its Java class; empty: it is not served.
std::string_view consumer_assignor(std::string_view text);

// What the command line says; later ones win over earlier ones: file, data and listen, set.
struct ConfigSource {
  std::string file{};                                      // --config FILE; empty: none
  std::string data{};                                      // --data DIR: log.dirs; empty: not given
  std::string listen{};                                    // --listen HOST:PORT: listeners; empty: not given
  std::vector<std::pair<std::string, std::string>> set{};  // --set KEY=VALUE
};

// Takes --config, --data, --listen and --set (each as "--x VALUE" or "--x=VALUE") out of `arguments`; anything else is
// an error.
std::expected<ConfigSource, std::string> parse_arguments(std::span<const std::string> arguments);

struct Config {
  BrokerId broker_id = -1;     // -1: not set; the data directory says it, or it is 0
  std::string data_directory;  // absolute or relative to where the process runs; never empty
  Listeners listeners;
  bool durable = true;               // tailrace.durability=disk: acknowledged means on the disk
  ConfigMap given;                   // every key that was set, values in normal form
  std::vector<std::string> ignored;  // keys of Kafka's that were set and that we do not use, sorted

  // The value in force by the file and the defaults (settings that may be changed at run time: broker_configs.h). `key`
  // must be in the table and of the type; integers are of any width. A key with neither value nor default: 0, false,
  // "".
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] double real(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] bool is_set(std::string_view key) const { return given.contains(key); }
};

// Error: everything that is wrong, one line each: a key that nobody has (names the nearest), a value that is not
// allowed (names key, value and what is), several log.dirs, listeners, what is not served.
std::expected<Config, std::string> make_config(const ConfigSource& source, std::string_view file_text);

// The same, reading source.file where there is one.
std::expected<Config, std::string> load_config(const ConfigSource& source);

}  // namespace tailrace::node
