// The configuration: Java's .properties format, the table of settings against the keys of real Kafka, listeners, what a
// topic's settings come to, and DescribeConfigs row by row against what a Kafka 4.4 broker answered.
#include "services/node/config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "services/node/broker_configs.h"
#include "services/node/describe_configs.h"
#include "services/node/properties.h"
#include "services/node/settings.h"
#include "services/node/settings_markdown.h"
#include "services/node/topic_config.h"

namespace tailrace::node {
namespace {

std::string golden(const std::string& name) {
  std::ifstream in(std::string(TAILRACE_GOLDEN "/configs/") + name);
  EXPECT_TRUE(in.good()) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::vector<std::string>> golden_rows(const std::string& name) {
  std::vector<std::vector<std::string>> rows;
  std::stringstream lines(golden(name));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::size_t from = 0;
    for (std::size_t tab; (tab = line.find('\t', from)) != std::string::npos; from = tab + 1) {
      fields.push_back(line.substr(from, tab - from));
    }
    fields.push_back(line.substr(from));
    rows.push_back(fields);
  }
  return rows;
}

std::map<std::string, std::string> properties(std::string_view text) {
  const auto parsed = parse_properties(text);
  EXPECT_TRUE(parsed.has_value());
  std::map<std::string, std::string> map;
  if (parsed) {
    for (const Property& p : *parsed) map[p.key] = p.value;
  }
  return map;
}

Config config_of(std::string_view text) {
  const auto config = make_config({.file = "server.properties"}, text);
  EXPECT_TRUE(config.has_value()) << config.error();
  return config ? *config : Config{};
}

std::string complaint(std::string_view text, ConfigSource source = {.file = "server.properties"}) {
  const auto config = make_config(source, text);
  EXPECT_FALSE(config.has_value()) << text;
  return config ? std::string() : config.error();
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// -- .properties ---------------------------------------------------------------------------------------------------

TEST(Properties, SeparatorsCommentsAndBlanksAreJavas) {
  const auto map = properties(
      "# comment\n! comment too \\\n  a=1\nb : 2\nc 3\r\n\td\t=\t4  \n\n  # indented\ne=\nf\ng==h\n\"q\"=\\ "
      "x\ni=a=b:c");
  EXPECT_EQ(map.at("a"), "1");  // a comment line does not go on
  EXPECT_EQ(map.at("b"), "2");
  EXPECT_EQ(map.at("c"), "3");
  EXPECT_EQ(map.at("d"), "4  ");  // blanks at the end stay; the table of settings trims
  EXPECT_EQ(map.at("e"), "");
  EXPECT_EQ(map.at("f"), "");
  EXPECT_EQ(map.at("g"), "=h");
  EXPECT_EQ(map.at("\"q\""), " x");
  EXPECT_EQ(map.at("i"), "a=b:c");
  EXPECT_EQ(map.size(), 9u);
}

TEST(Properties, ContinuedLinesJoinWithoutTheBlanksThatFollow) {
  const auto map = properties("list=a,\\\n     b,\\\r\n\tc\nbackslash=end\\\\\nlast=x\\");
  EXPECT_EQ(map.at("list"), "a,b,c");
  EXPECT_EQ(map.at("backslash"), "end\\");
  EXPECT_EQ(map.at("last"), "x");
}

TEST(Properties, EscapesInKeysAndValues) {
  const auto map = properties("k\\=\\:\\ e=\\t\\n\\u0041\\u00e9\\ud83d\\ude00\\z");
  EXPECT_EQ(map.at("k=: e"), "\t\nA\xC3\xA9\xF0\x9F\x98\x80z");
}

TEST(Properties, ABrokenEscapeNamesItsLine) {
  const auto parsed = parse_properties("a=1\nb=\\u12g4\n");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_TRUE(contains(parsed.error(), "line 2"));
  EXPECT_FALSE(parse_properties("b=\\u12").has_value());
}

TEST(Properties, TheLastOfARepeatedKeyCountsAndAnyBytesAreTaken) {
  EXPECT_EQ(config_of("num.partitions=2\nnum.partitions=3\n").integer("num.partitions"), 3);
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
    for (std::string_view around : {"a=\\", "\\", "=", "\\u00"}) {
      (void)parse_properties(std::string(around) + static_cast<char>(c));
    }
  }
  (void)parse_properties(all);
}

// -- The table -----------------------------------------------------------------------------------------------------

TEST(Settings, TheTablesAreSortedAndTheirDefaultsAreAllowed) {
  for (const auto table : {broker_settings(), topic_settings()}) {
    for (std::size_t i = 1; i < table.size(); ++i) {
      EXPECT_LT(std::string_view(table[i - 1].name), std::string_view(table[i].name));
    }
    for (const Setting& setting : table) {
      if (setting.default_value == nullptr) continue;
      const auto value = normal_value(setting, setting.default_value);
      ASSERT_TRUE(value.has_value()) << value.error();
      EXPECT_EQ(*value, setting.default_value) << setting.name;
    }
  }
}

TEST(Settings, EveryKeyOfKafkaIsThereWithItsTypeAndDefault) {
  const std::map<std::string, SettingType> types = {
      {"BOOLEAN", SettingType::boolean}, {"STRING", SettingType::string},    {"INT", SettingType::int32},
      {"SHORT", SettingType::int16},     {"LONG", SettingType::int64},       {"DOUBLE", SettingType::float64},
      {"LIST", SettingType::list},       {"CLASS", SettingType::class_name}, {"PASSWORD", SettingType::password}};
  std::set<std::string> of_kafka4;
  std::size_t count = 0;
  for (const auto& row : golden_rows("keys.tsv")) {
    const bool topic = row[0].starts_with('t');
    const bool kafka4 = row[0].ends_with("44");
    const Setting* setting = topic ? find_topic_setting(row[1]) : find_broker_setting(row[1]);
    ASSERT_NE(setting, nullptr) << row[1];
    ++count;
    EXPECT_NE(setting->known_to & (kafka4 ? kKafka4 : kKafka3), 0) << row[1];
    if (kafka4) of_kafka4.insert(row[0] + row[1]);
    if (!kafka4 && of_kafka4.contains(row[0].substr(0, 1) + "44" + row[1])) continue;  // 4.4's say counts
    EXPECT_EQ(setting->type, types.at(row[2])) << row[1];
    EXPECT_EQ(setting->default_value == nullptr ? "" : std::string("=") + setting->default_value,
              row[3].starts_with('<') ? "" : row[3])
        << row[1];
    EXPECT_EQ((setting->known_to & kInternal) != 0, row[4] == "true") << row[1];
    if (!topic) {
      const Update update = row[5] == "cluster-wide" ? Update::cluster_wide
                            : row[5] == "per-broker" ? Update::per_broker
                                                     : Update::read_only;
      EXPECT_EQ(setting->update, update) << row[1];
    }
  }
  EXPECT_GT(count, 700u);
}

TEST(Settings, ValuesTakeTheirPlainForm) {
  const auto plain = [](const char* key, const char* value) {
    const auto normal = normal_value(*find_broker_setting(key), value);
    return normal ? *normal : "refused: " + normal.error();
  };
  EXPECT_EQ(plain("auto.create.topics.enable", " TRUE "), "true");
  EXPECT_EQ(plain("num.partitions", "+7"), "7");
  EXPECT_EQ(plain("log.cleaner.min.cleanable.ratio", "1"), "1.0");
  EXPECT_EQ(plain("log.cleaner.min.cleanable.ratio", ".25"), "0.25");
  EXPECT_EQ(plain("log.cleaner.io.max.bytes.per.second", "12345678"), "1.2345678E7");
  EXPECT_EQ(plain("log.cleaner.io.max.bytes.per.second", "0.0001"), "1.0E-4");
  EXPECT_EQ(plain("log.cleanup.policy", "compact , delete"), "compact,delete");
  EXPECT_EQ(plain("compression.gzip.level", "-1"), "-1");
}

TEST(Settings, ABadValueNamesKeyValueAndWhatIsAllowed) {
  const struct {
    const char* key;
    const char* value;
    const char* allowed;
  } cases[] = {
      {"num.partitions", "0", "Value must be at least 1"},
      {"num.partitions", "2147483648", "Not a number of type INT"},
      {"num.partitions", "many", "Not a number of type INT"},
      {"num.partitions", "", "Not a number of type INT"},
      {"num.partitions", "1x", "Not a number of type INT"},
      {"offsets.topic.replication.factor", "40000", "Not a number of type SHORT"},
      {"log.retention.ms", "9223372036854775808", "Not a number of type LONG"},
      {"auto.create.topics.enable", "yes", "either true or false"},
      {"log.cleaner.min.cleanable.ratio", "1.5", "Value must be no more than 1"},
      {"log.cleaner.min.cleanable.ratio", "nan", "Not a number of type DOUBLE"},
      {"compression.type", "GZIP", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
      {"compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"},
      {"log.cleanup.policy", "remove", "String must be one of: compact, delete"},
      {"tailrace.durability", "paper", "String must be one of: disk, memory"},
  };
  for (const auto& c : cases) {
    const auto value = normal_value(*find_broker_setting(c.key), c.value);
    ASSERT_FALSE(value.has_value()) << c.key << "=" << c.value;
    EXPECT_TRUE(contains(value.error(), c.key) && contains(value.error(), c.value) &&
                contains(value.error(), c.allowed))
        << value.error();
  }
  const auto password = normal_value(*find_broker_setting("ssl.key.password"), "hunter2");
  EXPECT_EQ(password.value_or(""), "hunter2");
}

// A key with a text promises an effect: some code reads it, or it stands for a topic's setting that some code reads.
TEST(Settings, KeysThatSayWhatTheyDoAreRead) {
  std::string source;
  for (const char* folder : {"services", "engine", "cli"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(TAILRACE_GOLDEN "/../../") + folder)) {
      const std::string name = entry.path().filename();
      if (entry.path().extension() != ".cc" || name.starts_with("settings_") || name == "broker_configs.cc") continue;
      std::ifstream in(entry.path());
      std::stringstream text;
      text << in.rdbuf();
      source += text.str();
    }
  }
  const auto is_read = [&](std::string_view key) { return contains(source, '"' + std::string(key) + '"'); };
  std::set<std::string> through_topics;
  for (const Setting& setting : topic_settings()) {
    if (setting.doc == nullptr) continue;
    EXPECT_TRUE(is_read(setting.name)) << setting.name;
    for (const ServerSynonym& synonym : server_synonyms(setting.name)) through_topics.insert(synonym.key);
  }
  for (const Setting& setting : broker_settings()) {
    if (setting.doc == nullptr) continue;
    EXPECT_TRUE(is_read(setting.name) || through_topics.contains(setting.name)) << setting.name;
  }
}

TEST(Settings, ThePageOfSettingsIsUpToDate) {
  const std::string path = TAILRACE_GOLDEN "/../../docs/configuration.md";
  if (std::getenv("TAILRACE_UPDATE_DOCS") != nullptr) std::ofstream(path) << settings_markdown();
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(text.str() == settings_markdown())
      << "docs/configuration.md differs from the table of settings; run this test with TAILRACE_UPDATE_DOCS=1";
}

// -- The configuration ---------------------------------------------------------------------------------------------

TEST(Configuration, WithoutAFileANodeIsForItsOwnMachine) {
  const auto config = make_config({}, {});
  ASSERT_TRUE(config.has_value()) << config.error();
  EXPECT_EQ(config->listeners.bound, (std::vector<Endpoint>{{"PLAINTEXT", "127.0.0.1", 9092}}));
  EXPECT_TRUE(config->listeners.advertised.empty());
  EXPECT_EQ(config->broker_id, -1);
  EXPECT_TRUE(config->durable);
  EXPECT_TRUE(config->ignored.empty());
  EXPECT_EQ(config->integer("offsets.topic.num.partitions"), 50);
}

TEST(Configuration, AFileWithoutListenersMeansKafkasDefault) {
  EXPECT_EQ(config_of("num.partitions=3\n").listeners.bound, (std::vector<Endpoint>{{"PLAINTEXT", "", 9092}}));
}

TEST(Configuration, TheCommandLineGoesBeforeTheFile) {
  const std::vector<std::string> arguments = {"--data=/d", "--listen",         "[::1]:0",
                                              "--set",     "num.partitions=9", "--set=num.partitions = 8"};
  auto source = parse_arguments(arguments);
  ASSERT_TRUE(source.has_value()) << source.error();
  const auto config = make_config(*source, "log.dirs=/x\nnum.partitions=2\n");
  ASSERT_TRUE(config.has_value()) << config.error();
  EXPECT_EQ(config->data_directory, "/d");
  EXPECT_EQ(config->listeners.bound, (std::vector<Endpoint>{{"PLAINTEXT", "::1", 0}}));
  EXPECT_EQ(config->integer("num.partitions"), 8);
}

TEST(Configuration, BadArgumentsAreNamed) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--port", "1"}, {"--data"}, {"--set", "x"}, {"--set", "=x"}, {"serve", "x"}}) {
    EXPECT_FALSE(parse_arguments(arguments).has_value()) << arguments[0];
  }
  EXPECT_TRUE(contains(complaint("", {.listen = "9092"}), "--listen"));
  EXPECT_TRUE(contains(complaint("", {.listen = "a:70000"}), "HOST:PORT"));
}

