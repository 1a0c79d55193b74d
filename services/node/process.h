// Process: what the service processes have in common around their work: arguments and configuration, the loop and its
// doorbell, signals, counters, systemd's notifications, exit statuses. `main.cc` of each service makes one, wires its
// parts to it, and runs.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "engine/base/counters.h"
#include "engine/io/io.h"
#include "engine/ipc/session.h"
#include "services/node/config.h"

namespace tailrace::node {

constexpr int kExitConfig = 78;  // EX_CONFIG: configuration or data refused; a restart would end the same way

// What a service does in each turn of the loop.
class Worker {
 public:
  virtual ~Worker() = default;
  // Drains rings, acts, publishes. True: something was done.
  virtual bool work() = 0;
  // True: nothing to do until a bell rings, a completion comes or a timer is due. wake() follows the sleep.
  virtual bool prepare_to_sleep() = 0;
  virtual void wake() = 0;
  // SIGTERM or SIGINT came: finish; the loop ends when stopped() is true.
  virtual void stop() = 0;
  [[nodiscard]] virtual bool stopped() const = 0;
};

class Process {
 public:
  // Reads arguments and configuration, starts logging, makes the loop. The error is one sentence for stderr, exit
  // kExitConfig.
  static std::expected<std::unique_ptr<Process>, std::string> start(const char* name, int argument_count,
                                                                    char** arguments);
  ~Process();

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] io::Io& io() { return *io_; }
  [[nodiscard]] const ipc::Bell& bell() const { return *bell_; }
  [[nodiscard]] Counters& counters() { return *counters_; }
  // A socket or file of the run directory: "engine.sock".
  [[nodiscard]] std::string run_path(const char* name) const { return run_directory_ + "/" + name; }

  // READY=1 to whoever started us (systemd, or `tailrace up`), with more lines "NAME=value\n".
  void notify_ready(const std::string& more = "");
  // Runs until the worker has stopped. Returns the exit status.
  int run(Worker& worker);
  // Says one sentence on stderr; returns kExitConfig.
  static int refuse(const char* name, const std::string& sentence);

 private:
  Process() = default;
  void on_signal(std::int64_t result);
  void wait_for_signal() { io_->wait_readable(signals_, signalled_); }

  std::string name_;
  Config config_;
  std::string run_directory_;
  std::unique_ptr<io::Io> io_;
  std::unique_ptr<ipc::Bell> bell_;
  std::unique_ptr<Counters> counters_;
  int signals_ = -1;
  io::Completion signalled_;
  io::Timer signal_pause_;  // where the kernel has no memory to watch for signals
  Worker* worker_ = nullptr;
};

}  // namespace tailrace::node
