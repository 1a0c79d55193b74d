// PartitionOffsets: what a group has committed for the partitions of one topic. A node may hold a million of these, and
// a topic hundreds of thousands of partitions: they stand in order of partition, 64 bytes each, in runs that are short
// enough to insert into. PURE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::groupcoord {

// A text that is seldom there and never changed: 8 bytes when empty.
class SmallText {
 public:
  static constexpr std::size_t kSizeMax = 0xFFFF;  // what is longer is cut

  SmallText() = default;
  explicit SmallText(std::string_view text);

  [[nodiscard]] std::string_view view() const;

 private:
  std::unique_ptr<char[]> bytes_;  // 2 bytes size, then the text; null: empty
};

struct CommittedOffset {
  std::int32_t partition = 0;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  Offset offset = kNoOffset;
  TimestampMs committed_ms = kNoTimestamp;
  TimestampMs expires_ms = kNoTimestamp;  // of OffsetCommit 2 to 4 with a retention time; none: by the settings
  std::uint64_t order = 0;                // of its record in the log: a later one has a larger number
  Uuid topic_id;                          // zero: not known
  SmallText metadata;
};

class PartitionOffsets {
 public:
  static constexpr std::size_t kRunMax = 128;

  // nullptr: none.
  [[nodiscard]] const CommittedOffset* find(std::int32_t partition) const;
  // In place of what the partition had.
  void put(CommittedOffset committed);
  // False: there was none.
  bool erase(std::int32_t partition);

  [[nodiscard]] bool empty() const { return runs_.empty(); }
  [[nodiscard]] std::size_t size() const;
  // Those behind `after`, all without it, in order of partition, as long as `f` returns true. False: `f` has ended it.
  template <class F>
  bool visit(std::optional<std::int32_t> after, F&& f) const {
    Place place = after ? place_of(*after) : Place{0, 0, false};
    if (place.is_there) ++place.at;
    for (; place.run < runs_.size(); ++place.run, place.at = 0) {
      for (; place.at < runs_[place.run].size(); ++place.at) {
        if (!f(runs_[place.run][place.at])) return false;
      }
    }
    return true;
  }
  // All, in order of partition.
  template <class F>
  void for_each(F&& f) const {
    for (const Run& run : runs_) {
      for (const CommittedOffset& each : run) f(each);
    }
  }

 private:
  using Run = std::vector<CommittedOffset>;  // never empty

  // Where the partition is, or belongs.
  struct Place {
    std::size_t run;
    std::size_t at;
    bool is_there;
  };
  [[nodiscard]] Place place_of(std::int32_t partition) const;

  std::vector<Run> runs_;
};

}  // namespace tailrace::groupcoord