TEST(Configuration, AKeyThatNobodyHasNamesTheNearest) {
  EXPECT_TRUE(contains(complaint("num.partitons=3"), "server.properties:1: unknown configuration key num.partitons"));
  EXPECT_TRUE(contains(complaint("num.partitons=3"), "num.partitions"));
  EXPECT_TRUE(contains(complaint("tailrace.durabilty=disk"), "tailrace.durability"));
  EXPECT_TRUE(contains(complaint("retention.ms=3"), "log.retention.ms"));  // a setting of topics
  EXPECT_TRUE(contains(complaint("a=1", {.set = {{"zookeper.connect", "x"}}}), "--set: "));
}

TEST(Configuration, EverythingThatIsWrongIsSaidAtOnce) {
  const std::string all =
      complaint("num.partitions=0\nfoo=1\nlog.dirs=/a,/b\nlisteners=SSL://:1\nnode.id=1\nbroker.id=2\n");
  for (const char* part : {"num.partitions", "foo", "/a,/b", "SSL", "node.id"}) EXPECT_TRUE(contains(all, part)) << all;
}

// GroupCoordinatorConfig refuses the same.
TEST(Configuration, LimitsOfConsumerGroupsMustFitEachOther) {
  struct Case {
    const char* file;
    const char* says;
  };
  const Case cases[] = {
      {"group.consumer.min.heartbeat.interval.ms=15001\n", "group.consumer.max.heartbeat.interval.ms"},
      {"group.consumer.heartbeat.interval.ms=4999\n", "group.consumer.min.heartbeat.interval.ms is 5000"},
      {"group.consumer.heartbeat.interval.ms=15001\n", "at most group.consumer.max.heartbeat.interval.ms"},
      {"group.consumer.session.timeout.ms=44999\n", "group.consumer.min.session.timeout.ms"},
      {"group.consumer.session.timeout.ms=60001\n", "group.consumer.max.session.timeout.ms"},
      {"group.consumer.max.session.timeout.ms=44999\n", "group.consumer.max.session.timeout.ms"},
      {"group.consumer.max.heartbeat.interval.ms=45000\ngroup.consumer.heartbeat.interval.ms=45000\n",
       "less than group.consumer.session.timeout.ms"},
      {"group.consumer.assignment.interval.ms=15001\n", "group.consumer.max.assignment.interval.ms"},
      {"group.consumer.min.assignment.interval.ms=1001\n", "group.consumer.assignment.interval.ms"},
      {"group.consumer.assignors=\n", "need an assignor"},
      {"group.consumer.assignors=com.example.Mine,range\n", "com.example.Mine"},
      {"group.consumer.assignors=range,org.apache.kafka.coordinator.group.assignor.RangeAssignor\n", "range twice"},
      {"group.coordinator.rebalance.protocols=consumer\n", "must name classic"},
  };
  for (const Case& each : cases) {
    EXPECT_TRUE(contains(complaint(each.file), each.says)) << each.file << complaint(each.file);
  }
  const Config wide = config_of(
      "group.consumer.min.session.timeout.ms=1000\ngroup.consumer.session.timeout.ms=1001\n"
      "group.consumer.min.heartbeat.interval.ms=1000\ngroup.consumer.heartbeat.interval.ms=1000\n"
      "group.consumer.assignors=org.apache.kafka.coordinator.group.assignor.UniformAssignor,range\n");
  EXPECT_TRUE(wide.ignored.empty());
}

