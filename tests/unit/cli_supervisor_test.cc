// The supervisor with stand-ins for the four services: this program under other names, which speak the notify protocol,
// report what happens to them through a pipe, and die when told. No test sleeps; each waits for the report it is about.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cli/supervisor.h"

namespace tailrace::cli {
namespace {

namespace fs = std::filesystem;

// ---- The stand-in
// -------------------------------------------------------------------------------------------------------

int report_descriptor() { return std::atoi(std::getenv("STAND_IN_REPORTS")); }

void report(const std::string& line) {
  const std::string text = line + "\n";
  if (write(report_descriptor(), text.data(), text.size()) < 0) _exit(3);
}

void notify(const std::string& message) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sendto(socket, message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  close(socket);
}

std::string stand_in_name;

void on_term(int) {
  report("stopped " + stand_in_name);
  _exit(0);
}

// Behaves as its settings say: `stand_in.<name>=refuse|crash|stay`.
int stand_in(const std::string& name, const std::vector<std::string>& arguments) {
  stand_in_name = name;
  std::string behaviour = "serve";
  std::string listeners;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("stand_in." + name + "=")) behaviour = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("listeners=")) listeners = argument.substr(argument.find('=') + 1);
  }
  struct sigaction action{};
  action.sa_handler = behaviour == "stay" ? SIG_IGN : on_term;
  sigaction(SIGTERM, &action, nullptr);
  report("started " + name + " " + std::to_string(getpid()));
  if (name == "broker") report("listeners " + listeners);
  if (behaviour == "refuse") return kExitConfig;
  if (behaviour == "crash") raise(SIGKILL);
  notify(name == "broker" ? "READY=1\nTAILRACE_LISTENING=127.0.0.1:40123" : "READY=1");
  for (;;) pause();
}

// ---- The test's side
// ----------------------------------------------------------------------------------------------------

