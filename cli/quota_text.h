// What quotas there are, how people write them, and how they are shown. Pure but for the printing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/admin.h"

namespace tailrace::cli {

// "producer_byte_rate=10MiB", "request_percentage=25.5". Error: no quota of this name for the entity, or no positive
// number.
Outcome<QuotaChange> parse_quota(const QuotaEntity& entity, std::string_view key, std::string_view value);
// Error: no quota of this name for the entity.
Outcome<void> check_quota_name(const QuotaEntity& entity, std::string_view key);

// "10.0 MiB/s", "25.5 %", "20 connections/s".
std::string quota_value_text(std::string_view key, double value);

// A table of all, or JSON.
void print_quotas(const std::vector<QuotaEntry>& entries, bool json);

}  // namespace tailrace::cli
