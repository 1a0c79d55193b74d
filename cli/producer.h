// The sending half of `tailrace produce`: gathers records into batches, sends several at a time, and sees them
// acknowledged. With acks=all it is idempotent (KIP-98): what must be sent again after a failure is stored once. It
// owns the client. Blocking where a bound is reached: memory and batches on the way are limited. Single-threaded.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "engine/record/builder.h"

namespace tailrace::cli {

struct ProducerOptions {
  record::Compression compression = record::Compression::none;
  std::int16_t acks = -1;               // -1: all, 1: the leader, 0: do not wait
  std::size_t batch_bytes = 1'000'000;  // a batch is sent when it has this many bytes (uncompressed) ...
  std::int64_t linger_ms = 5;           // ... or is this old
  std::size_t memory_bytes = 64 << 20;  // of all batches that are being filled
};

// What there is to say about one record.
struct OutgoingRecord {
  std::string_view topic;
  std::int32_t partition = -1;  // -1: by the key's hash as Kafka's clients do, or the sticky one of the moment
  std::optional<Bytes> key;
  std::optional<Bytes> value;
  std::span<const record::Header> headers;
  TimestampMs timestamp = kNoTimestamp;
  std::int64_t tag = 0;  // the caller's; on_acknowledged gets it back
};

// murmur2 as in org.apache.kafka.common.utils.Utils; the partition is (hash & 0x7fffffff) % partitions.
std::uint32_t murmur2(Bytes key);

class Producer {
 public:
  Producer(Client client, ProducerOptions options);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Asks for a producer id where that is needed.
  Outcome<void> start();
  // Copies the record into a batch; sends, and waits for acknowledgements when too much is on the way.
  Outcome<void> add(const OutgoingRecord& record);
  // Sends what can be sent and hears what was answered, waiting up to `wait` for the first answer; returns at once when
  // there is none to come.
  Outcome<void> work(std::chrono::microseconds wait);
  // Closes all batches and waits until everything is acknowledged.
  Outcome<void> finish();

  // Tells of each batch that is acknowledged (with acks=0: sent): the tags of its records, and the bytes of their keys
  // and values. Set before the first record.
  using OnAcknowledged = std::function<void(std::span<const std::int64_t> tags, std::uint64_t bytes)>;
  void on_acknowledged(OnAcknowledged tell) { on_acknowledged_ = std::move(tell); }

  // When the oldest batch that is being filled should go, in milliseconds from now; -1: there is none.
  [[nodiscard]] std::int64_t next_linger_ms() const;
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }
  // Batches closed and not yet acknowledged.
  [[nodiscard]] std::size_t on_the_way() const;

 private:
  using Clock = Connection::Clock;
  struct TopicState;
  struct Tags {  // with on_acknowledged
    std::vector<std::int64_t> of_records;
    std::uint64_t bytes = 0;
  };
  struct PartitionState {
    TopicState* topic = nullptr;
    std::int32_t index = 0;
    BrokerId leader = -1;
    std::int32_t next_sequence = 0;
    std::unique_ptr<record::BatchBuilder> open;  // null or with at least one record
    Clock::time_point opened;
    Tags tags;
  };
  struct TopicState {
    std::string name;
    std::vector<PartitionState> partitions;  // index = partition
    std::size_t sticky = 0;
  };
  // A closed batch on its way; it is kept until it is acknowledged.
  struct Batch {
    PartitionState* partition = nullptr;
    std::unique_ptr<record::BatchBuilder> builder;  // holds `bytes`
    Bytes bytes;
    std::uint64_t number = 0;  // in the order in which batches were closed
    std::int32_t count = 0;
    Clock::time_point closed;  // or sent again
    Tags tags;
  };
  struct Lane {  // of one broker
    std::deque<Batch> waiting;
    std::deque<Batch> in_flight;
    std::int16_t version = -1;  // of Produce
  };

  Outcome<TopicState*> topic(std::string_view name);
  Outcome<PartitionState*> place(const OutgoingRecord& record);
  record::BatchOptions batch_options(const PartitionState& partition) const;
  Outcome<void> close(PartitionState& partition);
  Outcome<void> close_due();
  Outcome<void> close_all();
  // One pass over all lanes. An error of a kind that passes ends in recover().
  Outcome<void> pump(std::chrono::microseconds wait);
  // The batch needs no memory any more.
  void settle(Batch batch);
  Outcome<void> send_waiting(Lane& lane, Connection& connection);
  // True when `response` settles the lane's oldest batch, false when everything must be sent again.
  Outcome<bool> on_response(Lane& lane, const Connection::Response& response);
  // After a failure that may pass: new connections, new leaders, and every batch on the way once more, in its order.
  Outcome<void> recover(std::string reason);
  std::unique_ptr<record::BatchBuilder> take_builder();

  Client client_;
  ProducerOptions options_;
  OnAcknowledged on_acknowledged_;
  ProducerId producer_id_ = kNoProducerId;
  ProducerEpoch producer_epoch_ = -1;
  std::map<std::string, std::unique_ptr<TopicState>, std::less<>> topics_;
  TopicState* last_topic_ = nullptr;
  std::vector<PartitionState*> open_;  // partitions with an open batch
  std::size_t open_bytes_ = 0;
  std::map<BrokerId, Lane> lanes_;
  std::vector<std::unique_ptr<record::BatchBuilder>> spare_;
  std::optional<Clock::time_point> failing_since_;
  std::uint64_t next_batch_ = 0;
  std::uint64_t recoveries_ = 0;  // a change means that references to lanes and connections are stale
  std::uint64_t acknowledged_ = 0;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace tailrace::cli
