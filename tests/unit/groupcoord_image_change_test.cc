// What differs between two images of a cluster.
#include "services/groupcoord/image_change.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "services/kafka/messages/update_metadata.h"
#include "tests/unit/consumer_group_world.h"

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
