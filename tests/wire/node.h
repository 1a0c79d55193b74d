// Node: one real `tailrace up`, started from the programs that were built, with a data directory, a run directory and a
// port of its own. It is ended, and its directory removed, with the object. Used by one test thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::wire {

struct NodeOptions {
  std::vector<std::string> settings = {};  // KEY=VALUE
  std::string data = {};                   // empty: a directory of its own
  std::uint64_t descriptors_max = 0;       // RLIMIT_NOFILE of all processes; 0: as it is
};

class Node {
 public:
  // Waits for `ready`. Ends the test program, with what the node has said, when it does not come.
  static std::unique_ptr<Node> start(const NodeOptions& options = {});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Where a listener of this name listens; 0 where there is none.
  [[nodiscard]] std::uint16_t port_of(const std::string& listener) const;
  [[nodiscard]] const std::string& data() const { return options_.data; }

  // The services that live now, by name ("broker"), and their process ids.
  [[nodiscard]] std::map<std::string, pid_t> processes() const;
  // SIGKILL to one service; returns when its successor runs and all four are there.
  void kill(const std::string& service);
  // SIGTERM to all and start again on the same data and port. Returns the exit status of the first run.
  int restart();
  // SIGTERM; returns the exit status.
  int stop();

  // A counter of one process; fails the test when there is none.
  [[nodiscard]] std::uint64_t counter(const std::string& service, std::string_view name) const;
  [[nodiscard]] std::size_t descriptors(const std::string& service) const;
  // Memory in bytes that is the process's own (not the arena, not files).
  [[nodiscard]] std::uint64_t private_bytes(const std::string& service) const;
  // What the processes have written on stderr.
  [[nodiscard]] std::string said() const;
  // `tailrace ARGUMENTS --run DIR` over this node: what it prints, and its exit status.
  struct Ran {
    std::string output;
    int status = 0;
  };
  [[nodiscard]] Ran run_tool(const std::string& arguments) const;
  // A file of the run directory; empty where there is none.
  [[nodiscard]] std::string run_file(const std::string& name) const;

 private:
  explicit Node(const NodeOptions& options);
  void launch();
  void wait_until_ready(int output);

  NodeOptions options_;
  std::string directory_;
  std::uint16_t port_ = 0;
  pid_t up_ = -1;
};

// Waits (with a limit that only a hang reaches) until the condition holds; false when it did not.
bool eventually(const auto& condition, int limit_ms = 30'000);

void pause_ms(int ms);

bool eventually(const auto& condition, int limit_ms) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    pause_ms(2);
  }
  return true;
}

}  // namespace tailrace::wire
