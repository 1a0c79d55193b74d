// The controller as tables of events: what it stores, whom it tells what and when, what clients are answered; its tree
// against the one that a real Kafka 3.9 made, its placement against Kafka's.
#include "services/zkbridge/controller.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/messages/allocate_producer_ids.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/zkbridge/assignment.h"
#include "services/zkbridge/tree.h"
#include "services/zkbridge/znodes.h"
#include "tests/unit/support/controller_world.h"

namespace tailrace::zkbridge {
namespace {

// -- The tree ------------------------------------------------------------------------------------------------------

struct Znode {
  std::string path;
  bool is_ephemeral = false;
  std::int32_t version = 0;
  std::string data;  // "null": none
};

std::vector<Znode> golden_znodes() {
  std::ifstream in(TAILRACE_GOLDEN "/controller/znodes-running.txt");
  EXPECT_TRUE(in.good());
  std::vector<Znode> nodes;
  for (std::string line; std::getline(in, line);) {
    std::stringstream fields(line);
    std::string path, kind, version, data;
    std::getline(fields, path, '\t');
    std::getline(fields, kind, '\t');
    std::getline(fields, version, '\t');
    std::getline(fields, data);
    nodes.push_back({path, kind == "ephemeral", std::stoi(version), data});
  }
  EXPECT_GT(nodes.size(), 200u);
  return nodes;
}

// The tree of the real Kafka, as a store would have it.
Tree golden_tree(bool with_ephemerals) {
  Tree tree;
  std::vector<TreeNode> nodes;
  for (const Znode& node : golden_znodes()) {
    if (node.is_ephemeral && !with_ephemerals) continue;
    TreeNode to{node.path, node.data == "null" ? std::nullopt : std::optional(node.data), {}};
    to.stat.version = node.version;
    nodes.push_back(std::move(to));
  }
  EXPECT_TRUE(tree.restore(nodes));
  return tree;
}

// JSON without what differs from run to run.
std::string shape(std::string text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return text;
  for (const char* key : {"timestamp", "topic_id", "controller_epoch", "id", "block_start", "block_end"}) {
    if (json.contains(key)) json[key] = json[key].is_string() ? nlohmann::json("x") : nlohmann::json(0);
  }
  return json.dump();
}

TEST(ControllerTree, IsKafkas) {
  World world;
  world.start_with_broker();
  // The topics of the real one, with its settings.
  std::vector<std::pair<std::string, Topic>> topics;
  for (const Znode& node : golden_znodes()) {
    if (!node.path.starts_with("/brokers/topics/") || node.path.find('/', 16) != std::string::npos) continue;
    auto topic = znodes::parse_topic(node.data);
    ASSERT_TRUE(topic.has_value()) << node.data;
    topics.emplace_back(node.path.substr(16), std::move(*topic));
  }
  for (const Znode& node : golden_znodes()) {
    for (auto& [name, topic] : topics) {
      if (node.path == "/config/topics/" + name) topic.configs = *znodes::parse_config(node.data);
    }
  }
  for (auto& [name, topic] : topics) {
    CreateTopics::CreatableTopic request = wish(name, static_cast<std::int32_t>(topic.partitions.size()));
    for (const auto& [key, value] : topic.configs) request.configs.push_back({.name = key, .value = value});
    world.forward(creating({request}), 7);
  }
  world.forward(kafka::AllocateProducerIdsRequest{.broker_id = 1, .broker_epoch = -1}, 0);

  std::size_t compared = 0;
  for (const Znode& node : golden_znodes()) {
    if (node.path.starts_with("/config/changes/")) continue;  // of an alteration
    ASSERT_TRUE(world.has(node.path)) << node.path;
    EXPECT_EQ(world.tree.find(node.path)->stat.ephemeral_owner != 0, node.is_ephemeral) << node.path;
    const std::string theirs = node.data == "null" ? "<null>" : node.data;
    if (node.path == "/controller_epoch") {
      EXPECT_EQ(world.data(node.path), "1");
    } else {
      EXPECT_EQ(shape(world.data(node.path)), shape(theirs)) << node.path;
    }
    ++compared;
  }
  EXPECT_EQ(world.tree.size(), compared);
  // The text itself, to the letter, where nothing differs from run to run.
  EXPECT_EQ(world.data("/controller"),
            R"({"version":2,"brokerid":1,"timestamp":"1795957069475","kraftControllerEpoch":-1})");
  EXPECT_EQ(
      world.data("/brokers/ids/1"),
      R"({"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://localhost:24012"],)"
      R"("jmx_port":-1,"port":24012,"host":"localhost","version":5,"timestamp":"1795957069475"})");
  EXPECT_EQ(world.data("/brokers/topics/txn/partitions/2/state"),
            R"({"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]})");
  EXPECT_EQ(world.data("/latest_producer_id_block"), R"({"version":1,"broker":1,"block_start":"0","block_end":"999"})");
}

TEST(ControllerTree, AKafkasTreeIsTakenAsItIs) {
  World world;
  world.tree = golden_tree(false);
  world.start();
  ASSERT_TRUE(world.controller->is_active()) << world.fatal;
  EXPECT_EQ(world.controller->cluster().controller_epoch, 5);
  EXPECT_EQ(world.controller->cluster().id, "xQUj11itS6C4IrIsmhlB8w");
  EXPECT_EQ(world.controller->cluster().topics.at("uneven").partitions.size(), 12u);
  EXPECT_EQ(world.controller->cluster().topics.at("compacted-txn").configs.at("segment.bytes"), "2048");
  world.hello(kBroker);
  const auto states = world.controls(kafka::api_key::kLeaderAndIsr).at(0).body_of_request<kafka::LeaderAndIsrRequest>();
  EXPECT_EQ(states.topic_states.size(), world.controller->cluster().topics.size());
  for (const auto& topic : states.topic_states) {
    for (const auto& state : topic.partition_states) EXPECT_EQ(state.leader_epoch, 0);
  }
  world.sent.clear();
  world.forward(kafka::AllocateProducerIdsRequest{.broker_id = 1, .broker_epoch = -1}, 0);
  EXPECT_EQ(world.reply<kafka::AllocateProducerIdsResponse>(0).producer_id_start, 4000);
}

