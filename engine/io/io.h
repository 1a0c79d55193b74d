// Io: the one seam between Tailrace and the world: clock, chance, timers, files, sockets. One Io per thread; all calls
// and all completions are on that thread. Implementations: UringIo (liburing), EpollIo (where io_uring is forbidden,
// or TAILRACE_IO=epoll), and SimIo (tests/sim).
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/io/completion.h"
#include "engine/io/files.h"
#include "engine/io/timers.h"

namespace tailrace::io {

struct Socket {
  int handle = -1;
  explicit operator bool() const { return handle >= 0; }
};

// A TCP address. `host` is a numeric IPv4 or IPv6 address, or a name where the call says so.
struct Address {
  std::string host;
  std::uint16_t port = 0;
};

class Io {
 public:
  virtual ~Io() = default;

  virtual const char* name() const = 0;  // "uring", "epoll", "sim"
  virtual Instant now() const = 0;       // of this turn; moves only between completions of different turns
  virtual TimestampMs wall_clock_ms() const = 0;
  // Of this moment, for measuring how long something takes; where time is simulated, nothing takes any.
  virtual std::int64_t steady_ns() const { return now().microseconds * 1000; }
  virtual std::uint64_t random() = 0;
  virtual Files& files() = 0;

  void arm(Timer& timer, Instant due) { timers_.arm(timer, due); }
  void disarm(Timer& timer) { timers_.disarm(timer); }

  // Sockets. A send or send_file moves all the bytes asked for, a receive at least `at_least` (1 to into.size()) of
  // them; the result is their number, fewer only where the stream (or the file) ended, or -errno. At most one receive
  // and one send or send_file may be in flight on a socket. Before close, shutdown ends what is in flight; the owner
  // waits for those completions and then closes. Resolves a name, binds and listens. Error: system_error is EADDRINUSE
  // where the port is taken.
  virtual Result<Socket> listen(const Address& address, int backlog) = 0;
  virtual Result<Address> local_address(Socket socket) = 0;
  virtual Result<Address> peer_address(Socket socket) = 0;
  virtual void accept(Socket listener,
                      Completion& done) = 0;  // result: the new socket's handle, with TCP_NODELAY, SO_KEEPALIVE
  virtual void receive(Socket socket, MutableBytes into, std::size_t at_least, Completion& done) = 0;
  void receive(Socket socket, MutableBytes into, Completion& done) { receive(socket, into, into.size(), done); }
  virtual void send(Socket socket, Bytes from, bool more, Completion& done) = 0;  // `more`: MSG_MORE
  // From the page cache to the socket, without passing through user space (sendfile).
  virtual void send_file(Socket socket, File file, std::uint64_t position, std::uint64_t length, Completion& done) = 0;
  virtual void shutdown(Socket socket) = 0;
  virtual void close(Socket socket) = 0;

  // Waits until a plain descriptor (eventfd, signalfd, Unix socket; non-blocking) becomes readable. Result: 0 or
  // -errno. Edges count, not levels: after the completion the caller reads until EAGAIN (an eventfd need not be read at
  // all), then waits again; there may be spurious completions. Before closing such a descriptor (or a listener), forget
  // it: what is in flight on it is dropped, and its completions, which live until then, do not run.
  virtual void wait_readable(int descriptor, Completion& done) = 0;
  virtual void forget(int descriptor) = 0;

  // One turn of the loop: waits until something completes or a timer is due (not at all when `poll` is set, and then
  // the kernel is asked in some of the turns only), then runs completions and due timers. Returns how many ran.
  virtual std::uint64_t turn(bool poll) = 0;

 protected:
  Timers timers_;
};

// By the environment: TAILRACE_IO=uring|epoll forces one; else io_uring where the kernel allows it. The choice and its
// reason are logged once. Error: the forced one is not possible here, or the word is unknown.
Result<std::unique_ptr<Io>> make_io();

}  // namespace tailrace::io
