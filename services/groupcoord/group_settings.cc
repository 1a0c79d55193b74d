#include "services/groupcoord/group_settings.h"

#include <algorithm>
#include <optional>

#include "services/groupcoord/settings.h"
#include "services/node/metadata_image.h"
#include "services/node/settings.h"

namespace tailrace::groupcoord {
namespace {

std::optional<std::int64_t> value_in(const node::ConfigMap& settings, std::string_view key) {
  const auto at = settings.find(key);
  return at == settings.end() ? std::nullopt : std::optional(node::to_integer(at->second));
}

std::optional<std::int64_t> own_value(const node::MetadataImage& image, std::string_view group, std::string_view key) {
  const node::MetadataImage::GroupConfigs& groups = *image.group_configs();
  const auto at = groups.find(group);
  return at == groups.end() ? std::nullopt : value_in(at->second, key);
}

std::int32_t within(std::int64_t value, std::int32_t min, std::int32_t max) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, min, max));  // make_config has seen to min <= max
}

}  // namespace

std::int32_t session_timeout_ms(const Settings& settings, const node::MetadataImage& image, std::string_view group) {
  const auto own = own_value(image, group, "consumer.session.timeout.ms");
  if (!own) return settings.consumer_session_timeout_ms;
  return within(*own, settings.consumer_session_timeout_min_ms, settings.consumer_session_timeout_max_ms);
}

std::int32_t heartbeat_interval_ms(const Settings& settings, const node::MetadataImage& image, std::string_view group) {
  const auto own = own_value(image, group, "consumer.heartbeat.interval.ms");
  if (!own) return settings.consumer_heartbeat_interval_ms;
  return within(*own, settings.consumer_heartbeat_interval_min_ms, settings.consumer_heartbeat_interval_max_ms);
}

// The one of the three that can be changed for all groups while the node runs.
std::int32_t assignment_interval_ms(const Settings& settings, const node::MetadataImage& image,
                                    std::string_view group) {
  constexpr std::string_view kForAll = "group.consumer.assignment.interval.ms";
  auto changed = own_value(image, group, "consumer.assignment.interval.ms");
  if (!changed) changed = value_in(image.of_this_broker(), kForAll);
  if (!changed) changed = value_in(image.of_all_brokers(), kForAll);
  if (!changed) return settings.consumer_assignment_interval_ms;
  return within(*changed, settings.consumer_assignment_interval_min_ms, settings.consumer_assignment_interval_max_ms);
}

}  // namespace tailrace::groupcoord
