#include "cli/up.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/run_directory.h"
#include "cli/supervisor.h"
#include "engine/base/file_lock.h"
#include "engine/log/directory_files.h"
#include "services/node/config.h"

namespace tailrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLockWaitMs = 30'000;  // as long as a process may take to stop

int refuse(std::string_view text) {
  fmt::print(stderr, "tailrace up: {}\n", text);
  return 1;
}

std::string program_directory() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size <= 0 ? "." : fs::path(std::string(path, static_cast<std::size_t>(size))).parent_path().string();
}

// Each key once: the processes shall not have to choose.
void put(Settings& settings, std::string key, std::string value) {
  for (auto& [present, old] : settings) {
    if (present == key) {
      old = std::move(value);
      return;
    }
  }
  settings.emplace_back(std::move(key), std::move(value));
}

// The value that the processes will see for a key; nothing when neither the command line nor the file has it.
std::optional<std::string> given(const node::Config& config, std::string_view key) {
  const auto at = config.given.find(key);
  return at == config.given.end() ? std::nullopt : std::optional(at->second);
}

// HOST:PORT with a numeric port; an IPv6 address in brackets.
bool is_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos) return false;
  if (std::atoi(std::string(port).c_str()) > 65535) return false;
  const bool in_brackets = host.front() == '[' && host.back() == ']' && host.size() > 2;
  return in_brackets || host.find_first_of("[]:/ ") == std::string_view::npos;
}

// The temporary directory of an ephemeral node, gone with this object.
class TemporaryDirectory {
 public:
  static std::unique_ptr<TemporaryDirectory> make() {
    const char* base = std::getenv("TMPDIR");
    std::string path = std::string(base != nullptr && base[0] == '/' ? base : "/tmp") + "/tailrace-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return nullptr;
    return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(std::move(path)));
  }
  ~TemporaryDirectory() {
    std::error_code error;
    fs::remove_all(path_, error);
    if (error) fmt::print(stderr, "tailrace up: cannot remove {}: {}\n", path_, error.message());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The settings that the options stand for, those of --set last so that they win. Empty error text when all is well.
std::string collect_settings(const UpOptions& options, Settings& settings) {
  if (options.ephemeral) put(settings, "group.initial.rebalance.delay.ms", "0");
  if (!options.data.empty()) put(settings, "log.dirs", options.data);
  if (!options.listen.empty()) {
    if (!is_address(options.listen)) return fmt::format("--listen takes HOST:PORT, not \"{}\"", options.listen);
    put(settings, "listeners", "PLAINTEXT://" + options.listen);
  }
  for (const std::string& pair : options.set) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos) return fmt::format("--set takes KEY=VALUE, not \"{}\"", pair);
    put(settings, pair.substr(0, equals), pair.substr(equals + 1));
  }
  return {};
}

// Another node's engine, or Kafka, serves it. The engine takes the lock and would find out, after others have written.
bool is_locked(const std::string& data) {
  const std::string path = data + "/" + std::string(log::kLockFile);
  if (access(path.c_str(), F_OK) != 0) return false;
  const auto lock = FileLock::take(path);
  return !lock && lock.error().code == Code::locked;
}

void announce(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) fmt::print("ready {}\n", address);
  std::fflush(stdout);
}

}  // namespace

int up(const UpOptions& options) {
  const std::string file = options.config.empty() ? std::string() : fs::absolute(options.config).string();
  Settings settings;
  if (const std::string wrong = collect_settings(options, settings); !wrong.empty()) return refuse(wrong);

  std::unique_ptr<TemporaryDirectory> temporary;
  if (options.ephemeral) {
    temporary = TemporaryDirectory::make();
    if (!temporary) return refuse(fmt::format("cannot make a temporary directory: {}", std::strerror(errno)));
    put(settings, "log.dirs", temporary->path() + "/data");
  }
  // Each process judges the configuration for itself; asked first, it is refused before anything was made.
  const auto config = node::load_config({.file = file, .set = settings});
  if (!config) {
    refuse(config.error());
    return kExitConfig;
  }
  std::optional<std::string> log_dirs = given(*config, "log.dirs");
  if (!log_dirs) log_dirs = given(*config, "log.dir");
  if (!log_dirs) {
    auto home = default_data_directory();
    if (!home) return refuse(home.error().text());
    log_dirs = *home;
  }
  const std::string data = absolute_log_dirs(*log_dirs);
  put(settings, "log.dirs", data);
  std::error_code error;
  fs::create_directories(data, error);
  if (error) return refuse(fmt::format("cannot make {}: {}", data, error.message()));

  std::optional<std::string> run = given(*config, "tailrace.run.dir");
  if (!options.run.empty()) run = options.run;
  if (!run) run = temporary ? temporary->path() + "/run" : default_run_directory(data);
  const std::string run_directory = fs::absolute(*run).lexically_normal().string();
  put(settings, "tailrace.run.dir", run_directory);
  if (auto prepared = prepare_run_directory(run_directory); !prepared) {
    return refuse(fmt::format("{}: {}", run_directory, prepared.error().text()));
  }
  int holder = 0;
  auto lock = RunLock::take(run_directory, kLockWaitMs, holder);
  if (!lock && lock.error().code == Code::locked) {
    return refuse(holder != 0 ? fmt::format("a node already runs on {} (process {})", data, holder)
                              : fmt::format("processes of an earlier node still run on {}", data));
  }
  if (!lock) return refuse(fmt::format("{}: {}", run_directory, lock.error().text()));
  if (is_locked(data)) return refuse(fmt::format("the data directory {} is locked by a running node", data));

  Supervisor supervisor({.program_directory = program_directory(),
                         .run_directory = run_directory,
                         .config_file = file,
                         .settings = std::move(settings),
                         .on_ready = announce});
  return supervisor.run();
}

void add_up_command(Command app, int& exit_code) {
  auto options = std::make_shared<UpOptions>();
  Command command = app.add_subcommand("up", "Run a node in the foreground");
  command.footer(
      "It starts the engine, the broker and their two helpers, starts again what dies, prints `ready HOST:PORT` when "
      "a client can produce, and stops on SIGTERM or Ctrl-C. Without options it listens on 127.0.0.1:9092 and keeps "
      "its "
      "data in /var/lib/tailrace (as root) or ~/.local/share/tailrace. Status 78: the configuration or the data is not "
      "as it should be.");
  add_examples(command, {"up", "up --ephemeral --listen 127.0.0.1:0", "up --config server.properties --data /srv/log"});
  command.add_option("--config", options->config, "a server.properties with Kafka's keys").type_name("FILE");
  command.add_option("--data", options->data, "the data directory (log.dirs)").type_name("DIR");
  command.add_option("--listen", options->listen, "where clients connect; port 0 picks a free one")
      .type_name("HOST:PORT");
  command.add_option("--set", options->set, "one setting, as in the file; wins over the file; may be repeated")
      .type_name("KEY=VALUE");
  command.add_option("--run", options->run, "directory for sockets and counters (default: by the data directory)")
      .type_name("DIR");
  command.add_flag("--ephemeral", options->ephemeral, "data in a temporary directory that is removed at the end");
  command.get_option("--ephemeral").excludes(command.get_option("--data"));
  command.callback([options, &exit_code] {
    std::signal(SIGPIPE, SIG_IGN);  // a node goes on when nobody reads what it says
    exit_code = up(*options);
  });
}

}  // namespace tailrace::cli
