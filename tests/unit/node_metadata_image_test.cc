// The image of a cluster, made of what a controller sends one after the other.
#include "services/node/metadata_image.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/update_metadata.h"

namespace tailrace::node {
namespace {

using kafka::ConfigImage;
using kafka::UpdateMetadataRequest;
using State = UpdateMetadataRequest::UpdateMetadataPartitionState;
using Image = std::shared_ptr<const MetadataImage>;

constexpr std::int32_t kDeleted = -2;
constexpr BrokerId kThisBroker = 3;

Uuid id_of(std::uint8_t number) {
  Uuid id;
  id.bytes[0] = number;
  return id;
}

Config config_of(std::string_view text) {
  const auto config = make_config({}, text);
  EXPECT_TRUE(config.has_value());
  return config ? *config : Config{};
}

State state(std::int32_t partition, std::int32_t leader, std::int32_t epoch = 0) {
  return {
      .partition_index = partition, .leader = leader, .leader_epoch = epoch, .isr = {leader}, .replicas = {leader, 9}};
}

UpdateMetadataRequest topic(std::string_view name, Uuid id, std::vector<State> states) {
  UpdateMetadataRequest update;
  update.type = 1;  // incremental
  update.topic_states.push_back({.topic_name = name, .topic_id = id, .partition_states = std::move(states)});
  return update;
}

ConfigImage settings(std::int8_t type, std::string_view name, std::vector<ConfigImage::Entry> entries) {
  ConfigImage image;
  image.entities.push_back({.type = type, .name = name, .entries = std::move(entries)});
  return image;
}

class MetadataImageTest : public ::testing::Test {
 protected:
  void see(const UpdateMetadataRequest& update) { image_ = image_->with(update, fixed_); }
  void see(const ConfigImage& settings) { image_ = image_->with(settings, fixed_, kThisBroker); }
  [[nodiscard]] const PartitionImage* partition(std::string_view name, std::int32_t index) const {
    const TopicImage* const topic = image_->find(name);
    return topic == nullptr ? nullptr : topic->find(index);
  }
  // Every topic is found by its name and, if it has one, by its id, and nothing else is.
  static void check(const MetadataImage& image) {
    for (const auto& [name, topic] : image.topics()) {
      EXPECT_EQ(name, topic->name);
      EXPECT_FALSE(topic->partitions.empty());
      EXPECT_EQ(image.find(name), topic.get());
      if (!topic->id.is_zero()) {
        EXPECT_EQ(image.find(topic->id), topic.get());
      }
    }
    EXPECT_EQ(image.find(Uuid{}), nullptr);
  }

