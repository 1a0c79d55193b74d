// GroupMember: a client in a group, as a model of what Kafka's clients do, whichever protocol it speaks. It comes,
// lives in its group, and at times dies without a word or leaves, and comes back. What both protocols have in common is
// here: asking the coordinator, committing, and death. One request is on its way at a time; but what a client has sent
// may arrive when it is dead already.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "tests/sim/group_ledger.h"
#include "tests/sim/group_process.h"

namespace tailrace::kafka {
struct OffsetCommitRequest;
struct OffsetCommitResponse;
}  // namespace tailrace::kafka

namespace tailrace::sim {

// A group of the world, and its one topic.
struct GroupPlan {
  std::string group;
  std::string topic;
  Uuid topic_id;
  std::int32_t partitions = 0;
  // Its members speak the consumer protocol and the classic one.
  bool is_mixed = false;
};

// What a member reaches the coordinator by: answers come later, or never when the member has died meanwhile.
class GroupNetwork {
 public:
  virtual ~GroupNetwork() = default;
  virtual void call(std::int16_t api_key, std::int16_t version, const std::string& client_id,
                    std::vector<std::byte> body, std::weak_ptr<const void> life,
                    std::function<void(GroupAnswer)> on_answer) = 0;
  virtual Schedule& schedule() = 0;
  virtual GroupLedger& ledger() = 0;
  // Something was committed: somebody may ask for it, maybe before it is acknowledged.
  virtual void on_commit_sent(const GroupPlan& plan) = 0;
  // Nothing is to end or begin any more.
  virtual bool is_calm() = 0;
};

class GroupMember {
 public:
  static constexpr std::int32_t kSessionTimeoutMs = 6'000;
  static constexpr std::int32_t kRebalanceTimeoutMs = 10'000;

  // `number`: of the client, unique in the world. `instance`: group.instance.id; empty: none.
  GroupMember(GroupNetwork& network, const GroupPlan& plan, int number, std::string instance);
  virtual ~GroupMember();

  // When it is dead and all is healed it may be so for good.
  void let_stay_away() { may_stay_away_ = true; }
  [[nodiscard]] bool has_gone() const { return has_gone_; }

  // It has what it is to have since some heartbeats.
  [[nodiscard]] bool is_settled() const { return is_alive_ && heartbeats_ >= 2; }
  [[nodiscard]] const std::string& group() const { return plan_.group; }
  [[nodiscard]] const std::string& id() const { return member_id_; }
  // Or the member's epoch.
  [[nodiscard]] std::int32_t generation() const { return generation_; }
  [[nodiscard]] const GroupLedger::Partitions& assignment() const { return assignment_; }
  [[nodiscard]] std::string text() const;

 protected:
  template <class Response, class Request, class Member>
  void ask(const Request& request, std::int16_t version, void (Member::*then)(const Response*, kafka::ErrorCode)) {
    kafka::Buffer body;
    kafka::encode(request, version, body);
    asked_at_ = schedule().now();
    asked_generation_ = ledger().generation(group());
    network_.call(Request::kMessage.api_key, version, client_id(), {body.bytes().begin(), body.bytes().end()}, life_,
                  [this, version, then](const GroupAnswer& answer) {
                    Member& member = static_cast<Member&>(*this);
                    if (answer.is_lost) return (member.*then)(nullptr, kafka::ErrorCode::NETWORK_EXCEPTION);
                    if (answer.error != kafka::ErrorCode::NONE) return (member.*then)(nullptr, answer.error);
                    const auto response = kafka::decode_exactly<Response>(answer.body, version);
                    if (!response) return schedule().fail("a response of {} is not one", group());
                    (member.*then)(&*response, static_cast<kafka::ErrorCode>(error_of(*response)));
                  });
  }
  template <class Member>
  void after(std::int64_t low_us, std::int64_t high_us, void (Member::*then)()) {
    schedule().after(Duration{schedule().random.between(low_us, high_us)}, life_,
                     [this, then] { (static_cast<Member&>(*this).*then)(); });
  }
  void commit();
  // A commit for what it has that is under way for a while, whatever happens to the member. If somebody else has the
  // partition by then, it must be refused.
  void commit_late(std::int32_t partition, std::int64_t longest_us);
  // The same, sent now.
  void commit_as(std::int32_t partition, const std::string& member_id, std::int32_t generation);
  virtual void on_commit(const kafka::OffsetCommitResponse* response, kafka::ErrorCode error) = 0;
  // Without a word; what is on its way to it is lost.
  void die();
  // One of what it has, chosen at random; there is one.
  [[nodiscard]] std::int32_t any_partition() const;
  void come_back();
  // As a client that was just started.
  virtual void begin() = 0;
  // It stops to work on all that it has.
  virtual void revoke();
  // The coordinator has said that it is not in the group as it believes.
  void on_thrown_out(kafka::ErrorCode error, Instant not_before);

  [[nodiscard]] Schedule& schedule() const { return network_.schedule(); }
  [[nodiscard]] GroupLedger& ledger() const { return network_.ledger(); }
  [[nodiscard]] std::string client_id() const { return "client" + std::to_string(number_); }
  [[nodiscard]] std::optional<std::string_view> instance() const {
    return instance_.empty() ? std::nullopt : std::optional<std::string_view>(instance_);
  }

  GroupNetwork& network_;
  const GroupPlan& plan_;
  int number_;
  std::string instance_;

  bool is_alive_ = false;
  bool may_stay_away_ = false;
  bool has_gone_ = false;
  std::shared_ptr<const void> life_;
  std::string member_id_;
  std::int32_t generation_ = -1;
  GroupLedger::Partitions assignment_;
  int heartbeats_ = 0;
  Instant asked_at_;
  std::int32_t asked_generation_ = 0;  // the last one that somebody in the group had heard of by then
  Instant last_contact_;               // when the last request that was answered well was sent
  std::int32_t committing_ = -1;
  std::int64_t committed_ = -1;

 private:
  template <class Response>
  static std::int16_t error_of(const Response& response) {
    return response.error_code;
  }
  static std::int16_t error_of(const kafka::OffsetCommitResponse& response);
  [[nodiscard]] kafka::OffsetCommitRequest commit_of(std::int32_t partition, std::int64_t offset,
                                                     std::string_view member_id, std::int32_t generation) const;

  std::shared_ptr<const void> beyond_ = std::make_shared<int>(0);  // what goes on when it is dead
};

}  // namespace tailrace::sim