TEST(Configuration, KeysOfKafkasThatHaveNoEffectAreListedOnce) {
  const Config config = config_of(
      "num.io.threads=8\nnum.io.threads=9\nprocess.roles=broker\nnum.partitions=3\n"
      "listener.name.internal.ssl.key.password=x\nrsm.config.a.b=c\nsuper.users=User:a\n");
  EXPECT_EQ(config.ignored, (std::vector<std::string>{"listener.name.internal.ssl.key.password", "num.io.threads",
                                                      "process.roles", "rsm.config.a.b", "super.users"}));
}

TEST(Configuration, TheFilesThatKafkaShipsAreUnderstood) {
  // The settings of Kafka 4.4's config/server.properties.
  const Config kraft = config_of(
      "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.bootstrap.servers=localhost:9093\n"
      "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ninter.broker.listener.name=PLAINTEXT\n"
      "advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://"
      "localhost:9093\ncontroller.listener.names=CONTROLLER\n"
      "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,"
      "SASL_SSL:SASL_SSL\nnum.network.threads=3\nlog.dirs=/var/kraft\nlog.retention.hours=168\n");
  EXPECT_EQ(kraft.listeners.bound, (std::vector<Endpoint>{{"PLAINTEXT", "", 9092}}));
  EXPECT_EQ(kraft.listeners.advertised, (std::vector<Endpoint>{{"PLAINTEXT", "localhost", 9092}}));
  EXPECT_EQ(kraft.broker_id, 1);
  // Kafka 3's file joins a ZooKeeper: that must not silently become a node of its own.
  EXPECT_TRUE(contains(complaint("broker.id=0\nzookeeper.connect=localhost:2181\n"), "zookeeper.connect"));
  EXPECT_TRUE(contains(complaint("authorizer.class.name=a.b.C\n"), "authorizer.class.name"));
}