  Config fixed_ = config_of("log.retention.ms=1000\nmin.insync.replicas=2\n");
  Image image_ = MetadataImage::empty();
};

TEST_F(MetadataImageTest, NothingIsKnownAtFirst) {
  EXPECT_TRUE(image_->topics().empty());
  EXPECT_TRUE(image_->brokers().empty());
  EXPECT_EQ(image_->controller_id(), -1);
  EXPECT_EQ(image_->find("t"), nullptr);
  EXPECT_EQ(image_->find(id_of(1)), nullptr);
}

TEST_F(MetadataImageTest, TakesTopicsBrokersAndTheController) {
  UpdateMetadataRequest update = topic("t", id_of(1), {state(0, 1, 5), state(2, -1, 6)});
  update.topic_states[0].partition_states[1].offline_replicas = {9};
  update.controller_id = 2;
  update.live_brokers.push_back({.id = 1,
                                 .endpoints = {{.port = 9092, .host = "h", .listener = "PLAINTEXT"},
                                               {.port = 9093, .host = "i", .listener = "X"}},
                                 .rack = "r"});
  update.live_brokers.push_back({.id = 2});
  see(update);
  check(*image_);
  const TopicImage* const found = image_->find(id_of(1));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "t");
  ASSERT_NE(found->find(0), nullptr);
  EXPECT_EQ(found->find(0)->leader, 1);
  EXPECT_EQ(found->find(0)->leader_epoch, 5);
  EXPECT_EQ(found->find(0)->replicas, (std::vector<BrokerId>{1, 9}));
  EXPECT_EQ(found->find(0)->in_sync, (std::vector<BrokerId>{1}));
  EXPECT_TRUE(found->find(0)->offline.empty());
  EXPECT_EQ(found->find(1), nullptr);
  EXPECT_EQ(found->find(2)->leader, -1);
  EXPECT_EQ(found->find(2)->offline, (std::vector<BrokerId>{9}));
  EXPECT_EQ(image_->controller_id(), 2);
  ASSERT_EQ(image_->brokers().size(), 2u);
  EXPECT_EQ(image_->brokers()[0].listeners[1].name, "X");
  EXPECT_EQ(image_->brokers()[0].listeners[1].host, "i");
  EXPECT_EQ(image_->brokers()[0].listeners[1].port, 9093);
  EXPECT_EQ(image_->brokers()[0].rack, "r");
  EXPECT_FALSE(image_->brokers()[1].rack);
}

TEST_F(MetadataImageTest, AnImageNeverChanges) {
  see(topic("t", id_of(1), {state(0, 1)}));
  see(topic("u", id_of(2), {state(0, 1)}));
  const Image before = image_;
  const TopicImage* const t = before->find("t");
  see(topic("t", id_of(1), {state(0, 2, 1), state(1, 2)}));
  see(topic("u", id_of(2), {state(0, kDeleted)}));
  see(settings(kafka::kTopicEntity, "t", {{"retention.ms", "5"}}));
  EXPECT_EQ(before->find("t"), t);
  EXPECT_EQ(before->find("t")->find(0)->leader, 1);
  EXPECT_EQ(before->find("t")->config.retention_ms, 1000);
  EXPECT_NE(before->find("u"), nullptr);
  EXPECT_NE(before->find(id_of(2)), nullptr);
  check(*before);
  EXPECT_EQ(partition("t", 0)->leader, 2);
  EXPECT_EQ(image_->find("u"), nullptr);
  EXPECT_EQ(image_->find(id_of(2)), nullptr);
  check(*image_);
}

TEST_F(MetadataImageTest, WhatDidNotChangeIsShared) {
  see(topic("t", id_of(1), {state(0, 1)}));
  const Image before = image_;
  see(topic("u", id_of(2), {state(0, 1)}));
  see(settings(kafka::kTopicEntity, "u", {{"retention.ms", "5"}}));
  EXPECT_EQ(image_->find("t"), before->find("t"));
}

TEST_F(MetadataImageTest, PartitionsThatAreNotNamedStay) {
  see(topic("t", id_of(1), {state(0, 1), state(1, 1)}));
  see(topic("t", id_of(1), {state(1, 2, 7)}));
  EXPECT_EQ(partition("t", 0)->leader, 1);
  EXPECT_EQ(partition("t", 1)->leader, 2);
  EXPECT_EQ(partition("t", 1)->leader_epoch, 7);
}

TEST_F(MetadataImageTest, AFullUpdateLeavesNothingElse) {
  see(topic("t", id_of(1), {state(0, 1), state(1, 1)}));
  see(topic("u", id_of(2), {state(0, 1)}));
  see(settings(kafka::kTopicEntity, "t", {{"retention.ms", "5"}}));
  UpdateMetadataRequest full = topic("t", id_of(1), {state(1, 2)});
  full.type = 2;
  see(full);
  EXPECT_EQ(image_->find("u"), nullptr);
  EXPECT_EQ(image_->find(id_of(2)), nullptr);
  EXPECT_EQ(partition("t", 0), nullptr);
  EXPECT_EQ(partition("t", 1)->leader, 2);
  EXPECT_EQ(image_->find("t")->config.retention_ms, 5);
  check(*image_);
}

TEST_F(MetadataImageTest, TheBrokersAreThoseOfTheLastUpdate) {
  UpdateMetadataRequest update;
  update.live_brokers.push_back({.id = 1});
  update.live_brokers.push_back({.id = 2});
  see(update);
  update.live_brokers.erase(update.live_brokers.begin());
  see(update);
  ASSERT_EQ(image_->brokers().size(), 1u);
  EXPECT_EQ(image_->brokers()[0].id, 2);
}

TEST_F(MetadataImageTest, ADeletedTopicGoesWithItsLastPartition) {
  see(topic("t", id_of(1), {state(0, 1), state(1, 1)}));
  see(topic("t", id_of(1), {state(0, kDeleted)}));
  ASSERT_NE(image_->find("t"), nullptr);
  EXPECT_EQ(partition("t", 0), nullptr);
  see(topic("t", id_of(1), {state(1, kDeleted)}));
  EXPECT_EQ(image_->find("t"), nullptr);
  EXPECT_EQ(image_->find(id_of(1)), nullptr);
  see(topic("t", id_of(1), {state(1, kDeleted)}));  // once more: nothing
  EXPECT_TRUE(image_->topics().empty());
}

TEST_F(MetadataImageTest, ATopicMadeAnewHasNothingOfTheOldOne) {
  see(topic("t", id_of(1), {state(0, 1), state(1, 1), state(2, 1)}));
  see(topic("t", id_of(2), {state(0, 2)}));
  EXPECT_EQ(image_->find(id_of(1)), nullptr);
  EXPECT_EQ(image_->find(id_of(2))->partitions.size(), 1u);
  see(topic("t", id_of(1), {state(0, kDeleted), state(1, kDeleted), state(2, kDeleted)}));  // came late
  EXPECT_EQ(partition("t", 0)->leader, 2);
  EXPECT_NE(image_->find(id_of(2)), nullptr);
  check(*image_);
}

// UpdateMetadata before version 7 has no ids, before version 5 no topics either.
TEST_F(MetadataImageTest, OlderMessagesGoByName) {
  UpdateMetadataRequest old;
  for (const char* name : {"t", "u", "t"}) {
    old.ungrouped_partition_states.push_back(
        state(static_cast<std::int32_t>(old.ungrouped_partition_states.size()), 1));
    old.ungrouped_partition_states.back().topic_name = name;
  }
  see(old);
  check(*image_);
  EXPECT_EQ(image_->find("t")->partitions.size(), 2u);
  EXPECT_EQ(image_->find("u")->partitions.size(), 1u);
  see(topic("u", Uuid{}, {state(5, 2)}));
  EXPECT_EQ(image_->find("u")->partitions.size(), 2u);
  see(topic("u", id_of(1), {state(0, 2)}));  // now with an id
  EXPECT_EQ(image_->find("u")->partitions.size(), 1u);
  see(topic("u", Uuid{}, {state(0, 4)}));
  EXPECT_EQ(image_->find(id_of(1))->find(0)->leader, 4);
  check(*image_);
  see(topic("u", Uuid{}, {state(0, kDeleted)}));
  EXPECT_EQ(image_->find("u"), nullptr);
  old.ungrouped_partition_states.pop_back();
  for (State& each : old.ungrouped_partition_states) each.leader = kDeleted;
  see(old);
  EXPECT_EQ(image_->topics().size(), 1u);
  EXPECT_EQ(image_->find("t")->partitions.size(), 1u);
}

TEST_F(MetadataImageTest, ATopicsSettingsAreItsOwnThenTheBrokersThenTheFiles) {
  see(topic("t", id_of(1), {state(0, 1)}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 1000);
  EXPECT_EQ(image_->find("t")->config.min_insync_replicas, 2);
  see(settings(kafka::kBrokerEntity, "", {{"log.retention.ms", "2000"}}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 2000);
  see(settings(kafka::kBrokerEntity, "3", {{"log.retention.ms", "3000"}}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 3000);
  see(settings(kafka::kBrokerEntity, "4", {{"log.retention.ms", "9000"}}));  // another broker's
  EXPECT_EQ(image_->find("t")->config.retention_ms, 3000);
  see(settings(kafka::kTopicEntity, "t", {{"retention.ms", "4000"}}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 4000);
  EXPECT_EQ(image_->find("t")->overrides, (ConfigMap{{"retention.ms", "4000"}}));
  check(*image_);
  see(settings(kafka::kTopicEntity, "t", {}));  // and back
  EXPECT_EQ(image_->find("t")->config.retention_ms, 3000);
  see(settings(kafka::kBrokerEntity, "3", {}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 2000);
  see(settings(kafka::kBrokerEntity, "", {}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 1000);
  EXPECT_TRUE(image_->of_all_brokers().empty());
  EXPECT_TRUE(image_->of_this_broker().empty());
}

TEST_F(MetadataImageTest, SettingsMayComeBeforeTheirTopic) {
  see(settings(kafka::kTopicEntity, "t",
               {{"retention.ms", "4000"}, {"cleanup.policy", "compact"}, {"gone", std::nullopt}}));
  see(topic("t", id_of(1), {state(0, 1)}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 4000);
  EXPECT_TRUE(image_->find("t")->config.cleanup_compact);
  EXPECT_EQ(image_->find("t")->overrides.size(), 2u);  // an entry without a value is none
  see(topic("t", id_of(2), {state(0, 1)}));            // made anew: the settings are of the name
  EXPECT_EQ(image_->find("t")->config.retention_ms, 4000);
}

TEST_F(MetadataImageTest, WholeSettingsLeaveNothingElse) {
  see(topic("t", id_of(1), {state(0, 1)}));
  see(topic("u", id_of(2), {state(0, 1)}));
  see(settings(kafka::kTopicEntity, "t", {{"retention.ms", "4000"}}));
  see(settings(kafka::kBrokerEntity, "3", {{"log.retention.ms", "3000"}}));
  ConfigImage whole = settings(kafka::kTopicEntity, "u", {{"retention.ms", "7000"}});
  whole.is_whole = true;
  see(whole);
  EXPECT_EQ(image_->find("t")->config.retention_ms, 1000);
  EXPECT_EQ(image_->find("u")->config.retention_ms, 7000);
  EXPECT_TRUE(image_->of_this_broker().empty());
  see(topic("v", id_of(3), {state(0, 1)}));
  EXPECT_EQ(image_->find("v")->config.retention_ms, 1000);
}

TEST_F(MetadataImageTest, SettingsOfGroupsComeAndGoByName) {
  see(settings(kafka::kGroupEntity, "g", {{"consumer.session.timeout.ms", "50000"}}));
  see(settings(kafka::kGroupEntity, "h", {{"consumer.session.timeout.ms", "51000"}}));
  const auto groups = image_->group_configs();
  EXPECT_EQ(groups->at("g").at("consumer.session.timeout.ms"), "50000");
  EXPECT_EQ(groups->size(), 2u);
  see(settings(kafka::kTopicEntity, "g", {{"retention.ms", "7000"}}));
  see(settings(kafka::kGroupEntity, "g", {{"consumer.session.timeout.ms", "50000"}}));
  EXPECT_EQ(image_->group_configs(), groups) << "the same object: nothing changed";
  see(settings(kafka::kGroupEntity, "g", {}));
  EXPECT_EQ(image_->group_configs()->size(), 1u);
  ConfigImage whole = settings(kafka::kTopicEntity, "u", {{"retention.ms", "7000"}});
  whole.is_whole = true;
  see(whole);
  EXPECT_TRUE(image_->group_configs()->empty());
}

TEST_F(MetadataImageTest, QuotasAndClientMetricsComeAndGoByName) {
  see(settings(kafka::kQuotaEntity, "users/alice", {{"producer_byte_rate", "1000"}}));
  see(settings(kafka::kClientMetricsEntity, "all", {{"interval.ms", "1000"}}));
  const auto quotas = image_->quotas();
  const auto metrics = image_->client_metrics();
  ASSERT_TRUE(quotas->contains("users/alice"));
  EXPECT_EQ(quotas->at("users/alice").producer_byte_rate, 1000);
  EXPECT_EQ(metrics->at("all").at("interval.ms"), "1000");

  see(settings(kafka::kTopicEntity, "t", {{"retention.ms", "7000"}}));
  EXPECT_EQ(image_->quotas(), quotas) << "the same object: nothing changed";
  EXPECT_EQ(image_->client_metrics(), metrics);

  see(settings(kafka::kQuotaEntity, "users/alice", {}));
  EXPECT_TRUE(image_->quotas()->empty());
  ConfigImage whole = settings(kafka::kTopicEntity, "u", {{"retention.ms", "7000"}});
  whole.is_whole = true;
  see(whole);
  EXPECT_TRUE(image_->client_metrics()->empty());
}

TEST_F(MetadataImageTest, BrokenSettingsOfOthersAreAsNone) {
  see(settings(kafka::kTopicEntity, "t", {{"retention.ms", "soon"}, {"no.such.key", "1"}}));
  see(settings(77, "t", {{"retention.ms", "1"}}));
  see(topic("t", id_of(1), {state(0, 1)}));
  EXPECT_EQ(image_->find("t")->config.retention_ms, 1000);
}

TEST_F(MetadataImageTest, WhateverComesEveryTopicIsFoundByNameAndId) {
  std::mt19937 random(1);
  const std::vector<std::string> names = {"a", "b", "c"};
  std::vector<Image> kept;
  for (int i = 0; i < 3000; ++i) {
    const auto number = static_cast<std::uint8_t>(random() % 4);
    // An id is one name's for ever.
    const auto name = random() % 3;
    UpdateMetadataRequest update =
        topic(names[name], number == 0 ? Uuid{} : id_of(static_cast<std::uint8_t>(number + 10 * name)),
              {state(static_cast<std::int32_t>(random() % 2), random() % 3 == 0 ? kDeleted : 1)});
    if (random() % 20 == 0) update.type = 2;
    see(update);
    check(*image_);
    if (random() % 50 == 0) kept.push_back(image_);
  }
  for (const Image& each : kept) check(*each);
}

}  // namespace
}  // namespace tailrace::node