class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tailrace-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    directory_ = path;
    const std::string self = fs::read_symlink("/proc/self/exe");
    for (const char* name : {"engine", "broker", "zkbridge", "groupcoord"}) {
      fs::create_symlink(self, directory_ + "/tailrace-" + name);
    }
    fs::create_directory(directory_ + "/run");
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
    reports_ = ends[0];
    setenv("STAND_IN_REPORTS", std::to_string(ends[1]).c_str(), 1);
    write_end_ = ends[1];
  }

  void TearDown() override {
    if (supervisor_ > 0) {
      kill(supervisor_, SIGKILL);
      waitpid(supervisor_, nullptr, 0);
    }
    close(reports_);
    close(write_end_);
    fs::remove_all(directory_);
  }

  void start(Settings settings, int stop_timeout_ms = 30'000) {
    supervisor_ = fork();
    ASSERT_GE(supervisor_, 0);
    if (supervisor_ != 0) return;
    Supervisor supervisor({.program_directory = directory_,
                           .run_directory = directory_ + "/run",
                           .config_file = "",
                           .settings = std::move(settings),
                           .stop_timeout_ms = stop_timeout_ms,
                           .on_ready = [](const std::vector<std::string>& at) { report("ready " + at.front()); }});
    _exit(supervisor.run());
  }

  // The next report, or "" after a minute without one.
  std::string next() {
    for (;;) {
      if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        if (line.starts_with("started ")) {
          const std::size_t space = line.rfind(' ');
          processes_[line.substr(8, space - 8)] = std::atoi(line.c_str() + space + 1);
          line.resize(space);
        }
        return line;
      }
      pollfd descriptor{reports_, POLLIN, 0};
      if (poll(&descriptor, 1, 60'000) <= 0) return "";
      char text[512];
      const ssize_t size = read(reports_, text, sizeof text);
      if (size > 0) buffer_.append(text, static_cast<std::size_t>(size));
    }
  }

  // Reads reports until `wanted`; false when it does not come.
  bool wait_for(const std::string& wanted) {
    for (std::string line = next(); !line.empty(); line = next()) {
      if (line == wanted) return true;
    }
    return false;
  }

  // After the ready line: the group coordinator, which starts beside the broker, may be later than it.
  bool all_are_up() { return processes_.contains("groupcoord") || wait_for("started groupcoord"); }

  int ended() {
    int status = 0;
    waitpid(supervisor_, &status, 0);
    supervisor_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string directory_;
  pid_t supervisor_ = -1;
  int reports_ = -1;
  int write_end_ = -1;
  std::string buffer_;
  std::map<std::string, pid_t> processes_;
};

TEST_F(SupervisorTest, StartsInOrderAndStopsInTheOtherOrder) {
  start({{"listeners", "PLAINTEXT://127.0.0.1:9092"}});
  EXPECT_EQ(next(), "started zkbridge");
  EXPECT_EQ(next(), "started engine");
  ASSERT_TRUE(wait_for("ready 127.0.0.1:40123"));
  ASSERT_TRUE(all_are_up());
  kill(supervisor_, SIGTERM);
  EXPECT_TRUE(wait_for("stopped broker"));
  EXPECT_TRUE(wait_for("stopped engine"));
  EXPECT_EQ(next(), "stopped zkbridge");
  EXPECT_EQ(ended(), 0);
}

TEST_F(SupervisorTest, StartsAgainOnlyTheOneThatDied) {
  start({});
  ASSERT_TRUE(wait_for("ready 127.0.0.1:40123"));
  ASSERT_TRUE(all_are_up());
  for (const char* name : {"engine", "zkbridge", "broker"}) {
    auto others = processes_;
    kill(processes_[name], SIGKILL);
    ASSERT_TRUE(wait_for(std::string("started ") + name));
    EXPECT_NE(processes_[name], others[name]);
    for (const auto& [other, process] : others) {
      if (other == name) continue;
      EXPECT_EQ(processes_[other], process);
      EXPECT_EQ(kill(process, 0), 0);
    }
  }
  kill(supervisor_, SIGINT);
  EXPECT_EQ(ended(), 0);
}

TEST_F(SupervisorTest, ABrokerThatDiedComesBackAtThePortThatItHadBeenGiven) {
  start({{"listeners", "PLAINTEXT://127.0.0.1:0"}});
  ASSERT_TRUE(wait_for("listeners PLAINTEXT://127.0.0.1:0"));
  ASSERT_TRUE(wait_for("ready 127.0.0.1:40123"));
  kill(processes_["broker"], SIGKILL);
  EXPECT_TRUE(wait_for("listeners PLAINTEXT://127.0.0.1:40123"));
  kill(supervisor_, SIGTERM);
  EXPECT_EQ(ended(), 0);
}

TEST_F(SupervisorTest, AProcessThatRefusesItsConfigurationEndsAll) {
  start({{"stand_in.engine", "refuse"}});
  EXPECT_EQ(next(), "started zkbridge");
  EXPECT_EQ(next(), "started engine");
  EXPECT_EQ(next(), "stopped zkbridge");
  EXPECT_EQ(ended(), kExitConfig);
}

TEST_F(SupervisorTest, ACrashAtStartIsNoRefusal) {
  start({{"stand_in.zkbridge", "crash"}});
  EXPECT_EQ(next(), "started zkbridge");
  EXPECT_EQ(next(), "started zkbridge");
  EXPECT_EQ(next(), "started zkbridge");
  kill(supervisor_, SIGTERM);
  EXPECT_EQ(ended(), 0);
}

TEST_F(SupervisorTest, KillsWhatDoesNotStop) {
  start({{"stand_in.engine", "stay"}}, 300);
  ASSERT_TRUE(wait_for("ready 127.0.0.1:40123"));
  const pid_t engine = processes_["engine"];
  kill(supervisor_, SIGTERM);
  ASSERT_TRUE(wait_for("stopped zkbridge"));
  EXPECT_EQ(ended(), 0);
  EXPECT_NE(kill(engine, 0), 0);
}

TEST_F(SupervisorTest, TheProcessesHearOfItsDeath) {
  start({});
  ASSERT_TRUE(wait_for("ready 127.0.0.1:40123"));
  ASSERT_TRUE(all_are_up());
  kill(supervisor_, SIGKILL);
  int stopped = 0;
  while (stopped < 4 && next().starts_with("stopped ")) ++stopped;
  EXPECT_EQ(stopped, 4);
}

TEST_F(SupervisorTest, SaysWhichProgramIsMissing) {
  fs::remove(directory_ + "/tailrace-broker");
  start({});
  EXPECT_EQ(ended(), 1);
}

TEST(RestartDelay, IsNothingAtFirstThenDoublesAndForgivesALongLife) {
  RestartDelay delay;
  EXPECT_EQ(delay.next_ms(5), 0);
  EXPECT_EQ(delay.next_ms(5), 50);
  EXPECT_EQ(delay.next_ms(5), 100);
  for (int i = 0; i < 10; ++i) delay.next_ms(5);
  EXPECT_EQ(delay.next_ms(5), 2000);
  EXPECT_EQ(delay.next_ms(10'000), 0);
  EXPECT_EQ(delay.next_ms(9'999), 50);
}

}  // namespace
}  // namespace tailrace::cli

int main(int argument_count, char** arguments) {
  const std::string name = std::filesystem::path(arguments[0]).filename();
  constexpr std::string_view kPrefix = "tailrace-";
  if (name.starts_with(kPrefix)) {
    return tailrace::cli::stand_in(name.substr(kPrefix.size()), {arguments + 1, arguments + argument_count});
  }
  testing::InitGoogleTest(&argument_count, arguments);
  return RUN_ALL_TESTS();
}
