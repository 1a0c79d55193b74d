// Everything that real Kafka clients sent (tests/golden/frames), sent to a node, each frame on a connection of its own.
// It is answered in the layout of its version, or, of an API or version that is not served, the connection is closed.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "services/kafka/message_types.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

struct Recorded {
  std::string name;
  std::string request;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Recorded> recorded_frames() {
  std::string folder = (std::filesystem::temp_directory_path() / "tailrace-frames-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  const std::string command = "tar --zstd -xf '" TAILRACE_GOLDEN "/frames/frames.tar.zst' -C '" + folder + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<Recorded> frames;
  std::ifstream index(folder + "/frames/index.jsonl");
  for (std::string line; std::getline(index, line);) {
    const std::string name = nlohmann::json::parse(line)["file"];
    frames.push_back({name, read_file(folder + "/frames/" + name + ".req")});
  }
  std::filesystem::remove_all(folder);
  return frames;
}

std::string with_size(const std::string& frame) {
  std::string bytes(4, '\0');
  store_big_endian(reinterpret_cast<std::byte*>(bytes.data()), static_cast<std::int32_t>(frame.size()));
  return bytes + frame;
}

class GoldenFrames : public WireTest {
 protected:
  // An answer that decodes to its last byte. An ApiVersions answer to a version that we lack has the layout of version
  // 0.
  static void expect_answer(Client& client, const kafka::RequestHeader& header) {
    const std::optional<std::string> frame = client.receive_frame();
    ASSERT_TRUE(frame) << "closed";
    std::int16_t version = header.api_version;
    if (header.api_key == kafka::api_key::kApiVersions && !kafka::find_api(header.api_key)->serves(version))
      version = 0;
    std::int32_t correlation_id = 0;
    std::size_t body_at = 0;
    const std::int16_t header_version = kafka::response_header_version(header.api_key, header.api_version);
    ASSERT_TRUE(kafka::decode_response_header(as_bytes(*frame), header_version, correlation_id, body_at));
    EXPECT_EQ(correlation_id, header.correlation_id);
    const kafka::MessageType* const type = kafka::find_message_type(header.api_key, kafka::MessageKind::response);
    ASSERT_NE(type, nullptr);
    kafka::Buffer again;
    std::size_t used = 0;
    const Bytes body = as_bytes(*frame).subspan(body_at);
    ASSERT_TRUE(type->recode(body, version, used, again));
    EXPECT_EQ(used, body.size());
  }
};

TEST_F(GoldenFrames, AreAnsweredOrTheConnectionIsClosedWhereTheApiIsNotServed) {
  std::map<std::string, int> counts;
  for (const Recorded& recorded : recorded_frames()) {
    SCOPED_TRACE(recorded.name);
    kafka::RequestHeader header;
    std::size_t body_at = 0;
    ASSERT_TRUE(kafka::decode_request_header(as_bytes(recorded.request), header, body_at));
    const kafka::Api* const api = kafka::find_api(header.api_key);
    const bool is_advertised = api != nullptr && api->advertised();
    const bool is_served =
        is_advertised && (api->serves(header.api_version) || header.api_key == kafka::api_key::kApiVersions);
    Client connection(node().port());
    connection.send(with_size(recorded.request));
    if (!is_served) {
      EXPECT_TRUE(connection.is_closed_by_node());
      ++counts["closed"];
    } else {
      expect_answer(connection, header);
      ++counts["answered"];
    }
    if (HasFatalFailure()) return;
  }
  for (const auto& [what, count] : counts) std::printf("%s: %d\n", what.c_str(), count);
  EXPECT_GT(counts["answered"], 600);
  EXPECT_GT(counts["closed"], 600);
}

}  // namespace
}  // namespace tailrace::wire
