// The hash of what a consumer group is subscribed to is Kafka's (tests/golden/groups).
#include "services/groupcoord/metadata_hash.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "services/kafka/messages/update_metadata.h"
#include "services/node/config.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

// A broker per rack and place among a partition's replicas.
class RackedCluster {
 public:
  void add_topic(const std::string& name, const Uuid& id, const std::vector<std::vector<std::string>>& racks) {
    kafka::UpdateMetadataRequest update;
    update.type = 1;
    update.topic_states.push_back({.topic_name = name, .topic_id = id});
    for (std::size_t i = 0; i < racks.size(); ++i) {
      auto& partition = update.topic_states[0].partition_states.emplace_back();
      partition.partition_index = static_cast<std::int32_t>(i);
      partition.leader = 1000;
      partition.replicas = {1000};  // nobody knows where it is
      for (const std::string& rack : racks[i]) partition.replicas.push_back(broker_in(rack));
    }
    for (const auto& [rack, broker] : brokers_) update.live_brokers.push_back({.id = broker, .rack = rack});
    image_ = image_->with(update, *node::make_config({}, ""));
  }
  [[nodiscard]] const node::MetadataImage& image() const { return *image_; }

 private:
  std::int32_t broker_in(const std::string& rack) {
    return brokers_.try_emplace(rack, static_cast<std::int32_t>(brokers_.size()) + 1).first->second;
  }

  std::map<std::string, std::int32_t> brokers_;
  std::shared_ptr<const node::MetadataImage> image_ = node::MetadataImage::empty();
};

TEST(MetadataHash, IsKafkas) {
  RackedCluster cluster;
  Subscriptions::Topics topics{{"there-is-no-such-topic", {.by_name = 1}}};
  std::ifstream in(TAILRACE_GOLDEN "/groups/metadata-hashes-4.4.txt");
  int compared = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    std::int64_t expected = 0;
    if (kind == "group") {
      words >> expected;
      EXPECT_EQ(metadata_hash(topics, cluster.image()), expected) << topics.size();
      ++compared;
      continue;
    }
    std::string name;
    std::string id_text;
    words >> name >> id_text >> expected;
    Uuid id;
    ASSERT_TRUE(Uuid::parse(id_text, id));
    std::vector<std::vector<std::string>> racks;
    for (std::string partition; words >> partition;) {
      racks.emplace_back();
      std::istringstream list(partition == "-" ? "" : partition);
      for (std::string rack; std::getline(list, rack, ',');) racks.back().push_back(rack);
    }
    cluster.add_topic(name, id, racks);
    topics[name].by_name = 1;
    const node::TopicImage* topic = cluster.image().find(std::string_view(name));
    ASSERT_NE(topic, nullptr);
    EXPECT_EQ(topic_hash(*topic, cluster.image()), expected) << name;
  }
  EXPECT_EQ(compared, 6);
}

TEST(MetadataHash, OfNothingIsZero) {
  EXPECT_EQ(metadata_hash({}, *node::MetadataImage::empty()), 0);
  EXPECT_EQ(metadata_hash({{"t", {.by_name = 1}}}, *node::MetadataImage::empty()), 0);
}

TEST(MetadataHash, TakesAnyNameOfARack) {
  RackedCluster cluster;
  Uuid id;
  id.bytes[3] = 1;
  std::map<std::int64_t, std::string> seen;
  for (const std::string rack : {"a", "ä", "日本", "\xF0\x9F\x9A\x80", "\xFF", "\xE2\x82", ""}) {
    cluster.add_topic("t", id, {{rack}});
    EXPECT_TRUE(seen.emplace(topic_hash(*cluster.image().find("t"), cluster.image()), rack).second) << rack;
  }
}

}  // namespace
}  // namespace tailrace::groupcoord
