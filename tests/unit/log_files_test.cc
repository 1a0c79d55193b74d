// The text files and names of a log directory: Kafka's formats both ways, and what is not one of them is told apart.
#include <gtest/gtest.h>

#include "engine/log/checkpoint.h"
#include "engine/log/directory_files.h"
#include "engine/log/format.h"
#include "engine/log/leader_epochs.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::log {
namespace {

template <class T>
bool is_corrupt(const Result<T>& result) {
  return !result && result.error().code == Code::corrupt;
}

TEST(LogFiles, SegmentNamesAreTwentyDigitsAndASuffix) {
  EXPECT_EQ(segment_file_name(0, kLogSuffix), "00000000000000000000.log");
  EXPECT_EQ(segment_file_name(1234567890123, kTimeIndexSuffix), "00000001234567890123.timeindex");
  EXPECT_EQ(parse_segment_file_name("00000000000000000042.log", kLogSuffix), 42);
  EXPECT_EQ(parse_segment_file_name("09223372036854775807.log", kLogSuffix), 9223372036854775807);
  for (const char* name : {"0000000000000000042.log", "00000000000000000042.index", "00000000000000000042.log.deleted",
                           "09223372036854775808.log", "-0000000000000000042.log", "+0000000000000000042.log",
                           "0000000000000000004x.log", ".log", ""})
    EXPECT_FALSE(parse_segment_file_name(name, kLogSuffix).has_value()) << name;
}

TEST(LogFiles, CheckpointsAreKafkasText) {
  const OffsetCheckpoint offsets = {{{"orders", 0}, 12}, {{"orders", 10}, 0}, {{"a-b.c_d", 3}, 1ll << 40}};
  const std::string text = encode_offset_checkpoint(offsets);
  EXPECT_EQ(text, "0\n3\na-b.c_d 3 1099511627776\norders 0 12\norders 10 0\n");
  EXPECT_EQ(parse_offset_checkpoint(text), offsets);
  EXPECT_EQ(encode_offset_checkpoint({}), "0\n0\n");
  EXPECT_EQ(parse_offset_checkpoint("0\n0\n"), OffsetCheckpoint{});
  for (const char* wrong : {"", "0", "1\n0\n", "0\nx\n", "0\n-1\n", "0\n1\n", "0\n0\norders 0 1\n", "0\n1\norders 0\n",
                            "0\n1\norders x 1\n", "0\n1\norders 0 1 2\n", "0\n1\norders -1 1\n", "0\n1\n 0 1\n",
                            "0\n1\norders 0 99999999999999999999\n", "\xff\xfe"})
    EXPECT_TRUE(is_corrupt(parse_offset_checkpoint(wrong))) << wrong;
}

TEST(LogFiles, ACheckpointIsReplacedWhole) {
  test::TemporaryDirectory directory;
  test::InlineFiles files;
  const std::string path = directory / std::string(kRecoveryPointFile);
  EXPECT_EQ(read_offset_checkpoint(files, path), OffsetCheckpoint{}) << "not there yet";
  ASSERT_TRUE(write_offset_checkpoint(files, path, {{{"t", 1}, 5}}).has_value());
  ASSERT_TRUE(write_offset_checkpoint(files, path, {{{"t", 1}, 6}}).has_value());
  EXPECT_EQ(test::read_text(path), "0\n1\nt 1 6\n");
  files.small_write = {.nth = 1, .error = ENOSPC};
  EXPECT_EQ(write_offset_checkpoint(files, path, {{{"t", 1}, 7}}).error().code, Code::disk_full);
  EXPECT_EQ(test::read_text(path), "0\n1\nt 1 6\n");
}

// Whatever step of replacing it fails: the name leads to the old content or to the whole new one, and the next attempt
// is not misled by what this one left.
TEST(LogFiles, ACheckpointThatCannotBeReplacedIsTheOldOne) {
  test::TemporaryDirectory directory;
  test::InlineFiles files;
  const std::string path = directory / std::string(kRecoveryPointFile);
  const OffsetCheckpoint old = {{{"orders", 0}, 4}};
  const OffsetCheckpoint newer = {{{"orders", 0}, 5}, {{"orders", 1}, 6}};
  using Files = test::InlineFiles;
  for (Files::Fault Files::* kind :
       {&Files::opening, &Files::truncation, &Files::small_write, &Files::plain_sync, &Files::directory_sync}) {
    ASSERT_TRUE(write_offset_checkpoint(files, path, old).has_value());
    (files.*kind) = {.nth = 1, .error = EIO};
    EXPECT_FALSE(write_offset_checkpoint(files, path, newer).has_value());
    (files.*kind) = {};
    const Result<OffsetCheckpoint> found = read_offset_checkpoint(files, path);
    ASSERT_TRUE(found.has_value()) << found.error().text();
    EXPECT_EQ(*found, kind == &Files::directory_sync ? newer : old);
    ASSERT_TRUE(write_offset_checkpoint(files, path, newer).has_value());
    EXPECT_EQ(*read_offset_checkpoint(files, path), newer);
  }
}

TEST(LogFiles, LeaderEpochsAreKafkasText) {
  const std::vector<EpochStart> entries = {{0, 0}, {3, 17}};
  EXPECT_EQ(encode_leader_epochs(entries), "0\n2\n0 0\n3 17\n");
  EXPECT_EQ(parse_leader_epochs("0\n2\n0 0\n3 17\n"), entries);
  // Entries that contradict a later one go, as when they are assigned one after the other.
  EXPECT_EQ(parse_leader_epochs("0\n3\n0 0\n5 20\n3 17\n"), entries);
  for (const char* wrong : {"", "2\n0\n", "0\n1\n", "0\n1\n1\n", "0\n1\n-1 0\n", "0\n1\n1 -5\n", "0\n1\n1 2 3\n"})
    EXPECT_FALSE(parse_leader_epochs(wrong).has_value()) << wrong;
}

TEST(LogFiles, PartitionDirectoriesGoBothWays) {
  const std::string id(32, 'a');
  const PartitionDirectory directories[] = {{"orders", 0, DirectoryState::current, ""},
                                            {"with-dash-", 12, DirectoryState::current, ""},
                                            {"dot.ted", 3, DirectoryState::deleted, id},
                                            {"orders", 3, DirectoryState::stray, id},
                                            {"orders", 3, DirectoryState::future, id}};
  const std::string names[] = {"orders-0", "with-dash--12", "dot.ted-3." + id + "-delete", "orders-3." + id + "-stray",
                               "orders-3." + id + "-future"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    EXPECT_EQ(partition_directory_name(directories[i]), names[i]);
    EXPECT_EQ(parse_partition_directory_name(names[i]), directories[i]);
  }
  for (const std::string name : {"", "-", "orders", "orders-", "-0", "orders-x", "orders-00", "orders-1-delete",
                                 "orders-1.abc-delete", "or ders-1", "orders-99999999999", "..-1", "lost+found"})
    EXPECT_FALSE(parse_partition_directory_name(name).has_value()) << name;

  // A name with a suffix must fit the file system; the topic is cut.
  const PartitionDirectory longest{std::string(249, 't'), 7, DirectoryState::deleted, id};
  const std::string name = partition_directory_name(longest);
  EXPECT_EQ(name.size(), 255u);
  EXPECT_EQ(parse_partition_directory_name(name)->partition, 7);
}

TEST(LogFiles, MetaPropertiesOfBothVersions) {
  const Result<MetaProperties> zookeeper = parse_meta_properties(
      "#\n#Sun Nov 29 12:57:10 UTC 2026\nbroker.id=1\nversion=0\ncluster.id=xQUj11itS6C4IrIsmhlB8w\n");
  ASSERT_TRUE(zookeeper.has_value());
  EXPECT_EQ(zookeeper->version, 0);
  EXPECT_EQ(zookeeper->node_id, 1);
  EXPECT_EQ(zookeeper->cluster_id, "xQUj11itS6C4IrIsmhlB8w");

  MetaProperties properties;
  properties.cluster_id = "c\\u=\n:x ";
  properties.node_id = 3;
  properties.directory_id = Uuid{};
  ASSERT_TRUE(Uuid::parse("1OZ-VtKFz_xjaQZ2r3VK4Q", *properties.directory_id));
  properties.others = {{"some key", " leading"}, {"empty", ""}};
  EXPECT_EQ(parse_meta_properties(encode_meta_properties(properties)), properties);
  properties.version = 0;
  EXPECT_NE(encode_meta_properties(properties).find("broker.id=3"), std::string::npos);
  EXPECT_EQ(parse_meta_properties(encode_meta_properties(properties)), properties);

  const Result<MetaProperties> escaped =
      parse_meta_properties("! note\n  node.id : 4\r\nversion 1\ncluster.id=\\u0041\\tb\n");
  ASSERT_TRUE(escaped.has_value());
  EXPECT_EQ(escaped->node_id, 4);
  EXPECT_EQ(escaped->cluster_id, "A\tb");
  for (const char* wrong :
       {"version=2\n", "version=x\n", "version=1\nnode.id=one\n", "version=1\ndirectory.id=short\n"})
    EXPECT_TRUE(is_corrupt(parse_meta_properties(wrong))) << wrong;
}

TEST(LogFiles, PartitionMetadataAndCleanShutdown) {
  const Result<Uuid> id = parse_partition_metadata("version: 0\ntopic_id: Wm6UdZ8QTL6JhErlwZcTRw");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(encode_partition_metadata(*id), "version: 0\ntopic_id: Wm6UdZ8QTL6JhErlwZcTRw");
  for (const char* wrong : {"", "version: 1\ntopic_id: Wm6UdZ8QTL6JhErlwZcTRw", "version: 0\n",
                            "version: 0\ntopic_id: short", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"})
    EXPECT_FALSE(parse_partition_metadata(wrong).has_value()) << wrong;

  EXPECT_EQ(encode_clean_shutdown(488), R"({"version":0,"brokerEpoch":488})");
  EXPECT_EQ(parse_clean_shutdown(R"({"version":0,"brokerEpoch":-1})"), -1);
  EXPECT_EQ(parse_clean_shutdown(R"({ "brokerEpoch" : 7 , "version":0})"), 7);
  for (const char* none : {"", "{}", R"({"brokerEpoch":})", R"({"brokerEpoch"})"})
    EXPECT_FALSE(parse_clean_shutdown(none).has_value()) << none;
}

}  // namespace
}  // namespace tailrace::log
