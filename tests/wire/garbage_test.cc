// What strangers send. Whatever it is, it costs them their own connection and nobody else anything: the same processes
// serve on, a neighbour is not disturbed, and memory and descriptors come back (kafka.md's trap 18).
#include <random>

#include "services/kafka/message_types.h"
#include "services/kafka/messages/api_versions.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/metadata.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

std::string with_size(std::int32_t size, std::string_view bytes = {}) {
  std::string frame(4, '\0');
  store_big_endian(reinterpret_cast<std::byte*>(frame.data()), size);
  return frame + std::string(bytes);
}

// A frame of any key and version with any body.
std::string frame_of(std::int16_t key, std::int16_t version, std::string_view body) {
  kafka::Buffer buffer;
  const std::size_t start = kafka::begin_request(
      {.api_key = key, .api_version = version, .correlation_id = 1, .client_id = "garbage"}, buffer);
  buffer.append(as_bytes(body));
  kafka::end_frame(start, buffer);
  return std::string(as_text(buffer.bytes()));
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class Garbage : public WireTest {
 protected:
  // A story reads two topics at most, and the broker keeps their segments open.
  static constexpr std::size_t kSegmentsRead = 2;

  void SetUp() override {
    WireTest::SetUp();
    neighbour_topic_ = fresh("neighbour");
    make_topic(client, neighbour_topic_);
    descriptors_before_ = node().descriptors("broker");
  }
  void TearDown() override {
    // All that is left is `client`.
    EXPECT_TRUE(eventually([] { return node().counter("broker", "connections") == 1; }))
        << node().counter("broker", "connections");
    EXPECT_TRUE(eventually([] { return node().counter("broker", "arena_used_bytes") == 0; }))
        << node().counter("broker", "arena_used_bytes");
    EXPECT_TRUE(eventually([&] { return node().descriptors("broker") <= descriptors_before_ + kSegmentsRead; }));
    WireTest::TearDown();
  }

  // Sends it and says that nothing follows; the node may answer what it understands, and must then close.
  static void send_and_finish(std::string_view bytes) {
    Client stranger(node().port());
    stranger.send(bytes);
    stranger.finish_sending();
    while (stranger.receive_frame()) {
    }
  }
  // Sends it and waits for the node to close, although more could come.
  static void expect_closed(std::string_view bytes) {
    Client stranger(node().port());
    stranger.send(bytes);
    EXPECT_TRUE(stranger.is_closed_by_node());
  }
  void neighbour_works() {
    ASSERT_EQ(produce(client, neighbour_topic_, batch_of({std::to_string(produced_)})).base_offset, produced_);
    ASSERT_EQ(values_of(fetch(client, neighbour_topic_, produced_).records),
              std::vector<std::string>{std::to_string(produced_)});
    ++produced_;
  }

 private:
  std::string neighbour_topic_;
  std::size_t descriptors_before_ = 0;
  Offset produced_ = 0;
};

TEST_F(Garbage, OtherProtocolsAreClosedAtOnce) {
  expect_closed("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect_closed("POST /topics/test HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789");
  expect_closed(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(300, '\x5a'));
  expect_closed("SSH-2.0-OpenSSH_9.2\r\n");
  expect_closed(std::string("\x00\x00\x00\x2dPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 30) + std::string(40, 'x'));
  neighbour_works();
}

TEST_F(Garbage, SizesThatNoFrameHasAreClosedAtOnce) {
  for (const std::int64_t size : {-1ll, -2147483648ll, 0ll, 1ll, 7ll, 2147483647ll, 1ll << 30, (100ll << 20) + 1}) {
    SCOPED_TRACE(size);
    expect_closed(with_size(static_cast<std::int32_t>(size)));
  }
  neighbour_works();
}

TEST_F(Garbage, FramesThatEndTooEarlyAreClosed) {
  const std::string whole =
      Client::frame(kafka::ApiVersionsRequest{.client_software_name = "x", .client_software_version = "1"}, 3, 1) +
      Client::frame(kafka::MetadataRequest{.topics = {{{.name = "t"}}}, .allow_auto_topic_creation = false}, 12, 2);
  for (std::size_t size = 0; size < whole.size(); ++size) send_and_finish(std::string_view(whole).substr(0, size));
  neighbour_works();
}

// The size is right; the body is not there, is cut, or says that arrays are larger than anything.
TEST_F(Garbage, BodiesThatAreNotThereOrPromiseTooMuchAreClosed) {
  const std::string huge_counts = [] {
    std::string body;
    for (int i = 0; i < 40; ++i) body += "\x7f\xff\xff\xff";
    return body;
  }();
  const std::string huge_varints = [] {
    std::string body;
    for (int i = 0; i < 40; ++i) body += "\xff\xff\xff\xff\x0f";
    return body;
  }();
  for (const kafka::Api& api : kafka::api_table()) {
    if (!api.advertised()) continue;
    for (std::int16_t version = api.served_min; version <= api.advertised_max; ++version) {
      SCOPED_TRACE(std::string(api.name) + " " + std::to_string(version));
      for (const std::string& body :
           {huge_counts, huge_varints, std::string("\0\0", 2) + huge_counts, std::string(1, '\0') + huge_varints}) {
        send_and_finish(frame_of(api.key, version, body));
      }
    }
  }
  neighbour_works();
}

// Also those that another process looks at.
TEST_F(Garbage, UnsoundBodiesOfForwardedApisAreClosed) {
  for (const kafka::Api& api : kafka::api_table()) {
    if (api.handler != kafka::Handler::zkbridge && api.handler != kafka::Handler::groupcoord) continue;
    for (std::int16_t version = api.served_min; version <= api.advertised_max; ++version) {
      SCOPED_TRACE(std::string(api.name) + " " + std::to_string(version));
      // A request without fields is sound, whatever bytes follow.
      const kafka::MessageType* const type = kafka::find_message_type(api.key, kafka::MessageKind::request);
      if (type->json(as_bytes("\x7F"), version)) continue;
      Client stranger(node().port());
      ASSERT_TRUE(stranger.send(frame_of(api.key, version, "\x7F")));
      EXPECT_TRUE(stranger.is_closed_by_node());
    }
  }
}

TEST_F(Garbage, RandomBytesAreClosed) {
  std::mt19937 random(20261129);  // NOLINT: the same bytes in each run
  for (int i = 0; i < 300; ++i) send_and_finish(random_bytes(random, random() % 3000));
  for (int i = 0; i < 300; ++i) {
    const std::string body = random_bytes(random, 12 + random() % 300);
    send_and_finish(with_size(static_cast<std::int32_t>(body.size()), body));
  }
  neighbour_works();
}

TEST_F(Garbage, RandomBodiesOfServedApisAreAnsweredOrClosed) {
  std::mt19937 random(7);  // NOLINT
  for (int round = 0; round < 4; ++round) {
    for (const kafka::Api& api : kafka::api_table()) {
      if (!api.advertised()) continue;
      for (std::int16_t version = api.served_min; version <= api.advertised_max; ++version) {
        send_and_finish(frame_of(api.key, version, random_bytes(random, random() % 200)));
      }
    }
  }
  neighbour_works();
}

// Sound frames with nonsense in every field, cut and with bits turned.
TEST_F(Garbage, NonsenseInSoundFramesIsAnsweredOrClosed) {
  std::mt19937 bits(3);  // NOLINT
  kafka::Random random(11);
  for (const kafka::MessageType& type : kafka::message_types()) {
    const kafka::Api* const api = kafka::find_api(type.info.api_key);
    if (type.info.kind != kafka::MessageKind::request || api == nullptr || !api->advertised()) continue;
    // A hundred thousand partitions would be served, too.
    if (api->handler == kafka::Handler::zkbridge) continue;
    for (std::int16_t version = api->served_min; version <= api->advertised_max; ++version) {
      for (int i = 0; i < 3; ++i) {
        kafka::Buffer body;
        type.encode_random(random, version, body);
        std::string text(as_text(body.bytes()));
        if (i == 1 && !text.empty()) text[bits() % text.size()] = static_cast<char>(bits());
        if (i == 2) text.resize(text.size() / 2);
        send_and_finish(frame_of(api->key, version, text));
      }
    }
  }
  neighbour_works();
}

TEST_F(Garbage, ANeighbourWorksWhile200StrangersSendIt) {
  std::mt19937 random(99);  // NOLINT
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Client>> strangers;
    for (int i = 0; i < 200; ++i) {
      strangers.push_back(std::make_unique<Client>(node().port()));
      Client& stranger = *strangers.back();
      switch (i % 5) {
        case 0:
          stranger.send(random_bytes(random, 500));
          break;
        case 1:
          stranger.send(with_size(50'000, random_bytes(random, 1'000)));
          break;  // and never the rest
        case 2:
          stranger.send(std::string(1 + random() % 3, '\0'));
          break;  // not even a size
        case 3:
          stranger.send(frame_of(0, 9, random_bytes(random, 300)));
          break;
        default:
          stranger.send(frame_of(1, 12, std::string(80, '\x7f')));
          break;
      }
      if (i % 10 == 0) neighbour_works();
    }
    neighbour_works();
  }
}

// Who says how much will come and sends nothing must not keep others from the memory that requests are received into.
TEST_F(Garbage, StrangersThatPromiseMuchAndSendNothingDoNotStarveANeighbour) {
  constexpr std::int32_t kLarge = 100 << 20;
  std::vector<std::unique_ptr<Client>> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(std::make_unique<Client>(node().port()));
    ASSERT_TRUE(strangers.back()->send(with_size(kLarge, "some")));
  }
  for (int i = 0; i < 5; ++i) neighbour_works();
}

// A client that asks for much and never reads holds its own answers and nothing else.
TEST_F(Garbage, WhoNeverReadsHoldsNobodyUp) {
  const std::string topic = fresh("unread");
  make_topic(client, topic);
  const std::string batch = batch_of({std::string(900'000, 'x')});
  for (int i = 0; i < 8; ++i) ASSERT_EQ(produce(client, topic, batch).error, ErrorCode::NONE);
  kafka::FetchRequest request{.max_bytes = 8 << 20};
  request.topics.push_back({.topic = topic, .partitions = {{.partition = 0, .partition_max_bytes = 8 << 20}}});
  Client stranger(node().port());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(stranger.send(Client::frame(request, kFetchVersion, i)));
  for (int i = 0; i < 5; ++i) neighbour_works();
}

TEST_F(Garbage, MemoryComesBack) {
  std::mt19937 random(5);  // NOLINT
  const auto bombard = [&] {
    for (int i = 0; i < 300; ++i) {
      send_and_finish(frame_of(static_cast<std::int16_t>(i % 4), 9, random_bytes(random, 20'000)));
      send_and_finish(frame_of(3, 12, random_bytes(random, 2'000)));
    }
  };
  bombard();
  const std::uint64_t before = node().private_bytes("broker");
  bombard();
  bombard();
  constexpr std::uint64_t kNoise = 4 << 20;  // a leak of 4 KiB for each frame would be 4.7 MiB
  EXPECT_LE(node().private_bytes("broker"), before + kNoise);
}

}  // namespace
}  // namespace tailrace::wire
