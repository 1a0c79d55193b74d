#include "services/node/process.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "engine/base/observe.h"

namespace tailrace::node {
namespace {

constexpr Duration kSignalPause{100'000};

int make_signal_descriptor() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int Process::refuse(const char* name, const std::string& sentence) {
  std::fprintf(stderr, "tailrace-%s: %s\n", name, sentence.c_str());
  return kExitConfig;
}

std::expected<std::unique_ptr<Process>, std::string> Process::start(const char* name, int argument_count,
                                                                    char** arguments) {
  start_logging(name);
  const std::vector<std::string> words(arguments + 1, arguments + argument_count);
  std::expected<ConfigSource, std::string> source = parse_arguments(words);
  if (!source) return std::unexpected(source.error());
  std::expected<Config, std::string> config = load_config(*source);
  if (!config) return std::unexpected(config.error());

  auto process = std::unique_ptr<Process>(new Process);
  process->name_ = name;
  process->config_ = std::move(*config);
  process->run_directory_ = process->config_.text("tailrace.run.dir");
  if (process->run_directory_.empty())
    return std::unexpected("tailrace.run.dir is not set: the processes could not meet");
  process->signals_ = make_signal_descriptor();
  raise_descriptor_limit();
  ::signal(SIGPIPE, SIG_IGN);

  Result<std::unique_ptr<io::Io>> io = io::make_io();
  if (!io) return std::unexpected(io.error().text());
  process->io_ = std::move(*io);
  Result<std::unique_ptr<ipc::Bell>> bell = ipc::Bell::create(*process->io_);
  if (!bell) return std::unexpected(bell.error().text());
  process->bell_ = std::move(*bell);
  Result<std::unique_ptr<Counters>> counters =
      Counters::create(process->run_path((process->name_ + ".counters").c_str()));
  if (!counters) return std::unexpected(counters.error().text() + " in " + process->run_directory_);
  process->counters_ = std::move(*counters);
  process->signalled_.bind<&Process::on_signal>(process.get());
  process->signal_pause_.bind<&Process::wait_for_signal>(process.get());
  process->wait_for_signal();
  return process;
}

Process::~Process() {
  if (io_ != nullptr) io_->disarm(signal_pause_);
  if (signals_ >= 0 && io_ != nullptr) io_->forget(signals_);
  if (signals_ >= 0) ::close(signals_);
}

void Process::on_signal(std::int64_t result) {
  if (result < 0) return io_->arm(signal_pause_, io_->now() + kSignalPause);
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) == sizeof info && worker_ != nullptr) worker_->stop();
  wait_for_signal();
}

void Process::notify_ready(const std::string& more) { ::sd_notify(0, ("READY=1\n" + more).c_str()); }

int Process::run(Worker& worker) {
  worker_ = &worker;
  while (!worker.stopped()) {
    const bool worked = worker.work();
    if (worker.stopped()) break;
    io_->turn(worked || !worker.prepare_to_sleep());
    worker.wake();
  }
  worker_ = nullptr;
  log_info("stopped");
  return 0;
}

}  // namespace tailrace::node
