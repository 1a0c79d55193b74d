// Sessions: how two processes meet. The client connects to the server's Unix-domain socket and hands over one memfd
// with both rings (sealed against shrinking, so neither side can make the other fault), its thread's doorbell, and,
// where payloads travel, its arena. The server answers with its own doorbell. The socket stays open: its end is the
// peer's death, and files travel over it. A session is never repaired: when it breaks, both sides drop it and the
// client makes a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

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

  io::Io& io_;
  int descriptor_;
  io::Completion rung_;
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
  [[nodiscard]] bool open() const { return socket_ >= 0; }
  Result<void> send_file(std::uint64_t file_id, io::File file) override;
  void receive_files() override;
  // The owner destroys the link from on_closed's next turn on, not inside it.
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
  void ring_peer() override;

  io::Io& io_;
  int socket_;
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
  // Replaces a stale socket file. Errors: system failures.
  static Result<std::unique_ptr<Listener>> create(io::Io& io, const Bell& bell, const std::string& path,
                                                  OnSession on_session);
  ~Listener();

 private:
  struct Greeting;  // a connection whose hello has not come yet
  Listener(io::Io& io, const Bell& bell, int socket, std::string path, OnSession on_session);
  void accept_next();
  void on_connection(std::int64_t result);
  void on_hello(Greeting& greeting);
  void end(Greeting& greeting);

  io::Io& io_;
  const Bell& bell_;
  int socket_;
  std::string path_;
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

 private:
  Result<void> try_connect();
  void on_welcome(std::int64_t result);
  void on_timer();
  void try_later();

  io::Io& io_;
  const Bell& bell_;
  std::string path_;
  SessionShape shape_;
  OnSession on_session_;
  io::Timer timer_;
  io::Completion welcome_;
  std::unique_ptr<SocketLink> opening_;
  Duration pause_{1000};
};

}  // namespace tailrace::ipc
