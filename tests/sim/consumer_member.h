// ConsumerMember: a client that speaks the consumer protocol (KIP-848), as Kafka's clients do it: it makes its member
// id, joins with epoch 0, says in heartbeats what has changed, gives up partitions before it says that it has, commits
// with its epoch, and begins anew with the same id when it is fenced. A static one says -2 when it goes for a while.
//
// States of a partition here: told (the coordinator has assigned it), owned (it works on it), both at most times. What
// is owned and not told any more is given up after a while, and reported then; what is told and not owned yet is begun
// with at once, unless something is being given up.
#pragma once

#include <optional>
#include <string>

#include "tests/sim/group_member.h"

namespace tailrace::kafka {
struct ConsumerGroupHeartbeatRequest;
struct ConsumerGroupHeartbeatResponse;
}  // namespace tailrace::kafka

namespace tailrace::sim {

class ConsumerMember final : public GroupMember {
 public:
  using GroupMember::GroupMember;

 private:
  using Partitions = GroupLedger::Partitions;

  void begin() override;
  void revoke() override;
  void join();
  void live();
  void act(std::int64_t low_us, std::int64_t high_us, void (ConsumerMember::*what)());
  void heartbeat();
  void send(std::int32_t epoch);
  void on_heartbeat(const kafka::ConsumerGroupHeartbeatResponse* response, kafka::ErrorCode error);
  void take(const kafka::ConsumerGroupHeartbeatResponse& response);
  void use_assignment(const kafka::ConsumerGroupHeartbeatResponse& response);
  void go_to_told();
  void on_given_up(const Partitions& what);
  void commit_if_any();
  void commit_too_late(std::int32_t partition);
  void on_commit(const kafka::OffsetCommitResponse* response, kafka::ErrorCode error) override;
  void on_known();  // what the coordinator knows of it: a heartbeat was answered, or it begins anew
  void on_error(kafka::ErrorCode error);
  void join_again();
  void leave();
  void on_left(const kafka::ConsumerGroupHeartbeatResponse* response, kafka::ErrorCode error);
  // Of what it was told or has: nobody else may have it.
  [[nodiscard]] Partitions held() const;
  // As long as it does all in time.
  [[nodiscard]] Instant in_the_group_until() const;

  Partitions told_;
  bool says_all_ = true;      // in its next heartbeat: the coordinator may not know it
  bool must_report_ = false;  // it is done with what it was told last
  bool is_giving_up_ = false;
  std::optional<Partitions> reported_;  // by the request that is on its way
  std::optional<Instant> give_up_by_;   // the coordinator waits so long for that; nullopt: it has said that it has
  // When the first heartbeat was sent since the last one that was answered well, and how many were; nullopt: none.
  std::optional<Instant> unsure_since_;
  int unsure_heartbeats_ = 0;
  Instant next_heartbeat_;
  bool is_asking_ = false;
  int joins_ = 0;
  std::uint64_t turn_ = 0;   // what was planned before is void
  std::uint64_t round_ = 0;  // of giving up
};

}  // namespace tailrace::sim
