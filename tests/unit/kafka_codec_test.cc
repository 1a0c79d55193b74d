// The codec against itself and against hostile bytes: what one message kind must do, all of them must do, in every
// version. (That the bytes are Kafka's is the matter of kafka_golden_test.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/kafka/codec.h"
#include "services/kafka/codec_templates.h"
#include "services/kafka/message_types.h"
#include "services/kafka/messages/api_versions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/metadata.h"
#include "services/kafka/messages/produce.h"

namespace tailrace::kafka {

// Kinds of fields that no message has yet, but some of Kafka's do.
struct EveryKind {
  static constexpr MessageInfo kMessage{.name = "EveryKind", .version_min = 0, .version_max = 2, .flexible_from = 1};

  struct Part {
    std::int8_t small = 7;
    UnknownTaggedFields unknown_tagged_fields{};
    friend bool operator==(const Part&, const Part&) = default;

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("small", m.small);
    }
  };

  std::uint16_t port = 0;
  double ratio = 0;
  Bytes blob{};
  std::optional<Bytes> maybe_blob{};
  std::vector<Bytes> blobs{};
  std::vector<std::string_view> names{};
  std::optional<Part> maybe_part{};
  std::string_view password{};
  std::optional<std::vector<Part>> tagged_parts{};
  std::optional<Part> tagged_part{};
  std::optional<Part> tagged_part_by_default{Part{}};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("port", m.port);
    v("ratio", m.ratio);
    v("blob", m.blob);
    v("maybe_blob", m.maybe_blob, nullable_since(1));
    v("blobs", m.blobs);
    v("names", m.names);
    v("maybe_part", m.maybe_part, nullable_since(2));
    v("password", m.password, hidden());
    v.tagged(3, "tagged_parts", m.tagged_parts, since(2));
    v.tagged(4, "tagged_part", m.tagged_part, since(2));
    v.tagged(5, "tagged_part_by_default", m.tagged_part_by_default, since(2), std::optional(Part{}));
  }
};
template struct Codec<EveryKind>;

namespace {

// In memory of exactly its size, so that a sanitizer sees a read beyond it.
struct Exact {
  explicit Exact(Bytes from) : size(from.size()), data(std::make_unique<std::byte[]>(size)) {
    std::copy(from.begin(), from.end(), data.get());
  }
  [[nodiscard]] Bytes bytes() const { return {data.get(), size}; }
  std::size_t size;
  std::unique_ptr<std::byte[]> data;
};

Exact body_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return Exact(bytes);
}

template <class F>
void for_every_message_and_version(F&& check) {
  for (const MessageType& type : message_types()) {
    for (std::int16_t version = type.info.version_min; version <= type.info.version_max; ++version) {
      SCOPED_TRACE(std::string(type.info.name) + " version " + std::to_string(version));
      check(type, version);
    }
  }
}

TEST(Codec, RandomMessagesComeBackByteForByte) {
  for_every_message_and_version([](const MessageType& type, std::int16_t version) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(seed);
      Buffer encoded;
      type.encode_random(random, version, encoded);
      const Exact body(encoded.bytes());
      std::size_t used = 0;
      Buffer again;
      const Result<void> recoded = type.recode(body.bytes(), version, used, again);
      ASSERT_TRUE(recoded) << recoded.error().text();
      ASSERT_EQ(used, body.size);
      ASSERT_EQ(as_text(again.bytes()), as_text(body.bytes()));
      ASSERT_TRUE(nlohmann::json::accept(*type.json(body.bytes(), version)));
    }
  });
}

TEST(Codec, EveryKindOfFieldComesBack) {
  for (std::int16_t version = 0; version <= 2; ++version) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      Random random(seed);
      const EveryKind message = Codec<EveryKind>::random(random, version);
      Buffer encoded;
      ASSERT_TRUE(encode(message, version, encoded));
      ASSERT_EQ(encoded_size(message, version), encoded.size());
      const Result<EveryKind> decoded = decode_exactly<EveryKind>(encoded.bytes(), version);
      ASSERT_TRUE(decoded) << decoded.error().text() << " seed " << seed << " version " << version;
      ASSERT_EQ(to_json(*decoded, version), to_json(message, version)) << "seed " << seed;
    }
  }
}