TEST(ControllerTree, TheClusterIdIsTheDirectorysOrANewOneThatStays) {
  World world;
  world.start();
  const std::string id = world.controller->cluster().id;
  EXPECT_EQ(id.size(), 22u);
  world.cluster_id = id;
  world.start();
  EXPECT_EQ(world.controller->cluster().id, id);
  EXPECT_EQ(world.controller->cluster().controller_epoch, 2);
  world.cluster_id = "AAAAAAAAAAAAAAAAAAAAAA";
  world.start();
  EXPECT_NE(world.refusal.find("belongs to cluster AAAAAAAAAAAAAAAAAAAAAA"), std::string::npos) << world.refusal;
}

TEST(ControllerTree, NodesThatDoNotReadAreNamed) {
  for (const char* path :
       {"/brokers/topics/txn", "/brokers/topics/txn/partitions/1/state", "/latest_producer_id_block"}) {
    World world;
    world.tree = golden_tree(false);
    std::vector<OperationResult> results;
    ASSERT_EQ(world.tree.apply({1, 0, 1, {Set{path, "{\"partitions\":[1"}}}, results), StoreCode::ok);
    world.start();
    EXPECT_NE(world.refusal.find(path), std::string::npos) << world.refusal;
  }
}

TEST(ControllerTree, WhatAKafkaLeftUndoneIsCompleted) {
  World world;
  world.tree = golden_tree(false);
  std::vector<OperationResult> results;
  // A topic of a Kafka before 2.8 (no id) whose maker stopped half-way (no partitions).
  ASSERT_EQ(world.tree.apply(
                {1, 0, 1, {Create{"/brokers/topics/old", R"({"version":1,"partitions":{"0":[1],"1":[1]}})"}}}, results),
            StoreCode::ok);
  world.start();
  world.hello(kBroker);
  ASSERT_TRUE(world.fatal.empty()) << world.fatal;
  EXPECT_EQ(world.data("/brokers/topics/old/partitions/1/state"),
            R"({"controller_epoch":5,"leader":1,"version":1,"leader_epoch":0,"isr":[1]})");
  const Topic& old = world.controller->cluster().topics.at("old");
  EXPECT_FALSE(old.id.is_zero());
  EXPECT_EQ(znodes::parse_topic(world.data("/brokers/topics/old"))->id, old.id);
}

TEST(ControllerTree, WhileAnotherControllerLivesThisOneWaits) {
  World world;
  std::vector<OperationResult> results;
  world.start();
  // Another session takes over.
  world.session = 9;
  ASSERT_EQ(world.tree.apply({50, 0, 7, {Set{"/controller", "x"}}}, results), StoreCode::ok);
  world.tree.end_sessions_but(7);
  ASSERT_EQ(world.tree.apply({51, 0, 7, {Create{"/controller", "other", CreateMode::ephemeral}}}, results),
            StoreCode::ok);
  ControllerOptions options;
  options.node_id = 2;
  options.config = &world.config;
  options.chance = [] { return 1; };
  world.controller = std::make_unique<Controller>(std::move(options));
  world.run(world.controller->start());
  EXPECT_FALSE(world.controller->is_active());
  EXPECT_TRUE(world.fatal.empty()) << world.fatal;
  ASSERT_EQ(world.tree.apply({52, 0, 7, {Remove{"/controller"}}}, results), StoreCode::ok);
  world.run(world.controller->on_watch({WatchEvent::Kind::removed, "/controller"}));
  EXPECT_TRUE(world.controller->is_active());
  EXPECT_EQ(world.controller->cluster().controller_epoch, 2);
}

TEST(ControllerTree, AControllerThatWasReplacedWritesNothing) {
  World world;
  world.start_with_broker();
  std::vector<OperationResult> results;
  ASSERT_EQ(world.tree.apply({90, 0, 7, {Set{"/controller_epoch", "9"}}}, results), StoreCode::ok);
  world.forward(creating({wish("a")}), 7);
  EXPECT_FALSE(world.fatal.empty());
  EXPECT_FALSE(world.has("/brokers/topics/a"));
}

// -- Brokers -------------------------------------------------------------------------------------------------------

TEST(ControllerBrokers, AreWelcomedWithTheirEpochAndTheWholeState) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a", 2)}), 7);
  world.sent.clear();
  world.gone(kBroker);
  EXPECT_FALSE(world.has("/brokers/ids/1"));
  const std::int64_t old_epoch = 0;
  world.hello(7);
  EXPECT_EQ(world.story(), "welcome config leader-and-isr metadata");
  const auto welcome = kafka::decode_exactly<kafka::NodeRegistrationResponse>(world.sent[0].bytes, 0);
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->broker_id, 1);
  EXPECT_EQ(welcome->cluster_id, world.controller->cluster().id);
  EXPECT_GT(welcome->broker_epoch, old_epoch);
  EXPECT_EQ(welcome->broker_epoch, world.tree.find("/brokers/ids/1")->stat.created_zxid);
  const auto image = kafka::decode_exactly<kafka::ConfigImage>(world.sent[1].bytes, 0);
  ASSERT_TRUE(image.has_value());
  EXPECT_TRUE(image->is_whole);
  const auto roles = world.sent[2].body_of_request<kafka::LeaderAndIsrRequest>();
  EXPECT_EQ(roles.type, 2);
  EXPECT_EQ(roles.controller_epoch, 1);
  EXPECT_EQ(roles.broker_epoch, welcome->broker_epoch);
  ASSERT_EQ(roles.topic_states.size(), 1u);
  EXPECT_EQ(roles.topic_states[0].topic_id, world.controller->cluster().topics.at("a").id);
  EXPECT_EQ(roles.topic_states[0].partition_states.size(), 2u);
  EXPECT_FALSE(roles.topic_states[0].partition_states[0].is_new);  // the broker had it
  const auto metadata = world.sent[3].body_of_request<kafka::UpdateMetadataRequest>();
  EXPECT_EQ(metadata.topic_states.size(), 1u);
  ASSERT_EQ(metadata.live_brokers.size(), 1u);
  EXPECT_EQ(metadata.live_brokers[0].endpoints[0].port, 24012);
}

