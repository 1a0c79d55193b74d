// How a command says what became of the things that it was to change, and the replica assignments that such commands
// read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/admin.h"

namespace tailrace::cli {

struct Report {
  std::string_view command;
  std::string_view kind;                                // "topic"; empty: names say it
  std::string_view done;                                // "Created"
  kafka::ErrorCode tolerated = kafka::ErrorCode::NONE;  // counts as success, as something left alone
  bool json = false;
};
// One line (or JSON object) each; the exit status.
int report(const Report& report, const std::vector<Verdict>& verdicts);

// kafka-topics' --replica-assignment: brokers of each partition with colons, partitions with commas. Error: no number,
// a broker twice, or partitions with different numbers of replicas.
using Assignment = std::vector<std::vector<BrokerId>>;
Outcome<Assignment> parse_assignment(std::string_view text);

}  // namespace tailrace::cli
