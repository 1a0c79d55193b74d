// The same stories on both loops: what the seam promises must not depend on how the kernel is asked.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/io/epoll_io.h"
#include "engine/io/uring_io.h"

namespace tailrace::io {
namespace {

struct Waiter {
  Completion completion;
  bool ran = false;
  std::int64_t result = 0;
  Waiter() { completion.bind<&Waiter::on_done>(this); }
  void on_done(std::int64_t r) {
    ran = true;
    result = r;
  }
};

class LoopTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "uring") {
      auto made = UringIo::create();
      if (!made) GTEST_SKIP() << "no io_uring here: " << made.error().text();
      io_ = std::move(*made);
    } else {
      io_ = std::move(*EpollIo::create());
    }
    char pattern[] = "/tmp/tailrace-io-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  void TearDown() override {
    io_.reset();
    std::filesystem::remove_all(directory_);
  }
  void run_until(const Waiter& waiter) {
    while (!waiter.ran) io_->turn(false);
  }
  // Two ends of a TCP connection through the loop's own listener.
  std::pair<Socket, int> connect_pair() {
    auto listener = io_->listen({"127.0.0.1", 0}, 8);
    EXPECT_TRUE(listener);
    auto address = io_->local_address(*listener);
    Waiter accepted;
    io_->accept(*listener, accepted.completion);
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address->port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    run_until(accepted);
    io_->forget(listener->handle);
    ::close(listener->handle);
    return {Socket{static_cast<int>(accepted.result)}, client};
  }

  std::unique_ptr<Io> io_;
  std::string directory_;
};

TEST_P(LoopTest, AReceiveTakesAllItAskedForHoweverItArrives) {
  auto [server, client] = connect_pair();
  std::string into(10, '.');
  Waiter received;
  io_->receive(server, std::as_writable_bytes(std::span(into)), received.completion);
  for (char c : std::string("0123456789")) {
    EXPECT_FALSE(received.ran);
    ASSERT_EQ(::send(client, &c, 1, 0), 1);
    io_->turn(true);
  }
  run_until(received);
  EXPECT_EQ(received.result, 10);
  EXPECT_EQ(into, "0123456789");

  Waiter ended;
  io_->receive(server, std::as_writable_bytes(std::span(into)), ended.completion);
  ASSERT_EQ(::send(client, "abc", 3, 0), 3);
  ::close(client);
  run_until(ended);
  EXPECT_EQ(ended.result, 3);  // the stream ended early
  io_->close(server);
}

TEST_P(LoopTest, AReceiveOfAtLeastSoMuchTakesWhatIsThereAndMissesNothingAfterwards) {
  auto [server, client] = connect_pair();
  std::string into(100, '.');
  const MutableBytes bytes = std::as_writable_bytes(std::span(into));
  std::string all;
  for (int round = 0; round < 200; ++round) {
    Waiter received;
    io_->receive(server, bytes, 4, received.completion);
    const std::string part = "round " + std::to_string(round);
    // In one piece, or in two with a turn between; before or after the receive waits.
    if (round % 3 == 0) io_->turn(true);
    const std::size_t first = round % 2 == 0 ? part.size() : 2;
    ASSERT_EQ(::send(client, part.data(), first, 0), static_cast<ssize_t>(first));
    if (first != part.size()) {
      io_->turn(true);
      ASSERT_FALSE(received.ran);
      ASSERT_EQ(::send(client, part.data() + first, part.size() - first, 0), static_cast<ssize_t>(part.size() - first));
    }
    run_until(received);
    ASSERT_GE(received.result, 4);
    EXPECT_EQ(into.substr(0, static_cast<std::size_t>(received.result)), part);
  }
  ::close(client);
  Waiter ended;
  io_->receive(server, bytes, 4, ended.completion);
  run_until(ended);
  EXPECT_EQ(ended.result, 0);
  io_->close(server);
}

