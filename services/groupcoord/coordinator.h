// Coordinator: the groups of this node. It hosts a shard for each partition of __consumer_offsets that the node leads,
// takes the requests about groups to their shards, joins what several shards answer to one request, and sees to it that
// every request is answered once.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "services/groupcoord/hosted_shard.h"
#include "services/groupcoord/lag_page.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/errors.h"

namespace tailrace::groupcoord {

class Coordinator final : public HostedShard::Owner {
 public:
  class Answerer {
   public:
    virtual void answer(std::uint64_t token, Bytes body) = 0;
    // The form of the answer is the broker's.
    virtual void fail(std::uint64_t token, kafka::ErrorCode error) = 0;
    // It is no request: its connection ends.
    virtual void refuse(std::uint64_t token) = 0;

   protected:
    ~Answerer() = default;
  };

  // All outlive the coordinator. `arena`: of the engine's sessions.
  Coordinator(io::Io& io, api::Client& engine, ipc::Arena& arena, const Settings& settings, Answerer& answerer);
  ~Coordinator();

  // The cluster as it is now, of which this node is `broker`.
  void use_image(std::shared_ptr<const node::MetadataImage> image, BrokerId broker);
  // False: no API of groups. Else the request is answered, now or later.
  bool serve(const Call& call, const Client& client, Bytes body);
  // A page of at most `rows_max` rows from the cursor on, with nothing answered yet; nullptr: groups that would belong
  // to it are still being read.
  [[nodiscard]] std::unique_ptr<LagPage> lag_page(std::size_t rows_max, const LagCursor& after) const;
  // Loads, appends, and acts on what is due. Called once a turn, behind everything that may have asked for something.
  void work();

  [[nodiscard]] std::size_t open_requests() const { return open_.size(); }

  void on_reply(Reply reply) override;
  void on_lost(std::int32_t partition, std::vector<Reply> unsent) override;

 private:
  // A request that is not answered yet.
  struct Open {
    std::int32_t partition = -1;  // of the shard that has it; -1: several
    std::size_t shares = 1;       // of the answer that are still to come
    kafka::Buffer body;           // of a joint answer
  };
  // The shards that a joint answer waits for, and what each is to do before.
  using Shares = std::map<HostedShard*, Effects>;

  // The shard of a group, loaded; or what a request about the group hears instead.
  std::expected<HostedShard*, kafka::ErrorCode> find(std::string_view group);
  void refuse(const Call& call, kafka::ErrorCode error);
  template <class Request, class Serve>
  void serve_one(const Call& call, Bytes body, Serve serve);
  // The answer goes when all these shards have done theirs.
  template <class Response>
  void finish(const Call& call, const Response& response, Shares shares);
  template <class Request>
  std::optional<Request> decode(const Call& call, Bytes body);

  void offset_fetch(const Call& call, Bytes body);
  void describe_groups(const Call& call, Bytes body);
  void consumer_group_describe(const Call& call, Bytes body);
  void delete_groups(const Call& call, Bytes body);
  void list_groups(const Call& call, Bytes body);

  [[nodiscard]] Moment moment() const;
  void on_due() {}  // the turn that follows acts

  io::Io& io_;
  api::Client& engine_;
  ipc::Arena& arena_;
  const Settings& settings_;
  Answerer& answerer_;
  Chance chance_;
  std::shared_ptr<const node::MetadataImage> image_;  // null: not known yet
  std::int32_t partitions_ = 0;                       // of __consumer_offsets
  Uuid topic_id_;
  std::map<std::int32_t, std::unique_ptr<HostedShard>> hosted_;
  std::vector<std::unique_ptr<HostedShard>> ended_;  // with calls on their way
  std::unordered_map<std::uint64_t, Open> open_;
  io::Timer due_;
};

}  // namespace tailrace::groupcoord
