// Directories that Kafka 3.9 and 4.4 left behind: opened as they are, after a kill, and after every damage that was
// tried on the real broker. What the log then holds must be what that broker had.
#include <filesystem>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "engine/base/observe.h"
#include "engine/log/checkpoint.h"
#include "engine/log/directory_files.h"
#include "engine/log/log.h"
#include "engine/record/records.h"
#include "tests/unit/support/golden_directories.h"
#include "tests/unit/support/inline_files.h"

namespace tailrace::log {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr TimestampMs kNow = 1'795'957'000'000;

class LogGolden : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { start_logging("test", LogLevel::error); }

  void use(const std::string& name) {
    folder_ = test::golden_case(name);
    for (const json& line : test::read_json_lines(folder_ + "/expected/" + listing_of(name))) {
      if (line.contains("topic_config")) configs_[line["topic"]] = line["topic_config"];
      listings_.push_back(line);
    }
    recovery_points_ = read_checkpoint(kRecoveryPointFile);
    log_starts_ = read_checkpoint(kLogStartOffsetFile);
  }

  static std::string listing_of(const std::string& name) {
    return name.ends_with("killed") ? "recovered/topics.jsonl" : "listing/topics.jsonl";
  }

  OffsetCheckpoint read_checkpoint(std::string_view file) {
    Result<OffsetCheckpoint> checkpoint = read_offset_checkpoint(files_, folder_ + "/data/" + std::string(file));
    EXPECT_TRUE(checkpoint.has_value());
    return checkpoint.value_or(OffsetCheckpoint{});
  }

  LogConfig config_of(const std::string& topic) const {
    LogConfig config;
    config.index_interval_bytes = 1024;  // the broker's setting
    if (const auto found = configs_.find(topic); found != configs_.end()) {
      const auto number = [&](const char* key, auto& value) {
        if (found->second.contains(key))
          value =
              static_cast<std::remove_reference_t<decltype(value)>>(std::stoll(found->second[key].get<std::string>()));
      };
      number("index.interval.bytes", config.index_interval_bytes);
      number("segment.index.bytes", config.index_bytes_max);
    }
    return config;
  }

  OpenHints hints_of(const TopicPartition& partition, bool clean) const {
    OpenHints hints;
    hints.clean_shutdown = clean;
    if (const auto found = recovery_points_.find(partition); found != recovery_points_.end())
      hints.recovery_point = found->second;
    if (const auto found = log_starts_.find(partition); found != log_starts_.end())
      hints.log_start_offset = found->second;
    return hints;
  }

  // A fresh copy of a partition's directory.
  std::string copy(const TopicPartition& partition) {
    const std::string name =
        partition_directory_name({partition.topic, partition.partition, DirectoryState::current, {}});
    const std::string to = copies_ / std::to_string(++copy_count_);
    fs::create_directory(to);
    fs::copy(folder_ + "/data/" + name, to + "/" + name, fs::copy_options::recursive);
    return to + "/" + name;
  }

  std::unique_ptr<Log> open(const std::string& directory, const TopicPartition& partition, bool clean) {
    Result<std::unique_ptr<Log>> log =
        Log::open(files_, directory, config_of(partition.topic), hints_of(partition, clean), kNow);
    EXPECT_TRUE(log.has_value()) << directory << ": " << (log ? "" : log.error().text());
    if (!log) return nullptr;
    sync(**log);
    return std::move(*log);
  }
  void sync(Log& log) {
    if (!log.needs_sync()) return;
    test::Awaited synced;
    log.sync(synced.completion);
    files_.run();
    EXPECT_EQ(synced.result, 0);
  }

  // The offsets of the records from the log start on, control records left out; every batch must be whole.
  static std::vector<Offset> offsets_of(const Log& log) {
    std::vector<Offset> offsets;
    record::Scratch scratch;
    const Result<void> done = log.for_each_batch(
        log.log_start_offset(), true, [&](const record::BatchHeader& header, Bytes batch, const SegmentRef&, Position) {
          EXPECT_EQ(header.size_bytes(), batch.size());
          if (header.is_control() && header.magic == record::kMagicV2) return true;
          Result<record::Records> records = record::Records::open(batch, scratch, 1 << 28);
          EXPECT_TRUE(records.has_value());
          record::Record record;
          while (records && records->next(record).value_or(false)) {
            if (record.offset >= log.log_start_offset()) offsets.push_back(record.offset);
          }
          return true;
        });
    EXPECT_TRUE(done.has_value());
    return offsets;
  }

