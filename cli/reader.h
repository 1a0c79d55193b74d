// Reads partitions of a topic without a consumer group, for the tools: follows leaders, keeps one Fetch on its way to
// each of them, and hands over one record after the other. It owns the client. Blocking, single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "engine/base/types.h"
#include "engine/record/compression.h"
#include "engine/record/records.h"

namespace tailrace::cli {

// Where reading begins: the earliest record, the end, an offset, or the first record of a time or later.
struct StartAt {
  enum class Kind { earliest, latest, offset, time };
  Kind kind = Kind::latest;
  std::int64_t value = 0;  // offset, records before the end (negative), or milliseconds
};

// "earliest", "latest", "OFFSET", "-N" (N records before the end), "@TIME" (milliseconds or ISO 8601).
Outcome<StartAt> parse_start(std::string_view text);

// Reads partitions of one topic. Each record goes to `on_record`, which says whether to go on; the record's bytes live
// as long as the call. It follows leaders and tries again what fails for a time. Blocking, single-threaded.
class Reader {
 public:
  struct Limits {
    std::int32_t fetch_bytes = 16 << 20;     // per request
    std::int32_t partition_bytes = 4 << 20;  // per partition of a request
    bool stop_at_end = false;                // at the high watermarks of the start
  };
  using OnRecord = std::function<Outcome<bool>(std::int32_t partition, const record::Record& record)>;
  // After each response: what was gathered may be written.
  using OnPause = std::function<Outcome<void>(bool is_idle)>;

  Reader(Client client, std::string topic, const Limits& limits)
      : client_(std::move(client)), topic_(std::move(topic)), limits_(limits) {}

  // Looks up the partitions (all when none are named) and where to begin in each.
  // An offset in `known` counts instead, as long as it is within the log.
  Outcome<void> start(const std::vector<std::int32_t>& partitions, const StartAt& at,
                      const std::map<std::int32_t, Offset>& known = {});
  // Reads until a record says stop, or until the end with stop_at_end.
  Outcome<void> run(const OnRecord& on_record, const OnPause& on_pause);
  // By partition, the offset of the next record to hand over.
  [[nodiscard]] std::map<std::int32_t, Offset> positions() const;

 private:
  struct Position {
    std::int32_t partition = 0;
    BrokerId leader = -1;
    Offset next = 0;        // of the next record to hand over
    Offset fetch_next = 0;  // where the next Fetch begins: it is sent before the records of the last are handed over
    Offset end = std::numeric_limits<Offset>::max();  // exclusive; where to stop
    [[nodiscard]] bool is_done() const { return next >= end; }
    [[nodiscard]] bool is_fetched() const { return fetch_next >= end; }
  };

  Outcome<std::map<std::int32_t, Offset>> list_offsets(std::int64_t timestamp);
  Outcome<void> find_leaders();
  // Sends one Fetch to each leader that has none on the way.
  Outcome<void> send_fetches();
  // False: stop.
  Outcome<bool> on_response(BrokerId leader, const Connection::Response& response, const OnRecord& on_record);
  Outcome<bool> on_records(Position& position, Bytes records, const OnRecord& on_record);
  // What can pass makes us look for leaders again; the error when it has lasted too long.
  Outcome<void> recover(std::string reason);
  [[nodiscard]] bool is_done() const;
  Position* find(std::int32_t partition);

  Client client_;
  std::string topic_;
  Limits limits_;
  std::vector<Position> positions_;
  std::map<BrokerId, std::int16_t> in_flight_;  // leader: version of the Fetch on its way
  std::size_t first_ = 0;                       // whose turn it is to come first in a request, so that none starves
  record::Scratch scratch_;
  std::optional<Connection::Clock::time_point> failing_since_;
  std::uint64_t recoveries_ = 0;
};

}  // namespace tailrace::cli
