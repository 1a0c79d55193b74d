#include "tests/wire/node.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "engine/base/counters.h"

namespace tailrace::wire {
namespace {

namespace fs = std::filesystem;

constexpr int kReadyLimitMs = 60'000;
constexpr std::string_view kServices[] = {"zkbridge", "engine", "groupcoord", "broker"};

// What can be read of a file, which under /proc may go while it is read.
std::string read_text(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char piece[4096];
  for (ssize_t got; (got = ::read(file, piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(got));
  ::close(file);
  return text;
}

// As in ps; 'X' when the process is gone.
char state_of(const std::string& process) {
  const std::string text = read_text("/proc/" + process + "/stat");
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? 'X' : text[name_end + 2];
}

bool is_alive(pid_t process) {
  const char state = state_of(std::to_string(process));
  return state != 'X' && state != 'Z';
}

}  // namespace

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::unique_ptr<Node> Node::start(const NodeOptions& options) {
  std::unique_ptr<Node> node(new Node(options));
  node->launch();
  return node;
}

Node::Node(const NodeOptions& options) : options_(options) {
  directory_ = (fs::temp_directory_path() / "tailrace-wire-XXXXXX").string();
  if (::mkdtemp(directory_.data()) == nullptr) std::abort();
  if (options_.data.empty()) options_.data = directory_ + "/data";
}

Node::~Node() {
  if (up_ > 0) stop();
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

void Node::launch() {
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> words = {
      TAILRACE_PROGRAMS "/tailrace",       "up", "--data", options_.data, "--run", directory_ + "/run", "--listen",
      "127.0.0.1:" + std::to_string(port_)};
  for (const std::string& setting : options_.settings) words.insert(words.end(), {"--set", setting});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  up_ = ::fork();
  if (up_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(output[1], STDOUT_FILENO);
    const int errors = ::open((directory_ + "/stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(errors, STDERR_FILENO);
    const rlimit limit{options_.descriptors_max, options_.descriptors_max};
    if (options_.descriptors_max != 0) ::setrlimit(RLIMIT_NOFILE, &limit);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(output[1]);
  wait_until_ready(output[0]);
  ::close(output[0]);
}

void Node::wait_until_ready(int output) {
  std::string line;
  pollfd readable{output, POLLIN, 0};
  char byte = 0;
  while (::poll(&readable, 1, kReadyLimitMs) == 1 && ::read(output, &byte, 1) == 1 && byte != '\n') line += byte;
  const std::size_t colon = line.rfind(':');
  if (line.starts_with("ready ") && colon != std::string::npos) {
    port_ = static_cast<std::uint16_t>(std::atoi(line.c_str() + colon + 1));
    return;
  }
  std::fprintf(stderr, "the node said \"%s\" instead of ready:\n%s", line.c_str(), said().c_str());
  stop();
  std::exit(1);
}

std::uint16_t Node::port_of(const std::string& listener) const {
  const std::string text = said();
  const std::size_t at = text.rfind("listening listener=" + listener + " address=");
  if (at == std::string::npos) return 0;
  const std::string line = text.substr(at, text.find('\n', at) - at);
  return static_cast<std::uint16_t>(std::atoi(line.c_str() + line.rfind(':') + 1));
}

std::map<std::string, pid_t> Node::processes() const {
  std::map<std::string, pid_t> found;
  const std::string up = std::to_string(up_);
  std::istringstream children(read_text("/proc/" + up + "/task/" + up + "/children"));
  for (std::string process; children >> process;) {
    if (state_of(process) == 'Z') continue;
    std::error_code error;
    const std::string program = fs::read_symlink("/proc/" + process + "/exe", error).filename().string();
    constexpr std::string_view kPrefix = "tailrace-";
    if (!error && program.starts_with(kPrefix)) found[program.substr(kPrefix.size())] = std::atoi(process.c_str());
  }
  return found;
}

void Node::kill(const std::string& service) {
  const pid_t victim = processes()[service];
  ASSERT_GT(victim, 0) << service << " does not run";
  ::kill(victim, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !is_alive(victim) && processes().size() == std::size(kServices); }));
}

int Node::restart() {
  const int status = stop();
  launch();
  return status;
}

int Node::stop() {
  int status = 0;
  ::kill(up_, SIGTERM);
  ::waitpid(up_, &status, 0);
  up_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::uint64_t Node::counter(const std::string& service, std::string_view name) const {
  const auto readings = Counters::read(directory_ + "/run/" + service + ".counters");
  if (readings) {
    for (const Counters::Reading& reading : *readings) {
      if (reading.name == name) return reading.value;
    }
  }
  ADD_FAILURE() << service << " has no counter " << name;
  return 0;
}

std::size_t Node::descriptors(const std::string& service) const {
  const fs::path folder = "/proc/" + std::to_string(processes()[service]) + "/fd";
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::uint64_t Node::private_bytes(const std::string& service) const {
  std::istringstream status(read_text("/proc/" + std::to_string(processes()[service]) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10) * 1024;
  }
  ADD_FAILURE() << "no RssAnon of " << service;
  return 0;
}

Node::Ran Node::run_tool(const std::string& arguments) const {
  Ran ran;
  std::FILE* const output =
      ::popen((TAILRACE_PROGRAMS "/tailrace " + arguments + " --run '" + directory_ + "/run' 2>&1").c_str(), "re");
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, output)) != 0;) ran.output.append(part, got);
  const int status = ::pclose(output);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

std::string Node::run_file(const std::string& name) const { return read_text(directory_ + "/run/" + name); }
std::string Node::said() const { return read_text(directory_ + "/stderr"); }

}  // namespace tailrace::wire