  static std::vector<Offset> expected_offsets(const json& listing) {
    std::vector<Offset> offsets;
    for (const json& record : listing["records"])
      offsets.push_back(record.is_object() ? record["o"].get<Offset>() : record.get<Offset>());
    return offsets;
  }

  // What a broker's clients saw, and that every offset can be read.
  void expect_log_is(const Log& log, const json& listing) {
    EXPECT_EQ(log.log_start_offset(), listing["start"].get<Offset>());
    EXPECT_EQ(log.end_offset(), listing["end"].get<Offset>());
    EXPECT_EQ(log.written_end(), log.end_offset());
    EXPECT_EQ(log.durable_end(), log.end_offset());
    if (listing.contains("records")) {
      EXPECT_EQ(offsets_of(log), expected_offsets(listing));
    }

    const auto max = log.find_max_timestamp(log.end_offset());
    ASSERT_TRUE(max.has_value()) << max.error().text();
    const TimestampedOffset found = max->value_or(TimestampedOffset{});
    EXPECT_EQ(found.timestamp, listing["max_timestamp"].get<TimestampMs>());
    EXPECT_EQ(found.offset, listing["max_timestamp_offset"].get<Offset>());

    // Each record is found by its time: the first one that is not older.
    if (listing.contains("records") && !listing["records"].empty() && listing["records"][0].is_object()) {
      for (const json& record : listing["records"]) {
        const TimestampMs timestamp = record["ts"].get<TimestampMs>();
        if (timestamp < 0) continue;
        const auto by_time = log.find_by_timestamp(timestamp, log.end_offset());
        ASSERT_TRUE(by_time.has_value() && by_time->has_value());
        EXPECT_LE((*by_time)->offset, record["o"].get<Offset>());
        EXPECT_GE((*by_time)->timestamp, timestamp);
      }
    }
    expect_extents_are_whole(log);
  }

  void expect_extents_are_whole(const Log& log) {
    for (Offset from = log.log_start_offset(); from <= log.end_offset(); ++from) {
      const Result<Extent> extent = log.plan_read(from, log.end_offset(), 1 << 20, true);
      ASSERT_TRUE(extent.has_value()) << from << ": " << extent.error().text();
      if (extent->length == 0) continue;
      std::vector<std::byte> bytes(extent->length);
      ASSERT_EQ(files_.read(extent->file, bytes, extent->position).value_or(0), bytes.size());
      record::Scratch scratch;
      const Result<record::Records> records = record::Records::open(bytes, scratch, 1 << 28);
      ASSERT_TRUE(records.has_value());
      EXPECT_GE(records->header().last_offset(), from);
      EXPECT_LT(records->header().base_offset, log.end_offset());
    }
  }

  test::InlineFiles files_;
  std::string folder_;
  std::vector<json> listings_;
  std::map<std::string, json> configs_;
  OffsetCheckpoint recovery_points_;
  OffsetCheckpoint log_starts_;
  test::TemporaryDirectory copies_;
  int copy_count_ = 0;
};

TopicPartition partition_of(const json& listing) { return {listing["topic"], listing["partition"]}; }

class CleanDirectory : public LogGolden {};

TEST_P(CleanDirectory, OpensWithWhatClientsSaw) {
  use(GetParam());
  ASSERT_FALSE(listings_.empty());
  for (const json& listing : listings_) {
    const TopicPartition partition = partition_of(listing);
    SCOPED_TRACE(partition.topic + "-" + std::to_string(partition.partition));
    const std::string directory = copy(partition);
    const auto before = test::sha256_of_files(directory);
    auto log = open(directory, partition, true);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->scanned_from(), log->end_offset()) << "a clean directory was scanned";
    expect_log_is(*log, listing);
    ASSERT_TRUE(log->close().has_value());
    EXPECT_EQ(test::sha256_of_files(directory), before) << "opening and closing changed a file";
  }
}

