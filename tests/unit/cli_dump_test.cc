// `tailrace dump` against what Kafka's own tool printed of the same files (tests/golden/dirs), and against damaged
// files.
#include "cli/dump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tests/unit/support/golden.h"

namespace fs = std::filesystem;
using namespace tailrace::testing_support;
using tailrace::cli::DumpOptions;

namespace {

struct Printed {
  int status = 0;
  std::string out;
  std::string err;
};

Printed dump(const DumpOptions& options) {
  char* out = nullptr;
  char* err = nullptr;
  std::size_t out_size = 0;
  std::size_t err_size = 0;
  std::FILE* out_stream = open_memstream(&out, &out_size);
  std::FILE* err_stream = open_memstream(&err, &err_size);
  Printed printed;
  printed.status = run_dump(options, out_stream, err_stream);
  std::fclose(out_stream);
  std::fclose(err_stream);
  printed.out.assign(out, out_size);
  printed.err.assign(err, err_size);
  std::free(out);
  std::free(err);
  return printed;
}

// The recorded texts have every carriage return of binary values as a line feed (they were read as text).
std::string with_line_feeds(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    result.push_back(text[i] == '\r' ? '\n' : text[i]);
  }
  return result;
}

// Where 3.9 prints something else than 4.4 of the same bytes: a stray brace behind the CRC of magic 0 and 1 records.
std::string as_4_4(std::string printed_by_3_9) {
  std::size_t line = 0;
  while (line < printed_by_3_9.size()) {
    const std::size_t crc = printed_by_3_9.find(" crc: ", line);
    const std::size_t end = std::min(printed_by_3_9.find('\n', line), printed_by_3_9.size());
    if (printed_by_3_9.compare(line, 10, "| offset: ") == 0 && crc < end) {
      const std::size_t behind = printed_by_3_9.find_first_not_of("0123456789", crc + 6);
      if (behind < printed_by_3_9.size() && printed_by_3_9[behind] == '}') {
        printed_by_3_9.erase(behind, 1);
        continue;
      }
    }
    line = end + 1;
  }
  return printed_by_3_9;
}

// "0001.log.plain.txt" -> "0001.log", "plain".
std::pair<std::string, std::string> file_and_kind(const fs::path& text) {
  const fs::path without_txt = text.stem();
  const std::string kind = without_txt.extension().string();
  return {without_txt.stem().string(), kind.empty() ? kind : kind.substr(1)};
}

struct Case {
  const char* name;      // of the archive
  const char* expected;  // folder of the dumps in it
  bool is_3_9 = false;
  bool is_recovered =
      false;  // the dumps are of what Kafka's recovery left: only files that it left as they were can be compared
  std::size_t files_min = 0;  // how many dumps there are at least
};

// The options of the kinds of golden dumps that this release prints; false for others.
bool options_of(const std::string& kind, DumpOptions& options) {
  if (kind == "log") {
    options.deep_iteration = true;
    options.print_data_log = true;
    return true;
  }
  options.verify_index_only = kind == "verify-index-only";
  options.offsets_decoder = kind == "offsets";
  return kind == "plain" || kind == "verify-index-only" || kind == "offsets";
}

// What 4.4 printed on stderr about gaps in a log, by the log's name.
std::map<std::string, std::string> gaps_by_log(const fs::path& text) {
  std::map<std::string, std::string> gaps;
  const std::string kHeading = "Non-consecutive offsets in ";
  std::ifstream in(text);
  std::string log;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kHeading)) log = line.substr(kHeading.size());
    gaps[log] += line + "\n";
  }
  return gaps;
}

class GoldenDump : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string name = GetParam().name;
    root_ = unpack_golden(name, directory_.path(), /*with_expected=*/true);
    before_ = fs::current_path();
    fs::current_path(root_ / "data");
    if (!GetParam().is_recovered) return;
    found_ = nlohmann::json::parse(read_file(root_ / "expected/files.json"));
    left_ = nlohmann::json::parse(read_file(root_ / "expected/recovered/files.json"))["after_clean_stop"];
  }
  void TearDown() override { fs::current_path(before_); }

  bool can_compare(const std::string& file) const {
    if (!fs::exists(file)) return false;
    return !GetParam().is_recovered || (left_.contains(file) && found_.contains(file) && left_[file] == found_[file]);
  }

  TemporaryDirectory directory_;
  fs::path root_;
  fs::path before_;
  nlohmann::json found_;  // sizes and hashes in data/, and after the recovery
  nlohmann::json left_;
};