TEST(Codec, AMessageCutAnywhereIsRefused) {
  for_every_message_and_version([](const MessageType& type, std::int16_t version) {
    for (std::uint64_t seed = 100; seed < 103; ++seed) {
      Random random(seed);
      Buffer encoded;
      type.encode_random(random, version, encoded);
      // Every cut of small messages; of large ones a sample with an odd step.
      const std::size_t step = encoded.size() < 2000 ? 1 : encoded.size() / 1000 | 1;
      for (std::size_t size = 0; size < encoded.size(); size += step) {
        const Exact cut(encoded.bytes().first(size));
        std::size_t used = 0;
        Buffer again;
        const Result<void> recoded = type.recode(cut.bytes(), version, used, again);
        ASSERT_FALSE(recoded) << "seed " << seed << " cut at " << size << " of " << encoded.size();
        ASSERT_EQ(recoded.error().code, Code::corrupt);
      }
    }
  });
}

// Whatever a flipped byte makes of a message: it is refused, or it means something that can be said again.
TEST(Codec, DamagedMessagesAreRefusedOrStaySound) {
  for_every_message_and_version([](const MessageType& type, std::int16_t version) {
    for (std::uint64_t seed = 200; seed < 240; ++seed) {
      Random random(seed);
      Buffer encoded;
      type.encode_random(random, version, encoded);
      if (encoded.empty()) continue;
      const std::size_t changes = 1 + random.below(3);
      for (std::size_t i = 0; i < changes; ++i) {
        encoded.data()[random.below(encoded.size())] = static_cast<std::byte>(random.number());
      }
      const Exact damaged(encoded.bytes());
      std::size_t used = 0;
      Buffer once;
      if (!type.recode(damaged.bytes(), version, used, once)) continue;
      Buffer twice;
      const Result<void> recoded = type.recode(once.bytes(), version, used, twice);
      ASSERT_TRUE(recoded) << recoded.error().text() << " seed " << seed;
      ASSERT_EQ(as_text(twice.bytes()), as_text(once.bytes())) << "seed " << seed;
    }
  });
}

TEST(Codec, UnknownVersionsAreUnsupported) {
  const Exact body = body_of({0, 0, 0, 0});
  EXPECT_EQ(decode<MetadataRequest>(body.bytes(), 99).error().code, Code::unsupported);
  EXPECT_EQ(decode<MetadataRequest>(body.bytes(), -1).error().code, Code::unsupported);
}

TEST(Codec, CountsBeyondTheMessageAreRefusedBeforeMemoryIsTaken) {
  // 2^31 - 1 topics, in the layout of Metadata 1; and 2^32 - 2 of them, compact.
  EXPECT_EQ(decode<MetadataRequest>(body_of({0x7F, 0xFF, 0xFF, 0xFF}).bytes(), 1).error().code, Code::corrupt);
  EXPECT_EQ(decode<MetadataRequest>(body_of({0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0}).bytes(), 9).error().code, Code::corrupt);
  // A varint of more than 32 bits.
  EXPECT_EQ(decode<MetadataRequest>(body_of({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0}).bytes(), 9).error().code, Code::corrupt);
  // Records longer than the frame.
  const Exact records = body_of(
      {0xFF, 0xFF, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 1, 2, 3});
  EXPECT_EQ(decode<ProduceRequest>(records.bytes(), 3).error().code, Code::corrupt);
}

TEST(Codec, SmallFramesCannotTakeMuchMemory) {
  // 4 MiB of zeros that announce a topic per byte: 17 times as large in memory.
  std::vector<std::byte> body(std::size_t{4} << 20);
  const std::byte head[] = {std::byte{0},    std::byte{0xFF}, std::byte{0xFF}, std::byte{0},
                            std::byte{0},    std::byte{0},    std::byte{0},    std::byte{0x81},
                            std::byte{0x80}, std::byte{0xFF}, std::byte{0x01}};
  std::copy(std::begin(head), std::end(head), body.begin());
  EXPECT_EQ(decode<ProduceRequest>(body, 9).error().code, Code::too_large);
}