TEST(ControllerBrokers, ANewProcessIsANewEpochEvenBeforeTheOldOnesEndIsSeen) {
  World world;
  world.start_with_broker();
  const std::int64_t first = world.controller->cluster().brokers.at(1).epoch;
  world.hello(8);
  const std::int64_t second = world.controller->cluster().brokers.at(1).epoch;
  EXPECT_GT(second, first);
  world.gone(kBroker);  // the old session: the broker of the new one stays
  EXPECT_TRUE(world.has("/brokers/ids/1"));
  EXPECT_TRUE(world.controller->cluster().brokers.contains(1));
  world.gone(8);
  EXPECT_FALSE(world.has("/brokers/ids/1"));
}

TEST(ControllerBrokers, OneThatLeavesBeforeItsRegistrationIsDurableLeavesNoTrace) {
  World world;
  world.start();
  world.store_held = true;
  world.hello(kBroker);
  world.gone(kBroker);
  world.release_store();
  EXPECT_FALSE(world.has("/brokers/ids/1"));
  EXPECT_TRUE(world.controller->cluster().brokers.empty());
  EXPECT_EQ(world.story(), "");
}

TEST(ControllerBrokers, ThoseThatComeBeforeTheControllerWait) {
  World world;
  world.store_held = true;
  world.start();
  world.hello(kBroker);
  world.hello(kCoordinator, false);
  EXPECT_EQ(world.story(), "");
  world.release_store();
  EXPECT_EQ(world.of_type(ControlType::welcome).size(), 2u);
}

TEST(ControllerBrokers, LeaderEpochsNeverGoBack) {
  World world;
  world.tree = golden_tree(false);
  std::vector<OperationResult> results;
  ASSERT_EQ(world.tree.apply({1,
                              0,
                              1,
                              {Set{"/brokers/topics/big/partitions/0/state",
                                   R"({"controller_epoch":3,"leader":-1,"version":1,"leader_epoch":7,"isr":[1]})"}}},
                             results),
            StoreCode::ok);
  world.start();
  world.hello(kBroker);
  // Without a leader it was: the broker is back, and leads in a new epoch.
  EXPECT_EQ(world.data("/brokers/topics/big/partitions/0/state"),
            R"({"controller_epoch":5,"leader":1,"version":1,"leader_epoch":8,"isr":[1]})");
  world.gone(kBroker);
  world.start();
  world.hello(kBroker);
  EXPECT_EQ(world.controller->cluster().topics.at("big").partitions[0].leader_epoch, 8);
}

TEST(ControllerBrokers, GarbageFromAProcessHarmsNobody) {
  World world;
  world.start_with_broker();
  world.run(world.controller->on_hello(9, as_bytes("x"), world.moment));
  world.run(world.controller->on_control_reply(kBroker, 12345, as_bytes("x")));
  world.run(world.controller->on_forward(kBroker, 1, as_bytes(""), world.moment));
  world.run(world.controller->on_forward(kBroker, 2, as_bytes("\x00\x13\x00\x07zzzzzzzzzzzzzzz"), world.moment));
  auto frame = request_frame(creating({wish("a")}), 7);
  frame.resize(frame.size() - 6);
  world.run(world.controller->on_forward(kBroker, 3, frame, world.moment));
  frame = request_frame(creating({wish("a")}), 7);
  frame[3] = std::byte{99};  // a version that nobody knows
  world.run(world.controller->on_forward(kBroker, 4, frame, world.moment));
  const auto replies = world.of_type(ControlType::forward_reply);
  ASSERT_EQ(replies.size(), 4u);
  for (const Sent& reply : replies) EXPECT_TRUE(reply.bytes.empty());
  EXPECT_TRUE(world.fatal.empty());
}

// -- CreateTopics --------------------------------------------------------------------------------------------------

TEST(ControllerCreate, IsAnsweredWhenTheStoreAndTheBrokerHaveIt) {
  World world;
  world.start_with_broker();
  world.store_held = true;
  world.brokers_answer = false;
  auto request = wish("payment", 3);
  request.configs.push_back({.name = "retention.ms", .value = "1000"});
  world.forward(creating({request}), 7);
  EXPECT_EQ(world.story(), "");  // not durable yet: nobody hears of it
  world.release_store();
  EXPECT_EQ(world.story(), "config leader-and-isr");
  const auto roles = world.controls(kafka::api_key::kLeaderAndIsr).at(0).body_of_request<kafka::LeaderAndIsrRequest>();
  EXPECT_EQ(roles.type, 1);
  ASSERT_EQ(roles.topic_states[0].partition_states.size(), 3u);
  EXPECT_TRUE(roles.topic_states[0].partition_states[0].is_new);
  world.answer(world.sent.back());
  EXPECT_EQ(world.story(), "config leader-and-isr metadata reply");
  const auto response = world.reply<kafka::CreateTopicsResponse>(7);
  ASSERT_EQ(response.topics.size(), 1u);
  EXPECT_EQ(response.topics[0].error_code, 0);
  EXPECT_EQ(response.topics[0].num_partitions, 3);
  EXPECT_EQ(response.topics[0].replication_factor, 1);
  EXPECT_EQ(response.topics[0].topic_id, world.controller->cluster().topics.at("payment").id);
  bool found = false;
  for (const auto& config : *response.topics[0].configs) {
    if (config.name != "retention.ms") continue;
    found = true;
    EXPECT_EQ(config.value, "1000");
    EXPECT_EQ(config.config_source, 1);
  }
  EXPECT_TRUE(found);
}

TEST(ControllerCreate, ABrokerThatDiesIsToldAgainAndThenTheClientIsAnswered) {
  World world;
  world.start_with_broker();
  world.brokers_answer = false;
  world.hello(kCoordinator, false);
  world.sent.clear();
  world.forward(creating({wish("a")}), 7, 5, kCoordinator);
  EXPECT_EQ(world.story(), "leader-and-isr");
  const Sent lost = world.sent.back();
  world.gone(kBroker);
  world.answer(lost);  // too late: that session is over
  world.sent.clear();
  world.hello(7);
  EXPECT_EQ(world.story(), "welcome config leader-and-isr metadata");
  const auto roles = world.controls(kafka::api_key::kLeaderAndIsr).at(0).body_of_request<kafka::LeaderAndIsrRequest>();
  EXPECT_TRUE(roles.topic_states[0].partition_states[0].is_new);  // nobody ever said that it has it
  world.answer(world.controls(kafka::api_key::kLeaderAndIsr).at(0));
  EXPECT_EQ(world.reply<kafka::CreateTopicsResponse>(7).topics[0].error_code, 0);
}

