// tailrace-broker: faces the clients. Wiring only.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/observe.h"
#include "engine/ipc/session.h"
#include "services/broker/control.h"
#include "services/broker/forward_session.h"
#include "services/broker/server.h"
#include "services/node/process.h"

namespace {

using namespace tailrace;

constexpr std::size_t kEngineRingBytes = std::size_t{1} << 20;
constexpr std::size_t kFilesMax = 8192;  // descriptors of segment files, if there are as many

constexpr std::size_t kDescriptorsKept = 48;  // for sessions, listeners, logs, and what libraries open

// As many as the process may have (Process has raised the limit).
std::size_t descriptors_max() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

// A quarter of the descriptors is for segment files, the rest for clients.
std::size_t files_max() { return std::clamp<std::size_t>(descriptors_max() / 4, 16, kFilesMax); }
std::size_t connections_max() {
  const std::size_t kept = files_max() + kDescriptorsKept;
  return descriptors_max() > kept ? descriptors_max() - kept : 1;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "localhost";
}

class Broker : public node::Worker {
 public:
  Broker(node::Process& process, ipc::SharedMemory arena_memory)
      : process_(process),
        arena_memory_(std::move(arena_memory)),
        arena_(arena_memory_.bytes()),
        engine_(process.io(), files_max()),
        node_(process.io(), process.config(), engine_, arena_),
        zkbridge_(node_, broker::Forwarder::kAdministrationMax),
        groupcoord_(node_, broker::Forwarder::kCoordinationMax),
        server_(node_, zkbridge_, groupcoord_, process.counters(), connections_max()),
        control_(
            node_, process.bell(), process.run_path("zkbridge.sock"), zkbridge_, [this] { on_ready(); },
            [this] { refused_ = true; }),
        groupcoord_session_(process.io(), process.bell(), process.run_path("groupcoord.sock"), groupcoord_),
        engine_connector_(process.io(), process.bell(), process.run_path("engine.sock"),
                          {.role = ipc::Role::broker, .ring_bytes = kEngineRingBytes, .arena = &arena_memory_},
                          [this](std::unique_ptr<ipc::SocketLink> link) { on_engine(std::move(link)); }) {}

  // Error: one sentence.
  std::expected<void, std::string> start() {
    std::vector<node::Endpoint> reachable = process_.config().listeners.advertised;
    for (const node::Endpoint& endpoint : process_.config().listeners.bound) {
      const Result<io::Address> bound = bind_patiently({host_to_bind(endpoint), endpoint.port});
      if (!bound) {
        return std::unexpected("cannot listen on " + node::host_and_port(endpoint) + ": " + bound.error().text());
      }
      node::Endpoint actual{endpoint.name, bound->host, bound->port};
      listening_.push_back(actual);
      if (!process_.config().listeners.advertised.empty()) continue;
      if (endpoint.host.empty() || endpoint.host == "0.0.0.0" || endpoint.host == "::") actual.host = host_name();
      reachable.push_back(actual);
    }
    server_.show_client_metrics_in(process_.run_path("client_metrics.json"));
    engine_connector_.connect();
    groupcoord_session_.start();
    control_.start(std::move(reachable));
    return {};
  }

  bool work() override {
    bool worked = false;
    if (engine_lost_) {
      engine_lost_ = false;
      log_warning("session with the engine lost");
      engine_.detach();
      engine_connector_.connect();
      worked = true;
    }
    worked |= engine_.poll();
    if (engine_.is_broken() && engine_link_ != nullptr) engine_link_->ask_to_end();
    worked |= control_.work();
    worked |= groupcoord_session_.work();
    worked |= server_.work();
    engine_.publish();
    control_.publish();
    groupcoord_session_.publish();
    return worked;
  }
  bool prepare_to_sleep() override {
    return !engine_lost_ && engine_.prepare_to_sleep() && control_.prepare_to_sleep() &&
           groupcoord_session_.prepare_to_sleep();
  }
  void wake() override {
    engine_.wake();
    control_.wake();
    groupcoord_session_.wake();
  }
  void stop() override { server_.finish(); }
  [[nodiscard]] bool stopped() const override { return server_.is_over() || refused_; }
  [[nodiscard]] bool refused() const { return refused_; }

 private:
  // [::] takes IPv4 too, as with Kafka, unless a listener of IPv4 has the same port.
  std::string host_to_bind(const node::Endpoint& endpoint) const {
    if (endpoint.host != "::") return endpoint.host;
    const bool shares = std::ranges::any_of(process_.config().listeners.bound, [&](const node::Endpoint& other) {
      return &other != &endpoint && endpoint.port != 0 && other.port == endpoint.port;
    });
    return shares ? endpoint.host : std::string();
  }
  // A broker that was killed holds its port until the kernel has taken it apart, which takes a moment.
  Result<io::Address> bind_patiently(const io::Address& address) {
    constexpr int kStepMs = 20;
    Result<io::Address> bound = server_.bind(address);
    for (int waited_ms = 0; !bound && bound.error().system_error == EADDRINUSE && waited_ms < 3000;
         waited_ms += kStepMs) {
      ::poll(nullptr, 0, kStepMs);
      bound = server_.bind(address);
    }
    return bound;
  }
  void on_engine(std::unique_ptr<ipc::SocketLink> link) {
    engine_link_ = link.get();
    link->on_closed = [this] {
      engine_link_ = nullptr;
      engine_lost_ = true;
    };
    engine_.attach(std::move(link));
    control_.on_engine_attached();
  }
  void on_ready() {
    server_.accept_all();
    std::string lines;
    for (const node::Endpoint& each : listening_) {
      log_info("listening listener={} address={}", each.name, node::host_and_port(each));
      lines += "TAILRACE_LISTENING=" + node::host_and_port(each) + "\n";
    }
    process_.notify_ready(lines);
  }

  node::Process& process_;
  ipc::SharedMemory arena_memory_;
  ipc::Arena arena_;
  api::Client engine_;
  broker::NodeState node_;
  broker::Forwarder zkbridge_;
  broker::Forwarder groupcoord_;
  broker::Server server_;
  broker::Control control_;
  broker::ForwardSession groupcoord_session_;
  ipc::Connector engine_connector_;
  std::vector<node::Endpoint> listening_;
  ipc::SocketLink* engine_link_ = nullptr;  // owned by the client
  bool engine_lost_ = false;
  bool refused_ = false;
};

}  // namespace

int main(int argument_count, char** arguments) {
  constexpr const char* kName = "broker";
  std::expected<std::unique_ptr<node::Process>, std::string> process =
      node::Process::start(kName, argument_count, arguments);
  if (!process) return node::Process::refuse(kName, process.error());
  for (const std::string& key : (*process)->config().ignored) log_info("configuration key ignored key={}", key);
  const std::size_t arena_bytes =
      std::bit_ceil(static_cast<std::size_t>((*process)->config().integer("tailrace.arena.bytes")));
  Result<ipc::SharedMemory> arena = ipc::SharedMemory::create("tailrace-arena", arena_bytes);
  if (!arena) return node::Process::refuse(kName, arena.error().text());
  Broker broker(**process, std::move(*arena));
  if (const auto started = broker.start(); !started) return node::Process::refuse(kName, started.error());
  const int status = (*process)->run(broker);
  return broker.refused() ? node::Process::refuse(kName, "this data directory belongs to another cluster or node")
                          : status;
}