TEST(Codec, NullIsReadAndWrittenOnlyWhereTheVersionHasIt) {
  const Exact null_topics = body_of({0xFF, 0xFF, 0xFF, 0xFF});
  EXPECT_EQ(decode<MetadataRequest>(null_topics.bytes(), 0).error().code, Code::corrupt);
  const Result<MetadataRequest> all = decode<MetadataRequest>(null_topics.bytes(), 1);
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->topics.has_value());

  Buffer out;
  encode(*all, 1, out);
  EXPECT_EQ(as_text(out.bytes()), std::string_view("\xFF\xFF\xFF\xFF", 4));
  out.clear();
  encode(*all, 0, out);  // version 0 has no null: an empty array, which there means the same
  EXPECT_EQ(as_text(out.bytes()), std::string_view("\0\0\0\0", 4));

  // A topic without a name: from version 10 on.
  EXPECT_FALSE(decode<MetadataRequest>(body_of({2, 0, 0, 0, 0, 0, 0}).bytes(), 9));
  Buffer by_id;
  MetadataRequest request;
  request.topics.emplace().push_back({.topic_id = Uuid{{1, 2, 3}}});
  encode(request, 12, by_id);
  const Result<MetadataRequest> decoded = decode_exactly<MetadataRequest>(by_id.bytes(), 12);
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->topics->front().name.has_value());
  EXPECT_EQ(decoded->topics->front().topic_id.bytes[2], 3);
}

TEST(Codec, AnyNegativeLengthIsNull) {  // as in Kafka
  const Result<MetadataRequest> all = decode<MetadataRequest>(body_of({0x80, 0, 0, 0}).bytes(), 1);
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->topics.has_value());
}

TEST(Codec, StringsHaveTheLengthThatKafkaAllows) {
  const std::string longest(kStringBytesMax, 'x');
  const std::string too_long = longest.substr(1) + "\xC3\xA9";  // the limit falls inside the last character
  CreateTopicsRequest request;
  request.topics.push_back({.name = longest, .num_partitions = 1, .replication_factor = 1});
  for (const std::int16_t version : {std::int16_t{4}, std::int16_t{5}}) {
    Buffer out;
    request.topics[0].name = longest;
    EXPECT_TRUE(encode(request, version, out));
    const Result<CreateTopicsRequest> decoded = decode_exactly<CreateTopicsRequest>(out.bytes(), version);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->topics[0].name, longest);

    Buffer cut_out;
    request.topics[0].name = too_long;
    EXPECT_FALSE(encode(request, version, cut_out));
    EXPECT_EQ(encoded_size(request, version), cut_out.size());
    const Result<CreateTopicsRequest> cut = decode_exactly<CreateTopicsRequest>(cut_out.bytes(), version);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->topics[0].name, longest.substr(1));
  }
  // A compact string of 32,768 bytes: its length is 0x8001 with the one added, 81 80 02.
  std::string body = std::string("\x02\x81\x80\x02", 4) + std::string(0x8000, 'x') + std::string(40, '\0');
  EXPECT_EQ(decode<CreateTopicsRequest>(as_bytes(body), 5).error().code, Code::corrupt);
}

TEST(Codec, BytesBehindAMessageAreIgnoredUnlessAskedFor) {
  const Exact body = body_of({0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3});
  EXPECT_TRUE(decode<MetadataRequest>(body.bytes(), 1));
  EXPECT_EQ(decode_exactly<MetadataRequest>(body.bytes(), 1).error().code, Code::corrupt);
}

// -- Tagged fields -------------------------------------------------------------------------------------------------

FetchRequest fetch_request() {
  FetchRequest request;
  request.topics.push_back({.topic_id = Uuid{{9}}, .partitions = {{.partition = 3, .fetch_offset = 44}}});
  return request;
}

TEST(TaggedFields, AreLeftOutAtTheirDefaults) {
  Buffer v17;
  encode(fetch_request(), 17, v17);
  Buffer v18;
  encode(fetch_request(), 18, v18);
  EXPECT_EQ(v17.size(), v18.size());

  ApiVersionsResponse response;
  Buffer out;
  encode(response, 3, out);
  EXPECT_EQ(as_text(out.bytes()), std::string_view("\0\0\1\0\0\0\0\0", 8));
}

TEST(TaggedFields, KnownButNotOfThisVersionAreRefused) {
  FetchRequest request = fetch_request();
  request.topics[0].partitions[0].high_watermark = 5;
  Buffer v18;
  encode(request, 18, v18);
  const Result<FetchRequest> decoded = decode_exactly<FetchRequest>(v18.bytes(), 18);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->topics[0].partitions[0].high_watermark, 5);
  EXPECT_EQ(decode<FetchRequest>(v18.bytes(), 17).error().code, Code::corrupt);
}

