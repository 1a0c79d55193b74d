// What the controller tells a client that is not a broker.
#include <gtest/gtest.h>

#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/update_metadata.h"
#include "tests/unit/support/controller_world.h"

namespace tailrace::zkbridge {
namespace {

std::vector<Sent> to_observer(const World& world, node::ControlType type) {
  std::vector<Sent> found;
  for (const Sent& each : world.of_type(type)) {
    if (each.client == kCoordinator) found.push_back(each);
  }
  return found;
}

TEST(Observers, AreToldOfTheWholeClusterFirst) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("t1", 3)}), 7);
  world.sent.clear();
  world.hello(kCoordinator, false);

  const auto images = to_observer(world, node::ControlType::config_image);
  ASSERT_EQ(images.size(), 1u);
  const auto controls = to_observer(world, node::ControlType::control);
  ASSERT_EQ(controls.size(), 1u);  // nobody tells it to lead
  EXPECT_EQ(controls[0].key(), kafka::api_key::kUpdateMetadata);
  const auto update = controls[0].body_of_request<kafka::UpdateMetadataRequest>();
  ASSERT_EQ(update.topic_states.size(), 1u);
  EXPECT_EQ(update.topic_states[0].topic_name, "t1");
  EXPECT_EQ(update.topic_states[0].partition_states.size(), 3u);
}

TEST(Observers, HearOfWhatChanges) {
  World world;
  world.start_with_broker();
  world.hello(kCoordinator, false);
  world.sent.clear();
  world.forward(creating({wish("t1")}), 7);
  ASSERT_EQ(to_observer(world, node::ControlType::control).size(), 1u);
  const auto made = to_observer(world, node::ControlType::control)[0].body_of_request<kafka::UpdateMetadataRequest>();
  ASSERT_EQ(made.topic_states.size(), 1u);
  EXPECT_GE(made.topic_states[0].partition_states.at(0).leader, 0);

  world.sent.clear();
  world.forward(deleting({"t1"}), 3);
  ASSERT_EQ(to_observer(world, node::ControlType::control).size(), 1u);
  const auto gone = to_observer(world, node::ControlType::control)[0].body_of_request<kafka::UpdateMetadataRequest>();
  EXPECT_EQ(gone.topic_states.at(0).partition_states.at(0).leader, -2);
}

TEST(Observers, OutliveTheBroker) {
  World world;
  world.start_with_broker();
  world.hello(kCoordinator, false);
  world.gone(kBroker);
  world.hello(7);
  world.sent.clear();
  world.forward(creating({wish("t1")}), 7, 5, 7);
  EXPECT_EQ(to_observer(world, node::ControlType::control).size(), 1u);
  world.gone(kCoordinator);
  world.sent.clear();
  world.forward(creating({wish("t2")}), 7, 6, 7);
  EXPECT_TRUE(to_observer(world, node::ControlType::control).empty());
}

}  // namespace
}  // namespace tailrace::zkbridge