TEST(ControllerCreate, AnAnswerFromBeforeTheTopicDoesNotCount) {
  World world;
  world.start();
  world.brokers_answer = false;
  world.hello(kBroker);
  const Sent whole = world.controls(kafka::api_key::kLeaderAndIsr).at(0);
  world.sent.clear();
  world.forward(creating({wish("a")}), 7);
  world.answer(whole);
  EXPECT_TRUE(world.of_type(ControlType::forward_reply).empty());
}

TEST(ControllerCreate, OutOfTimeTheClientIsToldSoAndTheTopicIsMadeAllTheSame) {
  World world;
  world.start_with_broker();
  world.brokers_answer = false;
  world.forward(creating({wish("a"), wish("bad name")}), 7);
  EXPECT_EQ(world.controller->next_deadline(), Instant{30'000'000});
  world.pass_time(std::chrono::seconds(29));
  EXPECT_TRUE(world.of_type(ControlType::forward_reply).empty());
  world.pass_time(std::chrono::seconds(1));
  const auto response = world.reply<kafka::CreateTopicsResponse>(7);
  EXPECT_EQ(response.topics[0].error_code, 7);
  EXPECT_EQ(response.topics[1].error_code, 17);
  EXPECT_FALSE(world.controller->next_deadline().has_value());
  world.answer(world.controls(kafka::api_key::kLeaderAndIsr).at(0));
  EXPECT_EQ(world.of_type(ControlType::forward_reply).size(), 1u);
  EXPECT_EQ(world.controls(kafka::api_key::kUpdateMetadata).size(), 1u);
}

TEST(ControllerCreate, ABrokersTroubleIsPassedOn) {
  World world;
  world.start_with_broker();
  world.broker_error = 56;
  world.forward(creating({wish("a", 2)}), 7);
  const auto response = world.reply<kafka::CreateTopicsResponse>(7);
  EXPECT_EQ(response.topics[0].error_code, 56);
  EXPECT_NE(response.topics[0].error_message->find("partition 1"), std::string_view::npos);
}

TEST(ControllerCreate, AFullDiskIsAnErrorOfTheRequestAndNothingIsLeft) {
  World world;
  world.start_with_broker();
  world.store_full = true;
  world.forward(creating({wish("a")}), 7);
  EXPECT_EQ(world.reply<kafka::CreateTopicsResponse>(7).topics[0].error_code, 56);
  world.sent.clear();
  world.store_full = false;
  world.forward(creating({wish("a")}), 7);
  EXPECT_EQ(world.reply<kafka::CreateTopicsResponse>(7).topics[0].error_code, 0);
}

struct Refused {
  const char* what;
  CreateTopics::CreatableTopic topic;
  ErrorCode code;
  const char* message;
};

std::vector<Refused> refused_topics() {
  std::vector<Refused> cases = {
      {"exists", wish("there"), ErrorCode::TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."},
      {"empty", wish(""), ErrorCode::INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"},
      {"dot", wish("."), ErrorCode::INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '.' is not allowed"},
      {"dots", wish(".."), ErrorCode::INVALID_TOPIC_EXCEPTION, "Topic name is invalid: '..' is not allowed"},
      {"characters", wish("a b"), ErrorCode::INVALID_TOPIC_EXCEPTION,
       "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
      {"slash", wish("a/b"), ErrorCode::INVALID_TOPIC_EXCEPTION, nullptr},
      {"umlaut", wish("\xC3\xA4"), ErrorCode::INVALID_TOPIC_EXCEPTION, nullptr},
      {"collision", wish("a.b_c"), ErrorCode::INVALID_TOPIC_EXCEPTION,
       "Topic 'a.b_c' collides with existing topic: a_b.c"},
      {"kraft", wish("__cluster_metadata"), ErrorCode::INVALID_REQUEST,
       "Creation of internal topic __cluster_metadata is prohibited."},
      {"no partitions", wish("n", 0), ErrorCode::INVALID_PARTITIONS,
       "Number of partitions was set to an invalid non-positive value."},
      {"negative partitions", wish("n", -2), ErrorCode::INVALID_PARTITIONS, nullptr},
      {"no replicas", wish("n", 1, 0), ErrorCode::INVALID_REPLICATION_FACTOR,
       "Replication factor must be larger than 0, or -1 to use the default value."},
      {"negative replicas", wish("n", 1, -2), ErrorCode::INVALID_REPLICATION_FACTOR, nullptr},
      {"replicas", wish("n", 1, 2), ErrorCode::INVALID_REPLICATION_FACTOR,
       "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only "
       "1 broker(s) are registered or some brokers have all their log directories cordoned."},
      {"many", wish("n", 10001), ErrorCode::POLICY_VIOLATION, "Excessively large number of partitions per request."},
      {"too many", wish("n", INT32_MAX), ErrorCode::POLICY_VIOLATION, nullptr},
  };
  const auto manual = [&](const char* what, std::vector<std::pair<std::int32_t, std::vector<BrokerId>>> replicas,
                          ErrorCode code, const char* message, std::int32_t partitions = -1, std::int16_t factor = -1) {
    auto topic = wish("n", partitions, factor);
    for (auto& [index, ids] : replicas) topic.assignments.push_back({.partition_index = index, .broker_ids = ids});
    cases.push_back({what, topic, code, message});
  };
  manual("unknown broker", {{0, {7}}}, ErrorCode::INVALID_REPLICA_ASSIGNMENT,
         "The manual partition assignment includes broker 7, but no such broker is registered.");
  manual("twice", {{0, {1, 1}}}, ErrorCode::INVALID_REPLICA_ASSIGNMENT,
         "The manual partition assignment includes the broker 1 more than once.");
  manual("gap", {{0, {1}}, {2, {1}}}, ErrorCode::INVALID_REPLICA_ASSIGNMENT,
         "partitions should be a consecutive 0-based integer sequence");
  manual("from one", {{1, {1}}}, ErrorCode::INVALID_REPLICA_ASSIGNMENT, nullptr);
  manual("negative", {{-1, {1}}}, ErrorCode::INVALID_REPLICA_ASSIGNMENT, nullptr);
  manual("no broker", {{0, {}}}, ErrorCode::INVALID_REPLICA_ASSIGNMENT,
         "The manual partition assignment includes an empty replica list.");
  manual("partition twice", {{0, {1}}, {0, {1}}}, ErrorCode::INVALID_REPLICA_ASSIGNMENT, nullptr);
  manual("both", {{0, {1}}}, ErrorCode::INVALID_REQUEST, nullptr, 1, -1);
  manual("both factors", {{0, {1}}}, ErrorCode::INVALID_REQUEST, nullptr, -1, 1);
  const auto config = [&](const char* key, std::optional<std::string_view> value, const char* message) {
    auto topic = wish("n");
    topic.configs.push_back({.name = key, .value = value});
    cases.push_back({key, topic, ErrorCode::INVALID_CONFIG, message});
  };
  config("foo", "1", "Unknown topic config name: foo");
  config("retention.ms", std::nullopt, "Null value not supported for topic configs: retention.ms");
  config("", std::nullopt, "Null value not supported for topic configs: ");
  config("retention.ms", "abc", nullptr);
  config("retention.ms", "-5", nullptr);
  config("cleanup.policy", "foo", nullptr);
  config("remote.storage.enable", "true",
         "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.");
  return cases;
}

TEST(ControllerCreate, RefusesWhatKafkaRefusesAndMakesTheRest) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("there"), wish("a_b.c")}), 7);
  for (const bool validate_only : {true, false}) {
    const std::vector<Refused> cases = refused_topics();
    for (const Refused& each : cases) {
      world.sent.clear();
      auto request = creating({each.topic});
      request.validate_only = validate_only;
      world.forward(request, 7);
      const auto response = world.reply<kafka::CreateTopicsResponse>(7);
      ASSERT_EQ(response.topics.size(), 1u) << each.what;
      EXPECT_EQ(response.topics[0].name, each.topic.name);
      EXPECT_EQ(response.topics[0].error_code, kafka::wire(each.code)) << each.what;
      if (each.message != nullptr) {
        EXPECT_EQ(response.topics[0].error_message.value_or(""), each.message);
      }
      EXPECT_EQ(response.topics[0].num_partitions, -1);
      EXPECT_TRUE(response.topics[0].topic_id.is_zero());
    }
  }
  EXPECT_FALSE(world.has("/brokers/topics/n"));
  const std::string long_name(249, 'x');
  const std::string too_long(250, 'x');
  world.sent.clear();
  world.forward(creating({wish(too_long), wish(long_name)}), 7);
  const auto response = world.reply<kafka::CreateTopicsResponse>(7);
  EXPECT_EQ(response.topics[0].error_code, 17);
  EXPECT_EQ(response.topics[1].error_code, 0);
}