TEST(TaggedFields, ThatNobodyKnowsAreKept) {
  // ApiVersions 3: name "a", version "b", one field of tag 77 and 2 bytes, one of tag 78, empty.
  const Exact body = body_of({2, 'a', 2, 'b', 2, 77, 2, 1, 2, 78, 0});
  const Result<ApiVersionsRequest> decoded = decode_exactly<ApiVersionsRequest>(body.bytes(), 3);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->client_software_name, "a");
  EXPECT_EQ(decoded->unknown_tagged_fields.count, 2u);
  Buffer out;
  encode(*decoded, 3, out);
  EXPECT_EQ(as_text(out.bytes()), as_text(body.bytes()));
}

TEST(TaggedFields, AreReadInAnyOrder) {
  // ApiVersionsResponse 3: no error, no keys, throttle 0; tag 1 (epoch 5) before tag 0 (no features).
  const Exact body = body_of({0, 0, 1, 0, 0, 0, 0, 2, 1, 8, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 1});
  const Result<ApiVersionsResponse> decoded = decode_exactly<ApiVersionsResponse>(body.bytes(), 3);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->finalized_features_epoch, 5);
}

TEST(TaggedFields, OfAWrongSizeAreRefused) {
  // Tag 1 is an int64; here with 7 and 9 bytes, and with a size beyond the message.
  EXPECT_FALSE(decode<ApiVersionsResponse>(body_of({0, 0, 1, 0, 0, 0, 0, 1, 1, 7, 0, 0, 0, 0, 0, 0, 0}).bytes(), 3));
  EXPECT_FALSE(
      decode<ApiVersionsResponse>(body_of({0, 0, 1, 0, 0, 0, 0, 1, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0}).bytes(), 3));
  EXPECT_FALSE(
      decode<ApiVersionsResponse>(body_of({0, 0, 1, 0, 0, 0, 0, 1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0, 0}).bytes(), 3));
  // 2^32 - 1 tagged fields.
  EXPECT_FALSE(
      decode<ApiVersionsResponse>(body_of({0, 0, 1, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 77, 0}).bytes(), 3));
}

// -- Headers and frames --------------------------------------------------------------------------------------------

TEST(Headers, FollowTheVersionOfTheRequest) {
  EXPECT_EQ(request_header_version(0, 8), 1);
  EXPECT_EQ(request_header_version(0, 9), 2);
  EXPECT_EQ(response_header_version(0, 9), 1);
  EXPECT_EQ(request_header_version(7, 0), 0);  // ControlledShutdown 0 has no client id
  EXPECT_EQ(request_header_version(7, 1), 1);
  EXPECT_EQ(request_header_version(18, 3), 2);
  EXPECT_EQ(response_header_version(18, 3), 0);  // KIP-511
  EXPECT_EQ(request_header_version(18, 99), 2);  // a client of the future can still be told
  EXPECT_EQ(request_header_version(47, 99), 1);  // OffsetDelete has no flexible version
  EXPECT_EQ(request_header_version(9999, 0), 1);
}

TEST(Headers, ComeBack) {
  for (const std::int16_t version : {std::int16_t{8}, std::int16_t{9}}) {
    for (const std::optional<std::string_view> client_id : {std::optional<std::string_view>{}, {""}, {"rdkafka"}}) {
      Buffer frame;
      encode_request_header({.api_key = 0, .api_version = version, .correlation_id = -7, .client_id = client_id},
                            frame);
      const std::size_t header_size = frame.size();
      frame.append(as_bytes("body"));
      RequestHeader header;
      std::size_t body_at = 0;
      ASSERT_TRUE(decode_request_header(frame.bytes(), header, body_at));
      EXPECT_EQ(body_at, header_size);
      EXPECT_EQ(header.correlation_id, -7);
      EXPECT_EQ(header.api_version, version);
      EXPECT_EQ(header.client_id, client_id);
      for (std::size_t size = 0; size < header_size; ++size) {
        const Exact cut(frame.bytes().first(size));
        EXPECT_EQ(decode_request_header(cut.bytes(), header, body_at).error().code, Code::corrupt) << size;
      }
    }
  }
}

TEST(Headers, TaggedFieldsInThemAreSkipped) {
  // Produce 9, correlation 1, client "c", one tagged field of 3 bytes, then the body.
  const Exact frame = body_of({0, 0, 0, 9, 0, 0, 0, 1, 0, 1, 'c', 1, 50, 3, 1, 2, 3, 'b'});
  RequestHeader header;
  std::size_t body_at = 0;
  ASSERT_TRUE(decode_request_header(frame.bytes(), header, body_at));
  EXPECT_EQ(body_at, frame.size - 1);
  EXPECT_EQ(header.unknown_tagged_fields.count, 1u);
}

