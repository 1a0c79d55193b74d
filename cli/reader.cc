#include "cli/reader.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/text.h"
#include "engine/record/batch.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/list_offsets.h"

namespace tailrace::cli {
namespace {

constexpr std::int16_t kFetchVersionMax = 12;  // the last that names topics by name
constexpr std::int16_t kFetchVersionMin = 4;
constexpr std::int64_t kLatest = -1;  // ListOffsetsRequest
constexpr std::int64_t kEarliest = -2;
constexpr std::int32_t kMaxWaitMs = 500;
constexpr std::size_t kBatchPlainMax = std::size_t{1} << 30;  // of one batch when unpacked
constexpr std::chrono::milliseconds kRetryDelay{50};

// The offset after the last whole batch; `from` when there is none.
Offset after_last_batch(Bytes records, Offset from) {
  while (records.size() >= record::kBatchHeaderSize) {
    const auto length = load_big_endian<std::int32_t>(records.data() + 8);
    const std::size_t size = record::kLogOverhead + static_cast<std::size_t>(std::max(0, length));
    if (length < 0 || size > records.size()) break;
    const record::BatchHeader header = record::read_header(records.data());
    // In old formats only the base offset of a lone message can be told from here.
    from = std::max(from, header.magic == record::kMagicV2 ? header.next_offset() : header.base_offset + 1);
    records = records.subspan(size);
  }
  return from;
}

}  // namespace

Outcome<StartAt> parse_start(std::string_view text) {
  if (text == "earliest" || text == "beginning") return StartAt{StartAt::Kind::earliest, 0};
  if (text == "latest" || text == "end") return StartAt{StartAt::Kind::latest, 0};
  if (text.starts_with('@')) {
    const auto time = parse_time(text.substr(1));
    if (time && *time >= 0) return StartAt{StartAt::Kind::time, *time};
    return std::unexpected(fmt::format("\"{}\" is no time; write @1767312245678 or @2026-01-02T03:04:05Z", text));
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::unexpected(fmt::format("\"{}\" is neither earliest, latest, an offset nor @TIME", text));
  }
  return StartAt{number < 0 ? StartAt::Kind::latest : StartAt::Kind::offset, number};
}

Reader::Position* Reader::find(std::int32_t partition) {
  const auto at = std::find_if(positions_.begin(), positions_.end(),
                               [&](const Position& position) { return position.partition == partition; });
  return at == positions_.end() ? nullptr : &*at;
}

bool Reader::is_done() const {
  return std::all_of(positions_.begin(), positions_.end(), [](const Position& position) { return position.is_done(); });
}

Outcome<void> Reader::find_leaders() {
  auto topic = client_.topic(topic_, false);
  if (!topic) return std::unexpected(topic.error());
  for (const Partition& partition : topic->partitions) {
    if (Position* position = find(partition.index)) position->leader = partition.leader;
  }
  return {};
}

// The offset for a timestamp in every partition that is read.
Outcome<std::map<std::int32_t, Offset>> Reader::list_offsets(std::int64_t timestamp) {
  std::map<BrokerId, kafka::ListOffsetsRequest> requests;
  for (const Position& position : positions_) {
    kafka::ListOffsetsRequest& request = requests[position.leader];
    if (request.topics.empty()) {
      request.replica_id = -1;
      request.topics.emplace_back();
      request.topics[0].name = topic_;
    }
    request.topics[0].partitions.emplace_back();
    request.topics[0].partitions.back().partition_index = position.partition;
    request.topics[0].partitions.back().timestamp = timestamp;
  }
  std::map<std::int32_t, Offset> offsets;
  for (const auto& [leader, request] : requests) {
    auto connection = client_.broker(leader);
    if (!connection) return std::unexpected(connection.error());
    auto reply = ask<kafka::ListOffsetsResponse>(**connection, request, client_.timeout(), 7);
    if (!reply) return std::unexpected(reply.error());
    for (const auto& topic : reply->message.topics) {
      for (const auto& partition : topic.partitions) {
        if (partition.error_code != 0) {
          return std::unexpected(
              fmt::format("{}-{}: {}", topic_, partition.partition_index, describe_error(partition.error_code)));
        }
        offsets[partition.partition_index] = partition.offset;
      }
    }
  }
  for (const Position& position : positions_) {
    if (!offsets.contains(position.partition)) {
      return std::unexpected(fmt::format("the broker says no offset of {}-{}", topic_, position.partition));
    }
  }
  return offsets;
}

std::map<std::int32_t, Offset> Reader::positions() const {
  std::map<std::int32_t, Offset> all;
  for (const Position& position : positions_) all[position.partition] = position.next;
  return all;
}

Outcome<void> Reader::start(const std::vector<std::int32_t>& partitions, const StartAt& at,
                            const std::map<std::int32_t, Offset>& known) {
  auto topic = client_.topic(topic_, false);
  if (!topic) return std::unexpected(topic.error());
  for (const Partition& partition : topic->partitions) {
    if (partitions.empty() || std::find(partitions.begin(), partitions.end(), partition.index) != partitions.end()) {
      positions_.push_back(Position{.partition = partition.index, .leader = partition.leader});
    }
  }
  for (const std::int32_t wanted : partitions) {
    if (find(wanted) == nullptr) {
      return std::unexpected(fmt::format("topic {} has no partition {}", topic_, wanted));
    }
  }
  auto begins = list_offsets(kEarliest);
  if (!begins) return std::unexpected(begins.error());
  auto ends = list_offsets(kLatest);
  if (!ends) return std::unexpected(ends.error());
  std::map<std::int32_t, Offset> times;
  if (at.kind == StartAt::Kind::time) {
    auto found = list_offsets(at.value);
    if (!found) return std::unexpected(found.error());
    times = std::move(*found);
  }
  for (Position& position : positions_) {
    const Offset begin = (*begins)[position.partition];
    const Offset end = (*ends)[position.partition];
    switch (at.kind) {
      case StartAt::Kind::earliest:
        position.next = begin;
        break;
      case StartAt::Kind::latest:
        position.next = std::max(begin, end + at.value);
        break;
      case StartAt::Kind::offset:
        position.next = at.value;
        break;
      case StartAt::Kind::time:
        position.next = times[position.partition] < 0 ? end : times[position.partition];
        break;
    }
    if (const auto one = known.find(position.partition);
        one != known.end() && one->second >= begin && one->second <= end) {
      position.next = one->second;
    }
    if (position.next < begin || position.next > end) {
      return std::unexpected(fmt::format("{}-{} has the offsets {} to {}, not {}", topic_, position.partition, begin,
                                         end - 1, position.next));
    }
    position.fetch_next = position.next;
    if (limits_.stop_at_end) position.end = end;
  }
  return {};
}

Outcome<void> Reader::send_fetches() {
  const auto& info = kafka::FetchRequest::kMessage;
  std::map<BrokerId, kafka::FetchRequest> requests;
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    const Position& position = positions_[(first_ + i) % positions_.size()];
    if (position.is_fetched() || in_flight_.contains(position.leader)) continue;
    kafka::FetchRequest& request = requests[position.leader];
    if (request.topics.empty()) {
      request.max_wait_ms = kMaxWaitMs;
      request.min_bytes = 1;
      request.max_bytes = limits_.fetch_bytes;
      request.topics.emplace_back();
      request.topics[0].topic = topic_;
    }
    request.topics[0].partitions.emplace_back();
    auto& partition = request.topics[0].partitions.back();
    partition.partition = position.partition;
    partition.fetch_offset = position.fetch_next;
    partition.partition_max_bytes = limits_.partition_bytes;
  }
  first_ = positions_.empty() ? 0 : (first_ + 1) % positions_.size();
  for (const auto& [leader, request] : requests) {
    auto connection = client_.broker(leader);
    if (!connection) return recover(connection.error());
    const std::int16_t version = (*connection)->version_for(info.api_key, kFetchVersionMin, kFetchVersionMax);
    if (version < 0) {
      return std::unexpected(
          fmt::format("{} does not serve Fetch in a version that we know", (*connection)->address().text()));
    }
    kafka::encode(request, version, (*connection)->begin_frame(info.api_key, version));
    (*connection)->end_frame();
    if (auto sent = (*connection)->flush(client_.deadline()); !sent) return recover(sent.error());
    in_flight_[leader] = version;
  }
  return {};
}

