// Records of `__consumer_offsets` and the protocol of consumers, against the bytes that Kafka's own classes make of
// them (tests/golden/groups/records.tsv), and against bytes that are neither.
#include "services/kafka/group_record.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "services/kafka/consumer_protocol.h"
#include "services/kafka/message_types.h"
#include "services/kafka/messages/consumer_group_records.h"
#include "services/kafka/messages/group_records.h"

namespace tailrace::kafka {
namespace {

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

bool has_prefix(MessageKind kind) {
  return kind == MessageKind::record_key || kind == MessageKind::record_value || kind == MessageKind::data;
}

struct GoldenMessage {
  std::string name;
  std::int16_t version = 0;
  std::string bytes;  // with the prefix
  std::string json;
};

std::vector<GoldenMessage> golden_messages() {
  std::vector<GoldenMessage> messages;
  std::ifstream file(TAILRACE_GOLDEN "/groups/records.tsv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    GoldenMessage message;
    std::string version;
    std::string hex;
    std::getline(fields, message.name, '\t');
    std::getline(fields, version, '\t');
    std::getline(fields, hex, '\t');
    std::getline(fields, message.json);
    message.version = static_cast<std::int16_t>(std::stoi(version));
    message.bytes = bytes_of(hex);
    messages.push_back(std::move(message));
  }
  return messages;
}

TEST(GoldenRecords, HaveTheBytesAndTheJsonOfKafka) {
  std::map<std::string_view, const MessageType*> types;
  for (const MessageType& type : message_types()) types[type.info.name] = &type;
  std::map<std::string_view, std::map<std::int16_t, int>> seen;
  for (const GoldenMessage& golden : golden_messages()) {
    SCOPED_TRACE(golden.name + " " + std::to_string(golden.version) + " " + golden.json);
    ASSERT_TRUE(types.contains(golden.name));
    const MessageType& type = *types[golden.name];
    const Bytes bytes = as_bytes(golden.bytes);
    const std::int16_t prefix = type.info.kind == MessageKind::record_key ? type.info.api_key : golden.version;
    ASSERT_EQ(record_prefix(bytes), prefix);
    const Bytes body = bytes.subspan(sizeof prefix);
    std::size_t used = 0;
    Buffer again;
    const Result<void> recoded = type.recode(body, golden.version, used, again);
    ASSERT_TRUE(recoded) << recoded.error().text();
    EXPECT_EQ(used, body.size());
    EXPECT_EQ(as_text(again.bytes()), as_text(body));
    const Result<std::string> json = type.json(body, golden.version);
    ASSERT_TRUE(json);
    EXPECT_EQ(*json, golden.json);
    ++seen[type.info.name][golden.version];
  }
  // No message and no version without a proof.
  for (const MessageType& type : message_types()) {
    if (!has_prefix(type.info.kind)) continue;
    for (std::int16_t version = type.info.version_min; version <= type.info.version_max; ++version) {
      EXPECT_GE(seen[type.info.name][version], 3) << type.info.name << " " << version;
    }
  }
}

TEST(GroupRecord, OfACommitComesBack) {
  Buffer key;
  Buffer value;
  ASSERT_TRUE(encode_group_key(OffsetCommitKey{.group = "readers", .topic = "events", .partition = 7}, key));
  OffsetCommitValue commit{.offset = 41, .leader_epoch = 3, .metadata = "m", .commit_timestamp = 1000};
  commit.topic_id.bytes[0] = 9;
  ASSERT_TRUE(encode_group_value(commit, kOffsetCommitValueVersion, value));

  EXPECT_EQ(group_record_type(key.bytes()), GroupRecordType::offset_commit);
  const auto key_again = decode_group_key<OffsetCommitKey>(key.bytes());
  ASSERT_TRUE(key_again);
  EXPECT_EQ(key_again->group, "readers");
  EXPECT_EQ(key_again->topic, "events");
  EXPECT_EQ(key_again->partition, 7);
  std::int16_t version = -1;
  const auto value_again = decode_group_value<OffsetCommitValue>(value.bytes(), &version);
  ASSERT_TRUE(value_again);
  EXPECT_EQ(version, 4);
  EXPECT_EQ(value_again->offset, 41);
  EXPECT_EQ(value_again->topic_id, commit.topic_id);
}

TEST(GroupRecord, OnlyVersion1SaysWhenACommitExpires) {
  for (std::int16_t version = 0; version <= kOffsetCommitValueVersion; ++version) {
    Buffer value;
    ASSERT_TRUE(encode_group_value(OffsetCommitValue{.offset = 1, .expire_timestamp = 5000}, version, value));
    const auto again = decode_group_value<OffsetCommitValue>(value.bytes());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->expire_timestamp, version == kExpiringOffsetCommitValueVersion ? 5000 : -1);
  }
}

// The field is null where Kafka's default is a struct: null goes onto the wire, the default does not.
TEST(GroupRecord, TellsNoClassicMetadataFromTheDefault) {
  for (const bool has_metadata : {false, true}) {
    ConsumerGroupMemberMetadataValue member;
    if (!has_metadata) member.classic_member_metadata.reset();
    Buffer value;
    ASSERT_TRUE(encode_group_value(member, 0, value));
    const auto again = decode_group_value<ConsumerGroupMemberMetadataValue>(value.bytes());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->classic_member_metadata.has_value(), has_metadata);
  }
}