TEST(ControllerCreate, ARequestForTooManyPartitionsIsRefusedWhole) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a", 6000), wish("b", 4001), wish("bad name")}), 7);
  const auto response = world.reply<kafka::CreateTopicsResponse>(7);
  for (const auto& topic : response.topics) EXPECT_EQ(topic.error_code, kafka::wire(ErrorCode::POLICY_VIOLATION));
  EXPECT_FALSE(world.has("/brokers/topics/a"));
}

TEST(ControllerCreate, DefaultsComeFromTheConfiguration) {
  World world;
  world.config = config_of("num.partitions=4\n");
  world.start_with_broker();
  world.forward(creating({wish("a", -1, -1)}), 7);
  EXPECT_EQ(world.reply<kafka::CreateTopicsResponse>(7).topics[0].num_partitions, 4);
  EXPECT_EQ(world.controller->cluster().topics.at("a").partitions.size(), 4u);
}

TEST(ControllerCreate, ValidateOnlyAnswersAndMakesNothing) {
  World world;
  world.start_with_broker();
  auto request = creating({wish("a", 2)});
  request.validate_only = true;
  world.forward(request, 7);
  const auto response = world.reply<kafka::CreateTopicsResponse>(7);
  EXPECT_EQ(response.topics[0].error_code, 0);
  EXPECT_EQ(response.topics[0].num_partitions, 2);
  EXPECT_GT(response.topics[0].configs->size(), 30u);
  EXPECT_FALSE(world.has("/brokers/topics/a"));
}

TEST(ControllerCreate, ARepeatedNameIsRefusedOnceAndOthersAreMade) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a"), wish("b"), wish("a")}), 7);
  const auto response = world.reply<kafka::CreateTopicsResponse>(7);
  ASSERT_EQ(response.topics.size(), 2u);
  EXPECT_EQ(response.topics[0].name, "a");
  EXPECT_EQ(response.topics[0].error_code, 42);
  EXPECT_EQ(response.topics[1].error_code, 0);
  EXPECT_FALSE(world.has("/brokers/topics/a"));
}

TEST(ControllerCreate, TwoThatRaceForANameAreOneTopic) {
  World world;
  world.start_with_broker();
  world.store_held = true;
  world.forward(creating({wish("a")}), 7, 1);
  world.forward(creating({wish("a")}), 7, 2);
  world.release_store();
  const auto replies = world.of_type(ControlType::forward_reply);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].number, 2u);  // refused at once
  EXPECT_EQ(replies[0].body_of_response<kafka::CreateTopicsResponse>(7).topics[0].error_code, 36);
  EXPECT_EQ(replies[1].body_of_response<kafka::CreateTopicsResponse>(7).topics[0].error_code, 0);
}

TEST(ControllerCreate, EveryVersionIsAnswered) {
  for (std::int16_t version = 0; version <= 7; ++version) {
    World world;
    world.start_with_broker();
    world.forward(creating({wish("a"), wish("bad name")}), version);
    const auto response = world.reply<kafka::CreateTopicsResponse>(version);
    ASSERT_EQ(response.topics.size(), 2u);
    EXPECT_EQ(response.topics[0].error_code, 0);
    EXPECT_EQ(response.topics[1].error_code, 17);
  }
}

TEST(ControllerCreate, OfNothingIsAnsweredWithNothing) {
  World world;
  world.start_with_broker();
  world.forward(creating({}), 7);
  EXPECT_TRUE(world.reply<kafka::CreateTopicsResponse>(7).topics.empty());
}

