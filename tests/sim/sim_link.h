// SimLink: a session in plain memory: both rings and the arena, files passed by reference, bells that wake the other
// process after a while. It breaks when one end is destroyed, or when the world says so. As over a socket, the server
// is told then, and the client once the server's end is gone, each at its own time; and answers published before the
// end stay readable.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/ipc/link.h"
#include "tests/sim/schedule.h"
#include "tests/sim/sim_files.h"

namespace tailrace::sim {

// Payload memory that lives as long as somebody has it mapped.
using SharedArena = std::shared_ptr<std::vector<std::byte>>;

class SimLink final : public ipc::Link {
 public:
  // How an end reaches the process that owns it.
  struct Side {
    SimFiles& files;
    std::function<void()> wake;
    std::weak_ptr<const void> life;  // of the process
  };
  struct Pair {
    std::unique_ptr<SimLink> client;
    std::unique_ptr<SimLink> server;
  };
  static Pair make(Schedule& schedule, Side client, Side server, std::size_t ring_bytes, SharedArena arena);
  ~SimLink() override;

  Result<void> send_file(std::uint64_t file_id, io::File file) override;
  void receive_files() override;
  // As when the client asks for the end.
  void break_session();
  std::function<void()> on_closed;  // once; the owner destroys the link later

 private:
  struct Session;
  SimLink(std::shared_ptr<Session> session, std::size_t side, Side own);
  void ring_peer() override;
  void tell_closed_later();
  [[nodiscard]] SimLink* peer() const;

  std::shared_ptr<Session> session_;
  std::size_t side_;
  Side own_;
  bool told_ = false;
  std::shared_ptr<const void> life_ = std::make_shared<int>(0);
};

}  // namespace tailrace::sim
