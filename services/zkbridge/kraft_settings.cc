#include "services/zkbridge/kraft_settings.h"

#include <charconv>
#include <vector>

#include <fmt/core.h>

#include "engine/record/records.h"

namespace tailrace::zkbridge {
namespace {

// Kinds of metadata records (Kafka's metadata/*.json).
constexpr std::uint64_t kTopicRecord = 2;
constexpr std::uint64_t kConfigRecord = 4;
constexpr std::uint64_t kRemoveTopicRecord = 9;

constexpr std::int8_t kTopicResource = 2;
constexpr std::int8_t kBrokerResource = 4;

constexpr std::size_t kUnpackedBytesMax = std::size_t{64} << 20;
constexpr std::size_t kBatchPrefixBytes = 12;  // base offset and length

// Reads the flexible encoding; after a failure ok() is false.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  std::uint64_t varint() {
    std::uint64_t value = 0;
    const std::size_t size = read_unsigned_varint(bytes_, value, 5);
    if (size == 0) ok_ = false;
    bytes_ = bytes_.subspan(size);
    return value;
  }
  std::int8_t int8() {
    const Bytes byte = take(1);
    return byte.empty() ? std::int8_t{0} : static_cast<std::int8_t>(byte[0]);
  }
  std::optional<std::string> nullable_text() {
    const std::uint64_t size = varint();  // one more than the length; 0: null
    if (size == 0) return std::nullopt;
    return std::string(as_text(take(size - 1)));
  }
  Uuid uuid() {
    Uuid id;
    const Bytes from = take(id.bytes.size());
    for (std::size_t i = 0; i < from.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(from[i]);
    return id;
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  Bytes take(std::size_t size) {
    if (bytes_.size() < size) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const Bytes taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  Bytes bytes_;
  bool ok_ = true;
};

// Applies the records of `file` from `offset` on. A torn tail ends it, as it ends Kafka's own reading.
std::expected<void, std::string> apply_file(io::Files& files, const std::string& path, Offset offset,
                                            KraftSettings& settings) {
  const Result<std::string> content = io::read_file(files, path);
  if (!content) return std::unexpected(fmt::format("{}: {}", path, content.error().text()));
  record::Scratch scratch;
  for (Bytes rest = as_bytes(*content); rest.size() > kBatchPrefixBytes;) {
    const std::size_t size =
        kBatchPrefixBytes + static_cast<std::size_t>(load_big_endian<std::uint32_t>(rest.data() + 8));
    if (size > rest.size()) break;
    auto records = record::Records::open(rest.first(size), scratch, kUnpackedBytesMax);
    if (!records) break;
    rest = rest.subspan(size);
    if (records->header().is_control()) continue;
    for (record::Record record;;) {
      const Result<bool> more = records->next(record);
      if (!more) return std::unexpected(fmt::format("{}: {}", path, more.error().text()));
      if (!*more) break;
      if (record.offset < offset || !record.value) continue;
      if (!settings.apply(*record.value)) {
        return std::unexpected(fmt::format("{}: the record at offset {} does not read", path, record.offset));
      }
    }
  }
  return {};
}

// The number that a file's name begins with: a segment's first offset, or the offset that a snapshot reaches to.
Offset leading_offset(const std::string& name) {
  Offset offset = 0;
  std::from_chars(name.data(), name.data() + std::min<std::size_t>(name.size(), 20), offset);
  return offset;
}

}  // namespace

bool KraftSettings::apply(Bytes value) {
  Reader from(value);
  from.varint();  // the version of the frame
  const std::uint64_t kind = from.varint();
  from.varint();  // the version of the message; later ones only add behind what is read here
  if (!from.ok()) return false;
  if (kind == kTopicRecord) {
    const std::optional<std::string> name = from.nullable_text();
    const Uuid id = from.uuid();
    if (!from.ok() || !name) return false;
    names_[id] = *name;
  } else if (kind == kRemoveTopicRecord) {
    const auto name = names_.find(from.uuid());
    if (!from.ok()) return false;
    if (name == names_.end()) return true;
    topics_.erase(name->second);
    names_.erase(name);
  } else if (kind == kConfigRecord) {
    const std::int8_t type = from.int8();
    const std::optional<std::string> name = from.nullable_text();
    const std::optional<std::string> key = from.nullable_text();
    const std::optional<std::string> setting = from.nullable_text();
    if (!from.ok() || !name || !key) return false;
    if (type != kTopicResource && type != kBrokerResource) return true;
    node::ConfigMap& configs = (type == kTopicResource ? topics_ : brokers_)[*name];
    if (setting) {
      configs[*key] = *setting;
    } else {
      configs.erase(*key);
    }
  }
  return true;
}

std::expected<std::optional<KraftSettings>, std::string> read_kraft_settings(io::Files& files,
                                                                             const std::string& directory) {
  const std::string folder = directory + "/__cluster_metadata-0";
  if (!files.exists(folder)) return std::nullopt;
  const Result<std::vector<io::DirectoryEntry>> entries = files.list(folder);
  if (!entries) return std::unexpected(fmt::format("{}: {}", folder, entries.error().text()));
  std::string snapshot;
  std::vector<std::string> segments;
  for (const io::DirectoryEntry& entry : *entries) {  // sorted: the newest snapshot is the last one
    if (entry.name.ends_with(".checkpoint")) snapshot = entry.name;
    if (entry.name.ends_with(".log")) segments.push_back(entry.name);
  }
  KraftSettings settings;
  Offset from = 0;
  if (!snapshot.empty()) {
    if (auto applied = apply_file(files, folder + "/" + snapshot, 0, settings); !applied) {
      return std::unexpected(applied.error());
    }
    from = leading_offset(snapshot);
  }
  for (const std::string& segment : segments) {
    if (auto applied = apply_file(files, folder + "/" + segment, from, settings); !applied) {
      return std::unexpected(applied.error());
    }
  }
  return settings;
}

}  // namespace tailrace::zkbridge
