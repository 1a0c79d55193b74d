#include "services/broker/frame_memory.h"

#include <algorithm>

namespace tailrace::broker {
namespace {

constexpr std::size_t kSmallFrameMax = std::size_t{2} << 20;
constexpr std::size_t kSmallFramesInArena = 32;  // at least: in a small arena fewer bytes are many

}  // namespace

bool FrameMemory::is_large(std::size_t size) const {
  return size > std::min(kSmallFrameMax, arena_.size() / kSmallFramesInArena);
}

std::optional<ipc::Arena::Chunk> FrameMemory::take(std::size_t size) {
  if (is_large(size)) return arena_.allocate(size, ipc::Arena::Part::upper_half);
  // What lies in the upper half may lie there long: a Fetch waits with its frame.
  const std::optional<ipc::Arena::Chunk> chunk = arena_.allocate(size, ipc::Arena::Part::lower_half);
  return chunk || !large_.empty() ? chunk : arena_.allocate(size, ipc::Arena::Part::anywhere);
}

std::optional<ipc::Arena::Chunk> FrameMemory::allocate(std::size_t size, FrameWaiter& waiter) {
  std::deque<Waiting>& waiting = is_large(size) ? large_ : small_;
  std::optional<ipc::Arena::Chunk> chunk;
  if (waiting.empty()) chunk = take(size);
  if (!chunk) waiting.push_back({size, &waiter});
  return chunk;
}

std::optional<ipc::Arena::Chunk> FrameMemory::allocate_unless_waited_for(std::size_t size) {
  if (!small_.empty() || !large_.empty()) return std::nullopt;
  return take(size);
}

void FrameMemory::forget(const FrameWaiter& waiter) {
  for (std::deque<Waiting>* const waiting : {&small_, &large_}) {
    may_serve_ |= std::erase_if(*waiting, [&](const Waiting& each) { return each.waiter == &waiter; }) != 0;
  }
}

void FrameMemory::free(const ipc::Arena::Chunk& chunk) {
  arena_.free(chunk);
  may_serve_ = true;
}

bool FrameMemory::serve(std::deque<Waiting>& waiting) {
  bool served = false;
  while (!waiting.empty()) {
    const Waiting first = waiting.front();
    const std::optional<ipc::Arena::Chunk> chunk = take(first.size);
    if (!chunk) return served;
    waiting.pop_front();
    served = true;
    first.waiter->on_room(*chunk);
  }
  return served;
}

bool FrameMemory::serve() {
  if (!may_serve_) return false;
  may_serve_ = false;
  const bool served = serve(large_);
  return serve(small_) || served;
}

}  // namespace tailrace::broker
