// Shard: one thread's share of the engine. It owns its partitions outright and talks to clients over links. One turn of
// its work: drain the rings, let partitions act, write each touched partition's batches with one gathered call, start
// the syncs that durability asks for, publish all answers once. Everything it knows of the world comes through Io.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/api/messages.h"
#include "engine/base/counters.h"
#include "engine/io/io.h"
#include "engine/ipc/link.h"
#include "engine/partition/partition.h"
#include "engine/server/data_directory.h"
#include "engine/server/settings.h"

namespace tailrace::server {

class Shard {
 public:
  // `counters` may be null (nothing is counted).
  Shard(io::Io& io, const Settings& settings, Counters* counters);
  ~Shard();

  // Opens what the data directory holds. Errors: mismatch, corrupt, io_failed; partitions that cannot be opened are an
  // error, too: a broker that forgets one would accept a new one in its place. What was found may never have been
  // synced: the turns that follow do that, for many partitions at once, and requests wait until it is over.
  Result<void> load();
  [[nodiscard]] bool is_loading() const { return state_ == State::loading; }
  // The outcome of load() with all its syncs, once none of them is in flight: each that fails has to be looked after.
  // An error: the engine must start again.
  [[nodiscard]] Result<void> loaded() const { return is_loading() ? Result<void>{} : loaded_; }

  // A new client. The number names it from now on; end_session when its link broke (the link lives until nothing is
  // written from its arena any more, and then tells the client so by its end).
  std::uint64_t add_session(std::unique_ptr<ipc::Link> link);
  void end_session(std::uint64_t session);

  // One turn, see above. True: something was done.
  bool work();
  // True: nothing to do until a bell rings or a completion comes. wake() after the sleep.
  bool prepare_to_sleep();
  void wake();

  // Stops taking requests; when what is in flight has ended, writes snapshots and checkpoints, closes the logs and
  // marks the directory clean. `stopped` tells when.
  void stop();
  [[nodiscard]] bool stopped() const { return state_ == State::stopped; }

  [[nodiscard]] std::size_t session_count() const { return sessions_.size(); }
  [[nodiscard]] std::size_t partition_count() const { return hosted_.size(); }

 private:
  enum class State : std::uint8_t { loading, failed, running, stopping, closing, stopped };
  struct Session;
  struct Asker;
  struct Deletion;
  struct Settling;
  struct SnapshotSync;
  struct Hosted;

  bool has_room(Session& session);
  Uuid random_uuid();
  void dispatch(Session& session, const ipc::RingRecord& record);
  template <class T>
  void take(Session& session, const ipc::RingRecord& record, void (Shard::*handler)(Session&, const T&));
  void on_identify(Session& session, const api::Identify& request);
  void on_set_role(Session& session, const api::SetRole& request);
  void on_delete_partition(Session& session, const api::DeletePartition& request);
  void on_append(Session& session, const api::Append& request);
  void on_read(Session& session, const api::Read& request);
  void on_cancel(Session& session, const api::Cancel& request);
  void on_list_offset(Session& session, const api::ListOffset& request);
  void on_end_of_epoch(Session& session, const api::EndOfEpoch& request);
  void on_delete_records(Session& session, const api::DeleteRecords& request);
  void on_describe_log(Session& session, const api::DescribeLog& request);
  void on_describe_producers(Session& session, const api::DescribeProducers& request);
  void on_forget_file(Session& session, const api::ForgetFile& request);

  template <class T>
  bool reply(Session& session, const T& record);
  void reply_read(Session& session, Hosted& hosted, const api::Read& request, bool moved);
  void fire(Session& session, std::uint64_t request);
  bool answer_fired(Session& session);
  Result<void> pass_file(Session& session, const log::Extent& extent);
  Result<partition::PlannedRead> plan(Hosted& hosted, const api::Read& request) const;

  Session* find_session(std::uint64_t id);
  Hosted* find(const api::Partition& partition);
  void start_found_syncs();
  bool end_loading();
  Result<Hosted*> find_or_create(const api::SetRole& request, const std::string& name, const log::LogConfig& config);
  Hosted& host(const TopicIdPartition& key, std::string name, std::unique_ptr<partition::Partition> partition);
  Result<void> remove(Hosted& hosted);
  Result<void> start_topic_id_sync(Hosted& hosted);
  Result<void> settle(Hosted& hosted, bool is_new);
  void start_settling();
  void settle_name(Hosted& hosted);
  void wait_settled(Session& session, Hosted& hosted, const Asker& asker);
  void start_directory_sync();
  void on_directory_synced(std::int64_t result);
  void on_settled(Hosted& hosted, std::int64_t result);
  void undo_making(Hosted& hosted, bool is_new);

