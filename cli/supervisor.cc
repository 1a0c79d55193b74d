#include "cli/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

namespace tailrace::cli {
namespace {

constexpr std::int64_t kFirstDelayMs = 50;
constexpr std::int64_t kDelayMaxMs = 2'000;
constexpr std::int64_t kForgivenAfterMs = 10'000;
constexpr std::int64_t kSlowStartMs = 5'000;  // between words about a start that takes long
constexpr std::size_t kNotificationMax = 4096;

std::int64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

void say(std::string_view text) { fmt::print(stderr, "tailrace: {}\n", text); }

// What the children may send, and what ends us.
sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

std::string how_it_ended(int wait_status) {
  if (WIFSIGNALED(wait_status)) return fmt::format("was ended by signal {}", WTERMSIG(wait_status));
  return fmt::format("ended with status {}", WEXITSTATUS(wait_status));
}

// "PLAINTEXT://127.0.0.1:0" with the port that the system chose.
std::string with_port_of(const std::string& listener, const std::string& address) {
  const std::size_t port = address.rfind(':');
  if (port == std::string::npos || !listener.ends_with(":0")) return listener;
  return listener.substr(0, listener.size() - 2) + address.substr(port);
}

}  // namespace

std::int64_t RestartDelay::next_ms(std::int64_t lived_ms) {
  if (lived_ms >= kForgivenAfterMs) delay_ms_ = 0;
  const std::int64_t delay = delay_ms_;
  delay_ms_ = std::min(kDelayMaxMs, std::max(kFirstDelayMs, delay_ms_ * 2));
  return delay;
}

Supervisor::Supervisor(SupervisorOptions options) : options_(std::move(options)), supervisor_(getpid()) {
  // The store and the controller first, then the data, then those who serve clients from both.
  for (const auto& [name, stage] : {std::pair("zkbridge", 0), {"engine", 1}, {"groupcoord", 2}, {"broker", 2}}) {
    Child child;
    child.name = name;
    child.stage = stage;
    children_.push_back(std::move(child));
  }
}

Supervisor::~Supervisor() {
  if (notify_socket_ >= 0) close(notify_socket_);
  if (signals_ >= 0) close(signals_);
  if (!notify_path_.empty()) unlink(notify_path_.c_str());
}

int Supervisor::run() {
  if (!programs_exist() || !open_descriptors()) return 1;
  slow_report_due_ms_ = now_ms() + kSlowStartMs;
  while (!stopping_) {
    start_what_is_due();
    wait_for_events();
    report_slow_start();
  }
  stop_all();
  return exit_status_;
}

std::string Supervisor::program_of(const Child& child) const {
  return options_.program_directory + "/tailrace-" + child.name;
}

bool Supervisor::programs_exist() const {
  for (const Child& child : children_) {
    if (access(program_of(child).c_str(), X_OK) != 0) {
      say(fmt::format("cannot run {}: {}", program_of(child), std::strerror(errno)));
      return false;
    }
  }
  return true;
}

bool Supervisor::open_descriptors() {
  const sigset_t set = watched_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  notify_socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (signals_ < 0 || notify_socket_ < 0) {
    say(fmt::format("cannot supervise: {}", std::strerror(errno)));
    return false;
  }
  notify_path_ = options_.run_directory + "/notify";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (notify_path_.size() >= sizeof address.sun_path) {
    say(fmt::format("the path of the run directory is too long for sockets: {}", options_.run_directory));
    notify_path_.clear();
    return false;
  }
  std::memcpy(address.sun_path, notify_path_.data(), notify_path_.size());
  unlink(notify_path_.c_str());  // of an earlier run; the lock of the directory is ours
  const int on = 1;
  if (bind(notify_socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      setsockopt(notify_socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    say(fmt::format("cannot listen on {}: {}", notify_path_, std::strerror(errno)));
    return false;
  }
  return true;
}

void Supervisor::start_what_is_due() {
  const std::int64_t now = now_ms();
  for (Child& child : children_) {
    if (child.state == State::dead && child.start_due_ms <= now) start(child);
    if (child.state == State::waiting && std::all_of(children_.begin(), children_.end(), [&](const Child& other) {
          return other.stage >= child.stage || other.state == State::ready;
        })) {
      start(child);
    }
  }
}

void Supervisor::start(Child& child) {
  sigset_t unblocked;
  sigemptyset(&unblocked);
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process == 0) become(child, unblocked);
  child.started_ms = now_ms();
  child.status.clear();
  if (process < 0) {
    say(fmt::format("cannot start {}: {}", child.name, std::strerror(errno)));
    child.state = State::dead;
    child.start_due_ms = child.started_ms + child.delay.next_ms(0);
    return;
  }
  child.process = process;
  child.state = State::starting;
}

// In the child, between fork and exec.
void Supervisor::become(const Child& child, const sigset_t& mask) const {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != supervisor_) _exit(1);  // it died before the line above
  setpgid(0, 0);                           // Ctrl-C at the terminal is for the supervisor alone
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // our stdout carries the ready line and nothing else
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  setenv("NOTIFY_SOCKET", notify_path_.c_str(), 1);

  std::vector<std::string> words = {program_of(child)};
  if (!options_.config_file.empty()) words.insert(words.end(), {"--config", options_.config_file});
  for (const auto& [key, value] : options_.settings) words.insert(words.end(), {"--set", key + "=" + value});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  say(fmt::format("cannot run {}: {}", arguments[0], std::strerror(errno)));
  _exit(kExitConfig);
}

std::int64_t Supervisor::next_deadline_ms() const {
  std::int64_t deadline = announced_ ? now_ms() + 3'600'000 : slow_report_due_ms_;
  for (const Child& child : children_) {
    if (child.state == State::dead) deadline = std::min(deadline, child.start_due_ms);
  }
  return deadline;
}

void Supervisor::wait_for_events() {
  pollfd descriptors[] = {{signals_, POLLIN, 0}, {notify_socket_, POLLIN, 0}};
  const std::int64_t wait = std::max<std::int64_t>(0, next_deadline_ms() - now_ms());
  if (poll(descriptors, 2, static_cast<int>(wait)) <= 0) return;
  read_notifications();  // before reaping, so that a last word is heard
  read_signals();
}

void Supervisor::read_notifications() {
  for (;;) {
    char text[kNotificationMax];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int) * 16)];
    iovec part{text, sizeof text};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(notify_socket_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0) return;
    pid_t sender = -1;
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr; part_of = CMSG_NXTHDR(&message, part_of)) {
      if (part_of->cmsg_level != SOL_SOCKET) continue;
      if (part_of->cmsg_type == SCM_CREDENTIALS) {
        ucred credentials;
        std::memcpy(&credentials, CMSG_DATA(part_of), sizeof credentials);
        sender = credentials.pid;
      } else if (part_of->cmsg_type == SCM_RIGHTS) {  // FDSTORE and the like: not ours to keep
        const std::size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
          int descriptor;
          std::memcpy(&descriptor, CMSG_DATA(part_of) + i * sizeof(int), sizeof descriptor);
          close(descriptor);
        }
      }
    }
    for (Child& child : children_) {
      if (child.process == sender && sender > 0) on_notification(child, {text, static_cast<std::size_t>(size)});
    }
  }
}

