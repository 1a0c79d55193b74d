// tailrace-zkbridge: keeps the metadata and runs the controller. Wiring only; the one line in which a node on its own
// and a node of a cluster differ is the one that makes the store.
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "engine/base/file_lock.h"
#include "engine/base/observe.h"
#include "services/node/process.h"
#include "services/zkbridge/found.h"
#include "services/zkbridge/local_store.h"
#include "services/zkbridge/service.h"

namespace {

using namespace tailrace;

constexpr const char* kName = "zkbridge";
constexpr int kExitAgain = 1;  // to be started again

// The id that was set, else the one that the data directory was made with, else 0.
std::expected<BrokerId, std::string> node_id(const node::Config& config, const zkbridge::FoundIdentity& identity) {
  if (config.broker_id >= 0 && identity.broker_id >= 0 && config.broker_id != identity.broker_id) {
    return std::unexpected(fmt::format("node.id is {}, and {} belongs to node {}", config.broker_id,
                                       config.data_directory, identity.broker_id));
  }
  if (config.broker_id >= 0) return config.broker_id;
  return identity.broker_id >= 0 ? identity.broker_id : 0;
}

std::expected<int, std::string> run(node::Process& process) {
  const node::Config& config = process.config();
  io::Io& io = process.io();
  if (!io.files().exists(config.data_directory)) {
    const Result<void> made = io.files().make_directory(config.data_directory);
    if (!made && made.error().code != Code::exists) {
      return std::unexpected(fmt::format("cannot make {}: {}", config.data_directory, made.error().text()));
    }
  }
  const Result<FileLock> lock = FileLock::take(config.data_directory + "/tailrace.metadata.lock");
  if (!lock) {
    return std::unexpected(lock.error().code == Code::locked
                               ? fmt::format("another tailrace-zkbridge uses {}", config.data_directory)
                               : fmt::format("{}: {}", config.data_directory, lock.error().text()));
  }
  const auto identity = zkbridge::find_identity(io.files(), config.data_directory);
  if (!identity) return std::unexpected(identity.error());
  const auto id = node_id(config, *identity);
  if (!id) return std::unexpected(id.error());

  auto store = zkbridge::LocalStore::open(
      io.files(), {.directory = config.data_directory,
                   .journal_bytes_max = static_cast<std::uint64_t>(config.integer("tailrace.metadata.journal.bytes")),
                   .wall_clock_ms = [&io] { return io.wall_clock_ms(); }});
  if (!store) return std::unexpected(store.error());

  zkbridge::ControllerOptions options;
  options.node_id = *id;
  options.config = &config;
  options.cluster_id = identity->cluster_id;
  options.chance = [&io] { return io.random(); };
  if ((*store)->is_new()) {
    auto found = zkbridge::find_data(io.files(), config.data_directory);
    if (!found) return std::unexpected(found.error());
    options.found = std::move(*found);
  }
  zkbridge::Controller controller(std::move(options));
  zkbridge::Service service(io, **store, controller, [&process] { process.notify_ready(); });
  if (const Result<void> started = service.start(process.bell(), process.run_path("zkbridge.sock")); !started) {
    return std::unexpected(started.error().text());
  }
  const int status = process.run(service);
  if (!service.refusal().empty()) return std::unexpected(service.refusal());
  if (service.failure().empty()) return status;
  log_error("failed reason=\"{}\"", service.failure());
  return kExitAgain;
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::expected<std::unique_ptr<node::Process>, std::string> process =
      node::Process::start(kName, argument_count, arguments);
  if (!process) return node::Process::refuse(kName, process.error());
  const std::expected<int, std::string> status = run(**process);
  return status ? *status : node::Process::refuse(kName, status.error());
}
