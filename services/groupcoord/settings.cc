#include "services/groupcoord/settings.h"

#include <algorithm>

#include "services/node/config.h"
#include "services/node/settings.h"

namespace tailrace::groupcoord {
namespace {

std::int32_t int32_of(const node::Config& config, std::string_view key) {
  return static_cast<std::int32_t>(config.integer(key));
}

std::size_t size_of(const node::Config& config, std::string_view key) {
  return static_cast<std::size_t>(config.integer(key));
}

// The table of settings lets numbers through that do not fit into microseconds.
Duration duration_of(const node::Config& config, std::string_view key) {
  constexpr std::int64_t kLongestMs = std::int64_t{1'000} * 365 * 24 * 3'600'000;
  return std::chrono::milliseconds(std::clamp(config.integer(key), std::int64_t{0}, kLongestMs));
}

std::string lower_case(std::string text) {
  for (char& each : text) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return text;
}

}  // namespace

Settings settings_from(const node::Config& config) {
  Settings settings;
  settings.session_timeout_min_ms = int32_of(config, "group.min.session.timeout.ms");
  settings.session_timeout_max_ms = int32_of(config, "group.max.session.timeout.ms");
  settings.group_size_max = size_of(config, "group.max.size");
  settings.initial_rebalance_delay = duration_of(config, "group.initial.rebalance.delay.ms");

  settings.metadata_size_max = int32_of(config, "offset.metadata.max.bytes");
  settings.offsets_retention_ms = config.integer("offsets.retention.minutes") * 60'000;
  settings.offsets_retention_check = duration_of(config, "offsets.retention.check.interval.ms");

  settings.consumer_session_timeout_ms = int32_of(config, "group.consumer.session.timeout.ms");
  settings.consumer_session_timeout_min_ms = int32_of(config, "group.consumer.min.session.timeout.ms");
  settings.consumer_session_timeout_max_ms = int32_of(config, "group.consumer.max.session.timeout.ms");
  settings.consumer_heartbeat_interval_ms = int32_of(config, "group.consumer.heartbeat.interval.ms");
  settings.consumer_heartbeat_interval_min_ms = int32_of(config, "group.consumer.min.heartbeat.interval.ms");
  settings.consumer_heartbeat_interval_max_ms = int32_of(config, "group.consumer.max.heartbeat.interval.ms");
  settings.consumer_group_size_max = size_of(config, "group.consumer.max.size");
  settings.consumer_assignors.clear();
  const std::string assignors = config.text("group.consumer.assignors");
  for (const std::string_view each : node::split_list(assignors)) {
    settings.consumer_assignors.emplace_back(node::consumer_assignor(each));
  }
  settings.consumer_assignment_interval_ms = int32_of(config, "group.consumer.assignment.interval.ms");
  settings.consumer_assignment_interval_min_ms = int32_of(config, "group.consumer.min.assignment.interval.ms");
  settings.consumer_assignment_interval_max_ms = int32_of(config, "group.consumer.max.assignment.interval.ms");
  settings.consumer_regex_refresh = duration_of(config, "group.consumer.regex.refresh.interval.ms");
  const std::string policy = lower_case(config.text("group.consumer.migration.policy"));
  settings.may_upgrade = policy == "upgrade" || policy == "bidirectional";
  settings.may_downgrade = policy == "downgrade" || policy == "bidirectional";
  const std::string protocols = config.text("group.coordinator.rebalance.protocols");
  const std::vector<std::string_view> served = node::split_list(protocols);
  settings.serves_consumer_protocol = std::ranges::find(served, "consumer") != served.end();
  return settings;
}

}  // namespace tailrace::groupcoord
