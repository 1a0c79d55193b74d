// tailrace-groupcoord: answers what the broker forwards of groups, offsets and producer ids. Wiring only.
#include "services/groupcoord/service.h"

#include <utility>

#include "engine/base/observe.h"

int main(int argument_count, char** arguments) {
  using namespace tailrace;
  auto process = node::Process::start("groupcoord", argument_count, arguments);
  if (!process) return node::Process::refuse("groupcoord", process.error());
  node::Process& node = **process;

  // Batches of __consumer_offsets on their way to the engine: its pages are taken when they are first used.
  constexpr std::size_t kArenaBytes = std::size_t{64} << 20;
  Result<ipc::SharedMemory> arena = ipc::SharedMemory::create("tailrace-groups", kArenaBytes);
  if (!arena) return node::Process::refuse("groupcoord", arena.error().text());
  groupcoord::Service service(node.io(), node.bell(), node.counters(), node.config(),
                              {.bridge = node.run_path("zkbridge.sock"), .engine = node.run_path("engine.sock")},
                              std::move(*arena));
  const std::string path = node.run_path("groupcoord.sock");
  if (const Result<void> started = service.start(path); !started) {
    return node::Process::refuse("groupcoord", started.error().text() + " at " + path);
  }
  log_info("serving socket={}", path);
  node.notify_ready();  // requests are taken; those that need zkbridge wait for it
  return node.run(service);
}
