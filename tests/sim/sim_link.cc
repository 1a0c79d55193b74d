#include "tests/sim/sim_link.h"

#include <array>
#include <new>

namespace tailrace::sim {

struct SimLink::Session {
  explicit Session(Schedule& of, std::size_t ring_bytes)
      : schedule(of), memory(2 * (sizeof(ipc::RingHeader) + ring_bytes) / sizeof(Line)) {}

  struct alignas(128) Line {
    std::array<std::byte, 128> bytes;
  };
  Schedule& schedule;
  std::vector<Line> memory;
  SharedArena arena;
  std::array<SimLink*, 2> ends{};
  std::array<std::deque<std::pair<std::uint64_t, std::shared_ptr<Inode>>>, 2> files;  // on their way to that side
  bool broken = false;
};

SimLink::Pair SimLink::make(Schedule& schedule, Side client, Side server, std::size_t ring_bytes, SharedArena arena) {
  auto session = std::make_shared<Session>(schedule, ring_bytes);
  session->arena = std::move(arena);
  Pair pair;
  pair.client.reset(new SimLink(session, 0, std::move(client)));
  pair.server.reset(new SimLink(session, 1, std::move(server)));
  auto* const requests = reinterpret_cast<std::byte*>(session->memory.data());
  std::byte* const answers = requests + sizeof(ipc::RingHeader) + ring_bytes;
  new (requests) ipc::RingHeader;
  new (answers) ipc::RingHeader;
  pair.client->producer_ = ipc::RingProducer(requests, ring_bytes);
  pair.client->consumer_ = ipc::RingConsumer(answers, ring_bytes);
  pair.server->consumer_ = ipc::RingConsumer(requests, ring_bytes);
  pair.server->producer_ = ipc::RingProducer(answers, ring_bytes);
  if (session->arena != nullptr) pair.client->arena_ = pair.server->arena_ = *session->arena;
  return pair;
}

SimLink::SimLink(std::shared_ptr<Session> session, std::size_t side, Side own)
    : session_(std::move(session)), side_(side), own_(std::move(own)) {
  session_->ends[side_] = this;
}

SimLink::~SimLink() {
  on_closed = nullptr;
  session_->ends[side_] = nullptr;
  session_->broken = true;
  if (SimLink* const other = peer()) other->tell_closed_later();
}

SimLink* SimLink::peer() const { return session_->ends[1 - side_]; }

void SimLink::break_session() {
  session_->broken = true;
  if (SimLink* const server = session_->ends[1]) server->tell_closed_later();
}

void SimLink::tell_closed_later() {
  if (std::exchange(told_, true)) return;
  Schedule& schedule = session_->schedule;
  schedule.after(Duration{schedule.random.between(1, 3000)}, life_, [this] {
    if (!on_closed) return;
    const std::function<void()> closed = std::move(on_closed);
    on_closed = nullptr;
    const std::function<void()> wake = own_.wake;
    closed();  // may be the end of this link
    wake();
  });
}

Result<void> SimLink::send_file(std::uint64_t file_id, io::File file) {
  if (session_->broken || peer() == nullptr) return failure(Code::peer_gone, "sending a file");
  Schedule& schedule = session_->schedule;
  if (schedule.random.one_in(50)) return failure(Code::retry, "sending a file");
  session_->files[1 - side_].emplace_back(file_id, own_.files.inode_of(file));
  schedule.after(Duration{schedule.random.between(1, 500)}, peer()->life_,
                 [other = peer()] { other->receive_files(); });
  return {};
}

void SimLink::receive_files() {
  std::deque<std::pair<std::uint64_t, std::shared_ptr<Inode>>>& waiting = session_->files[side_];
  while (!waiting.empty()) {
    auto [file_id, inode] = std::move(waiting.front());
    waiting.pop_front();
    if (on_file) on_file(file_id, own_.files.adopt(std::move(inode)));
  }
}

void SimLink::ring_peer() {
  SimLink* const other = peer();
  if (other == nullptr) return;
  Schedule& schedule = session_->schedule;
  schedule.after(Duration{schedule.random.between(0, 50)}, other->own_.life, [wake = other->own_.wake] { wake(); });
}

}  // namespace tailrace::sim
