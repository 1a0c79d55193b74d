// More clients than the node has descriptors for: those that are in are served, files can be opened, the rest waits.
#include <deque>

#include "services/kafka/messages/api_versions.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

TEST(Shortage, ClientsBeyondTheDescriptorsWaitAndFilesCanBeOpened) {
  constexpr std::size_t kDescriptors = 160;
  constexpr std::size_t kClients = 200;
  const std::unique_ptr<Node> node = Node::start({.descriptors_max = kDescriptors});
  std::deque<Client> clients;
  std::vector<std::int32_t> asked;
  for (std::size_t i = 0; i < kClients; ++i) {
    asked.push_back(clients.emplace_back(node->port()).ask(kafka::ApiVersionsRequest{}, 0));
  }
  const auto is_answered = [&](std::size_t i) {
    return clients[i].hear<kafka::ApiVersionsResponse>(0, asked[i])->error_code == 0;
  };
  EXPECT_TRUE(is_answered(0));
  EXPECT_TRUE(eventually([&] { return node->counter("broker", "connections") > kDescriptors / 4; }));
  const std::size_t open = node->counter("broker", "connections");
  EXPECT_LT(open, kDescriptors * 3 / 4);
  EXPECT_LT(node->descriptors("broker"), kDescriptors - 20);
  for (int i = 0; i < 5; ++i) {
    const std::string topic = "topic" + std::to_string(i);
    make_topic(clients[0], topic, 4);
    for (std::int32_t partition = 0; partition < 4; ++partition) {
      EXPECT_EQ(produce(clients[0], topic, batch_of({"value"}), partition).error, ErrorCode::NONE);
      EXPECT_FALSE(fetch(clients[0], topic, 0, {.partition = partition}).records.empty());
    }
  }
  EXPECT_TRUE(clients.back().is_silent());
  while (clients.size() > 1) {
    clients.pop_front();
    asked.erase(asked.begin());
    ASSERT_TRUE(is_answered(0)) << clients.size();
  }
}

}  // namespace
}  // namespace tailrace::wire