// The same directories without the promise of a clean stop: every batch is scanned, nothing is lost.
TEST_P(CleanDirectory, LosesNothingWhenItIsScanned) {
  use(GetParam());
  for (const json& listing : listings_) {
    const TopicPartition partition = partition_of(listing);
    SCOPED_TRACE(partition.topic + "-" + std::to_string(partition.partition));
    const std::string directory = copy(partition);
    OpenHints hints = hints_of(partition, false);
    hints.recovery_point = 0;
    auto log = Log::open(files_, directory, config_of(partition.topic), hints, kNow);
    if (log) sync(**log);
    ASSERT_TRUE(log.has_value()) << log.error().text();
    expect_log_is(**log, listing);
    ASSERT_TRUE((*log)->close().has_value());
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CleanDirectory, ::testing::Values("kafka-4.4-clean", "kafka-3.9-zk-clean"));

class KilledDirectory : public LogGolden {
 protected:
  // The sizes and hashes that the broker's files had after recovery and a clean stop.
  static void expect_files(const std::string& directory, const json& files, bool with_indexes) {
    const std::string name = fs::path(directory).filename();
    const auto sums = test::sha256_of_files(directory);
    for (const auto& [path, file] : files.items()) {
      if (!path.starts_with(name + "/")) continue;
      const std::string base = path.substr(name.size() + 1);
      const bool is_index = base.ends_with(".index") || base.ends_with(".timeindex");
      if (!base.ends_with(".log") && !(with_indexes && is_index)) continue;
      const auto found = sums.find(base);
      if (found == sums.end()) {
        ADD_FAILURE() << base << " is not there";
      } else {
        EXPECT_EQ(found->second, file["sha256"].get<std::string>()) << base;
      }
    }
    for (const auto& [base, sum] : sums) {
      EXPECT_TRUE(!base.ends_with(".log") || files.contains(name + "/" + base)) << base << " should be gone";
    }
  }
};

TEST_P(KilledDirectory, RecoversWhatTheBrokerRecovered) {
  use(GetParam());
  const json files = json::parse(test::read_text(folder_ + "/expected/recovered/files.json"));
  ASSERT_FALSE(listings_.empty());
  for (const json& listing : listings_) {
    const TopicPartition partition = partition_of(listing);
    SCOPED_TRACE(partition.topic + "-" + std::to_string(partition.partition));
    const std::string directory = copy(partition);
    auto log = open(directory, partition, false);
    ASSERT_NE(log, nullptr);
    EXPECT_LE(log->scanned_from(), log->end_offset());
    expect_log_is(*log, listing);
    ASSERT_TRUE(log->close().has_value());
    expect_files(directory, files["after_clean_stop"], true);
  }
}

void damage(const std::string& path, const json& variant) {
  std::string bytes = test::read_text(path);
  ASSERT_EQ(bytes.size(), variant["size"].get<std::size_t>());
  const auto unhex = [](const std::string& hex) {
    std::string out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return out;
  };
  if (variant.contains("truncate_to")) bytes.resize(variant["truncate_to"].get<std::size_t>());
  if (variant.contains("append_hex")) bytes += unhex(variant["append_hex"]);
  if (variant.contains("xor")) {
    for (const json& flip : variant["xor"]) {
      char& byte = bytes.at(flip["at"].get<std::size_t>());
      byte = static_cast<char>(byte ^ flip["with"].get<int>());
    }
  }
  if (variant.contains("overwrite")) {
    const std::string with = unhex(variant["overwrite"]["hex"]);
    bytes.replace(variant["overwrite"]["at"].get<std::size_t>(), with.size(), with);
  }
  test::write_text(path, bytes);
}

TEST_P(KilledDirectory, RecoversFromEveryDamageAsTheBrokerDid) {
  use(GetParam());
  const std::vector<json> variants = test::read_json_lines(folder_ + "/expected/variants.jsonl");
  ASSERT_EQ(variants.size(), 20u);
  for (const json& variant : variants) {
    SCOPED_TRACE(variant["name"].get<std::string>());
    const json& recovered = variant["recovered"];
    const TopicPartition partition = partition_of(recovered["listing"]);
    const std::string directory = copy(partition);
    damage(fs::path(directory).parent_path().string() + "/" + variant["file"].get<std::string>(), variant);
    auto log = open(directory, partition, false);
    ASSERT_NE(log, nullptr);
    expect_log_is(*log, recovered["listing"]);
    expect_files(directory, recovered["log_files_while_running"], false);
    ASSERT_TRUE(log->close().has_value());
    expect_files(directory, recovered["after_clean_stop"], true);

    // What is left is a clean log.
    const auto before = test::sha256_of_files(directory);
    auto again = open(directory, partition, true);
    ASSERT_NE(again, nullptr);
    expect_log_is(*again, recovered["listing"]);
    ASSERT_TRUE(again->close().has_value());
    EXPECT_EQ(test::sha256_of_files(directory), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, KilledDirectory, ::testing::Values("kafka-4.4-killed", "kafka-3.9-zk-killed"));

// The names of all directories, and the small files in them, are understood.
TEST_P(LogGolden, SmallFilesAreUnderstood) {
  use(GetParam());
  int partitions = 0;
  for (const auto& entry : fs::directory_iterator(folder_ + "/data")) {
    if (!entry.is_directory()) continue;
    const auto directory = parse_partition_directory_name(entry.path().filename().string());
    ASSERT_TRUE(directory.has_value()) << entry.path();
    EXPECT_EQ(partition_directory_name(*directory), entry.path().filename().string());
    EXPECT_EQ(directory->state == DirectoryState::deleted, entry.path().string().ends_with("-delete"));
    ++partitions;
    const std::string metadata = entry.path().string() + "/partition.metadata";
    if (!fs::exists(metadata)) continue;
    const std::string text = test::read_text(metadata);
    const Result<Uuid> id = parse_partition_metadata(text);
    ASSERT_TRUE(id.has_value());
    EXPECT_EQ(encode_partition_metadata(*id), text);
    for (const json& listing : listings_) {
      if (directory->topic != listing["topic"] || directory->state != DirectoryState::current) continue;
      EXPECT_EQ(id->text(), listing["topic_id"].get<std::string>());
    }
  }
  EXPECT_GT(partitions, 40);

  const bool is_39 = GetParam().find("3.9") != std::string::npos;
  const Result<MetaProperties> meta = parse_meta_properties(test::read_text(folder_ + "/data/meta.properties"));
  ASSERT_TRUE(meta.has_value());
  EXPECT_EQ(meta->version, is_39 ? 0 : 1);
  EXPECT_EQ(meta->node_id, 1);
  EXPECT_TRUE(meta->cluster_id.has_value());
  EXPECT_EQ(meta->directory_id.has_value(), !is_39);
  EXPECT_EQ(parse_meta_properties(encode_meta_properties(*meta)), *meta);

  for (const auto file : {kRecoveryPointFile, kLogStartOffsetFile, kReplicationOffsetFile, kCleanerOffsetFile}) {
    const std::string path = folder_ + "/data/" + std::string(file);
    if (!fs::exists(path)) continue;
    const OffsetCheckpoint checkpoint = read_checkpoint(file);
    EXPECT_EQ(parse_offset_checkpoint(encode_offset_checkpoint(checkpoint)), checkpoint);
  }
  if (GetParam().ends_with("clean")) {
    const std::string text = test::read_text(folder_ + "/data/.kafka_cleanshutdown");
    const auto epoch = parse_clean_shutdown(text);
    ASSERT_TRUE(epoch.has_value());
    EXPECT_EQ(encode_clean_shutdown(*epoch), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, LogGolden,
                         ::testing::Values("kafka-4.4-clean", "kafka-4.4-killed", "kafka-3.9-zk-clean",
                                           "kafka-3.9-zk-killed"));

}  // namespace
}  // namespace tailrace::log