TEST(ControllerCreate, BeforeTheControllerIsReadyClientsAreToldToTryAgain) {
  World world;
  world.store_held = true;
  world.start();
  world.forward(creating({wish("a")}), 7);
  EXPECT_EQ(world.reply<kafka::CreateTopicsResponse>(7).topics[0].error_code, 41);
}

// -- CreatePartitions ----------------------------------------------------------------------------------------------

kafka::CreatePartitionsRequest growing(std::string_view name, std::int32_t count) {
  return {.topics = {{.name = name, .count = count}}, .timeout_ms = 30000};
}

TEST(ControllerGrow, AddsPartitionsBehindTheOldOnes) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a", 2)}), 7);
  world.sent.clear();
  world.forward(growing("a", 4), 3);
  EXPECT_EQ(world.story(), "leader-and-isr metadata reply");
  EXPECT_EQ(world.reply<kafka::CreatePartitionsResponse>(3).results[0].error_code, 0);
  const auto roles = world.controls(kafka::api_key::kLeaderAndIsr).at(0).body_of_request<kafka::LeaderAndIsrRequest>();
  ASSERT_EQ(roles.topic_states[0].partition_states.size(), 2u);
  EXPECT_EQ(roles.topic_states[0].partition_states[0].partition_index, 2);
  EXPECT_TRUE(world.has("/brokers/topics/a/partitions/3/state"));
  EXPECT_EQ(znodes::parse_topic(world.data("/brokers/topics/a"))->partitions.size(), 4u);
  world.sent.clear();
  world.forward(growing("a", 5), 0);  // and the version of the topic's node is right
  EXPECT_EQ(world.reply<kafka::CreatePartitionsResponse>(0).results[0].error_code, 0);
}