TEST_P(GoldenDump, PrintsWhatKafkaPrints) {
  const Case& golden = GetParam();
  const fs::path folder = root_ / golden.expected;
  auto gaps = gaps_by_log(folder / "stderr-log.txt");
  std::size_t compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".txt") continue;
    const auto [name, kind] = file_and_kind(entry.path());
    DumpOptions options;
    if (!options_of(kind, options)) continue;
    const std::string file = (entry.path().parent_path().filename() / name).string();
    if (!can_compare(file)) continue;
    options.files = {file};
    const Printed printed = dump(options);
    const std::string expected = read_file(entry.path());
    EXPECT_EQ(with_line_feeds(printed.out), golden.is_3_9 ? as_4_4(expected) : expected) << entry.path();
    EXPECT_EQ(printed.status, 0) << file << "\n" << printed.err;
    // 3.9 prints gaps in another order, and none before the first record.
    if (kind == "log" && !golden.is_3_9) {
      std::string err = printed.err;
      if (const auto at = err.find(fs::current_path().string() + "/"); at != std::string::npos) {
        err.erase(at, fs::current_path().string().size() + 1);
      }
      EXPECT_EQ(err, gaps[file]);
    }
    ++compared;
  }
  EXPECT_GE(compared, golden.files_min);
}

INSTANTIATE_TEST_SUITE_P(Kafka, GoldenDump,
                         testing::Values(Case{"kafka-4.4-clean", "expected/dump", false, false, 400},
                                         Case{"kafka-3.9-zk-clean", "expected/dump", true, false, 400},
                                         Case{"kafka-4.4-killed", "expected/recovered/dump", false, true, 150},
                                         Case{"kafka-3.9-zk-killed", "expected/recovered/dump", true, true, 150}),
                         [](const auto& info) {
                           return std::string(info.param.is_3_9 ? "Kafka39" : "Kafka44") +
                                  (info.param.is_recovered ? "Recovered" : "Clean");
                         });

// What a 4.4 broker left of groups of every kind that it has, and records that no broker writes: of unknown types and
// versions, cut, with bytes in them that are no protocol of consumers (tests/golden/groups).
TEST(GroupDump, PrintsWhatKafkaPrints) {
  const fs::path before = fs::current_path();
  fs::current_path(TAILRACE_GOLDEN "/groups");
  for (const char* partition : {"__consumer_offsets-0", "__consumer_offsets-1"}) {
    DumpOptions options;
    options.offsets_decoder = true;
    options.files = {std::string(partition) + "/00000000000000000000.log"};
    const Printed printed = dump(options);
    EXPECT_EQ(printed.out, read_file(options.files[0] + ".offsets.txt"));
    EXPECT_EQ(printed.status, partition == std::string("__consumer_offsets-0") ? 0 : 1) << printed.err;
  }
  fs::current_path(before);
}

TEST(GroupDump, SkipsMetadataOfRecords) {
  DumpOptions options;
  options.offsets_decoder = true;
  options.skip_record_metadata = true;
  options.files = {TAILRACE_GOLDEN "/groups/__consumer_offsets-1/00000000000000000000.log"};
  const Printed printed = dump(options);
  EXPECT_NE(printed.out.find("\n| key: Unknown record type 99 at offset 0, skipping.\n"), std::string::npos);
  EXPECT_NE(printed.out.find("\n| key: {\"type\":\"3\",\"data\":{\"groupId\":\"group\"}} "
                             "payload: {\"version\":\"0\",\"data\":{\"epoch\":5}}\n"),
            std::string::npos);
}

