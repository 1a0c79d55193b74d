// `tailrace dump --offsets-decoder`: the records of `__consumer_offsets` as JSON, in the words of Kafka's tool.
#include <fmt/format.h>

#include "cli/dump_parts.h"
#include "services/kafka/consumer_protocol.h"
#include "services/kafka/group_record.h"
#include "services/kafka/json.h"
#include "services/kafka/message_types.h"
#include "services/kafka/messages/group_records.h"

namespace tailrace::cli {
namespace {

using kafka::MessageKind;
using kafka::MessageType;

constexpr std::size_t kPrefixBytes = 2;

// Puts the JSON of a consumer's protocol in the place of the base64 text of `bytes`, in the member `name` that begins
// at `from` or behind it. Inside of strings quotes are escaped, so that `"name":"` is nowhere else.
template <class M>
void replace_bytes(std::string& json, std::size_t& from, std::string_view name, Bytes bytes) {
  std::string field = fmt::format("\"{}\":", name);
  from = json.find(field, from);
  if (from == std::string::npos) return;
  from += field.size();
  const auto version = kafka::record_prefix(bytes);
  if (!version || !M::kMessage.knows(*version)) return;  // Kafka leaves it as it is, too
  const auto message = kafka::decode<M>(bytes.subspan(kPrefixBytes), *version);
  if (!message) return;
  std::string base64;
  kafka::append_base64(bytes, base64);
  json.replace(from, base64.size(), kafka::to_json(*message, *version));
}

// In groups of consumers, the bytes that members bring and get are known.
void show_consumer_protocol(Bytes value, std::int16_t version, std::string& json) {
  const auto group = kafka::decode<kafka::GroupMetadataValue>(value, version);
  if (!group || group->protocol_type != "consumer") return;
  std::size_t at = json.find("\"members\":");
  for (const kafka::GroupMetadataValue::MemberMetadata& member : group->members) {
    replace_bytes<kafka::ConsumerProtocolSubscription>(json, at, "subscription", member.subscription);
    replace_bytes<kafka::ConsumerProtocolAssignment>(json, at, "assignment", member.assignment);
    if (at == std::string::npos) return;
  }
}

// What the tool says of a part that it cannot read. Its reasons are Java's, ours are our own.
GroupRecordText unreadable(Offset offset, std::string_view reason) {
  return {.key = fmt::format("Error at offset {}, skipping. {}", offset, reason), .is_sound = false};
}

GroupRecordText too_short(Offset offset, std::string_view part) {
  return unreadable(offset, fmt::format("Could not read version from {}'s buffer.", part));
}

GroupRecordText broken(Offset offset, std::string_view part, std::int16_t version, const Error& error) {
  return unreadable(offset, fmt::format("Could not read record with version {} from {}'s buffer due to: {}.", version,
                                        part, error.text()));
}

}  // namespace

GroupRecordText group_record_text(Offset offset, Bytes key, const std::optional<Bytes>& value) {
  const auto type = kafka::record_prefix(key);
  if (!type) return too_short(offset, "key");
  const MessageType* const key_type = kafka::find_message_type(*type, MessageKind::record_key);
  const MessageType* const value_type = kafka::find_message_type(*type, MessageKind::record_value);
  if (key_type == nullptr || value_type == nullptr) {
    return {.key = fmt::format("Unknown record type {} at offset {}, skipping.", *type, offset)};
  }
  const auto key_json = key_type->json(key.subspan(kPrefixBytes), 0);
  if (!key_json) return broken(offset, "key", *type, key_json.error());
  GroupRecordText text{.key = fmt::format(R"({{"type":"{}","data":{}}})", *type, *key_json)};
  if (!value) {
    text.payload = "<DELETE>";
    return text;
  }

  const auto version = kafka::record_prefix(*value);
  if (!version) return too_short(offset, "value");
  if (!value_type->info.knows(*version)) {
    return unreadable(offset, fmt::format("Found an unknown record version {} for {} type", *version, *type));
  }
  const Bytes body = value->subspan(kPrefixBytes);
  auto value_json = value_type->json(body, *version);
  if (!value_json) return broken(offset, "value", *version, value_json.error());
  if (*type == kafka::GroupMetadataValue::kMessage.api_key) show_consumer_protocol(body, *version, *value_json);
  text.payload = fmt::format(R"({{"version":"{}","data":{}}})", *version, *value_json);
  return text;
}

}  // namespace tailrace::cli