TEST(ControllerGrow, RefusesWhatKafkaRefuses) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a", 4)}), 7);
  const auto assigned = [](std::int32_t count, std::vector<std::vector<BrokerId>> replicas) {
    auto request = growing("a", count);
    request.topics[0].assignments.emplace();
    for (auto& ids : replicas) request.topics[0].assignments->push_back({.broker_ids = ids});
    return request;
  };
  const struct {
    kafka::CreatePartitionsRequest request;
    ErrorCode code;
    const char* message;
  } cases[] = {
      {growing("a", 4), ErrorCode::INVALID_PARTITIONS, "Topic already has 4 partition(s)."},
      {growing("a", 1), ErrorCode::INVALID_PARTITIONS,
       "The topic a currently has 4 partition(s); 1 would not be an increase."},
      {growing("a", -1), ErrorCode::INVALID_PARTITIONS, nullptr},
      {growing("none", 4), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, nullptr},
      {growing("a", 200000), ErrorCode::POLICY_VIOLATION, nullptr},
      {assigned(6, {{1}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT,
       "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."},
      {assigned(5, {{9}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT, nullptr},
      {assigned(5, {{1, 1}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT, nullptr},
      {assigned(5, {{}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT, nullptr},
  };
  for (const auto& each : cases) {
    world.sent.clear();
    world.forward(each.request, 3);
    const auto response = world.reply<kafka::CreatePartitionsResponse>(3);
    EXPECT_EQ(response.results[0].error_code, kafka::wire(each.code));
    if (each.message != nullptr) {
      EXPECT_EQ(response.results[0].error_message.value_or(""), each.message);
    }
  }
  world.sent.clear();
  world.forward(assigned(6, {{1}, {1}}), 3);
  EXPECT_EQ(world.reply<kafka::CreatePartitionsResponse>(3).results[0].error_code, 0);
  world.sent.clear();
  auto validate = growing("a", 7);
  validate.validate_only = true;
  world.forward(validate, 3);
  EXPECT_EQ(world.reply<kafka::CreatePartitionsResponse>(3).results[0].error_code, 0);
  EXPECT_EQ(world.controller->cluster().topics.at("a").partitions.size(), 6u);
  world.sent.clear();
  auto twice = growing("a", 7);
  twice.topics.push_back(twice.topics[0]);
  world.forward(twice, 3);
  EXPECT_EQ(world.reply<kafka::CreatePartitionsResponse>(3).results[0].error_code, 42);
}

// -- DeleteTopics --------------------------------------------------------------------------------------------------

TEST(ControllerDelete, IsAnsweredWhenTheBrokerHasDeletedAndTheStoreForgotten) {
  World world;
  world.start_with_broker();
  auto request = wish("a", 2);
  request.configs.push_back({.name = "retention.ms", .value = "1"});
  world.forward(creating({request}), 7);
  world.sent.clear();
  world.brokers_answer = false;
  world.store_held = true;
  world.forward(deleting({"a"}), 5);
  EXPECT_EQ(world.story(), "");  // the intention is not durable yet
  world.release_store();
  EXPECT_EQ(world.story(), "metadata stop");
  EXPECT_TRUE(world.has("/admin/delete_topics/a"));
  const auto metadata = world.sent[0].body_of_request<kafka::UpdateMetadataRequest>();
  EXPECT_EQ(metadata.topic_states[0].partition_states[0].leader, -2);
  const auto stop = world.sent[1].body_of_request<kafka::StopReplicaRequest>();
  EXPECT_TRUE(stop.topic_states[0].partition_states[1].delete_partition);
  world.store_held = true;
  world.answer(world.sent[1]);
  EXPECT_EQ(world.story(), "metadata stop");  // not yet forgotten
  world.release_store();
  EXPECT_EQ(world.story(), "metadata stop config reply");
  EXPECT_EQ(world.reply<kafka::DeleteTopicsResponse>(5).responses[0].error_code, 0);
  for (const char* path : {"/brokers/topics/a", "/config/topics/a", "/admin/delete_topics/a"}) {
    EXPECT_FALSE(world.has(path)) << path;
  }
  world.brokers_answer = true;
  world.sent.clear();
  world.forward(creating({wish("a")}), 7);  // the name is free again, under a new id
  EXPECT_EQ(world.reply<kafka::CreateTopicsResponse>(7).topics[0].error_code, 0);
}

TEST(ControllerDelete, ByIdByNameAndWhatIsRefused) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a"), wish("b"), wish("c"), wish("d")}), 7);
  const auto id_of = [&](const char* name) { return world.controller->cluster().topics.at(name).id; };
  const Uuid a = id_of("a");
  const Uuid c = id_of("c");
  const Uuid unknown = [] {
    Uuid id;
    id.bytes[0] = 9;
    return id;
  }();
  world.sent.clear();
  kafka::DeleteTopicsRequest request{.timeout_ms = 30000};
  request.topics = {{.name = std::nullopt, .topic_id = a},
                    {.name = "b"},
                    {.name = std::nullopt, .topic_id = unknown},
                    {.name = "none"},
                    {.name = "d", .topic_id = a},
                    {.name = std::nullopt},
                    {.name = "c"},
                    {.name = std::nullopt, .topic_id = c},
                    {.name = "d"},
                    {.name = "d"},
                    {.name = "none twice"},
                    {.name = "none twice"}};
  world.forward(request, 6);
  const auto response = world.reply<kafka::DeleteTopicsResponse>(6);
  // What is named twice is answered once: c by its name and its id, d and the last by their names.
  ASSERT_EQ(response.responses.size(), 9u);
  const std::int16_t codes[] = {0, 0, 100, 3, 42, 42, 42, 42, 42};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(response.responses[i].error_code, codes[i]) << i;
  EXPECT_EQ(response.responses[6].name, "c");
  EXPECT_EQ(response.responses[6].error_message, "The provided topic name maps to an ID that was already supplied.");
  EXPECT_EQ(response.responses[7].error_message, "Duplicate topic name.");
  EXPECT_EQ(response.responses[0].name, "a");
  EXPECT_EQ(response.responses[0].topic_id, a);
  EXPECT_EQ(response.responses[2].name, std::nullopt);
  EXPECT_EQ(response.responses[2].topic_id, unknown);
  EXPECT_TRUE(world.has("/brokers/topics/c"));
  EXPECT_TRUE(world.has("/brokers/topics/d"));
  EXPECT_FALSE(world.has("/brokers/topics/a"));
}

TEST(ControllerDelete, MayBeSwitchedOff) {
  World world;
  world.config = config_of("delete.topic.enable=false\n");
  world.start_with_broker();
  world.forward(creating({wish("a")}), 7);
  world.sent.clear();
  world.forward(deleting({"a"}), 5);
  EXPECT_EQ(world.reply<kafka::DeleteTopicsResponse>(5).responses[0].error_code, 73);
  world.sent.clear();
  world.forward(deleting({"a"}), 1);
  EXPECT_EQ(world.reply<kafka::DeleteTopicsResponse>(1).responses[0].error_code, 42);
}

TEST(ControllerDelete, GoesOnAfterAnyProcessWasStartedAgain) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a", 2), wish("b")}), 7);
  world.brokers_answer = false;
  world.forward(deleting({"a"}), 5);
  // The bridge is killed between the intention and the answer of the broker.
  world.start();
  world.sent.clear();
  world.hello(11);
  EXPECT_EQ(world.story(), "welcome config leader-and-isr metadata metadata stop");
  const auto updates = world.controls(kafka::api_key::kUpdateMetadata);
  const auto all = updates.at(0).body_of_request<kafka::UpdateMetadataRequest>();
  ASSERT_EQ(all.topic_states.size(), 1u);
  EXPECT_EQ(all.topic_states[0].topic_name, "b");
  // The broker is killed, too.
  world.gone(11);
  world.sent.clear();
  world.brokers_answer = true;
  world.hello(12);
  EXPECT_FALSE(world.has("/brokers/topics/a"));
  EXPECT_FALSE(world.has("/admin/delete_topics/a"));
  EXPECT_TRUE(world.has("/brokers/topics/b"));
}

TEST(ControllerDelete, ThatFailsIsTriedAgain) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a")}), 7);
  world.sent.clear();
  world.broker_error = 56;
  world.forward(deleting({"a"}), 5);
  EXPECT_EQ(world.story(), "metadata stop");
  world.broker_error = 0;
  world.store_full = true;
  world.pass_time(std::chrono::seconds(1));
  EXPECT_TRUE(world.has("/brokers/topics/a"));  // deleted by the broker, and the disk is full
  world.store_full = false;
  world.pass_time(std::chrono::seconds(1));
  EXPECT_FALSE(world.has("/brokers/topics/a"));
  EXPECT_EQ(world.reply<kafka::DeleteTopicsResponse>(5).responses[0].error_code, 0);
}

TEST(ControllerDelete, ASecondClientWaitsForTheSameDeletion) {
  World world;
  world.start_with_broker();
  world.forward(creating({wish("a")}), 7);
  world.sent.clear();
  world.brokers_answer = false;
  world.forward(deleting({"a"}), 5, 1);
  world.forward(deleting({"a"}), 5, 2);
  world.forward(creating({wish("a")}), 7, 3);  // meanwhile the name is taken
  world.answer(world.controls(kafka::api_key::kStopReplica).at(0));
  const auto replies = world.of_type(ControlType::forward_reply);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies[0].body_of_response<kafka::CreateTopicsResponse>(7).topics[0].error_code, 36);
  EXPECT_EQ(replies[1].body_of_response<kafka::DeleteTopicsResponse>(5).responses[0].error_code, 0);
  EXPECT_EQ(replies[2].body_of_response<kafka::DeleteTopicsResponse>(5).responses[0].error_code, 0);
}

TEST(ControllerDelete, EveryVersionIsAnswered) {
  for (std::int16_t version = 0; version <= 6; ++version) {
    World world;
    world.start_with_broker();
    world.forward(creating({wish("a")}), 7);
    world.sent.clear();
    auto request = deleting({"a"});
    if (version >= 6) {
      request.topics = {{.name = "a"}};
      request.topic_names.clear();
    }
    world.forward(request, version);
    EXPECT_EQ(world.reply<kafka::DeleteTopicsResponse>(version).responses[0].error_code, 0) << version;
  }
}

// -- Producer ids --------------------------------------------------------------------------------------------------

kafka::AllocateProducerIdsResponse allocate(World& world, BrokerId broker, std::int64_t epoch) {
  world.sent.clear();
  world.forward(kafka::AllocateProducerIdsRequest{.broker_id = broker, .broker_epoch = epoch}, 0);
  return world.reply<kafka::AllocateProducerIdsResponse>(0);
}

TEST(ControllerProducerIds, ComeInBlocksThatAreNeverGivenTwice) {
  World world;
  world.start_with_broker();
  const std::int64_t epoch = world.controller->cluster().brokers.at(1).epoch;
  EXPECT_EQ(allocate(world, 1, epoch).producer_id_start, 0);
  EXPECT_EQ(allocate(world, 1, epoch).producer_id_start, 1000);
  EXPECT_EQ(allocate(world, 1, -1).producer_id_start, 2000);
  EXPECT_EQ(allocate(world, 1, -1).producer_id_len, 1000);
  EXPECT_EQ(allocate(world, 1, epoch + 1).error_code, kafka::wire(ErrorCode::STALE_BROKER_EPOCH));
  EXPECT_EQ(allocate(world, 2, epoch).error_code, kafka::wire(ErrorCode::BROKER_ID_NOT_REGISTERED));
  world.start_with_broker();  // another process reads where it stood
  EXPECT_EQ(allocate(world, 1, -1).producer_id_start, 4000);
  world.store_full = true;
  EXPECT_EQ(allocate(world, 1, -1).error_code, kafka::wire(ErrorCode::KAFKA_STORAGE_ERROR));
  world.store_full = false;
  EXPECT_EQ(allocate(world, 1, -1).producer_id_start, 5000);
}

TEST(ControllerProducerIds, ManyAtOnceShareAChange) {
  World world;
  world.start_with_broker();
  world.hello(kCoordinator, false);
  world.sent.clear();
  world.store_held = true;
  for (std::uint64_t i = 0; i < 5; ++i) {
    world.forward(kafka::AllocateProducerIdsRequest{.broker_id = 1, .broker_epoch = -1}, 0, i, kCoordinator);
  }
  EXPECT_EQ(world.story(), "");
  world.release_store();
  std::vector<std::int64_t> firsts;
  for (const Sent& reply : world.of_type(ControlType::forward_reply)) {
    firsts.push_back(reply.body_of_response<kafka::AllocateProducerIdsResponse>(0).producer_id_start);
  }
  EXPECT_EQ(firsts, (std::vector<std::int64_t>{0, 1000, 2000, 3000, 4000}));
  EXPECT_EQ(world.data("/latest_producer_id_block"),
            R"({"version":1,"broker":1,"block_start":"4000","block_end":"4999"})");
}

TEST(ControllerProducerIds, RunOutInsteadOfOverflowing) {
  World world;
  world.tree = golden_tree(false);
  std::vector<OperationResult> results;
  ASSERT_EQ(
      world.tree.apply(
          {1,
           0,
           1,
           {Set{"/latest_producer_id_block",
                R"({"version":1,"broker":1,"block_start":"9223372036854774000","block_end":"9223372036854774999"})"}}},
          results),
      StoreCode::ok);
  world.start();
  world.hello(kBroker);
  EXPECT_EQ(allocate(world, 1, -1).error_code, -1);
}

// -- Taking over a directory ---------------------------------------------------------------------------------------

TEST(ControllerTakesOver, TheTopicsOfADirectoryWithoutLosingAnythingOfThem) {
  World world;
  FoundTopic found{"payment", {}, {{0, 4}, {2, -1}}};
  found.id.bytes[3] = 5;
  world.found.topics = {found,
                        {"__consumer_offsets", {}, {{0, 7}}},
                        {"bad name", {}, {{0, 0}}},
                        {"known", {}, {{0, 0}}, node::ConfigMap{{"cleanup.policy", "compact"}}}};
  world.found.broker_settings[""]["log.retention.ms"] = "5";
  world.start();
  world.hello(kBroker);
  ASSERT_TRUE(world.fatal.empty()) << world.fatal;
  const Topic& payment = world.controller->cluster().topics.at("payment");
  EXPECT_EQ(payment.id, found.id);
  ASSERT_EQ(payment.partitions.size(), 3u);
  EXPECT_EQ(payment.partitions[0].leader_epoch, 5);
  EXPECT_EQ(payment.partitions[2].leader_epoch, 0);
  EXPECT_EQ(payment.partitions[0].leader, 1);
  EXPECT_EQ(payment.configs.at("retention.ms"), "-1");
  EXPECT_EQ(world.controller->cluster().topics.at("__consumer_offsets").configs.at("cleanup.policy"), "compact");
  EXPECT_FALSE(world.controller->cluster().topics.at("__consumer_offsets").id.is_zero());
  EXPECT_FALSE(world.controller->cluster().topics.contains("bad name"));
  EXPECT_EQ(world.controller->cluster().topics.at("known").configs, (node::ConfigMap{{"cleanup.policy", "compact"}}));
  EXPECT_EQ(world.controller->cluster().broker_configs.at("<default>").at("log.retention.ms"), "5");
  EXPECT_TRUE(world.has("/config/brokers/<default>"));
  EXPECT_GE(allocate(world, 1, -1).producer_id_start, 1'000'000'000'000);
  world.forward(deleting({"payment"}), 5);
  world.start();  // what was deleted since does not come back
  EXPECT_FALSE(world.controller->cluster().topics.contains("payment"));
}

// -- Placement -----------------------------------------------------------------------------------------------------

TEST(Placement, IsKafkasForOneToTwentyBrokers) {
  std::ifstream in(TAILRACE_GOLDEN "/controller/assignments-3.9.txt");
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    std::stringstream fields(line);
    std::uint32_t brokers = 0, factor = 0, start = 0;
    std::int32_t first = 0;
    fields >> brokers >> factor >> start >> first;
    std::vector<BrokerId> ids;
    for (std::uint32_t i = 0; i < brokers; ++i) ids.push_back(static_cast<BrokerId>(i));
    const auto assigned = assign_replicas(ids, static_cast<std::int32_t>(brokers + 3),
                                          static_cast<std::int32_t>(factor), {start, start, first});
    for (const auto& replicas : assigned) {
      std::string theirs;
      fields >> theirs;
      std::string ours = "[";
      for (const BrokerId id : replicas) ours += (ours.size() > 1 ? "," : "") + std::to_string(id);
      EXPECT_EQ(ours + "]", theirs) << line;
    }
  }
  EXPECT_EQ(lines, 442u);
}

}  // namespace
}  // namespace tailrace::zkbridge
