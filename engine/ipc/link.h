// Link: one end of a session between two processes: a ring to write, a ring to read, and the payload memory (arena)
// that the client of the session shares. It does not know how the two ends found each other: SocketLink (session.h) is
// the real one over a Unix-domain socket, the simulation has one in plain memory. Owned by one thread.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/io/files.h"
#include "engine/ipc/ring.h"

namespace tailrace::ipc {

class Link {
 public:
  virtual ~Link() = default;

  [[nodiscard]] RingProducer& producer() { return producer_; }
  [[nodiscard]] RingConsumer& consumer() { return consumer_; }
  // The client's arena. The server may only read it; the client owns what is in it until the server has answered.
  [[nodiscard]] Bytes arena() const { return arena_; }

  // Publishes what was reserved and wakes the peer if it sleeps.
  void publish() {
    if (producer_.publish()) ring_peer();
  }

  // Sends an open file to the peer, before the next publish reaches it. Error: retry (the socket is full; nothing was
  // sent), peer_gone.
  virtual Result<void> send_file(std::uint64_t file_id, io::File file) = 0;
  // Takes the files that the peer has sent: they go to on_file, which owns them from there. Also done by itself
  // whenever one arrives; called by hand when a record names a file that is not known yet, since it was sent before
  // that record was published.
  virtual void receive_files() = 0;
  // A file without a handle was sent but could not be received, for want of descriptors.
  std::function<void(std::uint64_t file_id, io::File file)> on_file;

 protected:
  virtual void ring_peer() = 0;

  RingProducer producer_;
  RingConsumer consumer_;
  Bytes arena_;
};

}  // namespace tailrace::ipc
