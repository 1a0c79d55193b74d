#include "services/groupcoord/metadata_hash.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include <xxhash.h>

#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

// What is hashed, in the bytes that Kafka's library (hash4j) makes of it: little-endian, strings in UTF-16 with their
// length behind them.
class HashInput {
 public:
  void put_byte(std::uint8_t value) { bytes_.push_back(value); }
  void put_int(std::uint32_t value) { put(value, 4); }
  void put_long(std::uint64_t value) { put(value, 8); }
  void put_string(std::string_view utf8);
  [[nodiscard]] std::int64_t hash() const {
    return std::bit_cast<std::int64_t>(XXH3_64bits(bytes_.data(), bytes_.size()));
  }

 private:
  void put(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  std::vector<std::uint8_t> bytes_;
};

// The next character of UTF-8; a byte that is none counts as one.
std::uint32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(at++);
  const unsigned ones = static_cast<unsigned>(std::countl_one(static_cast<std::uint8_t>(first)));
  if (ones < 2 || ones > 4 || at + ones - 1 > text.size()) return first;
  std::uint32_t character = first & (0x7Fu >> ones);
  for (unsigned i = 1; i < ones; ++i) character = character << 6 | (byte(at++) & 0x3F);
  return character;
}

std::vector<std::uint16_t> utf16(std::string_view text) {
  std::vector<std::uint16_t> units;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t character = next_character(text, at);
    if (character < 0x10000) {
      units.push_back(static_cast<std::uint16_t>(character));
    } else {
      units.push_back(static_cast<std::uint16_t>(0xD800 + ((character - 0x10000) >> 10)));
      units.push_back(static_cast<std::uint16_t>(0xDC00 + (character & 0x3FF)));
    }
  }
  return units;
}

void HashInput::put_string(std::string_view utf8) {
  const std::vector<std::uint16_t> units = utf16(utf8);
  for (const std::uint16_t unit : units) put(unit, 2);
  put_int(static_cast<std::uint32_t>(units.size()));
}

std::uint64_t half(const Uuid& id, std::size_t from) {
  std::uint64_t value = 0;
  for (std::size_t i = from; i < from + 8; ++i) value = value << 8 | id.bytes[i];
  return value;
}

// Of the replicas, as far as it is known where they are; in order, the same rack as often as it has replicas.
std::vector<std::string_view> racks_of(const node::PartitionImage& partition, const node::MetadataImage& image) {
  std::vector<std::string_view> racks;
  for (const BrokerId replica : partition.replicas) {
    const auto broker = std::ranges::find(image.brokers(), replica, &node::BrokerImage::id);
    if (broker != image.brokers().end() && broker->rack) racks.push_back(*broker->rack);
  }
  std::ranges::sort(racks);
  return racks;
}

}  // namespace

std::int32_t partition_count(const node::TopicImage& topic) {
  return topic.partitions.empty() ? 0 : topic.partitions.rbegin()->first + 1;
}

std::int64_t topic_hash(const node::TopicImage& topic, const node::MetadataImage& image) {
  HashInput input;
  input.put_byte(0);  // the version of this recipe
  input.put_long(half(topic.id, 0));
  input.put_long(half(topic.id, 8));
  input.put_string(topic.name);
  const std::int32_t partitions = partition_count(topic);
  input.put_int(static_cast<std::uint32_t>(partitions));
  for (std::int32_t i = 0; i < partitions; ++i) {
    input.put_int(static_cast<std::uint32_t>(i));
    const node::PartitionImage* partition = topic.find(i);
    if (partition == nullptr) continue;
    for (const std::string_view rack : racks_of(*partition, image)) {
      input.put_int(static_cast<std::uint32_t>(utf16(rack).size()));
      input.put_string(rack);
    }
  }
  return input.hash();
}

std::int64_t metadata_hash(const Subscriptions::Topics& topics, const node::MetadataImage& image) {
  HashInput input;
  bool is_empty = true;
  for (const auto& [name, count] : topics) {
    const node::TopicImage* topic = image.find(std::string_view(name));
    if (topic == nullptr || topic->id.is_zero()) continue;
    input.put_long(std::bit_cast<std::uint64_t>(topic_hash(*topic, image)));
    is_empty = false;
  }
  return is_empty ? 0 : input.hash();
}

}  // namespace tailrace::groupcoord