// A sound segment of Kafka's, to be damaged.
class DamagedDump : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path data = unpack_golden("kafka-4.4-clean", directory_.path(), /*with_expected=*/false) / "data";
    partition_ = data / "codec-none-0";
    log_ = partition_ / "00000000000000000000.log";
    ASSERT_TRUE(fs::exists(log_));
  }

  Printed dump_file(const fs::path& file, DumpOptions options = {}) {
    options.files = {file.string()};
    return dump(options);
  }

  TemporaryDirectory directory_;
  fs::path partition_;
  fs::path log_;
};

TEST_F(DamagedDump, NamesATornBatchAtTheEnd) {
  const auto size = fs::file_size(log_);
  fs::resize_file(log_, size - 5);
  const Printed printed = dump_file(log_);
  EXPECT_EQ(printed.status, 1);
  EXPECT_NE(printed.out.find(" invalid bytes at the end of 00000000000000000000.log\n"), std::string::npos);
}

TEST_F(DamagedDump, ShowsABadChecksum) {
  std::string bytes = read_file(log_);
  bytes[70] = static_cast<char>(bytes[70] ^ 1);
  write_file(log_, bytes);
  const Printed printed = dump_file(log_);
  EXPECT_EQ(printed.status, 1);
  EXPECT_NE(printed.out.find("isvalid: false\n"), std::string::npos);
  EXPECT_NE(printed.out.find("isvalid: true\n"), std::string::npos);
}

TEST_F(DamagedDump, StopsWhereALengthIsImpossible) {
  std::string bytes = read_file(log_);
  bytes[8] = bytes[9] = bytes[10] = bytes[11] = 0;
  write_file(log_, bytes);
  const Printed printed = dump_file(log_);
  EXPECT_EQ(printed.status, 1);
  EXPECT_EQ(printed.out, "Dumping " + log_.string() + "\nLog starting offset: 0\n");
  EXPECT_NE(printed.err.find("at position 0: corrupt"), std::string::npos) << printed.err;
}

TEST_F(DamagedDump, SurvivesEveryTruncation) {
  const std::string bytes = read_file(log_);
  DumpOptions options;
  options.print_data_log = true;
  for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 1500); size += 7) {
    write_file(log_, bytes.substr(0, size));
    const Printed printed = dump_file(log_, options);
    const bool has_rest = printed.out.find("invalid bytes at the end") != std::string::npos;
    EXPECT_EQ(printed.status, has_rest ? 1 : 0) << size;
  }
}

TEST_F(DamagedDump, FindsAnIndexEntryThatPointsToAnotherBatch) {
  const fs::path index = partition_ / "00000000000000000000.index";
  std::string bytes = read_file(index);
  ASSERT_GE(bytes.size(), 8u);
  bytes[3] = static_cast<char>(bytes[3] + 1);
  write_file(index, bytes);
  const Printed printed = dump_file(index);
  EXPECT_EQ(printed.status, 1);
  EXPECT_EQ(printed.err.find("Mismatches in :" + index.string() + "\n  Index offset: "), 0u) << printed.err;
}

TEST_F(DamagedDump, FindsATimeThatTheBatchDoesNotHave) {
  const fs::path index = partition_ / "00000000000000000000.timeindex";
  std::string bytes = read_file(index);
  ASSERT_GE(bytes.size(), 12u);
  bytes[7] = static_cast<char>(bytes[7] - 1);
  write_file(index, bytes);
  const Printed printed = dump_file(index);
  EXPECT_EQ(printed.status, 1);
  EXPECT_EQ(printed.err.find("Found timestamp mismatch in :"), 0u) << printed.err;
}

TEST_F(DamagedDump, SanityCheckPassesSoundIndexesOnly) {
  const fs::path index = partition_ / "00000000000000000000.index";
  DumpOptions options;
  options.index_sanity_check = true;
  EXPECT_EQ(dump_file(index, options).out,
            "Dumping " + index.string() + "\n" + index.string() + " passed sanity check.\n");
  EXPECT_EQ(dump_file(partition_ / "00000000000000000000.timeindex", options).status, 0);
  fs::resize_file(index, fs::file_size(index) - 3);
  const Printed printed = dump_file(index, options);
  EXPECT_EQ(printed.status, 1);
  EXPECT_NE(printed.err.find("5 bytes at the end are no entry"), std::string::npos);
}

