#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_directory.h"
#include "cli/stat_groups.h"
#include "cli/text.h"
#include "engine/base/counters.h"

namespace tailrace::cli {
namespace {

namespace fs = std::filesystem;

struct StatOptions {
  std::string data;
  std::string run;
  double watch_s = 0;  // 0: once
  bool all = false;    // zeros too
  bool json = false;
  bool clients = false;  // what clients have pushed of their own metrics
  bool groups = false;   // how far groups lag
};

// process: name: value
using Readings = std::map<std::string, std::map<std::string, std::uint64_t>>;

Outcome<Readings> read_all(const std::string& run_directory) {
  std::error_code error;
  Readings readings;
  for (const auto& entry : fs::directory_iterator(run_directory, error)) {
    if (entry.path().extension() != ".counters") continue;
    auto counters = Counters::read(entry.path().string());
    if (!counters) {
      if (counters.error().code == Code::not_found) continue;  // its process has just ended
      return std::unexpected(fmt::format("{}: {}", entry.path().string(), counters.error().text()));
    }
    auto& process = readings[entry.path().stem().string()];
    for (const Counters::Reading& reading : *counters) process[reading.name] = reading.value;
  }
  if (error) return std::unexpected(fmt::format("no node runs here: {}: {}", run_directory, error.message()));
  if (readings.empty()) return std::unexpected(fmt::format("no node runs here: no counters in {}", run_directory));
  return readings;
}

std::string shown(const std::string& name, std::uint64_t value) {
  const bool is_bytes = name == "bytes" || name.find("bytes") != std::string::npos;
  return is_bytes ? human_bytes(static_cast<double>(value)) : human_count(value);
}

void print_for_people(const Readings& now, const Readings* before, double seconds, bool all) {
  std::vector<std::vector<std::string>> rows = {{"process", "counter", "value"}};
  if (before != nullptr) rows[0].emplace_back("per second");
  for (const auto& [process, counters] : now) {
    for (const auto& [name, value] : counters) {
      if (value == 0 && !all) continue;
      std::vector<std::string> row = {process, name, shown(name, value)};
      if (before != nullptr) {
        std::uint64_t old = value;
        if (const auto same = before->find(process); same != before->end()) {
          if (const auto counter = same->second.find(name); counter != same->second.end()) old = counter->second;
        }
        const double rate = value < old ? 0 : static_cast<double>(value - old) / seconds;  // less: it started anew
        row.push_back(shown(name, static_cast<std::uint64_t>(std::llround(rate))));
      }
      rows.push_back(std::move(row));
    }
  }
  write_out(table(rows));
}

void print_json(const Readings& now) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [process, counters] : now) {
    auto& object = out[process] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : counters) object[name] = value;
  }
  print("{}\n", out.dump());
}

// What the broker has written of the metrics that clients pushed to it (KIP-714).
int show_clients(const std::string& run, bool as_json) {
  std::ifstream file(run + "/client_metrics.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto clients = nlohmann::ordered_json::parse(text.empty() ? "[]" : text, nullptr, false);
  if (!clients.is_array()) return fail("stat", "the broker's file of client metrics is not understood");
  if (as_json) {
    print("{}\n", clients.dump());
    return 0;
  }
  if (clients.empty()) print("no client has pushed metrics (`tailrace client-metrics` says which shall)\n");
  for (const auto& client : clients) {
    print("{}  client id {}, {}, at {}: {} pushes, {}\n", client.value("client_instance_id", ""),
          client.value("client_id", ""), client.value("software", ""), client.value("address", ""),
          client.value("pushes", std::uint64_t{0}),
          human_bytes(static_cast<double>(client.value("bytes", std::uint64_t{0}))));
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, value] : client.value("metrics", nlohmann::ordered_json::object()).items()) {
      rows.push_back({"", name, value.dump()});
    }
    if (!rows.empty()) write_out(table(rows));
  }
  return 0;
}

int stat(const StatOptions& options) {
  std::string run = options.run;
  if (run.empty()) {
    std::string data = options.data;
    if (data.empty()) {
      auto home = default_data_directory();
      if (!home) return fail("stat", home.error().text());
      data = *home;
    }
    run = default_run_directory(absolute_log_dirs(data));
  }
  if (options.clients) return show_clients(run, options.json);
  if (options.groups) return show_group_lag(run, options.json, options.watch_s);
  using Clock = std::chrono::steady_clock;
  auto before = read_all(run);
  if (!before) return fail("stat", before.error());
  if (options.watch_s <= 0) {
    options.json ? print_json(*before) : print_for_people(*before, nullptr, 1, options.all);
    return 0;
  }
  for (auto then = Clock::now();;) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.watch_s));
    auto now = read_all(run);
    if (!now) return fail("stat", now.error());
    const double seconds = std::chrono::duration<double>(Clock::now() - then).count();
    then = Clock::now();
    if (options.json) {
      print_json(*now);
    } else {
      if (isatty(STDOUT_FILENO) == 1) write_out("\033[H\033[2J");
      print_for_people(*now, &*before, seconds, options.all);
    }
    std::fflush(stdout);
    before = std::move(now);
  }
}

}  // namespace

void add_stat_command(Command app, int& exit_code) {
  auto options = std::make_shared<StatOptions>();
  Command command = app.add_subcommand("stat", "Show what the processes of a running node count");
  const Option data =
      command.add_option("--data", options->data, "the node's data directory (default: that of `tailrace up`)")
          .type_name("DIR");
  command.add_option("--run", options->run, "the node's run directory, where it was set")
      .type_name("DIR")
      .excludes(data);
  const Option clients =
      command.add_flag("--clients", options->clients, "the metrics that clients have pushed, by client");
  const Option groups =
      command
          .add_flag("--groups", options->groups,
                    "how far consumer groups lag: in records, and by the age of the oldest unread one")
          .excludes(clients);
  command.add_option("--watch", options->watch_s, "again every so many seconds, with rates of counters")
      .in_range(0.1, 86400.0)
      .excludes(clients)
      .type_name("SECONDS");
  command.add_flag("--all", options->all, "also counters that are 0").excludes(groups);
  command.add_flag("--json", options->json, "JSON (with --watch: one value per line)");
  add_examples(command, {"stat", "stat --watch 1", "stat --data /srv/log --json", "stat --groups --watch 5"});
  command.callback([options, &exit_code] { exit_code = stat(*options); });
}

}  // namespace tailrace::cli
