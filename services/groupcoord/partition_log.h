// PartitionLog: one partition of __consumer_offsets in the engine, as its coordinator needs it: read once from its
// start to its end, then appended to, one batch at a time; what comes meanwhile goes into the next. Every answer that
// waits for records comes back when these are durable, in order. Owned by one thread; it does not outlive the engine
// client.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "engine/api/client.h"
#include "engine/base/types.h"
#include "engine/io/io.h"
#include "engine/ipc/arena.h"
#include "engine/record/builder.h"
#include "services/groupcoord/effects.h"

namespace tailrace::groupcoord {

class PartitionLog {
 public:
  // Where the records of the log go while it is read.
  class Reader {
   public:
    virtual void on_record(Bytes key, std::optional<Bytes> value, ProducerId producer_id) = 0;
    virtual void on_transaction_end(ProducerId producer_id, bool is_committed) = 0;
    // All is read: appends may begin.
    virtual void on_read() = 0;
    // Nothing of this log holds any more: records may be lost, or it cannot be read. `unsent` are the replies that
    // waited. Another reading may begin.
    virtual void on_lost(std::vector<Reply> unsent) = 0;
    virtual void on_durable(Reply reply) = 0;

   protected:
    ~Reader() = default;
  };

  PartitionLog(io::Io& io, api::Client& engine, ipc::Arena& arena, const TopicIdPartition& partition, Reader& reader);
  // Not while is_busy(), or the client is not polled any more.
  ~PartitionLog();

  // Of the leader that this node is.
  void use_epoch(LeaderEpoch epoch) { epoch_ = epoch; }
  // Reads it from the start. Not while is_busy().
  void read();
  // After on_read: the records, all of them in one batch where one may be so large, and the replies behind them.
  void append(std::vector<Record> records, std::vector<Reply> replies);
  // Sends what has gathered. Called once a turn.
  void flush();
  // Drops what was not durable; Reader::on_lost follows.
  void lose();
  // Calls to the engine are on their way: it must live on.
  [[nodiscard]] bool is_busy() const { return calls_ != 0; }
  [[nodiscard]] Offset end_offset() const { return next_offset_; }

 private:
  // idle -> reading -> ending (read to the high watermark; is there more to come?) -> open, or back to reading; any ->
  // idle.
  enum class State : std::uint8_t { idle, reading, ending, open };
  struct Entry {
    std::vector<Record> records;
    std::vector<Reply> replies;
    std::size_t size_bytes = 0;
  };

  void ask_start();
  void on_start(const api::OffsetListed& answer, Bytes extra);
  void read_next();
  void on_plan(const api::ReadPlan& plan, Bytes extra);
  void ask_end();
  void on_end(const api::ReadPlan& plan);
  // False: the bytes could not be read.
  bool take(const api::ReadPlan& plan);
  void take_batch(Bytes batch);
  void send();
  void on_appended(const api::Appended& answer, Bytes extra);
  void retry_later();
  void on_retry_due();

  io::Io& io_;
  api::Client& engine_;
  ipc::Arena& arena_;
  TopicIdPartition partition_;
  Reader& reader_;
  LeaderEpoch epoch_ = kNoLeaderEpoch;
  State state_ = State::idle;
  int calls_ = 0;
  api::Call<api::OffsetListed> list_;
  api::Call<api::ReadPlan> plan_;
  api::Call<api::Appended> append_;
  Offset next_offset_ = 0;        // to be read; then that of the next batch
  std::uint32_t read_max_ = 0;    // bytes of the next read
  std::vector<std::byte> bytes_;  // what was read
  record::Scratch unpacked_;

  std::deque<Entry> gathered_;
  std::vector<Reply> in_flight_;  // the replies behind the batch on its way
  record::BatchBuilder builder_;
  Bytes batch_;  // of the builder: on its way, or waiting for room in the arena; empty: none
  std::optional<ipc::Arena::Chunk> chunk_;
  io::Timer retry_;
  Duration pause_{0};
  bool is_trouble_logged_ = false;
};

}  // namespace tailrace::groupcoord
