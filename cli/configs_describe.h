// `tailrace configs describe`: settings of resources and where their values come from; quotas of users, clients, ips.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/entities.h"

namespace tailrace::cli {

struct ConfigsDescribeOptions : CommandOptions {
  EntityArguments entities;
  bool all = false;
  std::vector<std::string> names;  // of settings; none: all
};

int describe_configs(const ConfigsDescribeOptions& options);

// A block per resource, or JSON; the exit status. Without `all` only what was set at run time.
int print_settings(std::string_view command, const std::vector<ResourceSettings>& settings, bool all, bool json);

}  // namespace tailrace::cli
