// tailrace-engine: owns the data directory and serves it over sessions. Wiring only.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "engine/base/counters.h"
#include "engine/base/file_lock.h"
#include "engine/base/observe.h"
#include "engine/ipc/session.h"
#include "engine/log/directory_files.h"
#include "engine/server/settings.h"
#include "engine/server/shard.h"

namespace {

using namespace tailrace;

// A node has one broker; while it is started again its old session may still be there.
constexpr std::size_t kSessionsMax = 8;
constexpr Duration kSignalPause{100'000};  // where the kernel has no memory to watch for signals
constexpr int kExitConfig = 78;            // EX_CONFIG: a restart would end the same way

int refuse(const std::string& sentence) {
  std::fprintf(stderr, "tailrace-engine: %s\n", sentence.c_str());
  return kExitConfig;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

struct Stopper {
  io::Io& io;
  server::Shard& shard;
  int signals;
  io::Completion signalled;
  io::Timer pause;

  Stopper(io::Io& of, server::Shard& to_stop) : io(of), shard(to_stop) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    signals = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    signalled.bind<&Stopper::on_signal>(this);
    pause.bind<&Stopper::wait>(this);
    wait();
  }
  ~Stopper() {
    io.disarm(pause);
    io.forget(signals);
    ::close(signals);
  }
  void wait() { io.wait_readable(signals, signalled); }
  void on_signal(std::int64_t result) {
    if (result < 0) return io.arm(pause, io.now() + kSignalPause);
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) == sizeof info) shard.stop();
    wait();
  }
};

int run(int argument_count, char** arguments) {
  const std::expected<server::Settings, std::string> settings = server::read_settings(argument_count, arguments);
  if (!settings) return refuse(settings.error());
  if (::access(settings->data_directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return refuse("the data directory " + settings->data_directory + " cannot be used: " + std::strerror(errno));
  }
  const Result<FileLock> lock = FileLock::take(settings->data_directory + "/" + std::string(log::kLockFile));
  if (!lock) {
    return refuse(lock.error().code == Code::locked
                      ? "the data directory " + settings->data_directory + " is locked by a running node"
                      : "the data directory " + settings->data_directory + " cannot be locked: " + lock.error().text());
  }
  raise_descriptor_limit();
  ::signal(SIGPIPE, SIG_IGN);  // whoever read our log may be gone
  Result<std::unique_ptr<io::Io>> io = io::make_io();
  if (!io) return refuse(io.error().text());
  Result<std::unique_ptr<Counters>> counters = Counters::create(settings->run_directory + "/engine.counters");
  if (!counters) return refuse(counters.error().text() + " in " + settings->run_directory);
  Result<std::unique_ptr<ipc::Bell>> bell = ipc::Bell::create(**io);
  if (!bell) return refuse(bell.error().text());

  server::Shard shard(**io, *settings, counters->get());
  if (Result<void> loaded = shard.load(); !loaded) {
    return refuse("the data directory " + settings->data_directory + " cannot be used: " + loaded.error().text());
  }
  Stopper stopper(**io, shard);
  const std::string socket = settings->run_directory + "/engine.sock";
  Result<std::unique_ptr<ipc::Listener>> listener = ipc::Listener::create(
      **io, **bell, socket, {.roles = {ipc::Role::broker, ipc::Role::groupcoord}}, [&shard](auto link) {
        if (shard.session_count() == kSessionsMax) return log_warning("session refused reason=\"too many\"");
        ipc::SocketLink& reference = *link;
        const std::uint64_t session = shard.add_session(std::move(link));
        reference.on_closed = [&shard, session] {
          log_info("session ended session={}", session);
          shard.end_session(session);
        };
      });
  if (!listener) return refuse(listener.error().text() + " at " + socket);
  bool was_loading = true;
  while (!shard.stopped()) {
    const bool worked = shard.work();
    if (const Result<void> loaded = shard.loaded(); !loaded) {
      return refuse("the data directory " + settings->data_directory + " cannot be used: " + loaded.error().text());
    }
    if (was_loading && !shard.is_loading()) {
      was_loading = false;
      log_info("serving data={} partitions={} durability={}", settings->data_directory, shard.partition_count(),
               settings->durability == server::Durability::disk ? "disk" : "memory");
      ::sd_notify(0, "READY=1");
    }
    (*io)->turn(shard.stopped() || worked || !shard.prepare_to_sleep());
    shard.wake();
  }
  log_info("stopped");
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  tailrace::start_logging("engine");
  return run(argument_count, arguments);
}
