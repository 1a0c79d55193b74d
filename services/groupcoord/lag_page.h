// LagPage: one page of how far groups lag (services/kafka/messages/group_lag.h). It is filled with what groups have
// committed, says then what has to be asked of the engine, and takes the answers. What nobody answers stays unknown.
//
// What is shown as committed need not be durable yet: this is a measurement, on which nobody goes on reading. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "engine/record/first_time.h"
#include "services/kafka/messages/group_lag.h"

namespace tailrace::groupcoord {

class Group;
class PartitionOffsets;
class Shard;

// Where a page begins. Borrowed from the request.
struct LagCursor {
  std::optional<std::string_view> group{};  // nullopt: with the first
  std::optional<std::string_view> topic{};  // of the group; nullopt: behind all of it
  std::int32_t partition = -1;              // of the topic
};

class LagPage {
 public:
  // Names are up to 32 KiB long: a page ends as well when it has so many bytes, though not before it has a row.
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;

  struct Question {
    TopicIdPartition partition;
    Offset offset = kNoOffset;  // when was the first record from here on written? kNoOffset: where does the log end?
  };

  // `rows_max`: at least 1.
  explicit LagPage(std::size_t rows_max) : rows_max_(rows_max) {}
  LagPage(const LagPage&) = delete;
  LagPage& operator=(const LagPage&) = delete;

  // Goes on with the groups of a shard behind the cursor. False: the page is full, and there is more.
  bool add(const Shard& shard, const LagCursor& after);

  // The next question, each once; nullopt: none now. An answered end may raise more.
  std::optional<Question> next_question();
  [[nodiscard]] bool has_questions() const { return !questions_.empty(); }
  void on_end(const TopicIdPartition& partition, Offset end);
  void on_time(const TopicIdPartition& partition, Offset offset, TimestampMs time);

  // Lives as long as the page.
  [[nodiscard]] const kafka::GroupLagResponse& response() const { return response_; }

 private:
  struct Place {  // of a partition in the response
    std::size_t group;
    std::size_t topic;
    std::size_t partition;
  };
  // Partitions by what was committed; groups that stand at the same offset share its question.
  using Rows = std::map<Offset, std::vector<Place>>;

  bool add_group(const Shard& shard, const Group& group, const LagCursor& after);
  bool has_room(std::size_t bytes);
  void open_group(const Group& group);
  void add_row(std::int32_t partition, Offset committed, const std::optional<Uuid>& topic_id);
  kafka::GroupLagResponse::Partition& at(const Place& place);
  std::string_view keep(std::string_view text) { return names_.emplace_back(text); }

  std::size_t rows_max_;
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;
  kafka::GroupLagResponse response_;
  std::deque<std::string> names_;  // that the response borrows: groups may go while questions are open
  std::map<TopicIdPartition, Rows> asked_;
  std::deque<Question> questions_;
};

// What a batch tells of the first record from `from` on. `bytes` is the batch, or only its header where the batch, of
// `batch_size` bytes, is too large to be read for this. Then, or where it unpacks to more than 256 KiB, the time is the
// batch's: that of its first record, so the lag is shown longer than it is by no more than the batch took to fill; with
// LogAppendTime it is that of all records, and after compaction (KIP-534) only the latest one's is known. nullopt: it
// cannot be told.
std::optional<record::FirstTime> first_unread(Bytes bytes, std::size_t batch_size, Offset from,
                                              record::Scratch& scratch);

}  // namespace tailrace::groupcoord
