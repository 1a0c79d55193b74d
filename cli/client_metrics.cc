// `tailrace client-metrics`: which metrics brokers ask clients for (KIP-714), as kafka-client-metrics.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/configs_describe.h"
#include "cli/output.h"
#include "cli/verdicts.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

// ClientMetricsConfigs
constexpr std::string_view kInterval = "interval.ms";
constexpr std::string_view kMetrics = "metrics";
constexpr std::string_view kMatch = "match";
constexpr std::array<std::string_view, 6> kSelectors = {"client_id",
                                                        "client_instance_id",
                                                        "client_software_name",
                                                        "client_software_version",
                                                        "client_source_address",
                                                        "client_source_port"};
constexpr std::int64_t kIntervalMin = 100;
constexpr std::int64_t kIntervalMax = 3'600'000;

struct MetricsOptions : CommandOptions {
  std::string name;
  bool generate_name = false;
  std::optional<std::string> interval;
  std::optional<std::string> metrics;
  std::optional<std::string> match;
};

int list(const MetricsOptions& options) {
  auto client = Client::connect(options.client);
  if (!client) return fail("client-metrics list", client.error());
  auto names = list_resources(*client, ResourceType::client_metrics);
  if (!names) return fail("client-metrics list", names.error());
  if (options.json) {
    print_json(ordered_json(*names));
  } else {
    for (const std::string& name : *names) print("{}\n", name);
  }
  return kExitDone;
}

int describe(const MetricsOptions& options) {
  constexpr std::string_view kCommand = "client-metrics describe";
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto names = list_resources(*client, ResourceType::client_metrics);
  if (!names) return fail(kCommand, names.error());
  std::vector<Resource> resources;
  for (const std::string& name : *names) {
    if (options.name.empty() || name == options.name) resources.push_back({ResourceType::client_metrics, name});
  }
  if (resources.empty() && !options.name.empty()) {
    return fail(kCommand, fmt::format("there are no client metrics {}", options.name));
  }
  auto settings = describe_settings(*client, resources, false);
  if (!settings) return fail(kCommand, settings.error());
  return print_settings(kCommand, *settings, true, options.json);
}

// 16 random bytes as Kafka writes ids.
Outcome<std::string> random_name() {
  Uuid id;
  const int source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const bool is_read = source >= 0 && read(source, id.bytes.data(), id.bytes.size()) == std::ssize(id.bytes);
  if (source >= 0) close(source);
  if (!is_read) return std::unexpected(std::string("cannot read /dev/urandom"));
  id.bytes[0] &= 0x7F;  // no name begins with '-'
  return id.text();
}

Outcome<void> check_match(const std::string& match) {
  auto pairs = parse_key_values(match);
  if (!pairs) return std::unexpected("--match: " + pairs.error());
  for (const auto& [selector, pattern] : *pairs) {
    if (std::find(kSelectors.begin(), kSelectors.end(), selector) == kSelectors.end()) {
      return std::unexpected(fmt::format("--match: there is no selector \"{}\", only {}", selector,
                                         fmt::join(kSelectors.begin(), kSelectors.end(), ", ")));
    }
  }
  return {};
}

// An empty value takes the setting away.
void add_change(std::string_view key, const std::optional<std::string>& value, std::vector<Change>& changes) {
  if (value) changes.push_back({value->empty() ? ChangeKind::remove : ChangeKind::set, std::string(key), *value});
}

int alter(const MetricsOptions& options) {
  constexpr std::string_view kCommand = "client-metrics alter";
  std::vector<Change> changes;
  add_change(kInterval, options.interval, changes);
  add_change(kMetrics, options.metrics, changes);
  add_change(kMatch, options.match, changes);
  if (changes.empty()) return misuse(kCommand, "nothing is to be changed; --interval, --metrics and --match say what");
  if (options.interval && !options.interval->empty()) {
    const auto interval = parse_integer(*options.interval);
    if (!interval || *interval < kIntervalMin || *interval > kIntervalMax) {
      return misuse(kCommand, fmt::format("--interval takes {} to {} milliseconds, not \"{}\"", kIntervalMin,
                                          kIntervalMax, *options.interval));
    }
  }
  if (options.match && !options.match->empty()) {
    if (auto checked = check_match(*options.match); !checked) return misuse(kCommand, checked.error());
  }
  std::string name = options.name;
  if (options.generate_name) {
    auto random = random_name();
    if (!random) return fail(kCommand, random.error());
    name = *random;
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto verdicts = alter_settings(*client, {{ResourceType::client_metrics, name}}, changes, false);
  if (!verdicts) return fail(kCommand, verdicts.error());
  return report({.command = kCommand, .kind = "", .done = "Altered", .json = options.json}, *verdicts);
}

int remove(const MetricsOptions& options) {
  constexpr std::string_view kCommand = "client-metrics delete";
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto names = list_resources(*client, ResourceType::client_metrics);
  if (!names) return fail(kCommand, names.error());
  if (std::find(names->begin(), names->end(), options.name) == names->end()) {
    return fail(kCommand, fmt::format("there are no client metrics {}", options.name));
  }
  std::vector<Change> changes;
  for (const std::string_view key : {kInterval, kMetrics, kMatch}) {
    changes.push_back({ChangeKind::remove, std::string(key), ""});
  }
  auto verdicts = alter_settings(*client, {{ResourceType::client_metrics, options.name}}, changes, false);
  if (!verdicts) return fail(kCommand, verdicts.error());
  return report({.command = kCommand, .kind = "", .done = "Deleted", .json = options.json}, *verdicts);
}

}  // namespace

void add_client_metrics_command(Command app, int& exit_code) {
  auto options = std::make_shared<MetricsOptions>();
  const Command group =
      add_group(app, "client-metrics", "List, describe, alter and delete subscriptions to metrics of clients");
  const auto add_name = [&](Command command) {
    return command.add_option("NAME,--name", options->name, "the subscription").type_name("NAME");
  };
  Command command = add_command(group, "list", "Print the names of all subscriptions", options, exit_code, list);
  add_examples(command, {"client-metrics list"});

  command = add_command(group, "describe", "Show subscriptions", options, exit_code, describe);
  add_name(command).description("the subscription (default: all)");
  add_examples(command, {"client-metrics describe"});

  command = add_command(group, "alter", "Make or change a subscription", options, exit_code, alter);
  const Option name = add_name(command);
  command.add_flag("--generate-name", options->generate_name, "make up a name").excludes(name);
  command.add_option("--interval", options->interval, "how often clients push, in ms; empty: the default again")
      .type_name("MS");
  command.add_option("--metrics", options->metrics, "prefixes of names of metrics, with commas; empty: none")
      .type_name("M1,M2");
  command
      .add_option("--match", options->match,
                  fmt::format("which clients: selectors and regular expressions; selectors are {}; empty: all",
                              fmt::join(kSelectors.begin(), kSelectors.end(), ", ")))
      .type_name("K1=V1,K2=V2");
  command.callback([options, &exit_code] {
    if (options->name.empty() && !options->generate_name) refuse_without("NAME or --generate-name");
    exit_code = alter(*options);
  });
  add_examples(command, {"client-metrics alter slow --metrics org.apache.kafka.producer. --interval 30000",
                         "client-metrics alter slow --match client_id=app.*"});

  command = add_command(group, "delete", "Delete a subscription", options, exit_code, remove);
  add_name(command).required();
  add_examples(command, {"client-metrics delete slow"});
}

}  // namespace tailrace::cli
