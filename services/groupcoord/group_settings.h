// What holds for one consumer group (KIP-848): its own settings, else what was changed for all groups while the node
// runs, else what the node was started with; always within the node's bounds, which may have become narrower since the
// group was given a value (GroupConfig.evaluate). Looked up where it is needed, so a change holds from the next
// heartbeat on. PURE.
#pragma once

#include <cstdint>
#include <string_view>

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

struct Settings;

std::int32_t session_timeout_ms(const Settings& settings, const node::MetadataImage& image, std::string_view group);
std::int32_t heartbeat_interval_ms(const Settings& settings, const node::MetadataImage& image, std::string_view group);
std::int32_t assignment_interval_ms(const Settings& settings, const node::MetadataImage& image, std::string_view group);

}  // namespace tailrace::groupcoord
