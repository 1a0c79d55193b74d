// FrameMemory: who gets a chunk of the arena for a frame, and who waits. Large frames have the upper half of the arena,
// which small ones use only while no large one waits and the lower half is full: so neither kind keeps the other from
// coming in. Those of one kind are served in the order in which they came. Owned by the server.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "engine/ipc/arena.h"

namespace tailrace::broker {

class FrameWaiter {
 public:
  virtual void on_room(const ipc::Arena::Chunk& chunk) = 0;

 protected:
  ~FrameWaiter() = default;
};

class FrameMemory {
 public:
  explicit FrameMemory(ipc::Arena& arena) : arena_(arena) {}

  // No frame may be larger.
  [[nodiscard]] std::size_t frame_bytes_max() const { return arena_.size() / 2; }
  // nullopt: `waiter` waits, and gets its chunk from serve().
  std::optional<ipc::Arena::Chunk> allocate(std::size_t size, FrameWaiter& waiter);
  // For what is no frame and does not wait. nullopt: there is none, or frames wait.
  std::optional<ipc::Arena::Chunk> allocate_unless_waited_for(std::size_t size);
  // It does not wait any more.
  void forget(const FrameWaiter& waiter);
  void free(const ipc::Arena::Chunk& chunk);
  // Hands out what has become free. True: somebody got some.
  bool serve();

 private:
  struct Waiting {
    std::size_t size = 0;
    FrameWaiter* waiter = nullptr;
  };
  [[nodiscard]] bool is_large(std::size_t size) const;
  std::optional<ipc::Arena::Chunk> take(std::size_t size);
  bool serve(std::deque<Waiting>& waiting);

  ipc::Arena& arena_;
  std::deque<Waiting> small_;
  std::deque<Waiting> large_;
  bool may_serve_ = false;  // something has changed since it was tried in vain
};

}  // namespace tailrace::broker