Outcome<void> Reader::recover(std::string reason) {
  ++recoveries_;
  const auto now = Connection::Clock::now();
  if (!failing_since_) failing_since_ = now;
  if (now - *failing_since_ > client_.timeout()) return std::unexpected(reason);
  for (const auto& [leader, version] : in_flight_) client_.forget(leader);
  for (const Position& position : positions_) client_.forget(position.leader);
  in_flight_.clear();
  for (Position& position : positions_) position.fetch_next = position.next;
  std::this_thread::sleep_for(kRetryDelay);
  for (;;) {
    auto found = find_leaders();
    if (found) return {};
    if (Connection::Clock::now() - *failing_since_ > client_.timeout()) return found;
    std::this_thread::sleep_for(kRetryDelay);
  }
}

Outcome<bool> Reader::on_records(Position& position, Bytes records, const OnRecord& on_record) {
  // The broker may send the start of the batch only in part, and it sends whole batches: those may begin before `next`.
  while (records.size() >= record::kBatchHeaderSize) {
    const auto length = load_big_endian<std::int32_t>(records.data() + 8);
    if (length < 0)
      return std::unexpected(fmt::format("{}-{}: a batch of length {}", topic_, position.partition, length));
    const std::size_t size = record::kLogOverhead + static_cast<std::size_t>(length);
    if (size > records.size()) break;
    const Bytes batch = records.first(size);
    records = records.subspan(size);
    auto reader = record::Records::open(batch, scratch_, kBatchPlainMax);
    if (!reader) {
      return std::unexpected(fmt::format("{}-{}: {}", topic_, position.partition, reader.error().text()));
    }
    const record::BatchHeader& header = reader->header();
    if (header.magic == record::kMagicV2 && header.crc != record::compute_crc(batch)) {
      return std::unexpected(fmt::format("{}-{}: the batch at offset {} has a wrong checksum", topic_,
                                         position.partition, header.base_offset));
    }
    while (!header.is_control()) {
      record::Record record;
      auto more = reader->next(record);
      if (!more) return std::unexpected(fmt::format("{}-{}: {}", topic_, position.partition, more.error().text()));
      if (!*more) break;
      if (record.offset < position.next) continue;
      if (record.offset >= position.end) break;
      position.next = record.offset + 1;
      auto go_on = on_record(position.partition, record);
      if (!go_on || !*go_on) return go_on;
    }
    position.next = std::max(position.next, header.next_offset());
  }
  return true;
}

