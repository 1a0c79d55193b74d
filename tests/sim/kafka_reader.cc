#include "tests/sim/kafka_reader.h"

#include <algorithm>

#include "services/kafka/errors.h"
#include "services/kafka/messages/fetch.h"

namespace tailrace::sim {
namespace {

constexpr std::int16_t kVersions[] = {4, 7, 11, 12, 13, 16};
constexpr std::int16_t kFirstWithSessions = 7;
constexpr std::int16_t kFirstWithIds = 13;

}  // namespace

void KafkaReader::on_session() {
  version_ = kVersions[client_.random().below(std::size(kVersions))];
  session_id_ = 0;
  session_epoch_ = client_.random().one_in(3) ? -1 : 0;
}

void KafkaReader::on_power_cut() {
  if (!client_.stage().history.is_durable()) position_ = 0;
}

void KafkaReader::act() {
  if (in_flight_ || pauses()) return;
  if (!slot().created) return pause(1000, 20'000);
  Random& random = client_.random();
  if (topic_id_ != slot().topic_id) {
    topic_id_ = slot().topic_id;
    position_ = 0;
    session_id_ = 0;
    if (session_epoch_ > 0) session_epoch_ = 0;
  }
  if (!client_.stage().healed && random.one_in(4)) {
    position_ = random.between(0, client_.stage().history.visible_end(slot().key()));
  }
  fetch();
}

void KafkaReader::fetch() {
  Random& random = client_.random();
  kafka::FetchRequest request;
  request.max_wait_ms = static_cast<std::int32_t>(random.between(0, 300));
  request.min_bytes = static_cast<std::int32_t>(random.one_in(3) ? random.between(1, 5000) : 1);
  request.max_bytes = static_cast<std::int32_t>(random.between(1, 30'000));
  request.isolation_level = random.one_in(2) ? 1 : 0;
  if (version_ >= kFirstWithSessions) {
    request.session_id = session_id_;
    request.session_epoch = session_epoch_;
  }
  if (version_ < kFirstWithSessions || session_epoch_ <= 0 || session_position_ != position_ || random.one_in(5)) {
    kafka::FetchRequest::FetchTopic topic{.topic = slot().topic, .topic_id = slot().topic_id};
    topic.partitions.emplace_back();
    topic.partitions[0].partition = slot().partition;
    topic.partitions[0].fetch_offset = position_;
    topic.partitions[0].partition_max_bytes = static_cast<std::int32_t>(random.between(1, 20'000));
    request.topics.push_back(std::move(topic));
    session_position_ = position_;
  }
  in_flight_ = true;
  start_before_ = client_.stage().history.log_start(slot().key());
  end_before_ = client_.stage().history.visible_end(slot().key());
  incarnation_before_ = client_.stage().history.incarnation();
  client_.schedule().note("fetch slot={} offset={} version={} session={} epoch={}", slot_, position_, version_,
                          session_id_ == 0 ? "none" : "open", session_epoch_);
  kafka_.ask(request, version_, [this, key = slot().key(), position = position_](std::optional<Bytes> body) {
    on_answer(key, position, body);
  });
}

void KafkaReader::on_answer(const TopicIdPartition& key, Offset position, std::optional<Bytes> body) {
  using kafka::ErrorCode;
  in_flight_ = false;
  Schedule& schedule = client_.schedule();
  if (!body) return;
  const Result<kafka::FetchResponse> response = kafka::decode_exactly<kafka::FetchResponse>(*body, version_);
  if (!response) return schedule.fail("an answer to Fetch cannot be read: {}", response.error().text());
  schedule.note("fetched slot={} error={} topics={} bytes={}", slot_, response->error_code, response->responses.size(),
                body->size());
  if (response->error_code != 0) {
    const auto error = static_cast<ErrorCode>(response->error_code);
    if (error != ErrorCode::FETCH_SESSION_ID_NOT_FOUND && error != ErrorCode::INVALID_FETCH_SESSION_EPOCH &&
        error != ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR && error != ErrorCode::UNKNOWN_TOPIC_ID) {
      return schedule.fail("a fetch was answered with error {}", response->error_code);
    }
    session_id_ = 0;
    session_epoch_ = 0;
    return pause(500, 10'000);
  }
  if (version_ >= kFirstWithSessions && session_epoch_ >= 0) {
    session_id_ = response->session_id;
    session_epoch_ = session_id_ == 0 ? 0 : session_epoch_ + 1;
  }
  History& history = client_.stage().history;
  for (const auto& topic : response->responses) {
    const bool is_mine = version_ >= kFirstWithIds ? topic.topic_id == key.topic_id : topic.topic == slot().topic;
    if (!is_mine || topic.partitions.size() != 1 || topic.partitions[0].partition_index != key.partition) {
      return schedule.fail("a fetch was answered with what was not asked for");
    }
    const auto& partition = topic.partitions[0];
    const auto error = static_cast<ErrorCode>(partition.error_code);
    // A name may mean a newer topic than the one that was asked for.
    if (key != slot().key()) return;
    if (error == ErrorCode::OFFSET_OUT_OF_RANGE && !history.is_durable() &&
        (position > std::min(end_before_, history.visible_end(key)) || incarnation_before_ != history.incarnation())) {
      position_ = 0;  // a power cut took the end
      return;
    }
    if (error == ErrorCode::OFFSET_OUT_OF_RANGE && client_.stage().plan.moves_log_starts()) {
      position_ = history.visible_end(key);  // as with auto.offset.reset=latest
      return;
    }
    if (error == ErrorCode::OFFSET_OUT_OF_RANGE) {
      return schedule.fail("offset {} was called out of range; offsets up to {} were readable", position,
                           history.visible_end(key));
    }
    if (error != ErrorCode::NONE) {
      const bool excused = error == ErrorCode::NOT_LEADER_OR_FOLLOWER || error == ErrorCode::UNKNOWN_TOPIC_ID ||
                           error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION || error == ErrorCode::REQUEST_TIMED_OUT ||
                           error == ErrorCode::FENCED_LEADER_EPOCH || error == ErrorCode::UNKNOWN_LEADER_EPOCH ||
                           (error == ErrorCode::KAFKA_STORAGE_ERROR && client_.stage().plan.disk_fails());
      if (!excused) return schedule.fail("a fetch of a partition was answered with error {}", partition.error_code);
      session_position_ = -1;
      return pause(500, 10'000);
    }
    history.on_high_watermark(key, partition.high_watermark);
    if (version_ >= 5) history.on_log_start(key, partition.log_start_offset, start_before_);
    const Bytes records = partition.records.bytes.value_or(Bytes{});
    const Offset next = history.on_read(key, position, partition.high_watermark, records);
    if (position_ == position) position_ = next;
  }
  if (!client_.random().one_in(4)) pause(50, 10'000);
}

std::string KafkaReader::unfinished() const {
  const Offset end = client_.stage().history.visible_end(slot().key());
  if (position_ >= end && (topic_id_ == slot().topic_id || end == 0)) return {};
  return fmt::format("a consumer of slot {} is at {} of {}", slot_, position_, end);
}

}  // namespace tailrace::sim
