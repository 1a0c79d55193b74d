// tailrace-groupcoord: answers what the broker forwards of producer ids (and, to come, groups and transactions). Wiring
// only.
#include "services/groupcoord/service.h"

#include "engine/base/observe.h"

int main(int argument_count, char** arguments) {
  using namespace tailrace;
  auto process = node::Process::start("groupcoord", argument_count, arguments);
  if (!process) return node::Process::refuse("groupcoord", process.error());
  node::Process& node = **process;

  groupcoord::Service service(node.io(), node.bell(), node.counters(), node.run_path("zkbridge.sock"));
  const std::string path = node.run_path("groupcoord.sock");
  if (const Result<void> started = service.start(path); !started) {
    return node::Process::refuse("groupcoord", started.error().text() + " at " + path);
  }
  log_info("serving socket={}", path);
  node.notify_ready();  // requests are taken; those that need zkbridge wait for it
  return node.run(service);
}
