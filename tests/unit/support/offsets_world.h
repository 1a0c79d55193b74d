// Offsets of a shard without the groups around them: requests as clients send them, records as the log has them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/groupcoord/effects.h"
#include "services/groupcoord/group.h"
#include "services/groupcoord/offsets.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/group_records.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/node/metadata_image.h"
#include "tests/unit/support/cluster_image.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

// A group that answers what it is told to.
class SetGroup final : public Group {
 public:
  using Group::Group;

  [[nodiscard]] GroupType type() const override { return GroupType::classic; }
  [[nodiscard]] std::string_view state() const override { return "Empty"; }
  [[nodiscard]] std::string_view protocol_type() const override { return "consumer"; }
  ErrorCode on_commit(const Committer&, const Moment&) override { return ErrorCode::NONE; }
  [[nodiscard]] ErrorCode check_fetch(std::optional<std::string_view>, std::int32_t) const override {
    return ErrorCode::NONE;
  }
  [[nodiscard]] ErrorCode check_delete() const override { return ErrorCode::NONE; }
  [[nodiscard]] bool is_subscribed_to(std::string_view topic) const override { return topic == subscribed_to; }
  [[nodiscard]] std::optional<TimestampMs> unused_since(TimestampMs committed_ms) const override {
    if (is_in_use) return std::nullopt;
    return empty_since_ms.value_or(committed_ms);
  }
  [[nodiscard]] bool is_empty() const override { return true; }
  void append_tombstones(Effects&) const override {}
  [[nodiscard]] std::optional<Instant> next_deadline() const override { return std::nullopt; }
  void on_time(const Moment&, Effects&) override {}

  std::string_view subscribed_to;
  bool is_in_use = false;
  std::optional<TimestampMs> empty_since_ms;
};

class OffsetsWorld : public ::testing::Test {
 protected:
  struct Wish {
    std::string_view topic;
    std::int32_t partition = 0;
    Offset offset = 0;
    std::optional<std::string_view> metadata{""};
    LeaderEpoch leader_epoch = kNoLeaderEpoch;
  };

  void SetUp() override {
    image(cluster_.add("orders", 1, 5));
    image(cluster_.add("payments", 2, 2));
    image(cluster_.add("old", 0, 1));
  }
  void image(ClusterImage::Image image) { context_.image = std::move(image); }

  kafka::OffsetCommitRequest commit_request(std::string_view group, const std::vector<Wish>& wishes) const {
    kafka::OffsetCommitRequest request;
    request.group_id = group;
    for (const Wish& each : wishes) {
      auto& topic = request.topics.emplace_back();
      topic.name = each.topic;
      if (const node::TopicImage* const known = context_.image->find(each.topic); known != nullptr) {
        topic.topic_id = known->id;
      }
      topic.partitions.push_back({.partition_index = each.partition,
                                  .committed_offset = each.offset,
                                  .committed_leader_epoch = each.leader_epoch,
                                  .committed_metadata = each.metadata});
    }
    return request;
  }
  // The errors by wish.
  std::vector<ErrorCode> commit(const kafka::OffsetCommitRequest& request, std::int16_t version) {
    effects_ = {};
    kafka::OffsetCommitResponse response = offsets_.judge(request, version);
    offsets_.commit(request, moment_, response, effects_);
    keep();
    std::vector<ErrorCode> errors;
    for (const auto& topic : response.topics) {
      for (const auto& each : topic.partitions) errors.push_back(static_cast<ErrorCode>(each.error_code));
    }
    return errors;
  }
  std::vector<ErrorCode> commit(std::string_view group, const std::vector<Wish>& wishes) {
    return commit(commit_request(group, wishes), 9);
  }
  void keep() {
    for (const Record& each : effects_.records) log_.push_back({each, kNoProducerId});
  }

  // A record of an adopted log.
  struct Logged {
    Record record;
    ProducerId producer_id = kNoProducerId;
    std::optional<bool> is_committed{};  // a control marker
  };
  static Record record_of(std::string_view group, std::string_view topic, std::int32_t partition,
                          const kafka::OffsetCommitValue* value) {
    kafka::Buffer key;
    EXPECT_TRUE(
        kafka::encode_group_key(kafka::OffsetCommitKey{.group = group, .topic = topic, .partition = partition}, key));
    Record record{.key = {key.data(), key.data() + key.size()}, .value = std::nullopt};
    if (value != nullptr) {
      kafka::Buffer bytes;
      EXPECT_TRUE(kafka::encode_group_value(*value, 4, bytes));
      record.value.emplace(bytes.data(), bytes.data() + bytes.size());
    }
    return record;
  }
  static bool apply(const Logged& logged, Offsets& offsets) {
    if (logged.is_committed) {
      offsets.end_transaction(logged.producer_id, *logged.is_committed);
      return true;
    }
    const std::optional<Bytes> value = logged.record.value ? std::optional<Bytes>(*logged.record.value) : std::nullopt;
    return offsets.apply(logged.record.key, value, logged.producer_id).is_readable;
  }
  void take(Logged logged) {
    EXPECT_TRUE(apply(logged, offsets_));
    log_.push_back(std::move(logged));
  }
  void commit_open(ProducerId producer, std::string_view group, std::string_view topic, std::int32_t partition,
                   Offset offset) {
    const node::TopicImage* const known = context_.image->find(topic);
    const kafka::OffsetCommitValue value{
        .offset = offset, .commit_timestamp = moment_.wall_ms, .topic_id = known != nullptr ? known->id : Uuid{}};
    take({record_of(group, topic, partition, &value), producer});
  }
  void end(ProducerId producer, bool is_committed) { take({{}, producer, is_committed}); }

  [[nodiscard]] std::optional<Offset> found(std::string_view group, std::string_view topic,
                                            std::int32_t partition) const {
    const CommittedOffset* const committed = offsets_.find(group, topic, partition);
    return committed == nullptr ? std::nullopt : std::optional<Offset>(committed->offset);
  }
  // "group/topic-0=42@1000+5~me" of everything, in order.
  static std::vector<std::string> all_of(const Offsets& offsets, std::initializer_list<std::string_view> groups) {
    std::vector<std::string> all;
    for (const std::string_view group : groups) {
      const Offsets::Topics* const topics = offsets.find(group);
      if (topics == nullptr) continue;
      for (const auto& [topic, partitions] : *topics) {
        partitions.for_each([&](const CommittedOffset& each) {
          all.push_back(std::string(group) + '/' + topic + '-' + std::to_string(each.partition) + '=' +
                        std::to_string(each.offset) + '@' + std::to_string(each.committed_ms) + '+' +
                        std::to_string(each.leader_epoch) + ':' + std::to_string(each.expires_ms) + '~' +
                        std::string(each.metadata.view()) + '#' + each.topic_id.text());
        });
      }
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> reloaded(std::initializer_list<std::string_view> groups) const {
    Offsets again(context_);
    for (const Logged& each : log_) EXPECT_TRUE(apply(each, again));
    return all_of(again, groups);
  }

  Settings settings_;
  Chance chance_ = [] { return 0; };
  ClusterImage cluster_;
  Context context_{settings_, chance_, node::MetadataImage::empty()};
  Offsets offsets_{context_};
  SetGroup group_{context_, "g"};
  Moment moment_{.now = Instant{1'000'000}, .wall_ms = 1'000};
  Effects effects_;
  std::vector<Logged> log_;
};

}  // namespace tailrace::groupcoord