TEST(Listening, ListenersTakeNamesAddressesAndBrackets) {
  const auto listeners = [](std::string_view text) {
    return config_of("listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT,PLAINTEXT:PLAINTEXT\nlisteners=" +
                     std::string(text) + "\n")
        .listeners.bound;
  };
  EXPECT_EQ(listeners("PLAINTEXT://localhost:0"), (std::vector<Endpoint>{{"PLAINTEXT", "localhost", 0}}));
  EXPECT_EQ(listeners("in://[fe80::1%eth0]:1, OUT://10.0.0.1:2"),
            (std::vector<Endpoint>{{"IN", "fe80::1%eth0", 1}, {"OUT", "10.0.0.1", 2}}));
  EXPECT_EQ(listeners("PLAINTEXT://0.0.0.0:9092,PLAINTEXT://[::]:9092"),
            (std::vector<Endpoint>{{"PLAINTEXT", "0.0.0.0", 9092}, {"PLAINTEXT", "::", 9092}}));
  EXPECT_EQ(endpoint_text({"PLAINTEXT", "::1", 9}), "PLAINTEXT://[::1]:9");
}

TEST(Listening, WhatCannotBeIsRefusedByName) {
  for (const char* text : {"listeners=", "listeners=9092", "listeners=PLAINTEXT://:x", "listeners=PLAINTEXT://:-1",
                           "listeners=PLAINTEXT://:65536", "listeners=PLAINTEXT://[::1:9092", "listeners=://h:1",
                           "listeners=PLAINTEXT://a:b:9092", "listeners=PLAINTEXT://h\xC3\xA4:1",
                           "listeners=PLAINTEXT://a:1,PLAINTEXT://b:2", "listeners=PLAINTEXT://a:1,SSL://b:2",
                           "listeners=FOO://a:1", "listener.security.protocol.map=x",
                           "listener.security.protocol.map=FOO:PLAINTEXT\nlisteners=PLAINTEXT://a:1,FOO://b:1"}) {
    EXPECT_TRUE(contains(complaint(text), "listener")) << text;
  }
  EXPECT_TRUE(contains(complaint("listeners=SASL_PLAINTEXT://:9092"), "only PLAINTEXT is served"));
  EXPECT_TRUE(contains(complaint("advertised.listeners=PLAINTEXT://0.0.0.0:9092"), "advertised.listeners"));
  EXPECT_TRUE(contains(complaint("advertised.listeners=PLAINTEXT://:9092"), "advertised.listeners"));
  EXPECT_TRUE(contains(complaint("listener.security.protocol.map=X:PLAINTEXT\nadvertised.listeners=X://h:9092"),
                       "not among listeners"));
}

