#include "services/node/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/core.h>

#include "engine/base/check.h"
#include "services/node/properties.h"
#include "services/node/settings.h"

namespace tailrace::node {
namespace {

constexpr std::size_t kFileBytesMax = 1u << 20;

// Collects what is wrong, so that one start shows all of it.
class Complaints {
 public:
  void add(std::string text) {
    if (!text_.empty()) text_ += '\n';
    text_ += text;
  }
  [[nodiscard]] bool none() const { return text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Given {
  std::string key;
  std::string value;
  std::string where;  // "server.properties:12: " or "--set: "
};

std::expected<std::vector<Given>, std::string> gather(const ConfigSource& source, std::string_view file_text) {
  std::vector<Given> given;
  const auto properties = parse_properties(file_text);
  if (!properties) return std::unexpected(fmt::format("{}: {}", source.file, properties.error()));
  for (const Property& property : *properties) {
    given.push_back({property.key, property.value, fmt::format("{}:{}: ", source.file, property.line)});
  }
  if (!source.data.empty()) given.push_back({"log.dirs", source.data, "--data: "});
  if (!source.listen.empty()) {
    const auto endpoint = parse_host_and_port(source.listen);
    if (!endpoint) return std::unexpected("--listen: " + endpoint.error());
    given.push_back({"listeners", endpoint_text(*endpoint), "--listen: "});
  }
  for (const auto& [key, value] : source.set) given.push_back({key, value, "--set: "});
  return given;
}

std::string unknown_key(const Given& given) {
  if (find_topic_setting(given.key) != nullptr) {
    return fmt::format("{}{} is a setting of topics; the nearest of a node is {}", given.where, given.key,
                       nearest_broker_setting("log." + given.key));
  }
  return fmt::format("{}unknown configuration key {}; the nearest is {}", given.where, given.key,
                     nearest_broker_setting(given.key));
}

// Settings under a listener's prefix: the base key is known, or it is a plug-in's own (with the mechanism before it).
bool is_listener_key(std::string_view key) { return !listener_prefix_rest(key).empty(); }

// Those of a listener's settings that we use.
bool is_listener_limit(std::string_view key) {
  const std::string_view rest = listener_prefix_rest(key);
  return rest == "max.connections" || rest == "max.connection.creation.rate";
}

void take(const Given& given, Config& config, Complaints& complaints) {
  const Setting* setting = find_broker_setting(given.key);
  if (is_listener_limit(given.key)) setting = find_broker_setting(listener_prefix_rest(given.key));
  if (setting == nullptr && (is_listener_key(given.key) || is_plugin_key(given.key))) {
    config.given[given.key] = std::string(trim(given.value));
    config.ignored.push_back(given.key);
    return;
  }
  if (setting == nullptr) {
    complaints.add(unknown_key(given));
    return;
  }
  const auto value = normal_value(*setting, given.value);
  if (!value) {
    complaints.add(given.where + value.error());
    return;
  }
  config.given[given.key] = *value;
  if (setting->doc == nullptr) config.ignored.push_back(given.key);
}

void take_broker_id(Config& config, Complaints& complaints) {
  const bool both = config.is_set("node.id") && config.is_set("broker.id");
  const std::int64_t node_id = config.is_set("node.id") ? config.integer("node.id") : -1;
  const std::int64_t broker_id = config.integer("broker.id");
  if (both && node_id != broker_id) {
    complaints.add(fmt::format("node.id is {} and broker.id is {}: they name the same thing", node_id, broker_id));
  }
  config.broker_id = static_cast<BrokerId>(config.is_set("node.id") ? node_id : broker_id);
  // Two names of one thing: whichever was set, both are, as in Kafka.
  if (config.is_set("node.id")) config.given["broker.id"] = config.given["node.id"];
  if (config.is_set("broker.id")) config.given["node.id"] = config.given["broker.id"];
}

void take_data_directory(Config& config, Complaints& complaints) {
  const char* key = config.is_set("log.dirs") ? "log.dirs" : "log.dir";
  const std::string value = config.text(key);
  const std::vector<std::string_view> directories = split_list(value);
  if (directories.size() > 1) {
    complaints.add(fmt::format("{}: {} names {} directories, and one is served", key, value, directories.size()));
  } else if (directories.empty() || directories.front().empty()) {
    complaints.add(fmt::format("{}: the data directory is empty", key));
  } else {
    config.data_directory = directories.front();
  }
}

void take_listeners(Config& config, const ConfigSource& source, Complaints& complaints) {
  // With no file at all a node is for its own machine; a file means Kafka's default, which is every interface.
  if (source.file.empty() && !config.is_set("listeners")) config.given["listeners"] = "PLAINTEXT://127.0.0.1:9092";
  const std::string listeners = config.text("listeners");
  const std::string advertised = config.text("advertised.listeners");
  const std::string protocols = config.text("listener.security.protocol.map");
  const std::string controllers = config.text("controller.listener.names");
  auto parsed = parse_listeners({listeners, advertised, protocols, controllers});
  if (parsed) {
    config.listeners = std::move(*parsed);
  } else {
    complaints.add(parsed.error());
  }
}

void check_connection_limits(const Config& config, Complaints& complaints) {
  const auto overrides = parse_ip_limits(config.text("max.connections.per.ip.overrides"));
  if (!overrides) complaints.add(overrides.error());
  // Kafka refuses it too: nobody could connect.
  if (config.integer("max.connections.per.ip") == 0 && overrides && overrides->empty()) {
    complaints.add("max.connections.per.ip is 0, which needs max.connections.per.ip.overrides");
  }
}

// GroupCoordinatorConfig's constraints.
void check_groups(const Config& config, Complaints& complaints) {
  struct Order {
    const char* low;
    const char* high;
    bool may_be_equal = true;
  };
  static constexpr Order kOrders[] = {
      {"group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
      {"group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"},
      {"group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
      {"group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
      {"group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"},
      {"group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
      {"group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms", false},
      {"group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
      {"group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"},
      {"group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
  };
  for (const Order& order : kOrders) {
    const std::int64_t low = config.integer(order.low);
    const std::int64_t high = config.integer(order.high);
    if (low < high || (low == high && order.may_be_equal)) continue;
    complaints.add(fmt::format("{} is {}, which must be {} {}, which is {}", order.low, low,
                               order.may_be_equal ? "at most" : "less than", order.high, high));
  }
  const std::string assignors = config.text("group.consumer.assignors");
  std::vector<std::string_view> known;
  for (const std::string_view each : split_list(assignors)) {
    const std::string_view name = consumer_assignor(each);
    if (name.empty()) {
      complaints.add(fmt::format("group.consumer.assignors: '{}' is not served; there are uniform and range", each));
    } else if (std::ranges::find(known, name) != known.end()) {
      complaints.add(fmt::format("group.consumer.assignors names {} twice", name));
    }
    known.push_back(name);
  }
  if (known.empty()) complaints.add("group.consumer.assignors is empty: consumer groups need an assignor");
  const std::string protocols = config.text("group.coordinator.rebalance.protocols");
  const std::vector<std::string_view> served = split_list(protocols);
  if (std::ranges::find(served, "classic") == served.end()) {
    complaints.add("group.coordinator.rebalance.protocols must name classic: it cannot be disabled");
  }
}

// Settings that would leave a user believing in something that does not happen.
void refuse_what_is_not_served(const Config& config, Complaints& complaints) {
  if (!config.text("zookeeper.connect").empty()) {
    complaints.add(
        "zookeeper.connect: joining a ZooKeeper cluster is not served; without the key the node runs on its own");
  }
  if (!config.text("authorizer.class.name").empty()) {
    complaints.add(
        "authorizer.class.name: access control is not served; without the key every client may do everything");
  }
}

}  // namespace

std::string_view consumer_assignor(std::string_view text) {
  if (text == "uniform" || text == "org.apache.kafka.coordinator.group.assignor.UniformAssignor") return "uniform";
  if (text == "range" || text == "org.apache.kafka.coordinator.group.assignor.RangeAssignor") return "range";
  return {};
}

std::int64_t Config::integer(std::string_view key) const { return to_integer(text(key)); }
bool Config::boolean(std::string_view key) const { return to_boolean(text(key)); }
double Config::real(std::string_view key) const { return to_real(text(key)); }

std::string Config::text(std::string_view key) const {
  if (const auto at = given.find(key); at != given.end()) return at->second;
  const Setting* setting = find_broker_setting(key);
  CHECK(setting != nullptr);
  return setting->default_value == nullptr ? std::string() : std::string(setting->default_value);
}

std::expected<Config, std::string> make_config(const ConfigSource& source, std::string_view file_text) {
  const auto given = gather(source, file_text);
  if (!given) return std::unexpected(given.error());
  Config config;
  Complaints complaints;
  for (const Given& one : *given) take(one, config, complaints);
  std::ranges::sort(config.ignored);
  config.ignored.erase(std::ranges::unique(config.ignored).begin(), config.ignored.end());
  take_broker_id(config, complaints);
  take_data_directory(config, complaints);
  take_listeners(config, source, complaints);
  check_connection_limits(config, complaints);
  check_groups(config, complaints);
  refuse_what_is_not_served(config, complaints);
  config.durable = config.text("tailrace.durability") == "disk";
  if (!complaints.none()) return std::unexpected(complaints.text());
  return config;
}

std::expected<Config, std::string> load_config(const ConfigSource& source) {
  if (source.file.empty()) return make_config(source, {});
  std::FILE* file = std::fopen(source.file.c_str(), "rbe");
  if (file == nullptr) {
    return std::unexpected(fmt::format("can't read the configuration {}: {}", source.file, std::strerror(errno)));
  }
  std::string text(kFileBytesMax + 1, '\0');
  const std::size_t size = std::fread(text.data(), 1, text.size(), file);
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0) {
    return std::unexpected(fmt::format("can't read the configuration {}: {}", source.file, std::strerror(error)));
  }
  if (size > kFileBytesMax) return std::unexpected(fmt::format("{} is larger than 1 MiB", source.file));
  text.resize(size);
  return make_config(source, text);
}

std::expected<ConfigSource, std::string> parse_arguments(std::span<const std::string> arguments) {
  ConfigSource source;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    std::string value;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return std::unexpected(fmt::format("{} needs a value", name));
    }
    if (name == "--config") {
      source.file = value;
    } else if (name == "--data") {
      source.data = value;
    } else if (name == "--listen") {
      source.listen = value;
    } else if (name == "--set") {
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0) {
        return std::unexpected(fmt::format("--set takes KEY=VALUE, not '{}'", value));
      }
      source.set.emplace_back(std::string(trim(value.substr(0, equals))), value.substr(equals + 1));
    } else {
      return std::unexpected(
          fmt::format("unknown option {}; there are --config FILE, --data DIR, --listen HOST:PORT, "
                      "--set KEY=VALUE",
                      name));
    }
  }
  return source;
}

}  // namespace tailrace::node
