#include "services/zkbridge/store_codec.h"

#include <concepts>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <xxhash.h>

namespace tailrace::zkbridge {
namespace {

constexpr std::string_view kJournalMagic = "TRJOURN1";
constexpr std::string_view kCheckpointMagic = "TRCHECK1";
constexpr std::uint32_t kRecordMagic = 0x54524A52;  // "TRJR"
constexpr std::size_t kRecordHeaderBytes = 16;
constexpr std::size_t kAlignment = 8;

enum class Tag : std::uint8_t { create = 1, set = 2, remove = 3, check = 4 };

class Writer {
 public:
  template <std::integral T>
  void number(T value) {
    char bytes[sizeof(T)];
    store_big_endian(reinterpret_cast<std::byte*>(bytes), value);
    out.append(bytes, sizeof(T));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    out += value;
  }
  void optional_text(const std::optional<std::string>& value) {
    number(static_cast<std::uint8_t>(value ? 1 : 0));
    if (value) text(*value);
  }

  std::string out;
};

// Reads what Writer wrote. After a failure everything reads as zero and ok() is false.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  template <std::integral T>
  T number() {
    if (bytes_.size() < sizeof(T)) return fail<T>();
    const T value = load_big_endian<T>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  std::string text() {
    const std::size_t size = number<std::uint32_t>();
    if (bytes_.size() < size) return fail<std::string>();
    std::string value(as_text(bytes_.first(size)));
    bytes_ = bytes_.subspan(size);
    return value;
  }
  std::optional<std::string> optional_text() {
    if (number<std::uint8_t>() == 0) return std::nullopt;
    return text();
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  template <class T>
  T fail() {
    ok_ = false;
    bytes_ = {};
    return T{};
  }

  Bytes bytes_;
  bool ok_ = true;
};

void write(Writer& to, const Operation& operation) {
  if (const auto* create = std::get_if<Create>(&operation)) {
    to.number(std::to_underlying(Tag::create));
    to.number(std::to_underlying(create->mode));
    to.text(create->path);
    to.optional_text(create->data);
  } else if (const auto* set = std::get_if<Set>(&operation)) {
    to.number(std::to_underlying(Tag::set));
    to.number(set->version);
    to.text(set->path);
    to.optional_text(set->data);
  } else if (const auto* remove = std::get_if<Remove>(&operation)) {
    to.number(std::to_underlying(Tag::remove));
    to.number(remove->version);
    to.text(remove->path);
  } else if (const auto* check = std::get_if<Check>(&operation)) {
    to.number(std::to_underlying(Tag::check));
    to.number(check->version);
    to.text(check->path);
  }
}

std::optional<Operation> read_operation(Reader& from) {
  switch (Tag{from.number<std::uint8_t>()}) {
    case Tag::create: {
      const auto mode = from.number<std::uint8_t>();
      if (mode > std::to_underlying(CreateMode::ephemeral_sequential)) return std::nullopt;
      std::string path = from.text();
      return Create{std::move(path), from.optional_text(), CreateMode{mode}};
    }
    case Tag::set: {
      const auto version = from.number<std::int32_t>();
      std::string path = from.text();
      return Set{std::move(path), from.optional_text(), version};
    }
    case Tag::remove: {
      const auto version = from.number<std::int32_t>();
      return Remove{from.text(), version};
    }
    case Tag::check: {
      const auto version = from.number<std::int32_t>();
      return Check{from.text(), version};
    }
  }
  return std::nullopt;
}

struct Record {
  std::uint64_t end = 0;  // where the next one begins
  std::uint64_t durable_end = 0;
  Transaction transaction;
};

// The record at `position`, if there is a whole and sound one.
std::optional<Record> record_at(Bytes journal, std::uint64_t position) {
  if (journal.size() < position + kRecordHeaderBytes) return std::nullopt;
  const std::byte* const header = journal.data() + position;
  if (load_big_endian<std::uint32_t>(header) != kRecordMagic) return std::nullopt;
  const std::size_t length = load_big_endian<std::uint32_t>(header + 4);
  if (length > kJournalRecordBytesMax || journal.size() - position - kRecordHeaderBytes < length) return std::nullopt;
  const Bytes body = journal.subspan(position + kRecordHeaderBytes, length);
  const std::uint64_t checksum = load_big_endian<std::uint64_t>(header + 8);
  if (XXH3_64bits_withSeed(body.data(), body.size(), position) != checksum) return std::nullopt;

  Record record;
  const std::uint64_t unpadded = position + kRecordHeaderBytes + length;
  record.end = (unpadded + kAlignment - 1) / kAlignment * kAlignment;
  if (record.end > journal.size()) return std::nullopt;
  Reader from(body);
  record.durable_end = from.number<std::uint64_t>();
  record.transaction.zxid = from.number<std::int64_t>();
  record.transaction.time_ms = from.number<std::int64_t>();
  record.transaction.session = from.number<std::int64_t>();
  const auto count = from.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && from.ok(); ++i) {
    std::optional<Operation> operation = read_operation(from);
    if (!operation) return std::nullopt;
    record.transaction.operations.push_back(std::move(*operation));
  }
  if (!from.ok() || from.left() != 0) return std::nullopt;
  return record;
}

// Whether some record behind `position` says that the bytes there were once safe.
std::optional<std::uint64_t> record_that_had_seen(Bytes journal, std::uint64_t position) {
  for (std::uint64_t at = position + kAlignment; at + kRecordHeaderBytes <= journal.size(); at += kAlignment) {
    if (const std::optional<Record> later = record_at(journal, at); later && later->durable_end > position) return at;
  }
  return std::nullopt;
}

}  // namespace

std::string journal_header() {
  Writer to;
  to.out = kJournalMagic;
  to.number(std::uint32_t{1});  // version of the format
  to.number(std::uint32_t{0});
  to.number(std::uint64_t{0});
  to.number(static_cast<std::uint64_t>(XXH3_64bits(to.out.data(), to.out.size())));
  return std::move(to.out);
}

bool is_journal_header(Bytes bytes) {
  return bytes.size() >= kJournalHeaderBytes && as_text(bytes.first(kJournalHeaderBytes)) == journal_header();
}

std::string journal_record(const Transaction& transaction, std::uint64_t position, std::uint64_t durable_end) {
  Writer body;
  body.number(durable_end);
  body.number(transaction.zxid);
  body.number(transaction.time_ms);
  body.number(transaction.session);
  body.number(static_cast<std::uint32_t>(transaction.operations.size()));
  for (const Operation& operation : transaction.operations) write(body, operation);
  Writer record;
  record.number(kRecordMagic);
  record.number(static_cast<std::uint32_t>(body.out.size()));
  record.number(static_cast<std::uint64_t>(XXH3_64bits_withSeed(body.out.data(), body.out.size(), position)));
  record.out += body.out;
  record.out.resize((record.out.size() + kAlignment - 1) / kAlignment * kAlignment);
  return std::move(record.out);
}

std::expected<JournalContent, std::string> read_journal(Bytes journal) {
  JournalContent content;
  content.end = kJournalHeaderBytes;
  for (;;) {
    std::optional<Record> record = record_at(journal, content.end);
    if (!record) break;
    if (!content.transactions.empty() && record->transaction.zxid != content.transactions.back().zxid + 1) {
      return std::unexpected(fmt::format("transaction {} follows transaction {} at byte {}", record->transaction.zxid,
                                         content.transactions.back().zxid, content.end));
    }
    content.transactions.push_back(std::move(record->transaction));
    content.end = record->end;
  }
  if (const auto witness = record_that_had_seen(journal, content.end)) {
    return std::unexpected(fmt::format(
        "the record at byte {} is damaged, and the one at byte {} was written after it was safe on the disk",
        content.end, *witness));
  }
  return content;
}

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  Writer to;
  to.out = kCheckpointMagic;
  to.number(checkpoint.zxid);
  to.number(checkpoint.session);
  to.number(static_cast<std::uint64_t>(checkpoint.nodes.size()));
  for (const TreeNode& node : checkpoint.nodes) {
    to.text(node.path);
    to.optional_text(node.data);
    to.number(node.stat.created_zxid);
    to.number(node.stat.modified_zxid);
    to.number(node.stat.created_ms);
    to.number(node.stat.modified_ms);
    to.number(node.stat.version);
    to.number(node.stat.children_version);
    to.number(node.stat.ephemeral_owner);
  }
  to.number(static_cast<std::uint64_t>(XXH3_64bits(to.out.data(), to.out.size())));
  return std::move(to.out);
}