// -- Topics --------------------------------------------------------------------------------------------------------

TEST(TopicSettings, TheTopicGoesBeforeTheDynamicBeforeTheFileBeforeTheDefault) {
  const Config fixed = config_of("log.segment.bytes=2000000\nlog.retention.bytes=5\nlog.retention.bytes=6\n");
  const ConfigMap of_all = {{"log.segment.bytes", "3000000"}, {"log.index.interval.bytes", "7"}};
  const ConfigMap of_this = {{"log.index.interval.bytes", "8"}};
  const BrokerConfigs broker{fixed, of_this, of_all};
  const TopicConfig plain = topic_config(broker, {});
  EXPECT_EQ(plain.segment_bytes, 3000000);
  EXPECT_EQ(plain.index_interval_bytes, 8);
  EXPECT_EQ(plain.retention_bytes, 6);
  EXPECT_EQ(plain.segment_index_bytes, 10485760);
  EXPECT_EQ(topic_config(broker, {{"segment.bytes", "1048576"}}).segment_bytes, 1048576);
  EXPECT_EQ(topic_config(only_fixed(fixed), {}).segment_bytes, 2000000);
}

TEST(TopicSettings, DefaultsAreKafkas) {
  const auto config = make_config({}, {});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(topic_config(only_fixed(*config), {}), TopicConfig{});
}

