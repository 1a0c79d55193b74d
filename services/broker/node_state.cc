#include "services/broker/node_state.h"

namespace tailrace::broker {
namespace {

QuotaWindows windows(std::int64_t count, std::int64_t seconds) { return {.count = count, .window_ms = 1000 * seconds}; }

}  // namespace

NodeState::NodeState(io::Io& loop, const node::Config& settings, api::Client& client, ipc::Arena& memory)
    : io(loop),
      config(settings),
      engine(client),
      arena(memory),
      quota_windows(windows(config.integer("quota.window.num"), config.integer("quota.window.size.seconds"))),
      quotas(quota_windows, windows(config.integer("controller.quota.window.num"),
                                    config.integer("controller.quota.window.size.seconds"))) {}

}  // namespace tailrace::broker
