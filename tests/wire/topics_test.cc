// Topics as clients see, make and change them: Metadata, CreateTopics, DeleteTopics, CreatePartitions, DescribeConfigs,
// and what of it survives a restart (kafka.md's traps 3, 9, 10, 21, 24).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/describe_configs.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/metadata.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using kafka::MetadataRequest;
using kafka::MetadataResponse;

MetadataRequest about(std::string_view name, bool may_create = false) {
  return {.topics = {{{.name = name}}}, .allow_auto_topic_creation = may_create};
}

ErrorCode error_of(const Answer<MetadataResponse>& answer, std::size_t topic = 0) {
  return answer->topics.size() <= topic ? ErrorCode::UNKNOWN_SERVER_ERROR
                                        : static_cast<ErrorCode>(answer->topics[topic].error_code);
}

std::set<std::string> names_in(const Answer<MetadataResponse>& answer) {
  std::set<std::string> names;
  for (const auto& topic : answer->topics) names.emplace(topic.name.value_or(""));
  return names;
}

// -- Metadata ------------------------------------------------------------------------------------------------------

class Metadata : public WireTest {};

TEST_F(Metadata, AnEmptyListMeansAllInVersion0AndNoneLater) {
  const std::string topic = fresh("listed");
  make_topic(client, topic);
  EXPECT_TRUE(names_in(client.call<MetadataResponse>(MetadataRequest{.topics = {{}}}, 0)).contains(topic));
  for (std::int16_t version = 1; version <= kMetadataVersion; ++version) {
    EXPECT_TRUE(client.call<MetadataResponse>(MetadataRequest{.topics = {{}}}, version)->topics.empty());
    EXPECT_TRUE(names_in(client.call<MetadataResponse>(MetadataRequest{}, version)).contains(topic));
  }
}

TEST_F(Metadata, NamesThisNodeAsBrokerLeaderAndController) {
  const std::string topic = fresh("leader");
  make_topic(client, topic, 3);
  const auto answer = client.call<MetadataResponse>(about(topic), kMetadataVersion);
  ASSERT_EQ(answer->brokers.size(), 1u);
  EXPECT_EQ(answer->brokers[0].host, "127.0.0.1");
  EXPECT_EQ(answer->brokers[0].port, node().port());
  EXPECT_GE(answer->controller_id, 0);
  EXPECT_EQ(answer->controller_id, answer->brokers[0].node_id);
  ASSERT_TRUE(answer->cluster_id);
  EXPECT_EQ(answer->cluster_id->size(), 22u);
  ASSERT_EQ(error_of(answer), ErrorCode::NONE);
  ASSERT_EQ(answer->topics[0].partitions.size(), 3u);
  for (std::int32_t i = 0; i < 3; ++i) {
    const auto& partition = answer->topics[0].partitions[static_cast<std::size_t>(i)];
    EXPECT_EQ(partition.partition_index, i);
    EXPECT_EQ(partition.leader_id, answer->controller_id);
    EXPECT_GE(partition.leader_epoch, 0);
    EXPECT_EQ(partition.replica_nodes, std::vector<std::int32_t>{answer->controller_id});
    EXPECT_EQ(partition.isr_nodes, partition.replica_nodes);
  }
}

TEST_F(Metadata, MakesAnUnknownTopicWhenTheClientAllowsIt) {
  const std::string topic = fresh("automatic");
  Answer<MetadataResponse> answer;
  ASSERT_TRUE(eventually([&] {
    answer = client.call<MetadataResponse>(about(topic, true), kMetadataVersion);
    const ErrorCode error = error_of(answer);
    EXPECT_TRUE(error == ErrorCode::NONE || error == ErrorCode::LEADER_NOT_AVAILABLE) << kafka::error_name(error);
    return error == ErrorCode::NONE;
  }));
  EXPECT_EQ(answer->topics[0].partitions.size(), 1u);  // num.partitions
  EXPECT_FALSE(answer->topics[0].topic_id.is_zero());
  EXPECT_EQ(produce(client, topic, batch_of({"at once"})).error, ErrorCode::NONE);
}

