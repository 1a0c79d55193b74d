#include "cli/verdicts.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "cli/config_text.h"
#include "cli/output.h"

namespace tailrace::cli {

int report(const Report& report, const std::vector<Verdict>& verdicts) {
  using nlohmann::ordered_json;
  int status = kExitDone;
  ordered_json list = ordered_json::array();
  for (const Verdict& verdict : verdicts) {
    const bool left_alone = !verdict.is_done() && verdict.error_code == kafka::wire(report.tolerated);
    if (!verdict.is_done() && !left_alone) {
      status = fail(report.command, fmt::format("{}: {}", verdict.name, verdict.error()));
    } else if (!report.json) {
      print("{} {}{}{}.\n", left_alone ? "Left alone" : report.done, report.kind, report.kind.empty() ? "" : " ",
            verdict.name);
    }
    if (report.json) {
      list.push_back({{report.kind.empty() ? "resource" : std::string(report.kind), verdict.name},
                      {"done", verdict.is_done()},
                      {"error", verdict.is_done() ? ordered_json() : ordered_json(verdict.error())}});
    }
  }
  if (report.json) print_json(list);
  return status;
}

Outcome<Assignment> parse_assignment(std::string_view text) {
  Assignment all;
  for (const std::string& partition : split_list(text)) {
    std::vector<BrokerId> brokers;
    std::string_view left = partition;
    while (!left.empty()) {
      const std::size_t colon = std::min(left.find(':'), left.size());
      const auto id = parse_integer(left.substr(0, colon));
      if (!id || *id < 0 || *id > std::numeric_limits<BrokerId>::max()) {
        return std::unexpected(fmt::format("\"{}\" is no list of brokers", partition));
      }
      if (std::find(brokers.begin(), brokers.end(), *id) != brokers.end()) {
        return std::unexpected(fmt::format("broker {} stands twice in {}", *id, partition));
      }
      brokers.push_back(static_cast<BrokerId>(*id));
      left = colon < left.size() ? left.substr(colon + 1) : std::string_view();
    }
    if (!all.empty() && all.front().size() != brokers.size()) {
      return std::unexpected(std::string("partitions have different numbers of replicas"));
    }
    all.push_back(std::move(brokers));
  }
  if (all.empty()) return std::unexpected(std::string("no partition is named"));
  return all;
}

}  // namespace tailrace::cli
