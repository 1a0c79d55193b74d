// RebuiltMemory: where a batch lies that the broker has packed anew and that is larger than what the client sent. It
// gets free memory of the arena while no frame waits for it; else the reserve, which one batch has at a time. What lies
// in either is on its way to the engine, whose answer frees it whatever else waits: so a batch that has to wait for the
// reserve gets it, also when the whole arena is full of frames that wait for the same. Owned by Produce.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/ipc/arena.h"
#include "services/broker/frame_memory.h"

namespace tailrace::broker {

class RebuiltMemory {
 public:
  // `arena` must be empty.
  RebuiltMemory(ipc::Arena& arena, FrameMemory& frames);

  // Larger ones have no place at any time.
  [[nodiscard]] std::size_t batch_bytes_max() const { return reserve_.size; }
  // Of the arena, kept and not in use.
  [[nodiscard]] std::size_t unused_bytes() const { return is_reserve_taken_ ? 0 : reserve_.size; }
  // `size` is at most batch_bytes_max(). nullopt: the reserve is taken; free() tells when it is not any more.
  std::optional<ipc::Arena::Chunk> allocate(std::size_t size);
  bool free(const ipc::Arena::Chunk& chunk);

 private:
  FrameMemory& frames_;
  ipc::Arena::Chunk reserve_;
  bool is_reserve_taken_ = false;
};

}  // namespace tailrace::broker