TEST_P(LoopTest, SendAndSendFileGoOnWhenThePeerIsSlow) {
  auto [server, client] = connect_pair();
  const std::string content(8 << 20, 'x');
  auto file = io_->files().open(directory_ + "/data", OpenMode::create);
  ASSERT_TRUE(file);
  ASSERT_TRUE(io_->files().write(*file, as_bytes(content), 0));

  Waiter sent;
  io_->send(server, as_bytes(content), true, sent.completion);
  std::size_t got = 0;
  std::string buffer(100'000, 0);
  const auto drain = [&](const Waiter& until) {
    while (!until.ran) {
      io_->turn(true);
      const ssize_t n = ::recv(client, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n > 0) got += static_cast<std::size_t>(n);
    }
  };
  drain(sent);
  EXPECT_EQ(sent.result, static_cast<std::int64_t>(content.size()));
  Waiter file_sent;
  io_->send_file(server, *file, 1000, content.size() - 1000, file_sent.completion);
  drain(file_sent);
  EXPECT_EQ(file_sent.result, static_cast<std::int64_t>(content.size() - 1000));
  io_->close(server);
  for (ssize_t n = 1; n > 0;) {
    n = ::recv(client, buffer.data(), buffer.size(), 0);
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  EXPECT_EQ(got, 2 * content.size() - 1000);
  ::close(client);
  io_->files().close(*file);
}

TEST_P(LoopTest, ShutdownEndsWhatIsInFlight) {
  auto [server, client] = connect_pair();
  std::string into(10, '.');
  Waiter received;
  io_->receive(server, std::as_writable_bytes(std::span(into)), received.completion);
  io_->turn(true);
  io_->shutdown(server);
  EXPECT_FALSE(received.ran);  // never inside the call
  run_until(received);
  EXPECT_EQ(received.result, -ECANCELED);
  io_->close(server);
  char c = 0;
  EXPECT_EQ(::recv(client, &c, 1, 0), 0);
  ::close(client);
}

TEST_P(LoopTest, ADescriptorNumberUsedAgainGetsNoOldEvents) {
  for (int round = 0; round < 50; ++round) {
    auto [server, client] = connect_pair();
    std::string into(1, '.');
    Waiter received;
    io_->receive(server, std::as_writable_bytes(std::span(into)), received.completion);
    ASSERT_EQ(::send(client, "y", 1, 0), 1);
    run_until(received);
    EXPECT_EQ(received.result, 1);
    ASSERT_EQ(::send(client, "z", 1, 0), 1);  // nobody waits for this one
    io_->close(server);
    ::close(client);
  }
}

TEST_P(LoopTest, AnEventfdRingsEveryTimeWithoutBeingRead) {
  const int event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const std::uint64_t one = 1;
  for (int i = 0; i < 100; ++i) {
    Waiter rung;
    io_->wait_readable(event, rung.completion);
    ASSERT_EQ(::write(event, &one, sizeof one), 8);
    run_until(rung);
    EXPECT_EQ(rung.result, 0);
  }
  Waiter forgotten;
  io_->wait_readable(event, forgotten.completion);
  io_->forget(event);
  EXPECT_FALSE(forgotten.completion.pending);
  ::close(event);
  io_->turn(true);
  EXPECT_FALSE(forgotten.ran);
}

TEST_P(LoopTest, SyncsAndWritesCompleteInTheLoop) {
  auto file = io_->files().open(directory_ + "/log", OpenMode::create);
  ASSERT_TRUE(file);
  Waiter written[20];
  const std::string part = "hello";
  for (int i = 0; i < 20; ++i) {
    iovec vectors[2] = {{const_cast<char*>(part.data()), 5}, {const_cast<char*>(part.data()), 5}};
    io_->files().write(*file, vectors, static_cast<std::uint64_t>(10 * i), written[i].completion);
    EXPECT_FALSE(written[i].ran);
    run_until(written[i]);
    EXPECT_EQ(written[i].result, 10);
  }
  Waiter synced[4];
  for (Waiter& each : synced) io_->files().sync(*file, each.completion);
  for (Waiter& each : synced) {
    run_until(each);
    EXPECT_EQ(each.result, 0);
  }
  EXPECT_EQ(*io_->files().size(*file), 200u);
  io_->files().close(*file);
  Waiter failed;
  io_->files().sync(File{9999}, failed.completion);
  run_until(failed);
  EXPECT_EQ(failed.result, -EBADF);
}

// At first there is none at all, then some: the syncs go on with what there is.
TEST_P(LoopTest, SyncsCompleteAlsoWhereNoThreadCanBeMade) {
  auto file = io_->files().open(directory_ + "/log", OpenMode::create);
  ASSERT_TRUE(file);
  const auto sync_many = [&] {
    std::array<Waiter, 40> synced;
    for (Waiter& each : synced) io_->files().sync(*file, each.completion);
    for (Waiter& each : synced) {
      run_until(each);
      EXPECT_EQ(each.result, 0);
    }
  };
  pthread_attr_t usual;
  pthread_attr_t impossible;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&impossible), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&impossible, std::size_t{1} << 60), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&impossible), 0);
  sync_many();
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  Waiter first;
  io_->files().sync(*file, first.completion);
  run_until(first);
  ASSERT_EQ(::pthread_setattr_default_np(&impossible), 0);
  sync_many();
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  ::pthread_attr_destroy(&usual);
  ::pthread_attr_destroy(&impossible);
  io_->files().close(*file);
}

