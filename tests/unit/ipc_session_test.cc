// Two ends of a session in one process, each with a loop of its own, as two processes would have.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/ipc/session.h"

namespace tailrace::ipc {
namespace {

struct End {
  std::unique_ptr<io::Io> io = std::move(*io::make_io());
  std::unique_ptr<Bell> bell = std::move(*Bell::create(*io));
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    char pattern[] = "/tmp/tailrace-ipc-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    path_ = directory_ + "/s.sock";
    listen({.roles = {Role::broker, Role::tool}});
  }
  ~SessionTest() override {
    server_link_.reset();
    client_link_.reset();
    connector_.reset();
    listener_.reset();
    std::filesystem::remove_all(directory_);
  }
  void listen(Listener::Admission admission) {
    listener_.reset();
    listener_ =
        std::move(*Listener::create(*server_.io, *server_.bell, path_, std::move(admission),
                                    [this](std::unique_ptr<SocketLink> link) { server_link_ = std::move(link); }));
  }
  int connect_plainly() {
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path_.c_str());
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  // Turns until the peer has closed without a word.
  void expect_closed(int socket) {
    char answer = 0;
    ssize_t got = -1;
    while (got < 0) {
      turn();
      got = ::recv(socket, &answer, 1, MSG_DONTWAIT);
      if (got < 0 && errno == ECONNRESET) got = 0;
    }
    EXPECT_EQ(got, 0);
    ::close(socket);
  }
  void turn() {
    server_.io->turn(true);
    client_.io->turn(true);
  }
  void open(SessionShape shape) {
    connector_ =
        std::make_unique<Connector>(*client_.io, *client_.bell, path_, shape,
                                    [this](std::unique_ptr<SocketLink> link) { client_link_ = std::move(link); });
    connector_->connect();
    while (client_link_ == nullptr || server_link_ == nullptr) turn();
  }

