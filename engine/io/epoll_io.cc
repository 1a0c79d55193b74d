#include "engine/io/epoll_io.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/base/observe.h"

namespace tailrace::io {
namespace {

constexpr std::size_t kHelpersMax = 16;
constexpr int kEventsPerWait = 256;

std::int64_t sync_now(int descriptor, bool data_only) {
  return (data_only ? ::fdatasync(descriptor) : ::fsync(descriptor)) == 0 ? 0 : -errno;
}

}  // namespace

Result<std::unique_ptr<EpollIo>> EpollIo::create() {
  auto io = std::unique_ptr<EpollIo>(new EpollIo);
  io->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (io->epoll_ < 0) return system_failure(errno, "making an epoll instance");
  io->sync_event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (io->sync_event_ < 0) return system_failure(errno, "making an eventfd");
  if (const int error = io->watch(io->sync_event_); error != 0) return system_failure(error, "watching an eventfd");
  return io;
}

EpollIo::~EpollIo() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
  if (sync_event_ >= 0) ::close(sync_event_);
  if (epoll_ >= 0) ::close(epoll_);
}

int EpollIo::watch(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.fd = descriptor;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

void EpollIo::unwatch(int descriptor) { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr); }

void EpollIo::wait(std::int64_t timeout_us) {
  std::array<epoll_event, kEventsPerWait> events;
  timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000};
  const int count = ::epoll_pwait2(epoll_, events.data(), kEventsPerWait, timeout_us < 0 ? nullptr : &timeout, nullptr);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == sync_event_) {
      take_finished_syncs();
      continue;
    }
    const bool ended = (event.events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0;
    on_ready(event.data.fd, (event.events & EPOLLIN) != 0, (event.events & EPOLLOUT) != 0, ended);
  }
}

void EpollIo::start_sync(int descriptor, bool data_only, Completion& done) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_ <= to_sync_.size() && helpers_.size() < kHelpersMax) add_helper();
    if (!helpers_.empty()) {
      to_sync_.push_back({descriptor, data_only, &done, 0});
      work_.notify_one();
      return;
    }
  }
  complete(done, sync_now(descriptor, data_only));
}

// Where no thread can be made, the syncs wait for those there are.
void EpollIo::add_helper() {
  try {
    helpers_.emplace_back([this] { sync_loop(); });
  } catch (const std::system_error& error) {
    if (std::exchange(lacks_helpers_, true)) return;
    log_warning("syncs are slow threads={} reason=\"no thread can be made: {}\"", helpers_.size(), error.what());
  }
}

void EpollIo::sync_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_.wait(lock, [this] { return stopping_ || !to_sync_.empty(); });
    --idle_;
    if (stopping_) return;
    Sync sync = to_sync_.front();
    to_sync_.pop_front();
    lock.unlock();
    sync.result = sync_now(sync.descriptor, sync.data_only);
    lock.lock();
    synced_.push_back(sync);
    const std::uint64_t one = 1;
    if (synced_.size() == 1 && ::write(sync_event_, &one, sizeof one) < 0) continue;
  }
}

void EpollIo::take_finished_syncs() {
  std::vector<Sync> finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(synced_);
  }
  for (const Sync& sync : finished) complete(*sync.done, sync.result);
}

}  // namespace tailrace::io
