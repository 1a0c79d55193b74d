// A checkpoint is replaced in the background: nobody is told before it is durable, and what fails leaves the old one.
#include "engine/server/checkpoint_write.h"

#include <string>

#include "tests/unit/support/held_shard.h"

namespace tailrace::server {
namespace {

class CheckpointWrites : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(io::replace_file(files_, path(), "old")); }
  [[nodiscard]] std::string path() const { return data_.path() + "/checkpoint"; }
  std::string content() { return io::read_file(files_, path()).value_or("cannot be read"); }
  bool is_half_written() { return files_.exists(path() + ".new"); }
  void end_sync(int result = 0) {
    ASSERT_EQ(files_.held.size(), 1u);
    files_.end(0, result);
    files_.run();
  }

  test::TemporaryDirectory data_;
  std::string directory_ = data_.path();
  HeldFiles files_;
  CheckpointWrite write_{files_, directory_, "checkpoint"};
  test::Awaited done_;
};

TEST_F(CheckpointWrites, AreToldWhenContentAndNameAreDurable) {
  for (const std::string next : {"first and longer", "second"}) {
    const std::string before = content();
    done_.ran = false;
    ASSERT_TRUE(write_.start(next, done_.completion));
    EXPECT_TRUE(write_.is_running());
    EXPECT_EQ(content(), before) << "its bytes are not safe";
    ASSERT_NO_FATAL_FAILURE(end_sync());
    EXPECT_FALSE(done_.ran) << "its name is not safe";
    EXPECT_EQ(files_.held.at(0).what, directory_);
    ASSERT_NO_FATAL_FAILURE(end_sync());
    EXPECT_TRUE(done_.ran);
    EXPECT_EQ(done_.result, 0);
    EXPECT_FALSE(write_.is_running());
    EXPECT_EQ(content(), next);
    EXPECT_FALSE(is_half_written());
  }
}

TEST_F(CheckpointWrites, ThatCannotBeginLeaveNothing) {
  files_.refuses_changes = ENOSPC;
  EXPECT_EQ(write_.start("new", done_.completion).error().code, Code::disk_full);
  files_.refuses_changes = 0;
  files_.small_write = {.nth = 1, .error = ENOSPC};
  EXPECT_EQ(write_.start("new", done_.completion).error().code, Code::disk_full);
  EXPECT_FALSE(write_.is_running());
  EXPECT_FALSE(done_.completion.pending);
  EXPECT_FALSE(is_half_written());
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE(write_.start("new", done_.completion));
  ASSERT_NO_FATAL_FAILURE(end_sync());
  ASSERT_NO_FATAL_FAILURE(end_sync());
  EXPECT_EQ(content(), "new");
}

TEST_F(CheckpointWrites, WhoseBytesAreNotSafeDoNotReplaceAnything) {
  ASSERT_TRUE(write_.start("new", done_.completion));
  ASSERT_NO_FATAL_FAILURE(end_sync(-EIO));
  EXPECT_EQ(done_.result, -EIO);
  EXPECT_EQ(content(), "old");
  EXPECT_FALSE(is_half_written()) << "the next one must not write over a file whose sync has failed";
  EXPECT_FALSE(write_.is_running());
}

TEST_F(CheckpointWrites, WhoseNamesAreNotSafeAreToldSo) {
  ASSERT_TRUE(write_.start("new", done_.completion));
  ASSERT_NO_FATAL_FAILURE(end_sync());
  ASSERT_NO_FATAL_FAILURE(end_sync(-EIO));
  EXPECT_EQ(done_.result, -EIO);
  EXPECT_FALSE(write_.is_running());

  ASSERT_TRUE(write_.start("newer", done_.completion));
  files_.refuses_changes = EROFS;
  ASSERT_NO_FATAL_FAILURE(end_sync());
  EXPECT_EQ(done_.result, -EROFS) << "it could not be renamed";
  EXPECT_EQ(content(), "new");
}

TEST_F(CheckpointWrites, ThatSomebodyWasFasterThanChangeNothingAnyMore) {
  for (const bool is_renamed : {false, true}) {
    done_.ran = false;
    ASSERT_TRUE(write_.start("slow", done_.completion));
    if (is_renamed) {
      ASSERT_NO_FATAL_FAILURE(end_sync());
    }
    ASSERT_TRUE(io::replace_file(files_, path(), "fast"));
    write_.supersede();
    ASSERT_NO_FATAL_FAILURE(end_sync(-EIO));
    EXPECT_TRUE(done_.ran);
    EXPECT_EQ(done_.result, 0) << "what it was to say is there";
    EXPECT_EQ(content(), "fast");
    EXPECT_FALSE(is_half_written());
  }
  ASSERT_TRUE(write_.start("next", done_.completion));
  ASSERT_NO_FATAL_FAILURE(end_sync());
  ASSERT_NO_FATAL_FAILURE(end_sync());
  EXPECT_EQ(content(), "next");
}

}  // namespace
}  // namespace tailrace::server
