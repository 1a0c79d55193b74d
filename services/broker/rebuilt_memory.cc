#include "services/broker/rebuilt_memory.h"

#include "engine/base/check.h"

namespace tailrace::broker {
namespace {

constexpr std::size_t kReservesInArena = 8;

}  // namespace

RebuiltMemory::RebuiltMemory(ipc::Arena& arena, FrameMemory& frames) : frames_(frames) {
  // Not in the upper half, which is that of the largest frames.
  const auto reserve = arena.allocate(arena.size() / kReservesInArena, ipc::Arena::Part::lower_half);
  CHECK(reserve.has_value());
  reserve_ = *reserve;
}

std::optional<ipc::Arena::Chunk> RebuiltMemory::allocate(std::size_t size) {
  CHECK(size <= batch_bytes_max());
  if (const auto chunk = frames_.allocate_unless_waited_for(size)) return chunk;
  if (is_reserve_taken_) return std::nullopt;
  is_reserve_taken_ = true;
  return reserve_;
}

bool RebuiltMemory::free(const ipc::Arena::Chunk& chunk) {
  if (chunk.offset != reserve_.offset) {
    frames_.free(chunk);
    return false;
  }
  CHECK(is_reserve_taken_);
  is_reserve_taken_ = false;
  return true;
}

}  // namespace tailrace::broker
