// The tables of the protocol: what is served, and what clients are told when something fails.
#include <gtest/gtest.h>

#include <set>

#include "services/kafka/api_table.h"
#include "services/kafka/errors.h"
#include "services/kafka/message_types.h"

namespace tailrace::kafka {
namespace {

TEST(ApiTable, ServesOnlyVersionsThatTheCodecKnows) {
  for (const Api& api : api_table()) {
    for (const MessageKind kind : {MessageKind::request, MessageKind::response}) {
      const MessageType* type = find_message_type(api.key, kind);
      ASSERT_NE(type, nullptr) << api.name;
      EXPECT_LE(type->info.version_min, api.served_min) << api.name;
      EXPECT_GE(type->info.version_max, api.advertised_max) << api.name;
    }
    EXPECT_LE(api.advertised_min, api.served_min) << api.name;
  }
}

TEST(ApiTable, AgreesWithTheMessagesOnFlexibleVersions) {
  std::set<std::string_view> names;
  for (const MessageType& type : message_types()) {
    EXPECT_TRUE(names.insert(type.info.name).second) << type.info.name;
    if (type.info.kind != MessageKind::request && type.info.kind != MessageKind::response) continue;
    if (type.info.api_key >= 1000) continue;  // of our own
    EXPECT_EQ(type.info.flexible_from, api_flexible_from(type.info.api_key)) << type.info.name;
    EXPECT_EQ(type.info.name, std::string(api_name(type.info.api_key)) +
                                  (type.info.kind == MessageKind::request ? "Request" : "Response"));
  }
}

TEST(ApiTable, AdvertisesOldProduceButDoesNotServeIt) {
  const Api* produce = find_api(api_key::kProduce);
  ASSERT_NE(produce, nullptr);
  EXPECT_EQ(produce->advertised_min, 0);
  EXPECT_FALSE(produce->serves(2));
  EXPECT_TRUE(produce->serves(3));
  EXPECT_TRUE(produce->serves(13));
  EXPECT_FALSE(produce->serves(14));
}

TEST(ApiTable, DoesNotAdvertiseWhatNodesSayToEachOther) {
  for (const std::int16_t key : {api_key::kLeaderAndIsr, api_key::kStopReplica, api_key::kUpdateMetadata}) {
    ASSERT_NE(find_api(key), nullptr);
    EXPECT_FALSE(find_api(key)->advertised());
  }
  EXPECT_EQ(find_api(9999), nullptr);
  EXPECT_EQ(find_api(-1), nullptr);
  EXPECT_EQ(api_name(9999), "");
  EXPECT_EQ(api_name(-1), "");
}

TEST(Errors, HaveKafkasNumbers) {
  EXPECT_EQ(wire(ErrorCode::UNKNOWN_SERVER_ERROR), -1);
  EXPECT_EQ(wire(ErrorCode::NOT_LEADER_OR_FOLLOWER), 6);
  EXPECT_EQ(wire(ErrorCode::KAFKA_STORAGE_ERROR), 56);
  EXPECT_EQ(wire(ErrorCode::UNKNOWN_TOPIC_ID), 100);
  EXPECT_EQ(error_name(std::int16_t{35}), "UNSUPPORTED_VERSION");
  EXPECT_EQ(error_name(std::int16_t{136}), "CONTROLLER_ID_NOT_REGISTERED");
  EXPECT_EQ(error_name(std::int16_t{137}), "UNKNOWN_ERROR_CODE");
  EXPECT_EQ(error_name(std::int16_t{-2}), "UNKNOWN_ERROR_CODE");
}

TEST(Errors, OfAFullDiskAreOfTheStorageAndRetriable) {
  EXPECT_EQ(to_wire(Code::disk_full), ErrorCode::KAFKA_STORAGE_ERROR);
  for (const Code code : {Code::disk_full, Code::io_failed, Code::limit_reached, Code::retry, Code::peer_gone,
                          Code::not_leader, Code::fenced_epoch, Code::unknown_epoch, Code::unknown_partition}) {
    EXPECT_TRUE(error_retriable(to_wire(code))) << name(code);
  }
  for (const Code code : {Code::too_large, Code::invalid_record, Code::invalid_timestamp, Code::out_of_range,
                          Code::out_of_order_sequence, Code::invalid_producer_epoch, Code::unsupported}) {
    EXPECT_FALSE(error_retriable(to_wire(code))) << name(code);
  }
}

TEST(Errors, EveryCodeOfOursHasOne) {
  for (int code = 0; code <= static_cast<int>(Code::mismatch); ++code) {
    EXPECT_GT(wire(to_wire(static_cast<Code>(code))), 0) << name(static_cast<Code>(code));
  }
}

}  // namespace
}  // namespace tailrace::kafka