// What a running broker's indexes look like, and those that a killed one leaves.
TEST_F(DamagedDump, IndexesThatEndInZerosAreSound) {
  const fs::path empty = partition_.parent_path() / "empty-0";
  for (const char* name : {"00000000000000000000.index", "00000000000000000000.timeindex"}) {
    const std::string before = dump_file(partition_ / name).out;
    write_file(partition_ / name, read_file(partition_ / name) + std::string(1200, '\0'));
    const Printed extended = dump_file(partition_ / name);
    EXPECT_EQ(extended.out, before);
    EXPECT_EQ(extended.status, 0) << extended.err;

    write_file(empty / name, std::string(1200, '\0'));
    const Printed unwritten = dump_file(empty / name);
    EXPECT_EQ(unwritten.status, 0) << unwritten.err;
    EXPECT_NE(unwritten.out.find("0 offset: 0\n") != std::string::npos,
              unwritten.out.find("offset: 0 position: 0\n") != std::string::npos);
  }
}

TEST_F(DamagedDump, RefusesADamagedSnapshot) {
  for (const auto& entry : fs::directory_iterator(partition_.parent_path() / "idempotent-0")) {
    if (entry.path().extension() != ".snapshot") continue;
    std::string bytes = read_file(entry.path());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(entry.path(), bytes);
    const Printed printed = dump_file(entry.path());
    EXPECT_EQ(printed.status, 1);
    EXPECT_NE(printed.err.find("is not a snapshot"), std::string::npos);
    return;
  }
  FAIL() << "no snapshot in idempotent-0";
}

TEST_F(DamagedDump, MissingFilesAndStrangeNamesAreErrors) {
  EXPECT_EQ(dump_file(partition_ / "00000000000000000099.log").status, 1);
  EXPECT_EQ(dump_file(partition_ / "00000000000000000099.index").status, 1);
  EXPECT_EQ(dump_file(partition_ / "strange.log").status, 1);
  EXPECT_EQ(dump_file(partition_).status, 0);  // a folder's name has no suffix that is known
  const Printed unknown = dump_file(partition_ / "partition.metadata");
  EXPECT_EQ(unknown.status, 0);
  EXPECT_EQ(unknown.err, "Ignoring unknown file " + (partition_ / "partition.metadata").string() + "\n");
}

TEST_F(DamagedDump, LooksNoFurtherThanMaxBytes) {
  DumpOptions options;
  options.max_bytes = 700;
  const Printed printed = dump_file(log_, options);
  EXPECT_EQ(printed.status, 0);
  EXPECT_EQ(printed.out.find("invalid bytes"), std::string::npos);
  EXPECT_LT(printed.out.size(), dump_file(log_).out.size());
}

TEST_F(DamagedDump, SkipsMetadataOfRecords) {
  DumpOptions options;
  options.print_data_log = options.skip_record_metadata = true;
  const Printed printed = dump_file(log_, options);
  EXPECT_EQ(printed.status, 0);
  EXPECT_EQ(printed.out.find("| offset:"), std::string::npos);
  EXPECT_NE(printed.out.find("\n| key: "), std::string::npos);
  EXPECT_NE(printed.out.find("\n| payload: "), std::string::npos);
}

TEST(DumpCommand, TakesFilesByPositionAndByList) {
  CLI::App app;
  int status = -1;
  tailrace::cli::add_dump_command(app, status);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(app.parse("dump --deep-iteration /nonexistent/1.log --files /nonexistent/2.log,/nonexistent/3.log"));
  const std::string out = testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 1);
  EXPECT_NE(out.find("Dumping /nonexistent/1.log\n"), std::string::npos) << out;
  EXPECT_NE(out.find("Dumping /nonexistent/2.log\n"), std::string::npos);
  EXPECT_NE(out.find("Dumping /nonexistent/3.log\n"), std::string::npos);
}

TEST(DumpCommand, RefusesWhatItDoesNotDo) {
  int status = -1;
  for (const char* line : {"dump", "dump --transaction-log-decoder x.log", "dump --max-bytes -1 x.log"}) {
    CLI::App app;
    tailrace::cli::add_dump_command(app, status);
    EXPECT_THROW(app.parse(line), CLI::ParseError) << line;
  }
}

}  // namespace