std::expected<Checkpoint, std::string> decode_checkpoint(Bytes bytes) {
  constexpr std::size_t kChecksumBytes = 8;
  if (bytes.size() < kCheckpointMagic.size() + kChecksumBytes ||
      as_text(bytes.first(kCheckpointMagic.size())) != kCheckpointMagic) {
    return std::unexpected("it does not begin as a checkpoint");
  }
  const Bytes content = bytes.first(bytes.size() - kChecksumBytes);
  if (XXH3_64bits(content.data(), content.size()) != load_big_endian<std::uint64_t>(content.data() + content.size())) {
    return std::unexpected("its checksum is wrong");
  }
  Reader from(content.subspan(kCheckpointMagic.size()));
  Checkpoint checkpoint;
  checkpoint.zxid = from.number<std::int64_t>();
  checkpoint.session = from.number<std::int64_t>();
  const auto count = from.number<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) {
    TreeNode node;
    node.path = from.text();
    node.data = from.optional_text();
    node.stat.created_zxid = from.number<std::int64_t>();
    node.stat.modified_zxid = from.number<std::int64_t>();
    node.stat.created_ms = from.number<std::int64_t>();
    node.stat.modified_ms = from.number<std::int64_t>();
    node.stat.version = from.number<std::int32_t>();
    node.stat.children_version = from.number<std::int32_t>();
    node.stat.ephemeral_owner = from.number<std::int64_t>();
    checkpoint.nodes.push_back(std::move(node));
  }
  if (!from.ok() || from.left() != 0) return std::unexpected("its content does not add up");
  return checkpoint;
}

}  // namespace tailrace::zkbridge
