#include "engine/io/uring_io.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>

namespace tailrace::io {
namespace {

constexpr unsigned kEntries = 256;

// user_data: a Completion's address (a multiple of 8), or a poll's tag: generation << 32 | descriptor << 2 | 1; or 2:
// nobody cares.
constexpr std::uint64_t kPollMark = 1;
constexpr std::uint64_t kIgnored = 2;

std::uint64_t poll_tag(int descriptor, std::uint32_t generation) {
  return std::uint64_t(generation) << 32 | static_cast<std::uint64_t>(descriptor) << 2 | kPollMark;
}

}  // namespace

Result<std::unique_ptr<UringIo>> UringIo::create() {
  auto io = std::unique_ptr<UringIo>(new UringIo);
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP;
  const int failed = ::io_uring_queue_init_params(kEntries, &io->ring_, &parameters);
  if (failed < 0)
    return std::unexpected(Error{Code::unsupported, static_cast<std::uint16_t>(-failed), "setting up io_uring"});
  io->ring_made_ = true;
  return io;
}

UringIo::~UringIo() {
  if (ring_made_) ::io_uring_queue_exit(&ring_);
}

io_uring_sqe* UringIo::next_entry() {
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
  while (entry == nullptr) {
    ::io_uring_submit(&ring_);
    entry = ::io_uring_get_sqe(&ring_);
  }
  return entry;
}

int UringIo::watch(int descriptor) {
  const auto index = static_cast<std::size_t>(descriptor);
  if (index >= generations_.size()) generations_.resize(index + 64);
  io_uring_sqe* const entry = next_entry();
  ::io_uring_prep_poll_multishot(entry, descriptor, POLLIN | POLLOUT | POLLRDHUP | EPOLLET);
  ::io_uring_sqe_set_data64(entry, poll_tag(descriptor, generations_[index]));
  return 0;
}

void UringIo::unwatch(int descriptor) {
  std::uint32_t& generation = generations_[static_cast<std::size_t>(descriptor)];
  io_uring_sqe* const entry = next_entry();
  // Not poll_remove: that one fails, and leaves the poll, where an event is on its way at this moment.
  ::io_uring_prep_cancel64(entry, poll_tag(descriptor, generation), 0);
  ::io_uring_sqe_set_data64(entry, kIgnored);
  // The poll holds a reference to the file until its removal has run: without this the peer would see our close only
  // after the next turn.
  ::io_uring_submit_and_get_events(&ring_);
  ++generation;
}

void UringIo::start_sync(int descriptor, bool data_only, Completion& done) {
  io_uring_sqe* const entry = next_entry();
  ::io_uring_prep_fsync(entry, descriptor, data_only ? IORING_FSYNC_DATASYNC : 0);
  ::io_uring_sqe_set_data(entry, &done);
  ask_in_next_turn();
}

void UringIo::on_poll(std::uint64_t tag, std::int32_t result, std::uint32_t flags) {
  const int descriptor = static_cast<int>((tag & 0xFFFFFFFFu) >> 2);
  if (static_cast<std::uint32_t>(tag >> 32) != generations_[static_cast<std::size_t>(descriptor)]) return;
  if (result < 0) {
    ++generations_[static_cast<std::size_t>(descriptor)];
    return on_watch_failed(descriptor, -result);
  }
  // The kernel ends a multishot poll when its completion queue overflows: ask again before looking at the descriptor.
  if ((flags & IORING_CQE_F_MORE) == 0) watch(descriptor);
  const bool ended = (result & (POLLERR | POLLHUP | POLLRDHUP)) != 0;
  on_ready(descriptor, (result & POLLIN) != 0, (result & POLLOUT) != 0, ended);
}

void UringIo::wait(std::int64_t timeout_us) {
  if (timeout_us == 0) {
    ::io_uring_submit_and_get_events(&ring_);
  } else {
    __kernel_timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000};
    io_uring_cqe* first = nullptr;
    ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, timeout_us < 0 ? nullptr : &timeout, nullptr);
  }
  io_uring_cqe* entry = nullptr;
  while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
    const std::uint64_t tag = ::io_uring_cqe_get_data64(entry);
    const std::int32_t result = entry->res;
    const std::uint32_t flags = entry->flags;
    ::io_uring_cqe_seen(&ring_, entry);
    if (tag == kIgnored) continue;
    if ((tag & kPollMark) != 0) {
      on_poll(tag, result, flags);
    } else {
      complete(*reinterpret_cast<Completion*>(tag), result);
    }
  }
}

}  // namespace tailrace::io
