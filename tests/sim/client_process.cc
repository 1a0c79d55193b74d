#include "tests/sim/client_process.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tailrace::sim {
api::Identify identity() {
  api::Identify request;
  request.node_id = 1;
  request.cluster_id_size = kClusterId.size();
  std::memcpy(request.cluster_id, kClusterId.data(), kClusterId.size());
  return request;
}

void Actor::pause(std::int64_t low_us, std::int64_t high_us) {
  client_.io().arm(timer_, client_.io().now() + Duration{client_.random().between(low_us, high_us)});
}

ClientProcess::ClientProcess(Surroundings& around, Stage& stage, std::string name, std::size_t descriptors_max)
    : Process(around, std::move(name)),
      stage_(stage),
      arena_memory_(std::make_shared<std::vector<std::byte>>(kArenaSize)),
      arena_(*arena_memory_),
      api_(io(), descriptors_max) {
  identify_.bind<&ClientProcess::on_identified>(this);
}

void ClientProcess::use_link(std::unique_ptr<SimLink> link) {
  link_ = link.get();
  link_closed_ = false;
  link_->on_closed = [this] { link_closed_ = true; };
  api_.attach(std::move(link));
  const api::Identify request = identity();
  api_.identify(request, identify_);
  wake();
}

void ClientProcess::on_identified(const api::Done& answer, Bytes) {
  identified_ = answer.code == api::kOk;
  if (identified_) {
    for (const auto& actor : actors_) actor->on_session();
  } else if (answer.code != static_cast<std::uint16_t>(Code::peer_gone)) {
    // The disk may have failed the engine.
    if (link_ != nullptr) link_->break_session();
  }
}

void ClientProcess::drop_session() {
  link_ = nullptr;
  link_closed_ = false;
  identified_ = false;
  api_.detach();
}

void ClientProcess::restart() {
  is_memory_lost_ = true;
  drop_session();
  api_.poll();  // everybody hears of it, and gives back the chunks
  arena_.reset();
  arena_memory_ = std::make_shared<std::vector<std::byte>>(kArenaSize);
  arena_.emplace(*arena_memory_);
  is_memory_lost_ = false;
  wake();
}

void ClientProcess::on_power_cut() {
  restart();
  for (const auto& actor : actors_) actor->on_power_cut();
}

bool ClientProcess::start_append(api::Append& request, Bytes batch, ipc::Arena::Chunk& chunk,
                                 api::Call<api::Appended>& call) {
  const std::optional<ipc::Arena::Chunk> found = arena_->allocate(batch.size());
  if (!found) return false;
  chunk = *found;
  std::memcpy(arena_->bytes(chunk).data(), batch.data(), batch.size());
  request.arena_offset = chunk.offset;
  request.length = static_cast<std::uint32_t>(batch.size());
  api_.append(request, call);
  return true;
}

// Once answered, also by the end of the session, the memory is the client's to use again: at once.
void ClientProcess::end_append(const ipc::Arena::Chunk& chunk) {
  if (!is_memory_lost_) std::ranges::fill(arena_->bytes(chunk), std::byte{0xDD});
  arena_->free(chunk);
}

bool ClientProcess::step() {
  if (link_closed_) drop_session();  // the poll tells all that was in flight, and its chunks are used again
  api_.wake();
  bool worked = api_.poll();
  if (identified_) {
    for (const auto& actor : actors_) actor->act();
  }
  api_.publish();
  return worked || !api_.prepare_to_sleep();
}

}  // namespace tailrace::sim