TEST(TopicSettings, TheFinerUnitGoesBeforeTheCoarser) {
  const auto retention = [](std::string_view text) {
    return topic_config(only_fixed(config_of(text)), {}).retention_ms;
  };
  EXPECT_EQ(retention("log.retention.hours=2\n"), 7200000);
  EXPECT_EQ(retention("log.retention.hours=2\nlog.retention.minutes=3\n"), 180000);
  EXPECT_EQ(retention("log.retention.hours=2\nlog.retention.minutes=3\nlog.retention.ms=4\n"), 4);
  EXPECT_EQ(retention("log.retention.hours=-1\n"), -1);
  const TopicConfig roll = topic_config(only_fixed(config_of("log.roll.hours=1\nlog.roll.jitter.hours=1\n")), {});
  EXPECT_EQ(roll.segment_ms, 3600000);
  EXPECT_EQ(roll.segment_jitter_ms, 3600000);
}

TEST(TopicSettings, KafkasInternalSegmentSizeAndOldTimestampBoundCount) {
  const auto config = make_config({}, {});
  ASSERT_TRUE(config.has_value());
  const BrokerConfigs broker = only_fixed(*config);
  EXPECT_EQ(topic_config(broker, {{"internal.segment.bytes", "4096"}, {"segment.bytes", "2000000"}}).segment_bytes,
            4096);
  const TopicConfig old =
      topic_config(broker, {{"message.timestamp.difference.max.ms", "5"}, {"message.timestamp.after.max.ms", "6"}});
  EXPECT_EQ(old.timestamp_before_max_ms, 5);
  EXPECT_EQ(old.timestamp_after_max_ms, 6);
}

TEST(TopicSettings, WhatOthersStoredWronglyCountsAsNotSet) {
  const auto config = make_config({}, {});
  ASSERT_TRUE(config.has_value());
  const TopicConfig odd =
      topic_config(only_fixed(*config), {{"segment.bytes", "x"}, {"retention.ms", "-7"}, {"foo", "1"}});
  EXPECT_EQ(odd, TopicConfig{});
}

TEST(TopicSettings, AreCheckedOneByOneAndTogether) {
  EXPECT_EQ(check_topic_setting("retention.ms", " 5 ").value_or(""), "5");
  EXPECT_TRUE(contains(check_topic_setting("retenton.ms", "5").error(), "Unknown topic config name: retenton.ms"));
  EXPECT_FALSE(check_topic_setting("retention.ms", "-2").has_value());
  EXPECT_FALSE(check_topic_setting("cleanup.policy", "compact,keep").has_value());
  EXPECT_TRUE(check_topic_setting("leader.replication.throttled.replicas", "0:1,1:2").has_value());
  EXPECT_TRUE(check_topic_setting("leader.replication.throttled.replicas", "*").has_value());
  EXPECT_FALSE(check_topic_setting("leader.replication.throttled.replicas", "0:a").has_value());
  const auto config = make_config({}, {});
  ASSERT_TRUE(config.has_value());
  EXPECT_FALSE(
      check_topic_settings(only_fixed(*config), {{"min.compaction.lag.ms", "9"}, {"max.compaction.lag.ms", "8"}}));
  EXPECT_FALSE(check_topic_settings(only_fixed(*config), {{"remote.storage.enable", "true"}}));
  EXPECT_TRUE(check_topic_settings(only_fixed(*config), {{"min.compaction.lag.ms", "9"}}));
}