  std::string directory_;
  std::string path_;
  End server_;
  End client_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<SocketLink> server_link_;
  std::unique_ptr<SocketLink> client_link_;
};

TEST_F(SessionTest, CarriesRecordsArenaAndFiles) {
  SharedMemory arena = std::move(*SharedMemory::create("arena", 1 << 20));
  open({.role = Role::broker, .ring_bytes = 4096, .arena = &arena});
  EXPECT_EQ(server_link_->peer_role(), Role::broker);
  arena.bytes()[77] = std::byte{42};
  EXPECT_EQ(server_link_->arena()[77], std::byte{42});

  std::memcpy(client_link_->producer().reserve(7, 5), "hello", 5);
  EXPECT_EQ(server_link_->consumer().next().type, kPaddingType);  // not published yet
  client_link_->publish();
  const RingRecord record = server_link_->consumer().next();
  EXPECT_EQ(record.type, 7u);
  EXPECT_EQ(as_text(record.payload), "hello");

  io::File file = *server_.io->files().open(directory_ + "/f", io::OpenMode::create);
  ASSERT_TRUE(server_.io->files().write(file, as_bytes("content"), 0));
  io::File passed;
  client_link_->on_file = [&](std::uint64_t id, io::File got) {
    EXPECT_EQ(id, 99u);
    passed = got;
  };
  ASSERT_TRUE(server_link_->send_file(99, file));
  client_link_->receive_files();
  ASSERT_TRUE(passed);
  char text[8] = {};
  EXPECT_EQ(::pread(passed.handle, text, 7, 0), 7);
  EXPECT_STREQ(text, "content");
  ::close(passed.handle);
  server_.io->files().close(file);
}

TEST_F(SessionTest, ThePeersDeathIsTheEndOfTheSocket) {
  open({.role = Role::broker, .ring_bytes = 4096});
  bool told = false;
  server_link_->on_closed = [&] { told = true; };
  client_link_.reset();
  while (!told) turn();
  EXPECT_FALSE(server_link_->open());
  EXPECT_FALSE(server_link_->send_file(1, io::File{0}));
}

// Its end comes together with the welcome, and its socket is closed while the first events of it are on their way.
TEST_F(SessionTest, AServerThatEndsASessionAtOnceIsNoticed) {
  listener_.reset();
  listener_ = std::move(*Listener::create(*server_.io, *server_.bell, path_, {.roles = {Role::tool}},
                                          [](std::unique_ptr<SocketLink>) {}));
  bool told = false;
  connector_ = std::make_unique<Connector>(*client_.io, *client_.bell, path_, SessionShape{},
                                           [&](std::unique_ptr<SocketLink> link) {
                                             client_link_ = std::move(link);
                                             client_link_->on_closed = [&told] { told = true; };
                                           });
  connector_->connect();
  for (int turns = 0; turns < 100'000 && !told; ++turns) turn();
  EXPECT_TRUE(told);
}

TEST_F(SessionTest, AClientThatDoesNotWantToWaitLearnsWhyThereIsNoSession) {
  connector_ =
      std::make_unique<Connector>(*client_.io, *client_.bell, path_, SessionShape{.role = Role::zkbridge},
                                  [this](std::unique_ptr<SocketLink> link) { client_link_ = std::move(link); });
  connector_->connect();
  EXPECT_FALSE(connector_->last_failure());
  while (!connector_->last_failure()) turn();
  EXPECT_EQ(connector_->last_failure()->code, Code::peer_gone);
  listener_.reset();
  connector_->connect();
  while (!connector_->last_failure()) turn();
  EXPECT_EQ(connector_->last_failure()->code, Code::not_found);
}

TEST_F(SessionTest, AClientConnectsWhenTheServerAppearsLater) {
  listener_.reset();
  connector_ =
      std::make_unique<Connector>(*client_.io, *client_.bell, path_, SessionShape{},
                                  [this](std::unique_ptr<SocketLink> link) { client_link_ = std::move(link); });
  connector_->connect();
  for (int i = 0; i < 100; ++i) turn();
  listen({.roles = {Role::tool}});
  while (client_link_ == nullptr) turn();
}

TEST_F(SessionTest, StrangersAreRefused) {
  const auto greet = [&](const void* bytes, std::size_t size) {
    const int socket = connect_plainly();
    EXPECT_EQ(::send(socket, bytes, size, 0), static_cast<ssize_t>(size));
    expect_closed(socket);
  };
  greet("?", 1);
  const std::string garbage(32, 'g');
  greet(garbage.data(), garbage.size());
  EXPECT_EQ(server_link_, nullptr);
  open({});  // and the next honest client is served
}

TEST_F(SessionTest, WhoeverHasNoBusinessHereIsRefused) {
  listen({.roles = {Role::broker}});
  connector_ = std::make_unique<Connector>(*client_.io, *client_.bell, path_, SessionShape{.role = Role::groupcoord},
                                           [](std::unique_ptr<SocketLink>) { FAIL() << "welcome"; });
  connector_->connect();
  for (int i = 0; i < 200; ++i) turn();
  EXPECT_EQ(server_link_, nullptr);
  open({.role = Role::broker});
}

TEST_F(SessionTest, AConnectionThatSaysNothingEnds) {
  listen({.roles = {Role::broker}, .greeting_max = Duration{1000}});
  const int silent = connect_plainly();
  expect_closed(silent);
  open({.role = Role::broker});
}

// More of them than are waited for at a time: the rest is closed, and room comes back.
TEST_F(SessionTest, ManyThatSayNothingDoNotKeepOthersOut) {
  listen({.roles = {Role::broker}, .greeting_max = Duration{50'000}});
  std::vector<int> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(connect_plainly());
    turn();
  }
  open({.role = Role::broker});
  for (const int each : silent) expect_closed(each);
}

TEST_F(SessionTest, AnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
  constexpr uid_t kNobody = 65534;
  int socket = -1;
  // Of this thread only: glibc's wrapper would change all.
  std::thread([&] {
    ASSERT_EQ(::syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
    socket = connect_plainly();
  }).join();
  expect_closed(socket);
  open({.role = Role::broker});
}

// Whoever shares an arena hears of the end of a session when the server has let go of it, however it came to its end.
TEST_F(SessionTest, ASessionEndsForTheClientWhenTheServerLetsGoOfTheArena) {
  SharedMemory arena = std::move(*SharedMemory::create("arena", 1 << 20));
  const std::function<void()> ways[] = {
      [this] { client_link_->ask_to_end(); },                            // the server broke the ring's format
      [this] { server_link_->close(); },                                 // the client did
      [this] { ASSERT_TRUE(client_link_->send_file(1, io::File{0})); },  // or it spoke out of turn
  };
  for (const auto& end : ways) {
    open({.role = Role::broker, .ring_bytes = 4096, .arena = &arena});
    client_link_->on_file = [](std::uint64_t, io::File) {};
    bool client_told = false;
    bool server_told = false;
    client_link_->on_closed = [&] { client_told = true; };
    server_link_->on_closed = [&] { server_told = true; };
    end();
    while (!server_told) turn();
    for (int i = 0; i < 50; ++i) turn();
    EXPECT_FALSE(client_told);
    EXPECT_FALSE(server_link_->arena().empty());
    server_link_.reset();
    while (!client_told) turn();
    client_link_.reset();
  }
}

// Not even a client that cannot make sense of what it gets goes before.
TEST_F(SessionTest, AClientThatIsToldNonsenseWaitsForTheEnd) {
  SharedMemory arena = std::move(*SharedMemory::create("arena", 1 << 20));
  open({.role = Role::broker, .ring_bytes = 4096, .arena = &arena});
  bool client_told = false;
  bool server_told = false;
  client_link_->on_closed = [&] { client_told = true; };
  server_link_->on_closed = [&] { server_told = true; };
  ASSERT_TRUE(server_link_->send_file(1, io::File{0}));  // nobody has asked for files
  while (!server_told) turn();
  for (int i = 0; i < 50; ++i) turn();
  EXPECT_FALSE(client_told);
  server_link_.reset();
  while (!client_told) turn();
}

// Without descriptors nobody can be let in, which is no reason to do nothing else but try.
TEST_F(SessionTest, AServerWithoutDescriptorsRestsAndServesLater) {
  connector_ =
      std::make_unique<Connector>(*client_.io, *client_.bell, path_, SessionShape{},
                                  [this](std::unique_ptr<SocketLink> link) { client_link_ = std::move(link); });
  connector_->connect();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  const rlimit none{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::uint64_t ran = 0;
  for (int i = 0; i < 100; ++i) ran += server_.io->turn(true);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(ran, 10u);
  while (client_link_ == nullptr || server_link_ == nullptr) turn();
}

TEST_F(SessionTest, SharedMemoryThatCanShrinkIsRefused) {
  const int fd = ::memfd_create("loose", MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(fd, 4096), 0);
  Result<SharedMemory> adopted = SharedMemory::adopt(fd, 4096, true);
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, Code::corrupt);
}

// Both sleep and wake by their bells; a lost wake-up would hang this test.
TEST_F(SessionTest, NoWakeUpIsLostBetweenTwoThreads) {
  constexpr std::uint64_t kMessages = 200'000;
  open({.role = Role::broker, .ring_bytes = 4096});
  std::thread echo([this] {
    std::uint64_t expected = 0;
    while (expected < kMessages) {
      bool worked = false;
      for (RingRecord r = server_link_->consumer().next(); r.type != kPaddingType;
           r = server_link_->consumer().next()) {
        std::uint64_t value = 0;
        std::memcpy(&value, r.payload.data(), sizeof value);
        ASSERT_EQ(value, expected++);
        std::byte* const reply = server_link_->producer().reserve(2, sizeof value);
        ASSERT_NE(reply, nullptr);  // the client never has more than 50 in flight
        std::memcpy(reply, &value, sizeof value);
        worked = true;
      }
      server_link_->consumer().release();
      server_link_->publish();
      if (!worked && server_link_->consumer().prepare_to_sleep()) server_.io->turn(false);
    }
  });
  std::mt19937_64 random(1);
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  while (answered < kMessages) {
    for (std::uint64_t n = random() % 8; n > 0 && sent < kMessages && sent - answered < 50; --n) {
      std::byte* const request = client_link_->producer().reserve(1, sizeof sent);
      ASSERT_NE(request, nullptr);
      std::memcpy(request, &sent, sizeof sent);
      ++sent;
    }
    client_link_->publish();
    bool worked = false;
    for (RingRecord r = client_link_->consumer().next(); r.type != kPaddingType; r = client_link_->consumer().next()) {
      std::uint64_t value = 0;
      std::memcpy(&value, r.payload.data(), sizeof value);
      ASSERT_EQ(value, answered++);
      worked = true;
    }
    client_link_->consumer().release();
    if (!worked && sent > answered && client_link_->consumer().prepare_to_sleep()) client_.io->turn(false);
  }
  echo.join();
}

}  // namespace
}  // namespace tailrace::ipc
