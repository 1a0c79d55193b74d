// What differs between two images of a cluster.
#include "services/groupcoord/image_change.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/kafka/messages/update_metadata.h"
#include "tests/unit/consumer_group_world.h"
#include "tests/unit/support/cluster_image.h"

namespace tailrace::groupcoord {
namespace {

using Names = std::vector<std::string_view>;

TEST(ImageChange, NamesTopicsThatCameWentAndChanged) {
  World world;
  for (const char* name : {"a", "b", "d", "e"}) world.set_topic(name, 2);
  const auto before = world.context.image;
  EXPECT_TRUE(ImageChange::between(*before, *before).topics.empty());
  world.delete_topic("a");
  world.set_topic("c", 1);
  world.set_topic("d", 3);
  world.delete_topic("e");
  const auto now = world.context.image;
  ImageChange change = ImageChange::between(*before, *now);
  EXPECT_EQ(change.topics, (Names{"a", "c", "d", "e"}));
  EXPECT_TRUE(change.has_new_topics);
  EXPECT_FALSE(change.have_racks_changed);
  change = ImageChange::between(*now, *before);
  EXPECT_EQ(change.topics, (Names{"a", "c", "d", "e"}));
  world.set_topic("b", 5);
  change = ImageChange::between(*now, *world.context.image);
  EXPECT_EQ(change.topics, (Names{"b"}));
  EXPECT_FALSE(change.has_new_topics);
}

TEST(ImageChange, TellsDeletedTopicsFromChangedOnes) {
  const auto deleted = [](const ClusterImage::Image& before, const ClusterImage::Image& now) {
    std::map<std::string, Uuid> topics;
    for (const DeletedTopic& topic : ImageChange::between(*before, *now).deleted_topics) topics[topic.name] = topic.id;
    return topics;
  };
  using Topics = std::map<std::string, Uuid>;
  ClusterImage cluster;
  for (const char* topic : {"gone", "grown", "old", "replaced"}) cluster.add(topic, 1, 2);
  const auto before = cluster.add("z-gone", 2, 1);
  for (const char* topic : {"gone", "z-gone"}) cluster.remove(topic);
  cluster.add("grown", 1, 3);
  cluster.add("old", 0, 2);  // an older controller has no ids
  const auto now = cluster.replace("replaced", 3, 2);
  EXPECT_EQ(deleted(before, now), (Topics{{"gone", ClusterImage::id_of(1)},
                                          {"replaced", ClusterImage::id_of(1)},
                                          {"z-gone", ClusterImage::id_of(2)}}));
  EXPECT_EQ(deleted(now, now), Topics{});
  EXPECT_EQ(deleted(before, node::MetadataImage::empty()), Topics{}) << "nothing has been heard of the cluster yet";
}

TEST(ImageChange, SeesThatABrokerMoved) {
  const auto with_broker_in = [](std::string_view rack) {
    kafka::UpdateMetadataRequest update;
    update.type = 1;
    update.live_brokers.push_back({.id = 1, .rack = rack});
    return node::MetadataImage::empty()->with(update, *node::make_config({}, ""));
  };
  EXPECT_FALSE(ImageChange::between(*with_broker_in("a"), *with_broker_in("a")).have_racks_changed);
  EXPECT_TRUE(ImageChange::between(*with_broker_in("a"), *with_broker_in("b")).have_racks_changed);
  EXPECT_TRUE(ImageChange::between(*node::MetadataImage::empty(), *with_broker_in("a")).have_racks_changed);
}

}  // namespace
}  // namespace tailrace::groupcoord