// Versions before 4 cannot say no.
TEST_F(Metadata, OldVersionsAlwaysAllowIt) {
  const std::string topic = fresh("automatic-old");
  EXPECT_TRUE(eventually([&] { return error_of(client.call<MetadataResponse>(about(topic), 1)) == ErrorCode::NONE; }));
}

TEST_F(Metadata, MakesNothingWithoutPermission) {
  const std::string topic = fresh("forbidden");
  EXPECT_EQ(error_of(client.call<MetadataResponse>(about(topic), kMetadataVersion)),
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_FALSE(names_in(client.call<MetadataResponse>(MetadataRequest{}, kMetadataVersion)).contains(topic));
}

TEST_F(Metadata, NamesThatKafkaDoesNotAllowAreInvalid) {
  for (const std::string& name : {std::string("a b"), std::string("ä"), std::string("."), std::string(".."),
                                  std::string(), std::string("a/b"), std::string(250, 'x')}) {
    EXPECT_EQ(error_of(client.call<MetadataResponse>(about(name, true), kMetadataVersion)),
              ErrorCode::INVALID_TOPIC_EXCEPTION)
        << name;
  }
}

TEST_F(Metadata, EachTopicHasItsOwnAnswer) {
  const std::string topic = fresh("several");
  const Uuid id = make_topic(client, topic);
  Uuid unknown = id;
  unknown.bytes[9] ^= 1;
  const MetadataRequest by_name{.topics = {{{.name = "bad name"}, {.name = topic}, {.name = "nobody-made-this"}}},
                                .allow_auto_topic_creation = false};
  const auto named = client.call<MetadataResponse>(by_name, 12);
  ASSERT_EQ(named->topics.size(), 3u);
  EXPECT_EQ(error_of(named, 0), ErrorCode::INVALID_TOPIC_EXCEPTION);
  EXPECT_EQ(error_of(named, 1), ErrorCode::NONE);
  EXPECT_EQ(error_of(named, 2), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);

  const MetadataRequest by_id{.topics = {{{.topic_id = id}, {.topic_id = unknown}}},
                              .allow_auto_topic_creation = false};
  const auto answer = client.call<MetadataResponse>(by_id, 12);
  ASSERT_EQ(answer->topics.size(), 2u);
  EXPECT_EQ(error_of(answer, 0), ErrorCode::NONE);
  EXPECT_EQ(answer->topics[0].name, topic);
  EXPECT_EQ(error_of(answer, 1), ErrorCode::UNKNOWN_TOPIC_ID);
}

TEST_F(Metadata, TellsWhatIsAllowedOnlyWhenAsked) {
  const std::string topic = fresh("operations");
  make_topic(client, topic);
  MetadataRequest request = about(topic);
  EXPECT_EQ(client.call<MetadataResponse>(request, 10)->topics.at(0).topic_authorized_operations, kafka::kInt32Min);
  request.include_topic_authorized_operations = true;
  request.include_cluster_authorized_operations = true;
  const auto answer = client.call<MetadataResponse>(request, 10);
  EXPECT_GT(answer->topics.at(0).topic_authorized_operations, 0);
  EXPECT_GT(answer->cluster_authorized_operations, 0);
}

// -- CreateTopics --------------------------------------------------------------------------------------------------

class CreateTopics : public WireTest {
 protected:
  using Request = kafka::CreateTopicsRequest;
  using Response = kafka::CreateTopicsResponse;
  using Topic = Request::CreatableTopic;
  ErrorCode make(const Topic& topic, std::int16_t version = kCreateTopicsVersion) {
    Request request;
    request.topics.push_back(topic);
    const auto answer = client.call<Response>(request, version);
    return static_cast<ErrorCode>(answer->topics.at(0).error_code);
  }
  bool is_there(const std::string& name) {
    return error_of(client.call<MetadataResponse>(about(name), kMetadataVersion)) == ErrorCode::NONE;
  }
};

TEST_F(CreateTopics, RefusesWhatKafkaRefuses) {
  const std::string name = fresh("refused");
  const std::string there = fresh("there");
  make_topic(client, there);
  EXPECT_EQ(make({.name = there, .num_partitions = 1, .replication_factor = 1}), ErrorCode::TOPIC_ALREADY_EXISTS);
  EXPECT_EQ(make({.name = "no spaces", .num_partitions = 1, .replication_factor = 1}),
            ErrorCode::INVALID_TOPIC_EXCEPTION);
  EXPECT_EQ(make({.name = "", .num_partitions = 1, .replication_factor = 1}), ErrorCode::INVALID_TOPIC_EXCEPTION);
  EXPECT_EQ(make({.name = name, .num_partitions = 0, .replication_factor = 1}), ErrorCode::INVALID_PARTITIONS);
  EXPECT_EQ(make({.name = name, .num_partitions = -5, .replication_factor = 1}), ErrorCode::INVALID_PARTITIONS);
  EXPECT_EQ(make({.name = name, .num_partitions = 1, .replication_factor = 0}), ErrorCode::INVALID_REPLICATION_FACTOR);
  EXPECT_EQ(make({.name = name, .num_partitions = 1, .replication_factor = 2}), ErrorCode::INVALID_REPLICATION_FACTOR);
  EXPECT_EQ(make({.name = name, .num_partitions = 1, .replication_factor = 1, .configs = {{"no.such.key", "1"}}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(make({.name = name, .num_partitions = 1, .replication_factor = 1, .configs = {{"retention.ms", "soon"}}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(
      make({.name = name, .num_partitions = 1, .replication_factor = 1, .configs = {{"retention.ms", std::nullopt}}}),
      ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(make({.name = name, .num_partitions = 1, .replication_factor = -1, .assignments = {{0, {0}}}}),
            ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(make({.name = name, .num_partitions = -1, .replication_factor = -1, .assignments = {{0, {77}}}}),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(make({.name = name, .num_partitions = -1, .replication_factor = -1, .assignments = {{1, {0}}}}),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(make({.name = name, .num_partitions = 1'000'000, .replication_factor = 1}), ErrorCode::POLICY_VIOLATION);
  EXPECT_FALSE(is_there(name));
}

TEST_F(CreateTopics, NamesThatCollideInMetricsAreRefused) {
  make_topic(client, "collide_a.b");
  EXPECT_EQ(make({.name = "collide_a_b", .num_partitions = 1, .replication_factor = 1}),
            ErrorCode::INVALID_TOPIC_EXCEPTION);
}

TEST_F(CreateTopics, GoodAndBadTopicsAreAnsweredOneByOne) {
  const std::string good = fresh("good");
  const std::string assigned = fresh("assigned");
  const std::string twice = fresh("twice");
  Request request;
  request.topics = {
      {.name = good, .num_partitions = 2, .replication_factor = -1, .configs = {{"retention.ms", "1234567"}}},
      {.name = "bad name", .num_partitions = 1, .replication_factor = 1},
      {.name = assigned, .num_partitions = -1, .replication_factor = -1, .assignments = {{0, {0}}, {1, {0}}, {2, {0}}}},
      {.name = twice, .num_partitions = 1, .replication_factor = 1},
      {.name = twice, .num_partitions = 1, .replication_factor = 1}};
  const auto answer = client.call<Response>(request, kCreateTopicsVersion);
  std::map<std::string_view, const Response::CreatableTopicResult*> results;
  for (const auto& topic : answer->topics) results[topic.name] = &topic;
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[good]->error_code, 0);
  EXPECT_EQ(results[good]->num_partitions, 2);
  EXPECT_EQ(results[good]->replication_factor, 1);
  ASSERT_TRUE(results[good]->configs);
  const auto retention =
      std::ranges::find(*results[good]->configs, "retention.ms", &Response::CreatableTopicConfigs::name);
  ASSERT_NE(retention, results[good]->configs->end());
  EXPECT_EQ(retention->value, "1234567");
  EXPECT_EQ(results["bad name"]->error_code, kafka::wire(ErrorCode::INVALID_TOPIC_EXCEPTION));
  EXPECT_EQ(results[assigned]->error_code, 0);
  EXPECT_EQ(results[twice]->error_code, kafka::wire(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(client.call<MetadataResponse>(about(assigned), kMetadataVersion)->topics.at(0).partitions.size(), 3u);
  EXPECT_FALSE(is_there(twice));
  // Told that it is there means that it takes records.
  EXPECT_EQ(produce(client, good, batch_of({"x"}), 1).error, ErrorCode::NONE);
}

TEST_F(CreateTopics, ValidationMakesNothing) {
  const std::string name = fresh("validated");
  const std::string bad = fresh("validated-bad");
  Request request{.validate_only = true};
  request.topics = {{.name = name, .num_partitions = 3, .replication_factor = 1},
                    {.name = bad, .num_partitions = 3, .replication_factor = 9}};
  const auto answer = client.call<Response>(request, kCreateTopicsVersion);
  ASSERT_EQ(answer->topics.size(), 2u);
  EXPECT_EQ(answer->topics[0].error_code, 0);
  EXPECT_EQ(answer->topics[0].num_partitions, 3);
  EXPECT_EQ(answer->topics[1].error_code, kafka::wire(ErrorCode::INVALID_REPLICATION_FACTOR));
  EXPECT_FALSE(is_there(name));
}

// -- DeleteTopics --------------------------------------------------------------------------------------------------

class DeleteTopics : public WireTest {
 protected:
  using Request = kafka::DeleteTopicsRequest;
  using Response = kafka::DeleteTopicsResponse;
};

TEST_F(DeleteTopics, GoodAndBadTopicsAreAnsweredOneByOne) {
  const std::string name = fresh("deleted");
  make_topic(client, name);
  const auto answer =
      client.call<Response>(Request{.topic_names = {name, "nobody-made-this"}, .timeout_ms = 30'000}, 5);
  ASSERT_EQ(answer->responses.size(), 2u);
  for (const auto& each : answer->responses) {
    EXPECT_EQ(each.error_code, each.name == name ? 0 : kafka::wire(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  }
  EXPECT_EQ(error_of(client.call<MetadataResponse>(about(name), kMetadataVersion)),
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(produce(client, name, batch_of({"x"})).error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(fetch(client, name, 0).error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

TEST_F(DeleteTopics, Version6NamesByNameOrById) {
  const std::string name = fresh("deleted-by-id");
  const Uuid id = make_topic(client, name);
  Uuid unknown = id;
  unknown.bytes[5] ^= 1;
  const auto wrong = client.call<Response>(
      Request{.topics = {{.topic_id = unknown}, {.name = "nobody-made-this"}, {.name = name, .topic_id = id}},
              .timeout_ms = 30'000},
      6);
  ASSERT_EQ(wrong->responses.size(), 3u);
  std::multiset<ErrorCode> errors;
  for (const auto& each : wrong->responses) errors.insert(static_cast<ErrorCode>(each.error_code));
  EXPECT_EQ(errors, (std::multiset<ErrorCode>{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::INVALID_REQUEST,
                                              ErrorCode::UNKNOWN_TOPIC_ID}));
  const auto right = client.call<Response>(Request{.topics = {{.topic_id = id}}, .timeout_ms = 30'000}, 6);
  ASSERT_EQ(right->responses.size(), 1u);
  EXPECT_EQ(right->responses[0].error_code, 0);
  EXPECT_EQ(right->responses[0].name, name);
}

// Its folder's name has room for little more; that of the folder on its way out is shortened.
TEST_F(DeleteTopics, TheLongestNamesCanBeMadeUsedAndDeleted) {
  for (const std::size_t size : {std::size_t{249}, std::size_t{220}}) {
    const std::string name(size, 'n');
    make_topic(client, name, 12);
    EXPECT_EQ(produce(client, name, batch_of({"x"}), 11).error, ErrorCode::NONE);
    const auto answer = client.call<Response>(Request{.topic_names = {name}, .timeout_ms = 30'000}, 5);
    EXPECT_EQ(answer->responses.at(0).error_code, 0);
    make_topic(client, name, 1);
    EXPECT_EQ(log_end(client, name), 0);
    ASSERT_EQ(
        client.call<Response>(Request{.topic_names = {name}, .timeout_ms = 30'000}, 5)->responses.at(0).error_code, 0);
  }
  // They stay for log.segment.delete.delay.ms, under a name that says so.
  for (const auto& entry : std::filesystem::directory_iterator(node().data())) {
    const std::string folder = entry.path().filename().string();
    EXPECT_TRUE(!folder.starts_with("nnn") || folder.ends_with("-delete")) << folder;
  }
}

TEST_F(DeleteTopics, ATopicMadeAnewIsAnotherOne) {
  const std::string name = fresh("anew");
  const Uuid old_id = make_topic(client, name);
  ASSERT_EQ(produce(client, name, batch_of({"old"})).error, ErrorCode::NONE);
  ASSERT_EQ(client.call<Response>(Request{.topic_names = {name}, .timeout_ms = 30'000}, 5)->responses.at(0).error_code,
            0);
  const Uuid new_id = make_topic(client, name);
  EXPECT_NE(new_id, old_id);
  EXPECT_EQ(log_end(client, name), 0);
  EXPECT_EQ(fetch(client, name, 0).records, "");
}

// -- CreatePartitions ----------------------------------------------------------------------------------------------

TEST_F(CreateTopics, PartitionsAreAddedAndNeverTakenAway) {
  using Request = kafka::CreatePartitionsRequest;
  using Response = kafka::CreatePartitionsResponse;
  const std::string name = fresh("grows");
  const std::string other = fresh("stays");
  make_topic(client, name, 2);
  make_topic(client, other, 2);
  const auto grow = [&](std::string_view topic, std::int32_t count, bool validate_only = false) {
    Request request{.topics = {{.name = topic, .count = count}}, .timeout_ms = 30'000, .validate_only = validate_only};
    return static_cast<ErrorCode>(client.call<Response>(request, 3)->results.at(0).error_code);
  };
  const auto partitions_of = [&](const std::string& topic) {
    return client.call<MetadataResponse>(about(topic), kMetadataVersion)->topics.at(0).partitions.size();
  };
  EXPECT_EQ(grow(name, 4, true), ErrorCode::NONE);
  EXPECT_EQ(partitions_of(name), 2u);
  EXPECT_EQ(grow(name, 2), ErrorCode::INVALID_PARTITIONS);
  EXPECT_EQ(grow(name, 1), ErrorCode::INVALID_PARTITIONS);
  EXPECT_EQ(grow(name, -1), ErrorCode::INVALID_PARTITIONS);
  EXPECT_EQ(grow("nobody-made-this", 4), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);

  Request request{.timeout_ms = 30'000};
  request.topics = {{.name = name, .count = 4},
                    {.name = other, .count = 3, .assignments = {{{.broker_ids = {77}}}}},
                    {.name = "nobody-made-this", .count = 3}};
  const auto answer = client.call<Response>(request, 3);
  std::map<std::string_view, ErrorCode> errors;
  for (const auto& each : answer->results) errors[each.name] = static_cast<ErrorCode>(each.error_code);
  EXPECT_EQ(errors[name], ErrorCode::NONE);
  EXPECT_EQ(errors[other], ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(errors["nobody-made-this"], ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(partitions_of(name), 4u);
  EXPECT_EQ(partitions_of(other), 2u);
  EXPECT_EQ(produce(client, name, batch_of({"x"}), 3).error, ErrorCode::NONE);
}

// -- DescribeConfigs -----------------------------------------------------------------------------------------------

class DescribeConfigs : public WireTest {
 protected:
  using Request = kafka::DescribeConfigsRequest;
  using Response = kafka::DescribeConfigsResponse;
  static constexpr std::int8_t kTopic = 2;
  static constexpr std::int8_t kBroker = 4;
  static constexpr std::int8_t kFromTopic = 1;
  static constexpr std::int8_t kDefault = 5;
  Answer<Response> describe(std::int8_t type, std::string_view name,
                            std::optional<std::vector<std::string_view>> keys = std::nullopt, bool synonyms = true) {
    Request request{.include_synonyms = synonyms, .include_documentation = true};
    request.resources.push_back({.resource_type = type, .resource_name = name, .configuration_keys = std::move(keys)});
    return client.call<Response>(request, 4);
  }
  static const Response::DescribeConfigsResourceResult* find(const Answer<Response>& answer, std::string_view key) {
    const auto& configs = answer->results.at(0).configs;
    const auto found = std::ranges::find(configs, key, &Response::DescribeConfigsResourceResult::name);
    return found == configs.end() ? nullptr : &*found;
  }
  // The keys that Kafka 4.4 tells of such a resource.
  static std::set<std::string> kafkas_keys(const std::string& resource) {
    std::set<std::string> keys;
    std::ifstream file(TAILRACE_GOLDEN "/configs/describe-4.4.tsv");
    for (std::string line; std::getline(file, line);) {
      std::istringstream columns(line);
      std::string when, what, key;
      std::getline(columns, when, '\t');
      std::getline(columns, what, '\t');
      std::getline(columns, key, '\t');
      // The recorded broker was given a listener of that name.
      if (when == "before" && what == resource && !key.starts_with("listener.name.foo.")) keys.insert(key);
    }
    return keys;
  }
};

TEST_F(DescribeConfigs, OfATopicTellsAllOfKafkasKeys) {
  const std::string topic = fresh("configs");
  make_topic(client, topic, 1, {{"retention.ms", "777"}});
  const auto answer = describe(kTopic, topic);
  ASSERT_EQ(answer->results.size(), 1u);
  EXPECT_EQ(answer->results[0].error_code, 0);
  std::set<std::string> keys;
  for (const auto& config : answer->results[0].configs) keys.emplace(config.name);
  for (const std::string& key : kafkas_keys("TOPIC:plain")) EXPECT_TRUE(keys.contains(key)) << key;

  const auto* const retention = find(answer, "retention.ms");
  ASSERT_NE(retention, nullptr);
  EXPECT_EQ(retention->value, "777");
  EXPECT_EQ(retention->config_source, kFromTopic);
  ASSERT_FALSE(retention->synonyms.empty());
  EXPECT_EQ(retention->synonyms[0].name, "retention.ms");
  EXPECT_EQ(retention->synonyms[0].value, "777");
  EXPECT_EQ(retention->synonyms[0].source, kFromTopic);

  const auto* const policy = find(answer, "cleanup.policy");
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->value, "delete");
  EXPECT_EQ(policy->config_source, kDefault);
  ASSERT_FALSE(policy->synonyms.empty());
  EXPECT_EQ(policy->synonyms[0].name, "log.cleanup.policy");
  EXPECT_FALSE(policy->is_sensitive);
}

TEST_F(DescribeConfigs, SynonymsComeOnlyWhenAskedFor) {
  const std::string topic = fresh("no-synonyms");
  make_topic(client, topic);
  for (const auto& config : describe(kTopic, topic, std::nullopt, false)->results.at(0).configs)
    EXPECT_TRUE(config.synonyms.empty());
}

TEST_F(DescribeConfigs, OfABrokerTellsAllOfKafkasKeys) {
  const auto answer = describe(kBroker, "0");
  ASSERT_EQ(answer->results.size(), 1u);
  ASSERT_EQ(answer->results[0].error_code, 0);
  std::set<std::string> keys;
  for (const auto& config : answer->results[0].configs) keys.emplace(config.name);
  for (const std::string& key : kafkas_keys("BROKER:0")) EXPECT_TRUE(keys.contains(key)) << key;
  const auto* const password = find(answer, "ssl.keystore.password");
  ASSERT_NE(password, nullptr);
  EXPECT_TRUE(password->is_sensitive);
  EXPECT_FALSE(password->value);
}

TEST_F(DescribeConfigs, SingleKeysCanBeAskedFor) {
  const std::string topic = fresh("single");
  make_topic(client, topic);
  const auto answer = describe(kTopic, topic, {{"segment.bytes", "no.such.key", "cleanup.policy"}});
  ASSERT_EQ(answer->results.at(0).configs.size(), 2u);
  EXPECT_NE(find(answer, "segment.bytes"), nullptr);
  EXPECT_GT(describe(kTopic, topic, {{}})->results.at(0).configs.size(), 30u);  // a list without keys names all
}

TEST_F(DescribeConfigs, WhatIsNotThereIsAnErrorOfTheResource) {
  const auto error = [&](std::int8_t type, std::string_view name) {
    const auto answer = describe(type, name);
    EXPECT_TRUE(answer->results.at(0).configs.empty());
    EXPECT_EQ(answer->results.at(0).resource_name, name);
    return static_cast<ErrorCode>(answer->results.at(0).error_code);
  };
  EXPECT_EQ(error(kTopic, "nobody-made-this"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(error(kBroker, "7"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error(kBroker, "seven"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error(99, "0"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error(-1, ""), ErrorCode::INVALID_REQUEST);
}

// -- After a restart -----------------------------------------------------------------------------------------------

TEST(Restart, KeepsTopicsIdsRecordsProducersAndTheCluster) {
  const std::unique_ptr<Node> node = Node::start({.settings = {"auto.create.topics.enable=false"}});
  Uuid topic_id;
  std::string cluster_id;
  std::string stored;
  ProducerId last_producer_id = -1;
  LeaderEpoch epoch = -1;
  constexpr record::BatchOptions kFirst{.producer_id = 4000, .producer_epoch = 1, .base_sequence = 0};
  constexpr record::BatchOptions kSecond{.producer_id = 4000, .producer_epoch = 1, .base_sequence = 2};
  {
    Client client(node->port());
    topic_id = make_topic(client, "kept", 2, {{"retention.ms", "-1"}});
    ASSERT_EQ(produce(client, "kept", batch_of({"a", "b"}, kFirst)).error, ErrorCode::NONE);
    ASSERT_EQ(produce(client, "kept", batch_of({"c"}, kSecond)).base_offset, 2);
    stored = fetch(client, "kept", 0).records;
    const auto answer = client.call<MetadataResponse>(about("kept"), kMetadataVersion);
    cluster_id = *answer->cluster_id;
    epoch = answer->topics.at(0).partitions.at(0).leader_epoch;
    EXPECT_EQ(error_of(client.call<MetadataResponse>(about("unknown", true), kMetadataVersion)),
              ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
        << "auto.create.topics.enable=false";
    last_producer_id = client.call<kafka::InitProducerIdResponse>(kafka::InitProducerIdRequest{}, 4)->producer_id;
  }
  ASSERT_EQ(node->restart(), 0);
  Client client(node->port());
  const auto answer = client.call<MetadataResponse>(about("kept"), kMetadataVersion);
  ASSERT_EQ(error_of(answer), ErrorCode::NONE);
  EXPECT_EQ(answer->topics[0].topic_id, topic_id);
  EXPECT_EQ(answer->topics[0].partitions.size(), 2u);
  EXPECT_EQ(*answer->cluster_id, cluster_id);
  EXPECT_EQ(answer->controller_id, answer->brokers.at(0).node_id);
  const LeaderEpoch new_epoch = answer->topics[0].partitions[0].leader_epoch;
  EXPECT_GE(new_epoch, epoch);
  if (new_epoch > epoch) {
    EXPECT_EQ(fetch(client, "kept", 0, {.leader_epoch = epoch}).error, ErrorCode::FENCED_LEADER_EPOCH);
    EXPECT_EQ(list_offset(client, "kept", -1, 0, epoch).error, ErrorCode::FENCED_LEADER_EPOCH);
  }
  EXPECT_EQ(fetch(client, "kept", 0, {.leader_epoch = new_epoch}).error, ErrorCode::NONE);
  EXPECT_EQ(fetch(client, "kept", 0).records, stored);
  // Snapshots keep the last batch of a producer.
  const Produced again = produce(client, "kept", batch_of({"c"}, kSecond));
  EXPECT_EQ(again.error, ErrorCode::NONE);
  EXPECT_EQ(again.base_offset, 2);
  record::BatchOptions gap = kSecond;
  gap.base_sequence = 4;
  EXPECT_EQ(produce(client, "kept", batch_of({"e"}, gap)).error, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  gap.base_sequence = 3;
  EXPECT_EQ(produce(client, "kept", batch_of({"d"}, gap)).base_offset, 3);
  EXPECT_GT(client.call<kafka::InitProducerIdResponse>(kafka::InitProducerIdRequest{}, 4)->producer_id,
            last_producer_id);
  EXPECT_EQ(node->stop(), 0);
}

}  // namespace
}  // namespace tailrace::wire
