// How `tailrace stat --groups` writes what groupcoord has told.
#include "cli/stat_groups.h"

#include <gtest/gtest.h>

namespace tailrace::cli {
namespace {

constexpr TimestampMs kNow = 1'700'000'100'000;

LaggingPartition row_of(std::int32_t number, Offset committed, std::optional<Offset> end,
                        std::optional<TimestampMs> oldest_unread = {}) {
  return {.topic = "orders", .partition = number, .committed = committed, .end = end, .oldest_unread = oldest_unread};
}

const std::vector<LaggingGroup> kGroups = {
    {.group = "billing",
     .type = "Classic",
     .state = "Empty",
     .partitions = {row_of(0, 4, 10, kNow - 90'500), row_of(1, 10, 10), row_of(2, 30, 10), row_of(3, 0, 10),
                    row_of(4, 7, std::nullopt)}},
    {.group = "new", .type = "Consumer", .state = "Stable", .partitions = {}},
};

TEST(Lag, InRecordsIsThatOfKafkasTool) {
  EXPECT_EQ(row_of(0, 4, 10).lag(), 6);
  EXPECT_EQ(row_of(0, 10, 10).lag(), 0);
  EXPECT_EQ(row_of(0, 30, 10).lag(), -20);
  EXPECT_EQ(row_of(0, 4, std::nullopt).lag(), std::nullopt);
}

TEST(Lag, InTimeIsTheAgeOfTheOldestUnreadRecord) {
  EXPECT_EQ(row_of(0, 4, 10, kNow - 5).lag_ms(kNow), 5);
  EXPECT_EQ(row_of(0, 4, 10, kNow + 5).lag_ms(kNow), 0);  // a clock that goes ahead
  EXPECT_EQ(row_of(0, 10, 10).lag_ms(kNow), 0);
  EXPECT_EQ(row_of(0, 4, 10).lag_ms(kNow), std::nullopt);
  EXPECT_EQ(row_of(0, 30, 10).lag_ms(kNow), std::nullopt);
  EXPECT_EQ(row_of(0, 4, std::nullopt).lag_ms(kNow), std::nullopt);
}

TEST(Lag, IsATableForPeople) {
  EXPECT_EQ(lag_table(kGroups, kNow),
            "GROUP    TYPE      STATE   TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  LAG-TIME\n"
            "billing  Classic   Empty   orders          0               4              10    6  1 min 30 s\n"
            "billing  Classic   Empty   orders          1              10              10    0  0 ms\n"
            "billing  Classic   Empty   orders          2              30              10  -20  -\n"
            "billing  Classic   Empty   orders          3               0              10   10  -\n"
            "billing  Classic   Empty   orders          4               7               -    -  -\n"
            "new      Consumer  Stable  -               -               -               -    -  -\n");
}

TEST(Lag, IsALineOfJsonForPrograms) {
  const std::vector<LaggingGroup> groups = {
      {.group = "b\xFF", .type = "Classic", .state = "Empty", .partitions = {row_of(0, 4, 10, kNow - 90'500)}},
      {.group = "n", .type = "Consumer", .state = "Stable", .partitions = {}},
      {.group = "o", .type = "Classic", .state = "Empty", .partitions = {row_of(1, 7, std::nullopt)}}};
  EXPECT_EQ(lag_json(groups, kNow),
            R"([{"group":"b)"
            "\xEF\xBF\xBD"
            R"(","type":"Classic","state":"Empty","offsets":[{"topic":"orders","partition":0,"current_offset":4,)"
            R"("log_end_offset":10,"lag":6,"oldest_unread_timestamp":1700000009500,"lag_ms":90500}]},)"
            R"({"group":"n","type":"Consumer","state":"Stable","offsets":[]},)"
            R"({"group":"o","type":"Classic","state":"Empty","offsets":[{"topic":"orders","partition":1,)"
            R"("current_offset":7,"log_end_offset":null,"lag":null,"oldest_unread_timestamp":null,"lag_ms":null}]}])"
            "\n");
  EXPECT_EQ(lag_json({}, kNow), "[]\n");
}

}  // namespace
}  // namespace tailrace::cli
