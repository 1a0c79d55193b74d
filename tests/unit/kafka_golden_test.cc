// Frames that real Kafka clients and brokers sent to each other (tests/golden/frames): each of an API that the codec
// knows decodes to its last byte, prints what Kafka's own classes printed of it, and encodes to the same bytes again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/message_types.h"

namespace tailrace::kafka {
namespace {

using nlohmann::json;

class Golden : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tailrace-golden-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder() = pattern;
    const std::string command = "tar --zstd -xf '" TAILRACE_GOLDEN "/frames/frames.tar.zst' -C '" + pattern + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }

  static std::filesystem::path& folder() {
    static std::filesystem::path path;
    return path;
  }
  static std::string read(const std::string& name) {
    std::ifstream file(folder() / "frames" / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The pairs that the codec has messages for. (Of OffsetCommit and OffsetFetch, Kafka 4 has dropped what 3.9 still
  // spoke.)
  template <class F>
  static void for_each_pair(F&& check) {
    std::ifstream index(folder() / "frames" / "index.jsonl");
    std::string line;
    while (std::getline(index, line)) {
      const json pair = json::parse(line);
      const MessageType* const type = find_message_type(pair["api_key"], MessageKind::request);
      if (type == nullptr || !type->info.knows(pair["version"])) continue;
      SCOPED_TRACE(pair["file"].get<std::string>());
      check(pair);
      if (HasFatalFailure()) return;
    }
  }

  static void check_body(const MessageType& type, std::int16_t version, Bytes body, std::size_t left_over,
                         const json* expected) {
    std::size_t used = 0;
    Buffer again;
    const Result<void> recoded = type.recode(body, version, used, again);
    ASSERT_TRUE(recoded) << recoded.error().text();
    EXPECT_EQ(used + left_over, body.size());
    EXPECT_EQ(as_text(again.bytes()), as_text(body.first(used)));
    const Result<std::string> printed = type.json(body, version);
    ASSERT_TRUE(printed) << printed.error().text();
    const json ours = json::parse(*printed);
    if (expected != nullptr) {
      EXPECT_EQ(ours, *expected);
    }
  }
};

TEST_F(Golden, RequestsDecodeAndEncodeToTheSameBytes) {
  std::map<int, std::set<int>> seen;
  for_each_pair([&](const json& pair) {
    const std::string text = read(pair["file"].get<std::string>() + ".req");
    const Bytes frame = as_bytes(text);
    RequestHeader header;
    std::size_t body_at = 0;
    ASSERT_TRUE(decode_request_header(frame, header, body_at));
    EXPECT_EQ(header.api_key, pair["api_key"].get<int>());
    EXPECT_EQ(header.api_version, pair["version"].get<int>());
    EXPECT_EQ(header.correlation_id, pair["correlation_id"].get<int>());
    EXPECT_EQ(request_header_version(header.api_key, header.api_version), pair["request_header_version"].get<int>());
    const json client_id = header.client_id ? json(std::string(*header.client_id)) : json();
    EXPECT_EQ(client_id, pair["request_header"].value("clientId", json()));
    Buffer header_again;
    encode_request_header(header, header_again);
    EXPECT_EQ(as_text(header_again.bytes()), as_text(frame.first(body_at)));

    const MessageType* type = find_message_type(header.api_key, MessageKind::request);
    check_body(*type, header.api_version, frame.subspan(body_at), pair.value("request_trailing_bytes", 0u),
               pair.contains("request") ? &pair["request"] : nullptr);
    seen[header.api_key].insert(header.api_version);
  });
  // The recordings cover what we serve; if not, the range in the table has no proof.
  for (const Api& api : api_table()) {
    for (int version = api.served_min; version <= api.advertised_max; ++version) {
      EXPECT_TRUE(seen[api.key].contains(version)) << api.name << " " << version;
    }
  }
}

TEST_F(Golden, ResponsesDecodeAndEncodeToTheSameBytes) {
  std::size_t pairs = 0;
  for_each_pair([&](const json& pair) {
    const std::string text = read(pair["file"].get<std::string>() + ".res");
    if (text.empty()) return;  // acks=0
    ++pairs;
    const Bytes frame = as_bytes(text);
    const auto key = pair["api_key"].get<std::int16_t>();
    const auto version = pair.value("response_version", pair["version"].get<std::int16_t>());
    const std::int16_t header_version = response_header_version(key, version);
    EXPECT_EQ(header_version, pair["response_header_version"].get<int>());
    std::int32_t correlation_id = 0;
    std::size_t body_at = 0;
    ASSERT_TRUE(decode_response_header(frame, header_version, correlation_id, body_at));
    EXPECT_EQ(correlation_id, pair["correlation_id"].get<int>());
    Buffer header_again;
    encode_response_header(correlation_id, header_version, header_again);
    EXPECT_EQ(as_text(header_again.bytes()), as_text(frame.first(body_at)));

    const MessageType* type = find_message_type(key, MessageKind::response);
    ASSERT_NE(type, nullptr);
    check_body(*type, version, frame.subspan(body_at), 0, pair.contains("response") ? &pair["response"] : nullptr);
  });
  EXPECT_GT(pairs, 1000u);
}

// Kafka closes the connection on frames that the codec refuses; it must refuse no other.
TEST_F(Golden, HeadersOfAllApisOfKafkaAreRead) {
  std::ifstream index(folder() / "frames" / "index.jsonl");
  std::string line;
  while (std::getline(index, line)) {
    const json pair = json::parse(line);
    SCOPED_TRACE(pair["file"].get<std::string>());
    const auto key = pair["api_key"].get<std::int16_t>();
    const auto version = pair["version"].get<std::int16_t>();
    EXPECT_EQ(request_header_version(key, version), pair["request_header_version"].get<int>());
    if (!pair.contains("response_version")) {
      EXPECT_EQ(response_header_version(key, version), pair["response_header_version"].get<int>());
    }
    RequestHeader header;
    std::size_t body_at = 0;
    const std::string text = read(pair["file"].get<std::string>() + ".req");
    EXPECT_TRUE(decode_request_header(as_bytes(text), header, body_at));
    EXPECT_EQ(header.correlation_id, pair["correlation_id"].get<int>());
  }
}

}  // namespace
}  // namespace tailrace::kafka
