// HostedShard: a partition of __consumer_offsets that this node leads: its shard and its log. It fills the shard from
// the log, appends what the shard decides, and lets the answers go when that is durable. When records may have been
// lost, the shard is thrown away and read again. Owned by the coordinator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "services/groupcoord/partition_log.h"
#include "services/groupcoord/shard.h"

namespace tailrace::groupcoord {

// What the shards of a node share.
struct Surroundings {
  io::Io& io;
  api::Client& engine;
  ipc::Arena& arena;  // of its session
  const Settings& settings;
  const Chance& chance;
};

class HostedShard final : public PartitionLog::Reader {
 public:
  class Owner {
   public:
    virtual void on_reply(Reply reply) = 0;
    // Whoever waits for this shard is not answered by it any more; `unsent` are the answers that were ready.
    virtual void on_lost(std::int32_t partition, std::vector<Reply> unsent) = 0;

   protected:
    ~Owner() = default;
  };

  HostedShard(const Surroundings& around, const TopicIdPartition& partition, Owner& owner);
  ~HostedShard();

  void use_epoch(LeaderEpoch epoch) { log_.use_epoch(epoch); }
  // The cluster as it is now; `change`: from the image before to this one.
  void use_image(std::shared_ptr<const node::MetadataImage> image, const ImageChange& change);

  [[nodiscard]] std::int32_t partition() const { return partition_; }
  // The shard, once it is loaded; else nullptr.
  [[nodiscard]] Shard* shard() { return is_loaded_ ? shard_.get() : nullptr; }
  // What the shard has decided: appended with the next flush.
  void carry_out(Effects effects);

  // Begins to load where that is possible, appends what has gathered. Called once a turn.
  void work();
  // This node does not lead the partition any more: to be destroyed as soon as it is not busy.
  void give_up();
  [[nodiscard]] bool is_busy() const { return log_.is_busy(); }
  // When work() or on_time() is to be called again; nullopt: when something comes.
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  void on_time();

  void on_record(Bytes key, std::optional<Bytes> value, ProducerId producer_id) override;
  void on_transaction_end(ProducerId producer_id, bool is_committed) override;
  void on_read() override;
  void on_lost(std::vector<Reply> unsent) override;
  void on_durable(Reply reply) override;

 private:
  [[nodiscard]] Moment moment() const;
  [[nodiscard]] bool may_load() const;

  Surroundings around_;
  std::int32_t partition_;
  Owner& owner_;
  std::shared_ptr<const node::MetadataImage> image_;
  std::unique_ptr<Shard> shard_;  // null: to be read
  PartitionLog log_;
  bool is_loaded_ = false;
  bool is_given_up_ = false;
  Instant load_after_;  // not before: a log that cannot be read or written to is not read again and again
  Instant load_began_;
  std::uint64_t records_read_ = 0;
};

}  // namespace tailrace::groupcoord