// The kernel may refuse to watch one (for want of memory, or beyond a limit): that ends what waits on it, and no more.
TEST_P(LoopTest, ADescriptorThatCannotBeWatchedFailsAlone) {
  const int nobodys = ::dup(0);
  ::close(nobodys);
  Waiter waiters[2];
  for (Waiter& waiter : waiters) {
    io_->wait_readable(nobodys, waiter.completion);
    run_until(waiter);
    EXPECT_EQ(waiter.result, -EBADF);
    EXPECT_FALSE(waiter.completion.pending);
  }
  io_->forget(nobodys);
  auto [socket, client] = connect_pair();
  std::byte into[4];
  Waiter received;
  io_->receive(socket, into, received.completion);
  io_->turn(true);
  EXPECT_EQ(::send(client, "late", 4, 0), 4);
  run_until(received);
  EXPECT_EQ(received.result, 4);
  int keeps_alive = 0;
  socklen_t size = sizeof keeps_alive;
  EXPECT_EQ(::getsockopt(socket.handle, SOL_SOCKET, SO_KEEPALIVE, &keeps_alive, &size), 0);
  EXPECT_EQ(keeps_alive, 1);
  io_->close(socket);
  ::close(client);
}

TEST_P(LoopTest, TimersRunInOrderOfTime) {
  struct Noted {
    Timer timer;
    std::string* out = nullptr;
    char name = 0;
    void on_due() { *out += name; }
  } timers[3];
  std::string order;
  const Instant start = io_->now();
  for (int i = 0; i < 3; ++i) {
    timers[i].out = &order;
    timers[i].name = static_cast<char>('a' + i);
    timers[i].timer.bind<&Noted::on_due>(&timers[i]);
    io_->arm(timers[i].timer, start + Duration{3000 - 1000 * i});
  }
  io_->disarm(timers[1].timer);
  while (timers[0].timer.armed()) io_->turn(false);
  EXPECT_EQ(order, "ca");
  EXPECT_GE(io_->now(), start + Duration{3000});
}

TEST_P(LoopTest, APortInUseIsSaid) {
  auto first = io_->listen({"127.0.0.1", 0}, 8);
  ASSERT_TRUE(first);
  auto again = io_->listen({"127.0.0.1", io_->local_address(*first)->port}, 8);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().system_error, EADDRINUSE);
  io_->close(*first);
}

INSTANTIATE_TEST_SUITE_P(Both, LoopTest, testing::Values("epoll", "uring"));

}  // namespace
}  // namespace tailrace::io