TEST(GroupRecord, BadKeysAreErrors) {
  EXPECT_EQ(group_record_type(Bytes{}).error().code, Code::corrupt);
  EXPECT_EQ(decode_group_key<OffsetCommitKey>(as_bytes(bytes_of("00"))).error().code, Code::corrupt);
  EXPECT_EQ(decode_group_key<OffsetCommitKey>(as_bytes(bytes_of("0002000161"))).error().code, Code::mismatch);
  EXPECT_EQ(decode_group_key<GroupMetadataKey>(as_bytes(bytes_of("0002000961"))).error().code, Code::corrupt);
  EXPECT_EQ(decode_group_key<GroupMetadataKey>(as_bytes(bytes_of("0002ffff"))).error().code, Code::corrupt);
  // Of a type that nobody knows yet: not an error before it is read as something.
  EXPECT_EQ(group_record_type(as_bytes(bytes_of("0063"))), static_cast<GroupRecordType>(0x63));
}

TEST(GroupRecord, BadValuesAreErrors) {
  EXPECT_EQ(decode_group_value<GroupMetadataValue>(Bytes{}).error().code, Code::corrupt);
  EXPECT_EQ(decode_group_value<GroupMetadataValue>(as_bytes(bytes_of("0005"))).error().code, Code::unsupported);
  EXPECT_EQ(decode_group_value<GroupMetadataValue>(as_bytes(bytes_of("ffff"))).error().code, Code::unsupported);
  for (const GoldenMessage& golden : golden_messages()) {
    if (golden.name != "GroupMetadataValue") continue;
    for (std::size_t size = 0; size < golden.bytes.size(); ++size) {
      const std::string cut = golden.bytes.substr(0, size);
      EXPECT_EQ(decode_group_value<GroupMetadataValue>(as_bytes(cut)).error().code, Code::corrupt) << size;
    }
    const std::string longer = golden.bytes + "more";
    EXPECT_TRUE(decode_group_value<GroupMetadataValue>(as_bytes(longer)));
  }
}

TEST(GroupRecord, StringsThatAreTooLongAreRefusedAndLeaveNothing) {
  const std::string name(kStringBytesMax + 1, 'x');
  Buffer to;
  to.append(as_bytes(std::string_view("before")));
  EXPECT_EQ(encode_group_key(GroupMetadataKey{.group = name}, to).error().code, Code::too_large);
  EXPECT_EQ(encode_group_value(GroupMetadataValue{.protocol_type = name}, 3, to).error().code, Code::too_large);
  ConsumerProtocolSubscription subscription;
  subscription.topics.push_back(name);
  EXPECT_EQ(encode_consumer_protocol(subscription, 1, to).error().code, Code::too_large);
  EXPECT_EQ(as_text(to.bytes()), "before");
}

TEST(ConsumerProtocol, OfANewerVersionBeginsWithWhatIsKnown) {
  ConsumerProtocolSubscription subscription;
  subscription.topics = {"a", "b"};
  subscription.rack_id = "r";
  Buffer bytes;
  ASSERT_TRUE(encode_consumer_protocol(subscription, 3, bytes));
  bytes.data()[1] = std::byte{9};
  bytes.append(as_bytes(std::string_view("what comes after it")));
  const auto again = decode_consumer_protocol<ConsumerProtocolSubscription>(bytes.bytes());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->topics, subscription.topics);
  EXPECT_EQ(again->rack_id, "r");
}

TEST(ConsumerProtocol, BadBytesAreErrors) {
  for (const char* hex : {"", "00", "ffff00000000ffffffff", "000000000001", "00007fffffff", "0000000000010002"}) {
    const std::string bytes = bytes_of(hex);
    EXPECT_EQ(decode_consumer_protocol<ConsumerProtocolSubscription>(as_bytes(bytes)).error().code, Code::corrupt)
        << hex;
    EXPECT_EQ(decode_consumer_protocol<ConsumerProtocolAssignment>(as_bytes(bytes)).error().code, Code::corrupt) << hex;
  }
}

}  // namespace
}  // namespace tailrace::kafka
