// Starts the four processes of a node and keeps them running: the development and single-node stand-in for systemd,
// whose notify protocol it speaks. It owns its children; they hear of its death from the kernel. Single-threaded; run()
// is the loop.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.h"

namespace tailrace::cli {

// sysexits.h EX_CONFIG: the child refused its configuration or its data directory and has said why.
constexpr int kExitConfig = 78;

// When a process that died is started again: at once, then after 50 ms, doubling to 2 s; a life of 10 s forgives.
class RestartDelay {
 public:
  // How long to wait before the next start, for a process that lived `lived_ms`.
  std::int64_t next_ms(std::int64_t lived_ms);

 private:
  std::int64_t delay_ms_ = 0;
};

// Settings of the processes, as in server.properties.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct SupervisorOptions {
  std::string program_directory;  // holds tailrace-engine and its siblings
  std::string run_directory;      // prepared and locked by the caller
  std::string config_file;        // empty for none
  Settings settings;              // in the order given; a later one wins
  int stop_timeout_ms = 30'000;   // per process, then SIGKILL
  // Called once, when a client can produce; addresses as HOST:PORT, at least one.
  std::function<void(const std::vector<std::string>&)> on_ready;
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Runs until SIGTERM or SIGINT, or until a process refuses its configuration; all processes are gone when it returns.
  // Returns the exit status: 0, kExitConfig, or 1 when the system refuses what is needed to supervise (said on stderr).
  int run();

 private:
  enum class State { waiting, starting, ready, dead };
  struct Child {
    const char* name = nullptr;  // "engine"
    int stage = 0;               // started when all children of lower stages are ready
    State state = State::waiting;
    pid_t process = -1;
    std::int64_t started_ms = 0;
    std::int64_t start_due_ms = 0;  // when dead: of the next start
    std::string status;             // its last STATUS= line
    RestartDelay delay;
  };

  bool open_descriptors();
  bool programs_exist() const;
  void start_what_is_due();
  void start(Child& child);
  [[noreturn]] void become(const Child& child, const sigset_t& mask) const;
  void wait_for_events();
  std::int64_t next_deadline_ms() const;
  void read_notifications();
  void on_notification(Child& child, std::string_view message);
  void on_broker_ready(std::vector<std::string> addresses);
  void read_signals();
  void reap();
  void on_exit(Child& child, int wait_status);
  void report_slow_start();
  void stop_all();
  void stop(Child& child);
  std::string program_of(const Child& child) const;

  SupervisorOptions options_;
  pid_t supervisor_;
  std::vector<Child> children_;
  int notify_socket_ = -1;
  int signals_ = -1;
  std::string notify_path_;
  bool announced_ = false;
  bool stopping_ = false;
  bool hurry_ = false;  // a second signal while stopping
  int exit_status_ = 0;
  std::int64_t slow_report_due_ms_ = 0;
};

}  // namespace tailrace::cli
