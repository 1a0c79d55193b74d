// What zkbridge finds in a data directory: on directories that real Kafkas left, and on odd ones.
#include "services/zkbridge/found.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/io/io.h"
#include "services/zkbridge/kraft_settings.h"

namespace tailrace::zkbridge {
namespace {

namespace fs = std::filesystem;

class Found : public ::testing::Test {
 protected:
  Found() {
    char pattern[] = "/tmp/tailrace-found-XXXXXX";
    root_ = ::mkdtemp(pattern);
  }
  ~Found() override { fs::remove_all(root_); }

  std::string unpack(const std::string& archive) {
    const std::string command = "tar --zstd -xf " TAILRACE_GOLDEN "/dirs/" + archive + " -C " + root_;
    EXPECT_EQ(std::system(command.c_str()), 0);
    return root_;
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  // The folder that holds `data/`, wherever the archive put it.
  std::string data_folder() {
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (entry.is_directory() && entry.path().filename() == "data") return entry.path();
    }
    return {};
  }
  // The topics as clients of the real broker saw them.
  std::map<std::string, nlohmann::json> listing(std::map<std::string, int>& partitions) {
    std::map<std::string, nlohmann::json> topics;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (entry.path().filename() != "topics.jsonl" || entry.path().parent_path().filename() != "listing") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        nlohmann::json row = nlohmann::json::parse(line);
        ++partitions[row["topic"]];
        if (row["partition"] == 0) topics[row["topic"]] = row;
      }
    }
    return topics;
  }

  std::unique_ptr<io::Io> io_ = std::move(*io::make_io());
  std::string root_;
};

TEST_F(Found, TheTopicsAndSettingsOfAKafka4) {
  unpack("kafka-4.4-clean.data.tar.zst");
  unpack("kafka-4.4-clean.expected.tar.zst");
  const auto found = find_data(io_->files(), data_folder());
  ASSERT_TRUE(found.has_value()) << found.error();
  std::map<std::string, int> partitions;
  const auto topics = listing(partitions);
  ASSERT_GT(topics.size(), 15u);
  EXPECT_EQ(found->topics.size(), topics.size() + 2);  // the listing leaves out the two internal ones
  for (const FoundTopic& topic : found->topics) {
    if (topic.name.starts_with("__")) {
      EXPECT_EQ(topic.settings->at("cleanup.policy"), "compact");
      continue;
    }
    ASSERT_TRUE(topics.contains(topic.name)) << topic.name;
    const nlohmann::json& row = topics.at(topic.name);
    EXPECT_EQ(topic.id.text(), row["topic_id"].get<std::string>()) << topic.name;
    EXPECT_EQ(topic.partitions.size(), static_cast<std::size_t>(partitions[topic.name])) << topic.name;
    ASSERT_TRUE(topic.settings.has_value());
    EXPECT_EQ(nlohmann::json(*topic.settings), row["topic_config"]) << topic.name;
  }
  EXPECT_EQ(found->broker_settings.at("").at("min.insync.replicas"), "1");
  const auto identity = find_identity(io_->files(), data_folder());
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->cluster_id, "Z29sZGVuLWRhdGEtNDQAAA");
  EXPECT_EQ(identity->broker_id, 1);
}

TEST_F(Found, TheTopicsOfAKafka3WithoutSettings) {
  unpack("kafka-3.9-zk-killed.data.tar.zst");
  const auto found = find_data(io_->files(), data_folder());
  ASSERT_TRUE(found.has_value()) << found.error();
  bool has_txn = false;
  for (const FoundTopic& topic : found->topics) {
    EXPECT_FALSE(topic.settings.has_value());
    EXPECT_FALSE(topic.id.is_zero()) << topic.name;
    EXPECT_NE(topic.name, "doomed");  // deleted just before the kill
    has_txn = has_txn || topic.name == "txn";
  }
  EXPECT_TRUE(has_txn);
  EXPECT_EQ(find_identity(io_->files(), data_folder())->cluster_id, "xQUj11itS6C4IrIsmhlB8w");
}

TEST_F(Found, NamesWithDashesAndFoldersThatAreNoPartitions) {
  for (const char* folder :
       {"a-b-c-3", "plain", "x-", "-1", "y-01x", "gone-0.8f2a-delete", "odd-0.8f2a-stray", "new-0.8f-future"}) {
    fs::create_directories(root_ + "/" + folder);
  }
  write("file-7", "not a folder");
  write("a-b-c-3/leader-epoch-checkpoint", "0\n2\n0 0\n9 100\n");
  write("a-b-c-3/partition.metadata", "version: 0\ntopic_id: VCnbxxaYSfKOcoUDlDJlgQ");
  const auto found = find_data(io_->files(), root_);
  ASSERT_TRUE(found.has_value()) << found.error();
  ASSERT_EQ(found->topics.size(), 1u);
  EXPECT_EQ(found->topics[0].name, "a-b-c");
  EXPECT_EQ(found->topics[0].partitions, (std::map<std::int32_t, LeaderEpoch>{{3, 9}}));
  EXPECT_EQ(found->topics[0].id.text(), "VCnbxxaYSfKOcoUDlDJlgQ");
}

TEST_F(Found, AnEmptyDirectoryHasNothing) {
  const auto found = find_data(io_->files(), root_);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->topics.empty());
  EXPECT_EQ(find_identity(io_->files(), root_)->broker_id, -1);
  EXPECT_FALSE(find_data(io_->files(), root_ + "/missing").has_value());
}

TEST_F(Found, WhatDoesNotFitTogetherIsNamed) {
  write("t-0/partition.metadata", "version: 0\ntopic_id: VCnbxxaYSfKOcoUDlDJlgQ");
  write("t-1/partition.metadata", "version: 0\ntopic_id: aKA6S3BJSz-PYybykhv3ig");
  const auto two_ids = find_data(io_->files(), root_);
  ASSERT_FALSE(two_ids.has_value());
  EXPECT_NE(two_ids.error().find("different topic ids"), std::string::npos);
  write("t-1/partition.metadata", "version: 0\ntopic_id: short");
  EXPECT_NE(find_data(io_->files(), root_).error().find("t-1/partition.metadata"), std::string::npos);
  for (const char* const text : {"broker.id=abc\n", "nonsense", ""}) {
    write("meta.properties", text);
    EXPECT_FALSE(find_identity(io_->files(), root_).has_value()) << text;
  }
}

TEST(KraftSettings, RecordsThatDoNotReadAreSeen) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> out;
    for (int v : values) out.push_back(static_cast<std::byte>(v));
    return out;
  };
  KraftSettings settings;
  EXPECT_FALSE(settings.apply({}));
  EXPECT_FALSE(settings.apply(bytes({1})));
  EXPECT_TRUE(settings.apply(bytes({1, 25, 0, 1, 2})));  // a kind that says nothing about settings
  const auto set = bytes({1, 4, 0, 2, 2, 'a', 2, 'k', 2, 'v', 0});
  for (std::size_t size = 3; size < set.size() - 1; ++size) {
    EXPECT_FALSE(settings.apply(Bytes(set).first(size))) << size;
  }
  EXPECT_TRUE(settings.apply(set));
  EXPECT_EQ(settings.topics().at("a").at("k"), "v");
  EXPECT_TRUE(settings.apply(bytes({1, 4, 0, 2, 2, 'a', 2, 'k', 0, 0})));  // null: not set any more
  EXPECT_TRUE(settings.topics().at("a").empty());
}

}  // namespace
}  // namespace tailrace::zkbridge