// What goes over the wire when records are sent from files is what goes over it when they are at hand.
TEST(Frames, GapsOfAFetchResponseTakeTheRecords) {
  const std::string first(70'000, 'r');
  const std::string second = "records of another partition";
  for (std::int16_t version = 4; version <= 17; ++version) {
    FetchResponse inside;
    inside.responses.push_back({.topic = "t", .topic_id = Uuid{{1}}, .partitions = {}});
    inside.responses[0].partitions = {{.partition_index = 0, .high_watermark = 9},
                                      {.partition_index = 1, .error_code = 6},
                                      {.partition_index = 2, .high_watermark = 4}};
    FetchResponse outside = inside;
    inside.responses[0].partitions[0].records = RecordsField::of(as_bytes(first));
    inside.responses[0].partitions[2].records = RecordsField::of(as_bytes(second));
    outside.responses[0].partitions[0].records = RecordsField::external(static_cast<std::uint32_t>(first.size()));
    outside.responses[0].partitions[2].records = RecordsField::external(static_cast<std::uint32_t>(second.size()));

    Buffer whole;
    whole.append(as_bytes("what was in the buffer before"));
    const std::size_t whole_start = begin_response(5, 1, version, whole);
    encode(inside, version, whole);
    end_frame(whole_start, whole);

    Buffer parts;
    parts.append(as_bytes("what was in the buffer before"));
    std::vector<Gap> gaps = {{.position = 3, .length = 1000}};  // of a response before
    const std::size_t start = begin_response(5, 1, version, parts);
    encode(outside, version, parts, &gaps);
    end_frame(start, parts, gaps, 1);

    ASSERT_EQ(gaps.size(), 3u);
    const std::string_view text = as_text(parts.bytes());
    std::string sent(text.substr(0, gaps[1].position));
    sent += first;
    sent += text.substr(gaps[1].position, gaps[2].position - gaps[1].position);
    sent += second;
    sent += text.substr(gaps[2].position);
    EXPECT_EQ(sent, as_text(whole.bytes())) << "version " << version;
    EXPECT_EQ(load_big_endian<std::int32_t>(whole.data() + whole_start),
              static_cast<std::int32_t>(whole.size() - whole_start - 4));
  }
}

TEST(Frames, RecordsMayBeNullOrEmpty) {
  FetchResponse response;
  response.responses.push_back({.topic = "t", .topic_id = {}, .partitions = {{}, {}}});
  response.responses[0].partitions[0].records = RecordsField::null();
  Buffer out;
  encode(response, 11, out);
  const Result<FetchResponse> decoded = decode_exactly<FetchResponse>(out.bytes(), 11);
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->responses[0].partitions[0].records.bytes.has_value());
  ASSERT_TRUE(decoded->responses[0].partitions[1].records.bytes.has_value());
  EXPECT_TRUE(decoded->responses[0].partitions[1].records.bytes->empty());
}

// -- For people ----------------------------------------------------------------------------------------------------

TEST(Json, HasKafkasNamesAndHidesSecrets) {
  EveryKind message;
  message.password = "hunter2";
  message.blob = as_bytes("abcd");
  message.ratio = 0.5;
  EXPECT_EQ(to_json(message, 1),
            R"({"port":0,"ratio":0.5,"blob":"YWJjZA==","maybeBlob":null,"blobs":[],"names":[],"maybePart":null,)"
            R"("password":"***"})");
}

TEST(Json, IsSoundWhateverTheStringsHold) {
  std::string text;
  append_json_string(std::string_view("a\"\\\n\x01\x7F\xC3\xA9\xC3(\xED\xA0\x80\xF0\x9F\x98\x80\xFF\0", 19), text);
  const nlohmann::json parsed = nlohmann::json::parse(text);
  EXPECT_EQ(parsed.get<std::string>(),
            std::string("a\"\\\n\x01\x7F\xC3\xA9\xEF\xBF\xBD(\xEF\xBF\xBD\xF0\x9F\x98\x80\xEF\xBF\xBD") +
                std::string(1, '\0'));
}

TEST(Docs, MessagesPageIsUpToDate) {
  const std::string path = TAILRACE_GOLDEN "/../../docs/messages.md";
  if (std::getenv("TAILRACE_UPDATE_DOCS") != nullptr) std::ofstream(path) << messages_markdown();
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(page == messages_markdown()) << "write it anew: TAILRACE_UPDATE_DOCS=1 kafka_codec_test";
}

}  // namespace
}  // namespace tailrace::kafka
