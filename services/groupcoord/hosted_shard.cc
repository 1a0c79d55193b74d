#include "services/groupcoord/hosted_shard.h"

#include <algorithm>
#include <utility>

#include "engine/base/observe.h"
#include "services/node/metadata_image.h"
#include "services/node/offsets_topic.h"

namespace tailrace::groupcoord {
namespace {

constexpr Duration kPauseAfterLoss = std::chrono::milliseconds(100);

}  // namespace

HostedShard::HostedShard(const Surroundings& around, const TopicIdPartition& partition, Owner& owner)
    : around_(around),
      partition_(partition.partition),
      owner_(owner),
      image_(node::MetadataImage::empty()),
      log_(around.io, around.engine, around.arena, partition, *this) {}

HostedShard::~HostedShard() = default;

Moment HostedShard::moment() const { return {around_.io.now(), around_.io.wall_clock_ms()}; }

void HostedShard::use_image(std::shared_ptr<const node::MetadataImage> image, const ImageChange& change) {
  image_ = std::move(image);
  if (shard_ == nullptr) return;
  Effects effects = shard_->on_image(image_, change);
  if (is_loaded_) carry_out(std::move(effects));  // while it is loaded it decides nothing
}

void HostedShard::carry_out(Effects effects) {
  for (const std::string& note : effects.notes) log_info("{}", note);
  log_.append(std::move(effects.records), std::move(effects.replies));
}

bool HostedShard::may_load() const {
  return shard_ == nullptr && !is_given_up_ && !log_.is_busy() && around_.engine.attached();
}

void HostedShard::work() {
  if (may_load() && around_.io.now() >= load_after_) {
    shard_ = std::make_unique<Shard>(around_.settings, around_.chance, image_);
    load_began_ = around_.io.now();
    records_read_ = 0;
    log_.read();
  }
  log_.flush();
}

void HostedShard::give_up() {
  is_given_up_ = true;
  log_.lose();
}

std::optional<Instant> HostedShard::next_deadline() const {
  if (is_given_up_) return std::nullopt;
  if (shard_ == nullptr) return may_load() ? std::optional(load_after_) : std::nullopt;
  return is_loaded_ ? shard_->next_deadline() : std::nullopt;
}

void HostedShard::on_time() {
  if (Shard* const loaded = shard()) carry_out(loaded->on_time(moment()));
}

// -- What the log says ---------------------------------------------------------------------------------------------

void HostedShard::on_record(Bytes key, std::optional<Bytes> value, ProducerId producer_id) {
  ++records_read_;
  shard_->apply(key, value, producer_id);
}

void HostedShard::on_transaction_end(ProducerId producer_id, bool is_committed) {
  shard_->end_transaction(producer_id, is_committed);
}

void HostedShard::on_read() {
  is_loaded_ = true;
  if (records_read_ != 0) {
    log_info("groups loaded topic={} partition={} records={} ms={}", node::kOffsetsTopic, partition_, records_read_,
             (around_.io.now() - load_began_) / std::chrono::milliseconds(1));
  }
  carry_out(shard_->on_loaded(moment()));
}

void HostedShard::on_lost(std::vector<Reply> unsent) {
  shard_.reset();
  is_loaded_ = false;
  load_after_ = around_.io.now() + kPauseAfterLoss;
  owner_.on_lost(partition_, std::move(unsent));
}

void HostedShard::on_durable(Reply reply) { owner_.on_reply(std::move(reply)); }

}  // namespace tailrace::groupcoord