  void write_staged();
  void start_syncs();
  void start_sync(Hosted& hosted);
  void list_unsynced(Hosted& hosted);
  void on_written(Hosted& hosted, std::int64_t result);
  void on_synced(Hosted& hosted, std::int64_t result);
  void advance(Hosted& hosted, Offset safe_end);
  void fail_unsafe(Hosted& hosted);
  void fail_lost(Hosted& hosted, Code code);
  void forget_files(const Hosted& hosted);
  void tell_file_gone(std::uint64_t file_id);

  void plan_first_check();
  void arm_upkeep(Instant due);
  void on_upkeep_due();
  void check_some_logs();
  bool check_retention(Hosted& hosted);
  void raise_log_start(Hosted& hosted, Offset offset);
  void start_log_starts();
  void on_log_starts_saved(std::int64_t result);
  void answer_deletions(Hosted& hosted, Offset end, std::uint16_t code);
  void move_log_start(Hosted& hosted, Offset offset);
  void forget_log_start(Hosted& hosted, Code code);
  void trim_later(Hosted& hosted);
  bool keep_snapshot(Hosted& hosted);
  void on_snapshot_content_synced(Hosted& hosted, std::int64_t result);
  void on_snapshot_name_synced(Hosted& hosted, std::int64_t result);
  void set_some_segments_aside();
  void remove_one_segment();

  void on_checkpoint_due();
  void on_sync_retry_due();
  void on_expiry_due();
  void on_removal_due();
  void on_room_due() {}  // the turn that follows looks at the rings
  [[nodiscard]] std::vector<PartitionCheckpoint> checkpoints() const;
  Result<void> write_checkpoints();
  void start_closing();
  void close_some();
  void on_closed(Hosted& hosted, Result<void> closed);
  void finish_stop();

  io::Io& io_;
  Settings settings_;
  DataDirectory directory_;
  State state_ = State::loading;
  Result<void> loaded_;
  bool stops_when_loaded_ = false;
  std::uint64_t next_session_ = 1;
  std::vector<std::shared_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Session>> ended_sessions_;  // let go by the next turn: a link cannot destroy itself
  std::unordered_map<TopicIdPartition, std::unique_ptr<Hosted>, TopicIdPartitionHash> hosted_;
  std::vector<Hosted*> staged_;     // to be written in this turn
  std::vector<Hosted*> unsynced_;   // to be synced when their last sync is over
  std::size_t in_flight_ = 0;       // writes and syncs
  std::vector<Hosted*> to_close_;   // at the stop
  std::size_t closing_count_ = 0;   // their last syncs are in flight
  bool is_unclean_ = false;         // one could not be closed
  bool is_left_half_made_ = false;  // a directory, which the next start must not trust
  int made_in_turn_ = 0;
  std::vector<Hosted*> found_unsynced_;  // by load(), and no sync of theirs has begun
  std::vector<Hosted*> to_settle_;       // made, and no sync of theirs has begun
  std::size_t settling_count_ = 0;       // partitions found or made whose syncs are in flight
  // Partitions whose names in the data directory are not durable: those that wait for the sync in flight, and those
  // that came after it had begun and share the next one.
  std::vector<Hosted*> syncing_names_;
  std::vector<Hosted*> unsynced_names_;
  io::Completion directory_synced_;
  // Log starts that are to be written to their checkpoint, and those that are being written.
  std::vector<Hosted*> unsaved_log_starts_;
  std::vector<Hosted*> saving_log_starts_;
  io::Completion log_starts_saved_;
  struct SetAside {  // a segment that has left its log
    std::string directory;
    Offset base_offset = 0;
  };
  Instant next_check_;
  std::vector<TopicIdPartition> to_check_;      // left of this round
  std::vector<TopicIdPartition> to_trim_;       // they have segments below their log start
  std::size_t snapshot_syncs_ = 0;              // for them, in flight
  std::multimap<Instant, SetAside> set_aside_;  // by when their files go
  io::Timer upkeep_timer_;
  io::Timer checkpoint_timer_;
  io::Timer sync_retry_timer_;
  io::Timer expiry_timer_;
  io::Timer removal_timer_;
  io::Timer room_timer_;

  Counter appends_, appended_bytes_, reads_, planned_bytes_, writes_, syncs_, partitions_, sessions_open_;
};

}  // namespace tailrace::server
