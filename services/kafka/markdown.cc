#include "services/kafka/markdown.h"

#include <algorithm>

namespace tailrace::kafka {
namespace {

std::string range(std::int16_t first, std::int16_t last) {
  if (first == last) return std::to_string(first);
  return std::to_string(first) + "-" + std::to_string(last);
}

}  // namespace

FieldVersions MarkdownTable::within(FieldVersions versions) const {
  versions.first = std::max({versions.first, around_.first, info_.version_min});
  versions.last = std::min({versions.last, around_.last, info_.version_max});
  return versions;
}

void MarkdownTable::begin() {
  out_ += "### " + std::string(info_.name) + "\n\n";
  const bool is_record = info_.kind == MessageKind::record_key || info_.kind == MessageKind::record_value;
  const bool has_key = is_record || info_.kind == MessageKind::request || info_.kind == MessageKind::response;
  if (has_key) out_ += (is_record ? "Record type " : "Key ") + std::to_string(info_.api_key) + ", ";
  out_ += (has_key ? "versions " : "Versions ") + range(info_.version_min, info_.version_max);
  if (info_.flexible_from <= info_.version_max) out_ += ", flexible from " + std::to_string(info_.flexible_from);
  out_ += ".\n\n| field | type | versions | null | tag | default |\n|---|---|---|---|---|---|\n";
}

void MarkdownTable::row(const char* name, std::string_view type, FieldVersions versions, bool nullable,
                        const std::string& its_default, int tag) {
  const FieldVersions shown = within(versions);
  out_ += "| ";
  for (int i = 0; i < depth_; ++i) out_ += "&emsp;";
  out_ += std::string(name) + " | " + std::string(type) + " | " + range(shown.first, shown.last) + " | ";
  if (nullable) out_ += range(std::max(shown.first, versions.nullable_first), shown.last);
  out_ += " | ";
  if (tag >= 0) out_ += std::to_string(tag);
  out_ += " | " + its_default + " |\n";
}

}  // namespace tailrace::kafka