// Codes and texts are those of a Kafka 4.4 that was asked.
TEST(BrokerSettings, OnlyDynamicKeysMayBeChangedAtRunTime) {
  const auto config = make_config({}, "");
  const auto check = [&](ConfigList wanted, bool one_broker) -> std::string {
    const auto normal = check_broker_settings(only_fixed(*config), wanted, one_broker);
    return normal ? (normal->empty() ? "" : normal->front().second) : normal.error();
  };
  EXPECT_EQ(check({{"log.retention.ms", " 5 "}}, true), "5");
  EXPECT_EQ(check({{"log.retention.ms", "5"}}, false), "5");
  EXPECT_EQ(check({{"ssl.cipher.suites", "x"}}, true), "x");
  EXPECT_EQ(check({{"ssl.cipher.suites", "x"}}, false),
            "Cannot update these configs at default cluster level, broker id must be specified: [ssl.cipher.suites]");
  EXPECT_EQ(check({{"ssl.keystore.type", "JKS"}}, true),
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            "[ssl.keystore.type]");
  EXPECT_EQ(check({{"listener.name.x.ssl.keystore.type", "JKS"}}, true), "JKS");
  EXPECT_EQ(check({{"listener.name.x.ssl.keystore.type", "JKS"}}, false),
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "[listener.name.x.ssl.keystore.type]");
  EXPECT_EQ(check({{"listener.name.x.max.connections", "5"}}, false), "5");
  EXPECT_EQ(check({{"listener.name.x.max.connections", "a"}}, true),
            "Invalid value a for configuration max.connections: Not a number of type INT");
  EXPECT_EQ(check({{"num.partitions", "2"}, {"log.retention.ms", "2"}, {"broker.id", "2"}}, true),
            "Cannot update these configs dynamically: [num.partitions, broker.id]");
  EXPECT_EQ(check({{"listeners", "PLAINTEXT://:1"}}, true), "Cannot update these configs dynamically: [listeners]");
  EXPECT_EQ(check({{"message.max.bytes", "-1"}}, true),
            "Invalid value -1 for configuration message.max.bytes: Value must be at least 0");
  EXPECT_EQ(check({{"somebody.elses.key", "5"}}, true), "5");
}

TEST(BrokerSettings, SomeValuesAreJudgedTogetherOrByTheirMeaning) {
  const auto config = make_config({}, "");
  const auto check = [&](ConfigList wanted) -> std::string {
    const auto normal = check_broker_settings(only_fixed(*config), wanted, true);
    return normal ? "" : normal.error();
  };
  EXPECT_TRUE(contains(check({{"log.retention.ms", "0"}}), "must be unlimited (-1)"));
  EXPECT_EQ(check({{"log.retention.ms", "-1"}}), "");
  EXPECT_TRUE(contains(check({{"log.roll.ms", "0"}}), "greater than or equal to 1"));
  EXPECT_TRUE(contains(check({{"log.roll.jitter.ms", "-1"}}), "greater than or equal to 0"));
  EXPECT_TRUE(contains(check({{"max.connections.per.ip", "0"}}), "only if max.connections.per.ip.overrides"));
  EXPECT_EQ(check({{"max.connections.per.ip", "0"}, {"max.connections.per.ip.overrides", "127.0.0.1:5"}}), "");
  EXPECT_TRUE(contains(check({{"max.connections.per.ip.overrides", "nonsense"}}), "Error parsing"));
  EXPECT_EQ(check({{"max.connections.per.ip.overrides", "127.0.0.1:x"}}), "For input string: \"x\"");
  EXPECT_TRUE(
      contains(check({{"max.connections.per.ip.overrides", "not a host:5"}}), "invalid addresses : not a host"));
  EXPECT_EQ(check({{"group.consumer.assignment.interval.ms", "15000"}}), "");
  for (const char* kind : {"consumer", "share", "streams"}) {
    const std::string key = std::string("group.") + kind + ".assignment.interval.ms";
    EXPECT_EQ(check({{key, "15001"}}),
              key + " must be less than or equal to group." + kind + ".max.assignment.interval.ms");
  }
  // What could not be read later would leave everybody without a limit, or without a connection.
  EXPECT_TRUE(contains(check({{"max.connections.per.ip.overrides", "127.0.0.1:5,localhost:5"}}), "numeric addresses"));
  EXPECT_EQ(check({{"max.connections.per.ip.overrides", "::1:5, [2001:db8::1]:6 ,10.0.0.1:7"}}), "");
}

// -- DescribeConfigs -----------------------------------------------------------------------------------------------

const char* origin_text(ConfigOrigin origin) {
  switch (origin) {
    case ConfigOrigin::client_metrics:
      return "DYNAMIC_CLIENT_METRICS_CONFIG";
    case ConfigOrigin::group:
      return "DYNAMIC_GROUP_CONFIG";
    case ConfigOrigin::topic:
      return "DYNAMIC_TOPIC_CONFIG";
    case ConfigOrigin::this_broker:
      return "DYNAMIC_BROKER_CONFIG";
    case ConfigOrigin::all_brokers:
      return "DYNAMIC_DEFAULT_BROKER_CONFIG";
    case ConfigOrigin::fixed:
      return "STATIC_BROKER_CONFIG";
    case ConfigOrigin::default_value:
      return "DEFAULT_CONFIG";
    case ConfigOrigin::unknown:
      return "UNKNOWN";
  }
  return "UNKNOWN";
}

