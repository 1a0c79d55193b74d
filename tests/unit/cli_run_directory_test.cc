#include "cli/run_directory.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace tailrace::cli {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tailrace-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    base_ = path;
    run_ = base_ + "/run";
  }
  void TearDown() override { fs::remove_all(base_); }

  std::string base_;
  std::string run_;
};

TEST_F(RunDirectoryTest, IsMadeForUsAlone) {
  ASSERT_TRUE(prepare_run_directory(run_));
  ASSERT_TRUE(prepare_run_directory(run_));  // and found again
  struct stat status{};
  ASSERT_EQ(stat(run_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
}

TEST_F(RunDirectoryTest, IsClosedWhenItWasOpen) {
  fs::create_directory(run_);
  fs::permissions(run_, fs::perms::all);
  ASSERT_TRUE(prepare_run_directory(run_));
  EXPECT_EQ(fs::status(run_).permissions(), fs::perms::owner_all);
}

TEST_F(RunDirectoryTest, ALinkIsRefused) {
  fs::create_directory(base_ + "/elsewhere");
  fs::create_directory_symlink(base_ + "/elsewhere", run_);
  const auto result = prepare_run_directory(run_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::invalid_argument);
}

TEST_F(RunDirectoryTest, ADirectoryOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directory(run_);
  ASSERT_EQ(chown(run_.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(prepare_run_directory(run_));
}

TEST_F(RunDirectoryTest, AFileIsRefused) {
  ASSERT_EQ(symlink("/nonexistent", run_.c_str()), 0);
  EXPECT_FALSE(prepare_run_directory(run_));
}

TEST_F(RunDirectoryTest, IsNamedAfterTheData) {
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const std::string one = default_run_directory("/srv/one");
  EXPECT_EQ(one, default_run_directory("/srv/one"));
  EXPECT_NE(one, default_run_directory("/srv/two"));
  const std::string prefix = "/run/user/7/tailrace-" + std::to_string(geteuid()) + "-";
  EXPECT_TRUE(one.starts_with(prefix));
  EXPECT_EQ(one.size(), prefix.size() + 16);
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_TRUE(default_run_directory("/srv/one").starts_with("/tmp/tailrace-"));
}

TEST_F(RunDirectoryTest, OneNamePerDataHoweverItIsWritten) {
  const std::string here = fs::current_path();
  EXPECT_EQ(absolute_log_dirs("data"), here + "/data");
  EXPECT_EQ(absolute_log_dirs("./x/../data/"), here + "/data");
  EXPECT_EQ(absolute_log_dirs("/a,/b/"), "/a,/b");
  EXPECT_EQ(absolute_log_dirs("/"), "/");
}

TEST_F(RunDirectoryTest, ASecondNodeHearsWhoRunsHere) {
  ASSERT_TRUE(prepare_run_directory(run_));
  int holder = 0;
  auto first = RunLock::take(run_, 0, holder);
  ASSERT_TRUE(first);
  auto second = RunLock::take(run_, 60'000, holder);  // does not wait: the holder lives
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::locked);
  EXPECT_EQ(holder, getpid());
}

TEST_F(RunDirectoryTest, TheLockOutlivesANodeWhoseProcessesLinger) {
  ASSERT_TRUE(prepare_run_directory(run_));
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  pid_t lingering = -1;
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t node = fork();
  if (node == 0) {  // takes the lock, leaves a process behind that inherited it, and dies
    int holder = 0;
    auto lock = RunLock::take(run_, 0, holder);
    if (!lock) _exit(1);
    const pid_t child = fork();
    if (child == 0) {
      close(gate[1]);
      char byte;
      _exit(read(gate[0], &byte, 1) < 0 ? 1 : 0);
    }
    if (write(report[1], &child, sizeof child) < 0) _exit(1);
    _exit(0);
  }
  ASSERT_EQ(read(report[0], &lingering, sizeof lingering), static_cast<ssize_t>(sizeof lingering));
  int status = 0;
  waitpid(node, &status, 0);
  ASSERT_EQ(status, 0);

  int holder = -1;
  ASSERT_FALSE(RunLock::take(run_, 0, holder));
  EXPECT_EQ(holder, 0);
  close(gate[1]);  // the one that lingers ends
  EXPECT_TRUE(RunLock::take(run_, 60'000, holder));
  for (const int descriptor : {gate[0], report[0], report[1]}) close(descriptor);
}

}  // namespace
}  // namespace tailrace::cli