Outcome<bool> Reader::on_response(BrokerId leader, const Connection::Response& response, const OnRecord& on_record) {
  const std::int16_t version = std::exchange(in_flight_[leader], std::int16_t{-1});
  in_flight_.erase(leader);
  const auto answer = kafka::decode<kafka::FetchResponse>(response.body(), version);
  if (!answer) return std::unexpected(fmt::format("the broker sent what does not decode: {}", answer.error().text()));
  std::string passing = answer->error_code == 0 ? std::string() : describe_error(answer->error_code);
  // The next Fetch first, so that the broker works while we print.
  for (const auto& topic : answer->responses) {
    for (const auto& partition : topic.partitions) {
      Position* position = find(partition.partition_index);
      if (position == nullptr || partition.error_code != 0) continue;
      position->fetch_next = after_last_batch(partition.records.bytes.value_or(Bytes()), position->fetch_next);
    }
  }
  const std::uint64_t recoveries = recoveries_;
  if (auto sent = send_fetches(); !sent) return std::unexpected(sent.error());
  if (recoveries != recoveries_) return true;  // nothing of this response was handed over; it is fetched again
  for (const auto& topic : answer->responses) {
    for (const auto& partition : topic.partitions) {
      Position* position = find(partition.partition_index);
      if (position == nullptr) continue;
      if (partition.error_code == kafka::wire(kafka::ErrorCode::OFFSET_OUT_OF_RANGE)) {
        return std::unexpected(
            fmt::format("{}-{}: the records from offset {} on are gone", topic_, position->partition, position->next));
      }
      if (partition.error_code != 0) {
        const std::string what =
            fmt::format("{}-{}: {}", topic_, position->partition, describe_error(partition.error_code));
        if (!kafka::error_retriable(partition.error_code)) return std::unexpected(what);
        passing = what;
      } else if (partition.records.bytes && !partition.records.bytes->empty()) {
        failing_since_.reset();
        auto go_on = on_records(*position, *partition.records.bytes, on_record);
        if (!go_on || !*go_on) return go_on;
      }
    }
  }
  if (passing.empty()) {
    failing_since_.reset();
  } else if (auto recovered = recover(passing); !recovered) {
    return std::unexpected(recovered.error());
  }
  return true;
}

Outcome<void> Reader::run(const OnRecord& on_record, const OnPause& on_pause) {
  while (!is_done()) {
    if (auto sent = send_fetches(); !sent) return sent;
    std::vector<pollfd> descriptors;
    std::vector<BrokerId> leaders;
    for (const auto& [leader, version] : in_flight_) {
      auto connection = client_.broker(leader);
      if (!connection) return std::unexpected(connection.error());
      descriptors.push_back(pollfd{(*connection)->descriptor(), POLLIN, 0});
      leaders.push_back(leader);
    }
    if (descriptors.empty()) continue;  // recovered meanwhile
    int ready = poll(descriptors.data(), descriptors.size(), 0);
    if (ready == 0) {
      if (auto paused = on_pause(true); !paused) return paused;
      ready = poll(descriptors.data(), descriptors.size(), static_cast<int>(kMaxWaitMs + client_.timeout().count()));
    }
    if (ready < 0 && errno != EINTR) return std::unexpected(fmt::format("poll failed: {}", std::strerror(errno)));
    if (ready == 0) {
      if (auto recovered = recover("the broker does not answer"); !recovered) return recovered;
      continue;
    }
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      if (descriptors[i].revents == 0 || !in_flight_.contains(leaders[i])) continue;
      auto connection = client_.broker(leaders[i]);
      if (!connection) return std::unexpected(connection.error());
      auto response = (*connection)->receive_some();
      if (!response) {
        if (auto recovered = recover(response.error()); !recovered) return recovered;
        break;
      }
      if (response->frame.empty()) continue;
      auto go_on = on_response(leaders[i], *response, on_record);
      if (!go_on) return std::unexpected(go_on.error());
      if (!*go_on) return {};
    }
    if (auto paused = on_pause(false); !paused) return paused;
  }
  return {};
}

}  // namespace tailrace::cli
