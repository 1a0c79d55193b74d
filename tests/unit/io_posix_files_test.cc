// Files over plain system calls, in a real directory.
#include <gtest/gtest.h>

#include "engine/io/posix_files.h"
#include "tests/unit/support/inline_files.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::io {
namespace {

class PosixFilesTest : public ::testing::Test {
 protected:
  File make(const std::string& name, std::string_view content = "") {
    test::write_text(directory_ / name, content);
    return *files_.open(directory_ / name, OpenMode::read_write);
  }
  std::string text(const std::string& name) const { return test::read_text(directory_ / name); }

  test::TemporaryDirectory directory_;
  test::InlineFiles files_;
};

TEST_F(PosixFilesTest, ModesOfOpening) {
  const std::string path = directory_ / "f";
  EXPECT_EQ(files_.open(path, OpenMode::read).error().code, Code::not_found);
  EXPECT_EQ(files_.open(path, OpenMode::read_write).error().code, Code::not_found);
  const auto made = files_.open(path, OpenMode::create);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(files_.open(path, OpenMode::create).error().code, Code::exists);
  const auto again = files_.open(path, OpenMode::open_or_create);
  ASSERT_TRUE(again.has_value());
  const auto reading = files_.open(path, OpenMode::read);
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(files_.write(*reading, as_bytes("x"), 0).error().code, Code::io_failed);
  for (const File file : {*made, *again, *reading}) files_.close(file);
}

TEST_F(PosixFilesTest, ReadsStopAtTheEnd) {
  const File file = make("f", "0123456789");
  std::byte into[20];
  EXPECT_EQ(files_.read(file, into, 4), 6u);
  EXPECT_EQ(as_text(Bytes(into, 6)), "456789");
  EXPECT_EQ(files_.read(file, into, 10), 0u);
  EXPECT_EQ(files_.read(file, into, 1000), 0u);
  EXPECT_EQ(files_.size(file), 10u);
  files_.close(file);
}

TEST_F(PosixFilesTest, GatheredWritesOfAnyNumberOfPartsAreWhole) {
  const File file = make("f");
  std::string pieces;
  for (int i = 0; i < 10'000; ++i) pieces += static_cast<char>('a' + i % 26);
  std::vector<iovec> parts;
  std::string expected;
  for (std::size_t i = 0; i + 7 < pieces.size(); i += 3) {
    const std::size_t size = i % 5;  // some are empty
    parts.push_back({pieces.data() + i, size});
    expected += pieces.substr(i, size);
  }
  test::Awaited done;
  files_.write(file, parts, 5, done.completion);
  EXPECT_TRUE(done.completion.pending);
  EXPECT_FALSE(done.ran);
  files_.run();
  EXPECT_TRUE(done.ran);
  EXPECT_EQ(done.result, static_cast<std::int64_t>(expected.size()));
  EXPECT_EQ(text("f"), std::string(5, '\0') + expected);
  files_.close(file);
}

TEST_F(PosixFilesTest, AGatheredWriteThatFailsSaysWhy) {
  const File file = make("f");
  files_.close(file);
  const File reading = *files_.open(directory_ / "f", OpenMode::read);
  iovec part{const_cast<char*>("abc"), 3};
  test::Awaited done;
  files_.write(reading, {&part, 1}, 0, done.completion);
  files_.run();
  EXPECT_EQ(done.result, -EBADF);
  files_.close(reading);
}

TEST_F(PosixFilesTest, AllocationKeepsTheSizeAndTruncationGivesItBack) {
  const File file = make("f", "abc");
  ASSERT_TRUE(files_.allocate(file, 3, 1 << 20).has_value());
  EXPECT_TRUE(files_.allocate(file, 3, 0).has_value());
  EXPECT_EQ(files_.size(file), 3u);
  ASSERT_TRUE(files_.truncate(file, 3).has_value());
  ASSERT_TRUE(files_.truncate(file, 5).has_value());
  EXPECT_EQ(text("f"), std::string("abc\0\0", 5));
  ASSERT_TRUE(files_.PosixFiles::sync(file).has_value());
  files_.close(file);
}

TEST_F(PosixFilesTest, Directories) {
  ASSERT_TRUE(files_.make_directory(directory_ / "d").has_value());
  EXPECT_EQ(files_.make_directory(directory_ / "d").error().code, Code::exists);
  for (const char* name : {"z", "a", "m"}) files_.close(make(name));
  const auto entries = files_.list(directory_.path());
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 4u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[1].name, "d");
  EXPECT_TRUE((*entries)[1].is_directory);
  EXPECT_FALSE((*entries)[3].is_directory);
  ASSERT_TRUE(files_.rename(directory_ / "a", directory_ / "z").has_value());
  EXPECT_FALSE(files_.exists(directory_ / "a"));
  EXPECT_EQ(files_.remove(directory_ / "a").error().code, Code::not_found);
  EXPECT_TRUE(files_.remove(directory_ / "z").has_value());
  EXPECT_TRUE(files_.PosixFiles::sync_directory(directory_.path()).has_value());
  EXPECT_EQ(files_.PosixFiles::sync_directory(directory_ / "none").error().code, Code::not_found);
  EXPECT_TRUE(files_.remove_directory(directory_ / "d").has_value());
  EXPECT_EQ(files_.list(directory_ / "d").error().code, Code::not_found);
  const Result<DiskSpace> space = files_.disk_space(directory_.path());
  ASSERT_TRUE(space.has_value());
  EXPECT_GT(space->usable, 0u);
  EXPECT_GE(space->total, space->usable);
}

TEST_F(PosixFilesTest, WholeFilesAreReplaced) {
  const std::string path = directory_ / "f";
  ASSERT_TRUE(replace_file(files_, path, "one, and longer").has_value());
  ASSERT_TRUE(replace_file(files_, path, "two").has_value());
  EXPECT_EQ(read_file(files_, path), "two");
  files_.small_write = {.nth = 1, .error = ENOSPC};
  EXPECT_EQ(replace_file(files_, path, "three").error().code, Code::disk_full);
  EXPECT_EQ(read_file(files_, path), "two");
}

}  // namespace
}  // namespace tailrace::io