std::string row_text(const ConfigRow& row) {
  static const char* const types[] = {"UNKNOWN", "BOOLEAN", "STRING", "INT",   "SHORT",
                                      "LONG",    "DOUBLE",  "LIST",   "CLASS", "PASSWORD"};
  std::string text = row.name + "\t" + row.value.value_or("null") + "\t" + origin_text(row.source) + "\t" +
                     (row.read_only ? "ro" : "rw") + "\t" + (row.sensitive ? "sensitive" : "-") + "\t" +
                     types[static_cast<int>(row.type)] + "\t";
  for (const ConfigSynonym& s : row.synonyms) {
    text += " " + s.name + "=" + s.value.value_or("null") + "@" + origin_text(s.source);
  }
  return text;
}

// Kafka's rows of one resource against ours. What only a KRaft node has is left out: the min.insync.replicas that
// formatting a directory sets, and the roles.
void compare(const char* when, const char* resource, const std::vector<ConfigRow>& rows) {
  std::map<std::string, std::string> ours;
  for (const ConfigRow& row : rows) ours[row.name] = row_text(row);
  std::size_t compared = 0;
  for (const auto& fields : golden_rows("describe-4.4.tsv")) {
    if (fields[0] != when || fields[1] != resource || fields[2] == "min.insync.replicas") continue;
    std::string theirs = fields[2];
    for (std::size_t i = 3; i < fields.size(); ++i) theirs += "\t" + fields[i];
    ASSERT_TRUE(ours.contains(fields[2])) << fields[2];
    EXPECT_EQ(ours[fields[2]], theirs);
    ours.erase(fields[2]);
    ++compared;
  }
  EXPECT_GT(compared, 3u);
  for (const auto& [name, text] : ours) {
    EXPECT_TRUE(name.starts_with("tailrace.") || name == "min.insync.replicas") << text;
  }
}

class DescribeConfigs : public ::testing::Test {
 protected:
  Config fixed_ = config_of(golden("server.properties"));
  ConfigMap of_this_ = {
      {"log.retention.ms", "777777"}, {"num.io.threads", "4"}, {"listener.name.foo.ssl.keystore.password", "x"}};
  ConfigMap of_all_ = {{"log.retention.ms", "888888"},
                       {"log.roll.ms", "999999"},
                       {"num.network.threads", "4"},
                       {"message.max.bytes", "2000000"}};
  ConfigMap over_ = {
      {"retention.ms", "1000"}, {"cleanup.policy", "compact,delete"}, {"min.cleanable.dirty.ratio", "0.1"}};
};

TEST_F(DescribeConfigs, OfABrokerIsWhatKafkaAnswers) {
  compare("before", "BROKER:0", describe_broker(only_fixed(fixed_), 0));
  compare("after", "BROKER:0", describe_broker({fixed_, of_this_, of_all_}, 0));
}

TEST_F(DescribeConfigs, OfAllBrokersIsWhatKafkaAnswers) { compare("after", "BROKER:", describe_all_brokers(of_all_)); }

TEST_F(DescribeConfigs, OfATopicIsWhatKafkaAnswers) {
  compare("before", "TOPIC:plain", describe_topic(only_fixed(fixed_), {}));
  compare("before", "TOPIC:over", describe_topic(only_fixed(fixed_), over_));
  compare("after", "TOPIC:plain", describe_topic({fixed_, of_this_, of_all_}, {}));
  compare("after", "TOPIC:over", describe_topic({fixed_, of_this_, of_all_}, over_));
}

TEST_F(DescribeConfigs, OldAndInternalKeysAppearOnlyWhenSet) {
  const auto names = [&](const ConfigMap& overrides) {
    std::set<std::string> set;
    for (const ConfigRow& row : describe_topic(only_fixed(fixed_), overrides)) set.insert(row.name);
    return set;
  };
  EXPECT_FALSE(names({}).contains("internal.segment.bytes"));
  EXPECT_FALSE(names({}).contains("message.downconversion.enable"));
  EXPECT_TRUE(names({{"internal.segment.bytes", "1"}}).contains("internal.segment.bytes"));
  EXPECT_TRUE(names({{"message.downconversion.enable", "true"}}).contains("message.downconversion.enable"));
}

}  // namespace
}  // namespace tailrace::node
