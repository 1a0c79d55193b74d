#include "services/groupcoord/engine_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/observe.h"

namespace tailrace::groupcoord {
namespace {

constexpr std::size_t kRingBytes = std::size_t{1} << 18;
constexpr std::size_t kFilesMax = 64;  // descriptors of segment files

}  // namespace

EngineSession::EngineSession(io::Io& io, const ipc::Bell& bell, std::string path, ipc::SharedMemory arena)
    : memory_(std::move(arena)),
      arena_(memory_.bytes()),
      client_(io, kFilesMax),
      connector_(io, bell, std::move(path),
                 {.role = ipc::Role::groupcoord, .ring_bytes = kRingBytes, .arena = &memory_},
                 [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); }) {
  identify_.bind<&EngineSession::on_identified>(this);
}

void EngineSession::identify(const std::string& cluster_id, BrokerId node_id) {
  cluster_id_ = cluster_id;
  node_id_ = node_id;
  if (!std::exchange(is_connecting_, true)) connector_.connect();
}

void EngineSession::on_session(std::unique_ptr<ipc::SocketLink> link) {
  link_ = link.get();
  link->on_closed = [this] {
    link_ = nullptr;
    is_lost_ = true;
  };
  client_.attach(std::move(link));
  api::Identify request;
  request.node_id = node_id_;
  request.cluster_id_size = static_cast<std::uint32_t>(std::min(cluster_id_.size(), sizeof request.cluster_id));
  std::memcpy(request.cluster_id, cluster_id_.data(), request.cluster_id_size);
  client_.identify(request, identify_);
}

void EngineSession::on_identified(const api::Done& done, Bytes) {
  if (done.code == api::kOk || done.code == static_cast<std::uint16_t>(Code::peer_gone)) return;
  log_error("the engine refuses this process code={}", name(static_cast<Code>(done.code)));
}

bool EngineSession::work() {
  bool worked = false;
  if (std::exchange(is_lost_, false)) {
    log_warning("session with the engine lost");
    client_.detach();
    connector_.connect();
    worked = true;
  }
  worked |= client_.poll();
  if (client_.is_broken() && link_ != nullptr) link_->ask_to_end();
  return worked;
}

}  // namespace tailrace::groupcoord
