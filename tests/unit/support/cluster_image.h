// The cluster as groups see it: topics that come and go, as what the controller sends makes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/kafka/messages/update_metadata.h"
#include "services/node/config.h"
#include "services/node/metadata_image.h"

namespace tailrace {

class ClusterImage {
 public:
  using Image = std::shared_ptr<const node::MetadataImage>;

  static Uuid id_of(std::uint8_t number) {
    Uuid id;
    id.bytes[0] = number;
    return id;
  }

  // `id` 0: not known, as of older controllers.
  Image add(std::string_view topic, std::uint8_t id, std::int32_t partitions) {
    return update(topic, id, partitions, 1);
  }
  Image remove(std::string_view topic) {
    const node::TopicImage* const known = image_->find(topic);
    return known == nullptr
               ? image_
               : update(topic, known->id.bytes[0], static_cast<std::int32_t>(known->partitions.size()), -2);
  }
  // Another one of the same name, in one step.
  Image replace(std::string_view topic, std::uint8_t id, std::int32_t partitions) { return add(topic, id, partitions); }
  [[nodiscard]] const Image& image() const { return image_; }

 private:
  Image update(std::string_view topic, std::uint8_t id, std::int32_t partitions, BrokerId leader) {
    kafka::UpdateMetadataRequest update;
    update.type = 1;  // what it does not name stays
    update.live_brokers.push_back({.id = 1});
    auto& state = update.topic_states.emplace_back();
    state.topic_name = topic;
    state.topic_id = id_of(id);
    for (std::int32_t i = 0; i < partitions; ++i) {
      state.partition_states.push_back({.partition_index = i, .leader = leader, .isr = {1}, .replicas = {1}});
    }
    image_ = image_->with(update, config_);
    return image_;
  }

  node::Config config_ = *node::make_config({}, {});
  Image image_ = node::MetadataImage::empty();
};

}  // namespace tailrace
