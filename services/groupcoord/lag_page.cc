#include "services/groupcoord/lag_page.h"

#include "engine/record/batch.h"
#include "services/groupcoord/group.h"
#include "services/groupcoord/offsets.h"
#include "services/groupcoord/shard.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

// Unpacking is work of the loop: at 300 MB/s, which is slow gzip, this is less than a millisecond.
constexpr std::size_t kUnpackedBytesMax = std::size_t{256} << 10;

// As DescribeGroups and its tools say it.
std::string_view type_name(GroupType type) { return type == GroupType::classic ? "Classic" : "Consumer"; }

// The id of a topic that has the partition; nullopt: it is not here.
std::optional<Uuid> id_of(const node::TopicImage* topic, std::int32_t partition) {
  if (topic == nullptr || topic->id.is_zero() || topic->find(partition) == nullptr) return std::nullopt;
  return topic->id;
}

}  // namespace

bool LagPage::add(const Shard& shard, const LagCursor& after) {
  const Shard::Groups& groups = shard.groups();
  for (auto at = after.group ? groups.lower_bound(*after.group) : groups.begin(); at != groups.end(); ++at) {
    const auto& [id, group] = *at;
    if (add_group(shard, *group, after.group == id ? after : LagCursor{})) continue;
    response_.has_more = true;
    return false;
  }
  return true;
}

// False: there is no room for its next row.
bool LagPage::add_group(const Shard& shard, const Group& group, const LagCursor& after) {
  if (after.group && !after.topic) return true;
  const Offsets::Topics* const topics = shard.offsets().find(group.id());
  bool is_open = false;
  if (topics != nullptr) {
    for (auto at = after.topic ? topics->lower_bound(*after.topic) : topics->begin(); at != topics->end(); ++at) {
      const auto& [name, partitions] = *at;
      const node::TopicImage* const known = shard.image().find(name);
      const bool is_resumed = after.topic == name;
      bool has_topic = false;
      const bool is_whole = partitions.visit(
          is_resumed ? std::optional(after.partition) : std::nullopt, [&](const CommittedOffset& committed) {
            if (committed.offset < 0) return true;  // Kafka's "none"
            if (!has_room((is_open ? 0 : group.id().size()) + (has_topic ? 0 : name.size()))) return false;
            if (!std::exchange(is_open, true)) open_group(group);
            if (!std::exchange(has_topic, true)) {
              response_.groups.back().topics.push_back({.name = keep(name)});
            }
            add_row(committed.partition, committed.offset, id_of(known, committed.partition));
            return true;
          });
      if (!is_whole) return false;
    }
  }
  if (is_open || after.group) return true;
  if (!has_room(group.id().size())) return false;
  open_group(group);
  return true;
}

// For a row, and the names that come with it. Counts them.
bool LagPage::has_room(std::size_t bytes) {
  bytes += sizeof(kafka::GroupLagResponse::Partition);
  if (rows_ != 0 && (rows_ == rows_max_ || bytes_ + bytes > kBytesMax)) return false;
  ++rows_;
  bytes_ += bytes;
  return true;
}

void LagPage::open_group(const Group& group) {
  response_.groups.push_back(
      {.group_id = keep(group.id()), .type = type_name(group.type()), .state = keep(group.state())});
}

void LagPage::add_row(std::int32_t partition, Offset committed, const std::optional<Uuid>& topic_id) {
  auto& topics = response_.groups.back().topics;
  auto& partitions = topics.back().partitions;
  if (topic_id) {
    const TopicIdPartition key{*topic_id, partition};
    Rows& rows = asked_[key];
    if (rows.empty()) questions_.push_back({.partition = key});
    rows[committed].push_back({response_.groups.size() - 1, topics.size() - 1, partitions.size()});
  }
  partitions.push_back({.partition = partition, .committed_offset = committed});
}

kafka::GroupLagResponse::Partition& LagPage::at(const Place& place) {
  return response_.groups[place.group].topics[place.topic].partitions[place.partition];
}

std::optional<LagPage::Question> LagPage::next_question() {
  if (questions_.empty()) return std::nullopt;
  const Question question = questions_.front();
  questions_.pop_front();
  return question;
}

void LagPage::on_end(const TopicIdPartition& partition, Offset end) {
  for (const auto& [committed, places] : asked_.at(partition)) {
    for (const Place& place : places) at(place).end_offset = end;
    if (committed < end) questions_.push_back({.partition = partition, .offset = committed});
  }
}

void LagPage::on_time(const TopicIdPartition& partition, Offset offset, TimestampMs time) {
  for (const Place& place : asked_.at(partition).at(offset)) at(place).oldest_unread_timestamp = time;
}

std::optional<record::FirstTime> first_unread(Bytes bytes, std::size_t batch_size, Offset from,
                                              record::Scratch& scratch) {
  if (bytes.size() >= batch_size) {
    const Result<record::FirstTime> first = record::first_time(bytes, from, scratch, kUnpackedBytesMax);
    if (first) return *first;
    if (first.error().code != Code::too_large) return std::nullopt;
  }
  if (bytes.size() < record::kBatchHeaderSize) return std::nullopt;
  const record::BatchHeader header = record::read_header(bytes.data());
  if (header.magic != record::kMagicV2) return std::nullopt;
  record::FirstTime first{.time = std::nullopt, .next_offset = header.next_offset()};
  if (header.is_control()) return first;
  first.time =
      header.is_log_append_time() || header.has_delete_horizon() ? header.max_timestamp : header.base_timestamp;
  return first;
}

}  // namespace tailrace::groupcoord
