// Sessions: how two processes meet. The client connects to the server's Unix-domain socket and hands over one memfd
// with both rings (sealed against shrinking, so neither side can make the other fault), its thread's doorbell, and,
// where payloads travel, its arena. The server answers with its own doorbell. The socket stays open, files travel over
// it, and its end is the peer's. A session is never repaired: when it breaks, both sides drop it and the client makes a
// new one.
//
// When may a client use its arena again for what was in flight in a session that broke? When it reads the end of the
// socket, and no earlier. The server's end is closed in one place only, the destructor of its SocketLink, and whoever
// reads the arena there holds the link meanwhile (Shard::Session). Otherwise it is the kernel that closes it, when the
// last thread of a server that died has left its last system call; the server never passes the socket on, nor shuts it
// down. So after the end there is nobody left who reads. A client that wants to end a session, because the server broke
// its format or the socket cannot be watched, therefore asks for the end (a shutdown of its own half) and waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/io.h"
#include "engine/ipc/link.h"

namespace tailrace::ipc {

// A thread's eventfd: every session of the thread rings the same one. Waiting for it costs nothing between rings.
class Bell {
 public:
  static Result<std::unique_ptr<Bell>> create(io::Io& io);
  ~Bell();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  Bell(io::Io& io, int descriptor);
  void on_rung(std::int64_t result);

  void on_watch_again() { io_.wait_readable(descriptor_, rung_); }

  io::Io& io_;
  int descriptor_;
  io::Completion rung_;
  io::Timer watch_again_;
};

// An anonymous shared memory area, mapped; size a multiple of the page size.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();
  static Result<SharedMemory> create(const char* name, std::size_t size);
  // Takes the descriptor over. Error: corrupt unless it is a memfd of at least `size` bytes that cannot shrink.
  static Result<SharedMemory> adopt(int descriptor, std::size_t size, bool writable);

  [[nodiscard]] MutableBytes bytes() const { return {data_, size_}; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Who is calling; the server decides what each may do.
enum class Role : std::uint32_t { broker = 1, zkbridge = 2, groupcoord = 3, tool = 4 };

class SocketLink final : public Link {
 public:
  ~SocketLink() override;

  [[nodiscard]] Role peer_role() const { return peer_role_; }
  [[nodiscard]] bool open() const { return !ended_; }
  Result<void> send_file(std::uint64_t file_id, io::File file) override;
  void receive_files() override;
  // Ends the session here and calls on_closed; the peer learns of it when the link is destroyed, which its owner does
  // from the next turn on, not inside on_closed. Not for a client that shares an arena.
  void close();
  // Asks the peer to end the session; on_closed comes when it has, and looks at our ring and arena no more.
  void ask_to_end();

  std::function<void()> on_closed;  // peer gone, or it broke the protocol; once

 private:
  friend class Listener;
  friend class Connector;
  SocketLink(io::Io& io, int socket);
  void start();
  void on_readable(std::int64_t result);
  void on_look_again() { on_readable(0); }
  void look_again_later();
  void ring_peer() override;

  io::Io& io_;
  int socket_;
  bool shares_arena_ = false;  // it is ours: the end of the session is the peer's to make
  bool ended_ = false;
  io::Timer look_again_;
  int peer_bell_ = -1;
  Role peer_role_ = Role::tool;
  SharedMemory rings_;
  SharedMemory arena_memory_;
  io::Completion readable_;
};

// The server's side: makes the socket file and accepts sessions.
class Listener {
 public:
  using OnSession = std::function<void(std::unique_ptr<SocketLink>)>;
  struct Admission {
    std::vector<Role> roles;                          // that are served here; a connection of another one is closed
    Duration greeting_max = std::chrono::seconds(5);  // for a connection to say who it is
  };
  // Replaces a stale socket file. Only processes of our own user, or root's, are let in. Errors: system failures.
  static Result<std::unique_ptr<Listener>> create(io::Io& io, const Bell& bell, const std::string& path,
                                                  Admission admission, OnSession on_session);
  ~Listener();

 private:
  struct Greeting;  // a connection whose hello has not come yet
  static constexpr std::size_t kGreetingsMax = 64;

  Listener(io::Io& io, const Bell& bell, int socket, std::string path, Admission admission, OnSession on_session);
  void accept_next();
  void on_connection(std::int64_t result);
  void on_hello(Greeting& greeting);
  void end(Greeting& greeting);

  io::Io& io_;
  const Bell& bell_;
  int socket_;
  std::string path_;
  Admission admission_;
  OnSession on_session_;
  io::Completion connection_;
  io::Timer pause_;  // after EMFILE and the like: trying at once would only fail again
  std::vector<std::unique_ptr<Greeting>> greetings_;
};

struct SessionShape {
  Role role = Role::tool;
  std::size_t ring_bytes = 1u << 18;    // each direction, a power of two
  const SharedMemory* arena = nullptr;  // shared with the server, read-only there
};

// The client's side: connects, and again after a failure, with growing pauses (1 ms doubling to 200 ms).
class Connector {
 public:
  using OnSession = std::function<void(std::unique_ptr<SocketLink>)>;
  Connector(io::Io& io, const Bell& bell, std::string path, SessionShape shape, OnSession on_session);
  ~Connector();
  // Starts trying now. After a session broke, its owner calls connect again.
  void connect();
  // Why the last attempt failed, for whoever does not want to wait for the next: not_found where there is no socket
  // file; peer_gone where the server took no session (we are another user's process, of another build, or it ended).
  // nullopt: no attempt has failed since connect.
  [[nodiscard]] const std::optional<Error>& last_failure() const { return last_failure_; }

 private:
  Result<void> try_connect();
  void on_welcome(std::int64_t result);
  void on_timer();
  void try_later(const Error& failure);

  io::Io& io_;
  const Bell& bell_;
  std::string path_;
  SessionShape shape_;
  OnSession on_session_;
  io::Timer timer_;
  io::Completion welcome_;
  std::unique_ptr<SocketLink> opening_;
  std::optional<Error> last_failure_;
  Duration pause_{1000};
};

}  // namespace tailrace::ipc
