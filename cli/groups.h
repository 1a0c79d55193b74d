// `tailrace groups`: which groups a command means, and the commands of it that have files of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/group_admin.h"

namespace tailrace::cli {

struct GroupsOptions : CommandOptions {
  std::vector<std::string> groups;
  bool all_groups = false;
};
// Adds GROUP, --group and --all-groups.
void add_groups(Command command, GroupsOptions& options);
// Empty: they are chosen. Else what is wrong with the command line.
std::string check_groups(const GroupsOptions& options);
// Sorted, each once.
Outcome<std::vector<std::string>> chosen_groups(Client& client, const GroupsOptions& options);

struct GroupsDescribeOptions : GroupsOptions {
  bool offsets = false;  // of these three at most one; none: offsets
  bool members = false;
  bool state = false;
  bool verbose = false;
  bool time = false;
};
int describe_groups(const GroupsDescribeOptions& options);

// A partition that a group reads, or has committed for.
struct LagRow {
  PartitionKey key;
  std::optional<CommittedOffset> committed;
  std::optional<Offset> end;            // exclusive; none: not known
  const GroupMember* member = nullptr;  // none: nobody reads it
  std::optional<TimestampMs> oldest_unread;
  [[nodiscard]] std::optional<std::int64_t> lag() const;
};
// The members with the most partitions first, each with its partitions in order; then what nobody reads. As kafka's
// tool, members without partitions are left out. Rows borrow from `group`. `end` and `oldest_unread` are the caller's.
std::vector<LagRow> lag_rows(const Group& group, const CommittedOffsets& committed);
// "a:0,1;b:3"; "-" for none.
std::string assignment_text(const std::vector<PartitionKey>& sorted_keys);

struct GroupsResetOptions : GroupsOptions {
  std::vector<std::string> topics;  // TOPIC or TOPIC:0,1
  bool all_topics = false;
  // Of these exactly one.
  bool to_earliest = false;
  bool to_latest = false;
  bool to_current = false;
  std::optional<std::int64_t> to_offset;
  std::optional<std::int64_t> shift_by;
  std::string to_datetime;
  std::string by_duration;
  std::string from_file;

  bool dry_run = false;
  bool execute = false;
  bool export_csv = false;
};
int reset_offsets(const GroupsResetOptions& options);

}  // namespace tailrace::cli