void Supervisor::on_notification(Child& child, std::string_view message) {
  bool ready = false;
  std::vector<std::string> addresses;
  while (!message.empty()) {
    const std::size_t end = message.find('\n');
    const std::string_view line = message.substr(0, end);
    message = end == std::string_view::npos ? std::string_view() : message.substr(end + 1);
    constexpr std::string_view kListening = "TAILRACE_LISTENING=";
    constexpr std::string_view kStatus = "STATUS=";
    if (line == "READY=1") ready = true;
    if (line.starts_with(kListening)) addresses.emplace_back(line.substr(kListening.size()));
    if (line.starts_with(kStatus)) child.status = line.substr(kStatus.size());
  }
  if (!ready || child.state != State::starting) return;
  child.state = State::ready;
  if (std::string_view(child.name) == "broker") on_broker_ready(std::move(addresses));
}

void Supervisor::on_broker_ready(std::vector<std::string> addresses) {
  if (announced_ || addresses.empty()) return;
  announced_ = true;
  // A broker that is started again must come back at the port where its clients look for it.
  for (auto& [key, value] : options_.settings) {
    if (key == "listeners" && value.find(',') == std::string::npos) value = with_port_of(value, addresses.front());
  }
  if (options_.on_ready) options_.on_ready(addresses);
}

void Supervisor::read_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) {
      reap();
    } else if (stopping_) {
      hurry_ = true;
    } else {
      stopping_ = true;
    }
  }
}

void Supervisor::reap() {
  int wait_status = 0;
  for (pid_t process; (process = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    read_notifications();
    for (Child& child : children_) {
      if (child.process == process) on_exit(child, wait_status);
    }
  }
}

void Supervisor::on_exit(Child& child, int wait_status) {
  const bool was_ready = child.state == State::ready;
  child.process = -1;
  child.state = State::dead;
  if (stopping_) return;
  if (!was_ready && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kExitConfig) {
    say(fmt::format("the {} refused to start (see above); stopping", child.name));
    exit_status_ = kExitConfig;
    stopping_ = true;
    return;
  }
  const std::int64_t now = now_ms();
  const std::int64_t wait = child.delay.next_ms(now - child.started_ms);
  child.start_due_ms = now + wait;
  say(fmt::format("the {} {}; starting it again{}", child.name, how_it_ended(wait_status),
                  wait == 0 ? std::string() : fmt::format(" in {} ms", wait)));
}

// Until the first ready line, a person is told what is being waited for.
void Supervisor::report_slow_start() {
  if (announced_ || stopping_ || now_ms() < slow_report_due_ms_) return;
  slow_report_due_ms_ = now_ms() + kSlowStartMs;
  for (const Child& child : children_) {
    if (child.state != State::starting) continue;
    say(fmt::format("waiting for the {}{}{}", child.name, child.status.empty() ? "" : ": ", child.status));
  }
}

// Clients first lose the broker, so nothing new arrives; the store goes last because all others use it.
void Supervisor::stop_all() {
  for (const char* name : {"broker", "groupcoord", "engine", "zkbridge"}) {
    for (Child& child : children_) {
      if (std::string_view(child.name) == name) stop(child);
    }
  }
}

void Supervisor::stop(Child& child) {
  if (child.process < 0) return;
  kill(child.process, SIGTERM);
  const std::int64_t patience_ends = now_ms() + options_.stop_timeout_ms;
  while (child.process >= 0) {
    const std::int64_t left = patience_ends - now_ms();
    if (left <= 0 || hurry_) {
      say(fmt::format("the {} did not stop{}; killing it", child.name, hurry_ ? " yet" : " in time"));
      kill(child.process, SIGKILL);
      waitpid(child.process, nullptr, 0);
      child.process = -1;
      return;
    }
    pollfd descriptor{signals_, POLLIN, 0};
    poll(&descriptor, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    read_signals();
  }
}

}  // namespace tailrace::cli
