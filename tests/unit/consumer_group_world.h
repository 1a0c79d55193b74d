// What tests of consumer groups need of the world around one: topics, time, chance, and the log that its records go to.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "services/groupcoord/consumer_group.h"
#include "services/groupcoord/effects.h"
#include "services/groupcoord/image_change.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/node/config.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {

struct World {
  World() : context{settings, chance, node::MetadataImage::empty()} {}

  // Also to give one more partitions.
  void set_topic(const std::string& name, std::int32_t partitions) {
    Uuid& id = topic_ids[name];
    if (id.is_zero()) id.bytes[14] = 1, id.bytes[15] = ++last_topic;
    send(name, id, partitions, 1);
  }
  void delete_topic(const std::string& name) {
    constexpr std::int32_t kDeleted = -2;
    const auto* topic = context.image->find(std::string_view(name));
    send(name, topic_ids[name], static_cast<std::int32_t>(topic->partitions.size()), kDeleted);
    topic_ids.erase(name);
  }
  // A group's own setting, or of type broker one of all brokers; without a value it goes.
  void set_config(std::int8_t type, std::string_view name, std::string_view key,
                  std::optional<std::string_view> value) {
    kafka::ConfigImage settings;
    auto& entity = settings.entities.emplace_back(kafka::ConfigImage::Entity{.type = type, .name = name});
    if (value) entity.entries.push_back({.key = key, .value = *value});
    context.image = context.image->with(settings, *node::make_config({}, ""), 1);
  }
  [[nodiscard]] Uuid id(const std::string& name) const { return topic_ids.at(name); }
  void pass(std::int64_t milliseconds) {
    moment.now = moment.now + std::chrono::milliseconds(milliseconds);
    moment.wall_ms += milliseconds;
  }

  // What was done to topics since the last time.
  void tell(ConsumerGroup& group) {
    group.on_image(ImageChange::between(*told, *context.image));
    told = context.image;
  }

  // The group as a restart would find it.
  std::unique_ptr<ConsumerGroup> reloaded(const std::string& group) {
    auto loaded = std::make_unique<ConsumerGroup>(context, group);
    for (const Record& record : log) {
      const auto value = record.value ? std::optional<Bytes>(*record.value) : std::nullopt;
      if (loaded->apply(record.key, value) == ConsumerGroup::Fold::gone) {
        loaded = std::make_unique<ConsumerGroup>(context, group);
      }
    }
    return loaded;
  }

  // What the log cleaner leaves: of each key the last record.
  void compact() {
    std::map<std::vector<std::byte>, std::size_t> last;
    for (std::size_t i = 0; i < log.size(); ++i) last[log[i].key] = i;
    std::vector<Record> kept;
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (last[log[i].key] == i) kept.push_back(std::move(log[i]));
    }
    log = std::move(kept);
  }

  Settings settings;
  std::mt19937_64 random{848};
  Chance chance = [this] { return random(); };
  Context context;
  Moment moment{Instant{1'000'000'000}, 1'700'000'000'000};
  std::map<std::string, Uuid> topic_ids;
  std::vector<Record> log;
  std::shared_ptr<const node::MetadataImage> told = node::MetadataImage::empty();  // what groups know

 private:
  void send(const std::string& name, const Uuid& id, std::int32_t partitions, std::int32_t leader) {
    kafka::UpdateMetadataRequest update;
    update.type = 1;  // incremental
    update.topic_states.push_back({.topic_name = name, .topic_id = id});
    for (std::int32_t i = 0; i < partitions; ++i) {
      update.topic_states[0].partition_states.push_back(
          {.partition_index = i, .leader = leader, .isr = {1}, .replicas = {1}});
    }
    context.image = context.image->with(update, *node::make_config({}, ""));
  }

  std::uint8_t last_topic = 0;
};

struct HeartbeatAnswer {
  kafka::ErrorCode error;
  std::string message;
  std::string member_id;
  std::int32_t epoch = 0;
  std::int32_t interval_ms = 0;
  std::optional<Assignment> assignment;
};

inline HeartbeatAnswer read_answer(const Reply& reply) {
  const auto decoded =
      kafka::decode_exactly<kafka::ConsumerGroupHeartbeatResponse>(reply.body.bytes(), reply.call.api_version);
  EXPECT_TRUE(decoded.has_value());
  HeartbeatAnswer answer{static_cast<kafka::ErrorCode>(decoded->error_code),
                         std::string(decoded->error_message.value_or("")),
                         std::string(decoded->member_id.value_or("")),
                         decoded->member_epoch,
                         decoded->heartbeat_interval_ms,
                         std::nullopt};
  if (decoded->assignment) {
    answer.assignment.emplace();
    for (const auto& topic : decoded->assignment->topic_partitions) {
      (*answer.assignment)[topic.topic_id] = topic.partitions;
    }
  }
  return answer;
}

// Owns what a request says.
struct HeartbeatWords {
  std::string member_id;
  std::int32_t epoch = 0;
  std::optional<std::string> instance_id;
  std::optional<std::vector<std::string>> topics;
  std::optional<std::string> regex;
  std::optional<std::string> assignor;
  std::optional<Assignment> owned;
  std::int32_t rebalance_timeout_ms = -1;
  std::string group = "g";

  [[nodiscard]] kafka::ConsumerGroupHeartbeatRequest request() const {
    kafka::ConsumerGroupHeartbeatRequest made{.group_id = group,
                                              .member_id = member_id,
                                              .member_epoch = epoch,
                                              .instance_id = instance_id,
                                              .rebalance_timeout_ms = rebalance_timeout_ms};
    if (topics) made.subscribed_topic_names.emplace(topics->begin(), topics->end());
    made.subscribed_topic_regex = regex;
    made.server_assignor = assignor;
    if (owned) {
      made.topic_partitions.emplace();
      for (const auto& [topic, partitions] : *owned) {
        made.topic_partitions->push_back({.topic_id = topic, .partitions = partitions});
      }
    }
    return made;
  }
};

// The first heartbeat of a member.
inline HeartbeatWords joining(const std::string& member_id, std::vector<std::string> topics) {
  return {.member_id = member_id,
          .instance_id = {},
          .topics = std::move(topics),
          .regex = {},
          .assignor = {},
          .owned = Assignment{},
          .rebalance_timeout_ms = 60'000};
}

// One that says that nothing has changed.
inline HeartbeatWords alive(const std::string& member_id, std::int32_t epoch) {
  return {.member_id = member_id,
          .epoch = epoch,
          .instance_id = {},
          .topics = {},
          .regex = {},
          .assignor = {},
          .owned = {}};
}

// One that says what the member has.
inline HeartbeatWords having(const std::string& member_id, std::int32_t epoch, Assignment owned) {
  HeartbeatWords words = alive(member_id, epoch);
  words.owned = std::move(owned);
  return words;
}

}  // namespace tailrace::groupcoord
