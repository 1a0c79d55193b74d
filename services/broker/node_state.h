// NodeState: what the parts of the broker share: the loop, the configuration, the engine, the payload memory, the
// current image of the cluster, and who this node is. Made by main, constant but for the image and the identity that
// zkbridge tells.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/api/client.h"
#include "engine/io/io.h"
#include "engine/ipc/arena.h"
#include "services/broker/quotas.h"
#include "services/node/config.h"
#include "services/node/metadata_image.h"

namespace tailrace::broker {

struct NodeState {
  NodeState(io::Io& loop, const node::Config& settings, api::Client& client, ipc::Arena& memory);

  io::Io& io;
  const node::Config& config;
  api::Client& engine;
  ipc::Arena& arena;

  std::shared_ptr<const node::MetadataImage> image = node::MetadataImage::empty();
  std::string cluster_id;
  BrokerId node_id = -1;
  QuotaWindows quota_windows;
  Quotas quotas;

  // The clock of quotas.
  [[nodiscard]] TimestampMs quota_time() const { return io.now().microseconds / 1000; }
  [[nodiscard]] node::BrokerConfigs broker_configs() const {
    return {config, image->of_this_broker(), image->of_all_brokers()};
  }
};

}  // namespace tailrace::broker
