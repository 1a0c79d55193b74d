#include "engine/ipc/session.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/observe.h"

namespace tailrace::ipc {
namespace {

// All processes of a node come from one build; a number that differs means a mixed installation, which is refused.
constexpr std::uint64_t kMagic = 0x5452'4143'4545'0001u;
constexpr std::size_t kRingBytesMax = std::size_t{64} << 20;
constexpr std::size_t kDescriptorsMax = 3;
constexpr Duration kAcceptPause{100'000};
constexpr Duration kWatchPause{10'000};  // where the kernel has no memory to watch a descriptor

struct Hello {
  std::uint64_t magic = kMagic;
  Role role = Role::tool;
  std::uint32_t unused = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t arena_bytes = 0;  // 0: no arena
};
struct Welcome {
  std::uint64_t magic = kMagic;
};
struct FilePassed {
  std::uint64_t file_id = 0;
};

struct Received {
  ssize_t size = 0;  // 0: end of the stream; -1: errno says why
  std::array<int, kDescriptorsMax> descriptors{-1, -1, -1};
};

Received receive_message(int socket, void* into, std::size_t size) {
  iovec part{into, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  Received received;
  received.size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received.size < 0) return received;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = std::min((each->cmsg_len - CMSG_LEN(0)) / sizeof(int), kDescriptorsMax);
    std::memcpy(received.descriptors.data(), CMSG_DATA(each), count * sizeof(int));
  }
  return received;
}

// Returns 0 or errno.
int send_message(int socket, const void* from, std::size_t size, std::span<const int> descriptors) {
  iovec part{const_cast<void*>(from), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

// Who else could connect has no business here: the directory's rights keep others out, and this does if they do not.
bool may_connect(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

bool fill_address(const std::string& path, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

std::size_t rings_size(std::size_t ring_bytes) { return 2 * (sizeof(RingHeader) + ring_bytes); }

}  // namespace

Result<std::unique_ptr<Bell>> Bell::create(io::Io& io) {
  const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) return system_failure(errno, "making a doorbell");
  return std::unique_ptr<Bell>(new Bell(io, descriptor));
}

Bell::Bell(io::Io& io, int descriptor) : io_(io), descriptor_(descriptor) {
  rung_.bind<&Bell::on_rung>(this);
  watch_again_.bind<&Bell::on_watch_again>(this);
  io_.wait_readable(descriptor_, rung_);
}

Bell::~Bell() {
  io_.disarm(watch_again_);
  io_.forget(descriptor_);
  ::close(descriptor_);
}

// Being woken is all; the loop's owner looks at its rings after each turn.
void Bell::on_rung(std::int64_t result) {
  if (result >= 0) return io_.wait_readable(descriptor_, rung_);
  log_warning("doorbell not watched error=\"{}\"", std::strerror(static_cast<int>(-result)));
  io_.arm(watch_again_, io_.now() + kWatchPause);
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<SharedMemory> SharedMemory::create(const char* name, std::size_t size) {
  SharedMemory memory;
  memory.descriptor_ = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.descriptor_ < 0) return system_failure(errno, "making shared memory");
  if (::ftruncate(memory.descriptor_, static_cast<off_t>(size)) != 0 ||
      ::fcntl(memory.descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return system_failure(errno, "sizing shared memory");
  }
  void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor_, 0);
  if (data == MAP_FAILED) return system_failure(errno, "mapping shared memory");
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = size;
  return memory;
}

Result<SharedMemory> SharedMemory::adopt(int descriptor, std::size_t size, bool writable) {
  SharedMemory memory;
  memory.descriptor_ = descriptor;
  struct stat status{};
  const int seals = descriptor < 0 ? -1 : ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(descriptor, &status) != 0 ||
      static_cast<std::size_t>(status.st_size) < size || size == 0) {
    return failure(Code::corrupt, "checking the peer's shared memory");
  }
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const data = ::mmap(nullptr, size, protection, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return system_failure(errno, "mapping the peer's shared memory");
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = size;
  return memory;
}

SocketLink::SocketLink(io::Io& io, int socket) : io_(io), socket_(socket) {
  readable_.bind<&SocketLink::on_readable>(this);
  look_again_.bind<&SocketLink::on_look_again>(this);
}

SocketLink::~SocketLink() {
  on_closed = nullptr;
  close();
  ::close(socket_);
  if (peer_bell_ >= 0) ::close(peer_bell_);
}

void SocketLink::start() { io_.wait_readable(socket_, readable_); }

void SocketLink::close() {
  if (std::exchange(ended_, true)) return;
  io_.disarm(look_again_);
  io_.forget(socket_);
  if (on_closed) on_closed();
}

void SocketLink::ask_to_end() {
  if (!ended_) ::shutdown(socket_, SHUT_WR);
}

// For the end of a session that is ours to ask for and the peer's to make, where no edge may tell of it.
void SocketLink::look_again_later() {
  ask_to_end();
  io_.arm(look_again_, io_.now() + kWatchPause);
}

void SocketLink::on_readable(std::int64_t result) {
  if (result < 0) {
    log_warning("session not watched error=\"{}\"", std::strerror(static_cast<int>(-result)));
    if (!shares_arena_) return close();
    look_again_later();
  }
  receive_files();
  if (!ended_ && !look_again_.armed()) io_.wait_readable(socket_, readable_);
}

void SocketLink::receive_files() {
  while (!ended_) {
    FilePassed message;
    const Received received = receive_message(socket_, &message, sizeof message);
    const int error = received.size < 0 ? errno : 0;
    if (error == EAGAIN || error == EINTR) return;
    // A message without its descriptor: we had none free, and the receiver is told of that.
    if (received.size == sizeof message && on_file) {
      on_file(message.file_id, io::File{received.descriptors[0]});
      continue;
    }
    for (const int descriptor : received.descriptors) {
      if (descriptor >= 0) ::close(descriptor);
    }
    const bool is_over = received.size == 0 || error == ECONNRESET;
    if (is_over || !shares_arena_) return close();
    return look_again_later();
  }
}

Result<void> SocketLink::send_file(std::uint64_t file_id, io::File file) {
  if (ended_) return failure(Code::peer_gone, "sending a file");
  const FilePassed message{file_id};
  const int error = send_message(socket_, &message, sizeof message, std::span(&file.handle, 1));
  if (error == 0) return {};
  if (error == EAGAIN || error == ETOOMANYREFS || error == ENOBUFS) return failure(Code::retry, "sending a file");
  return failure(Code::peer_gone, "sending a file");
}

void SocketLink::ring_peer() {
  const std::uint64_t one = 1;
  // A full eventfd counter means that the peer is awake already.
  if (::write(peer_bell_, &one, sizeof one) < 0) return;
}

// A connection waits here for its hello, for a while.
struct Listener::Greeting {
  Listener& listener;
  int socket;
  io::Completion readable;
  io::Timer limit;

  Greeting(Listener& of, int fd) : listener(of), socket(fd) {
    readable.bind<&Greeting::on_readable>(this);
    limit.bind<&Greeting::on_limit>(this);
  }
  void on_readable(std::int64_t result) {
    if (result >= 0) return listener.on_hello(*this);
    log_warning("session not accepted error=\"{}\"", std::strerror(static_cast<int>(-result)));
    listener.end(*this);
  }
  void on_limit() {
    log_warning("session refused reason=\"it does not say who it is\"");
    listener.end(*this);
  }
};

Result<std::unique_ptr<Listener>> Listener::create(io::Io& io, const Bell& bell, const std::string& path,
                                                   Admission admission, OnSession on_session) {
  sockaddr_un address{};
  if (!fill_address(path, address))
    return failure(Code::invalid_argument, "naming a socket: the run directory's path is too long");
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return system_failure(errno, "making a session socket");
  ::unlink(path.c_str());
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(socket, 64) != 0) {
    const int error = errno;
    ::close(socket);
    return system_failure(error, "binding a session socket");
  }
  return std::unique_ptr<Listener>(new Listener(io, bell, socket, path, std::move(admission), std::move(on_session)));
}

Listener::Listener(io::Io& io, const Bell& bell, int socket, std::string path, Admission admission,
                   OnSession on_session)
    : io_(io),
      bell_(bell),
      socket_(socket),
      path_(std::move(path)),
      admission_(std::move(admission)),
      on_session_(std::move(on_session)) {
  connection_.bind<&Listener::on_connection>(this);
  pause_.bind<&Listener::accept_next>(this);
  accept_next();
}

void Listener::accept_next() { io_.accept(io::Socket{socket_}, connection_); }

Listener::~Listener() {
  while (!greetings_.empty()) end(*greetings_.back());
  io_.disarm(pause_);
  io_.forget(socket_);
  ::close(socket_);
  ::unlink(path_.c_str());
}

void Listener::on_connection(std::int64_t result) {
  if (result < 0) {
    log_warning("session not accepted error=\"{}\"", std::strerror(static_cast<int>(-result)));
    return io_.arm(pause_, io_.now() + kAcceptPause);
  }
  accept_next();
  const int socket = static_cast<int>(result);
  const bool is_known = may_connect(socket);
  if (!is_known || greetings_.size() == kGreetingsMax) {
    log_warning("session refused reason=\"{}\"",
                is_known ? "too many that do not say who they are" : "a process of another user");
    ::close(socket);
    return;
  }
  Greeting& greeting = *greetings_.emplace_back(std::make_unique<Greeting>(*this, socket));
  io_.arm(greeting.limit, io_.now() + admission_.greeting_max);
  io_.wait_readable(greeting.socket, greeting.readable);
}

void Listener::end(Greeting& greeting) {
  io_.disarm(greeting.limit);
  if (greeting.socket >= 0) {
    io_.forget(greeting.socket);
    ::close(greeting.socket);
  }
  std::erase_if(greetings_, [&](const auto& each) { return each.get() == &greeting; });
}

void Listener::on_hello(Greeting& greeting) {
  Hello hello;
  const Received received = receive_message(greeting.socket, &hello, sizeof hello);
  if (received.size < 0 && errno == EAGAIN) return io_.wait_readable(greeting.socket, greeting.readable);
  const auto [rings_fd, bell_fd, arena_fd] = received.descriptors;

  const bool sound = received.size == sizeof hello && hello.magic == kMagic && rings_fd >= 0 && bell_fd >= 0 &&
                     hello.ring_bytes >= 4096 && hello.ring_bytes <= kRingBytesMax &&
                     (hello.ring_bytes & (hello.ring_bytes - 1)) == 0 && (hello.arena_bytes != 0) == (arena_fd >= 0);
  const bool served = std::ranges::find(admission_.roles, hello.role) != admission_.roles.end();
  if (!sound || !served) {
    if (received.size > 0) {
      log_warning("session refused reason=\"{}\"",
                  sound ? "its role is not served here" : "not a session of this build");
    }
    for (const int descriptor : received.descriptors) {
      if (descriptor >= 0) ::close(descriptor);
    }
    return end(greeting);
  }
  io_.forget(greeting.socket);
  auto link = std::unique_ptr<SocketLink>(new SocketLink(io_, std::exchange(greeting.socket, -1)));
  end(greeting);
  link->peer_bell_ = bell_fd;
  link->peer_role_ = hello.role;
  // Each descriptor has an owner before anything is refused.
  Result<SharedMemory> rings = SharedMemory::adopt(rings_fd, rings_size(hello.ring_bytes), true);
  Result<SharedMemory> arena;
  if (hello.arena_bytes != 0) arena = SharedMemory::adopt(arena_fd, hello.arena_bytes, false);
  if (!rings || !arena) return;
  link->rings_ = std::move(*rings);
  link->arena_memory_ = std::move(*arena);
  link->arena_ = link->arena_memory_.bytes();
  std::byte* const memory = link->rings_.bytes().data();
  link->consumer_ = RingConsumer(memory, hello.ring_bytes);
  link->producer_ = RingProducer(memory + rings_size(hello.ring_bytes) / 2, hello.ring_bytes);

  const Welcome welcome;
  const int own_bell = bell_.descriptor();
  if (send_message(link->socket_, &welcome, sizeof welcome, std::span(&own_bell, 1)) != 0) return;
  link->start();
  on_session_(std::move(link));
}

Connector::Connector(io::Io& io, const Bell& bell, std::string path, SessionShape shape, OnSession on_session)
    : io_(io), bell_(bell), path_(std::move(path)), shape_(shape), on_session_(std::move(on_session)) {
  timer_.bind<&Connector::on_timer>(this);
  welcome_.bind<&Connector::on_welcome>(this);
}

Connector::~Connector() { io_.disarm(timer_); }

void Connector::connect() {
  pause_ = Duration{1000};
  last_failure_.reset();
  on_timer();
}

void Connector::on_timer() {
  if (opening_ != nullptr) return;
  if (const Result<void> tried = try_connect(); !tried) try_later(tried.error());
}

void Connector::try_later(const Error& failure) {
  last_failure_ = failure;
  opening_.reset();
  io_.arm(timer_, io_.now() + pause_);
  pause_ = std::min(2 * pause_, Duration{200'000});
}

Result<void> Connector::try_connect() {
  sockaddr_un address{};
  if (!fill_address(path_, address))
    return failure(Code::invalid_argument, "naming a socket: the run directory's path is too long");
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return system_failure(errno, "making a session socket");
  auto link = std::unique_ptr<SocketLink>(new SocketLink(io_, socket));
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_failure(errno, "connecting a session");
  }
  Result<SharedMemory> rings = SharedMemory::create("tailrace-rings", rings_size(shape_.ring_bytes));
  if (!rings) return std::unexpected(rings.error());
  link->rings_ = std::move(*rings);
  std::byte* const memory = link->rings_.bytes().data();
  new (memory) RingHeader;
  new (memory + rings_size(shape_.ring_bytes) / 2) RingHeader;
  link->producer_ = RingProducer(memory, shape_.ring_bytes);
  link->consumer_ = RingConsumer(memory + rings_size(shape_.ring_bytes) / 2, shape_.ring_bytes);

  Hello hello;
  hello.role = shape_.role;
  hello.ring_bytes = shape_.ring_bytes;
  std::array<int, kDescriptorsMax> descriptors{link->rings_.descriptor(), bell_.descriptor(), -1};
  std::size_t count = 2;
  if (shape_.arena != nullptr) {
    hello.arena_bytes = shape_.arena->bytes().size();
    link->arena_ = shape_.arena->bytes();
    link->shares_arena_ = true;
    descriptors[count++] = shape_.arena->descriptor();
  }
  if (const int error = send_message(socket, &hello, sizeof hello, std::span(descriptors.data(), count)); error != 0) {
    return system_failure(error, "opening a session");
  }
  opening_ = std::move(link);
  io_.wait_readable(socket, welcome_);
  return {};
}

void Connector::on_welcome(std::int64_t result) {
  if (opening_ == nullptr) return;
  constexpr Error kNotTaken{Code::peer_gone, 0, "opening a session"};
  if (result < 0) return try_later(kNotTaken);
  Welcome welcome;
  const Received received = receive_message(opening_->socket_, &welcome, sizeof welcome);
  if (received.size < 0 && errno == EAGAIN) return io_.wait_readable(opening_->socket_, welcome_);
  if (received.size != sizeof welcome || welcome.magic != kMagic || received.descriptors[0] < 0) {
    return try_later(kNotTaken);
  }
  opening_->peer_bell_ = received.descriptors[0];
  std::unique_ptr<SocketLink> link = std::move(opening_);
  io_.forget(link->socket_);  // what came behind the welcome, or the server's end, shall be an edge of its own
  link->start();
  on_session_(std::move(link));
}

}  // namespace tailrace::ipc
