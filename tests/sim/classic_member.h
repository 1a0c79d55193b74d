// ClassicMember: a client that speaks the classic protocol, as Kafka's clients do it: it joins, leads where it is told
// to, heartbeats, commits for the partitions that it has, and gives them up when a rebalance begins. In a mixed group
// it says and assigns what consumers do, so that the group may become a consumer group and a classic one again.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/group_member.h"

namespace tailrace::kafka {
struct HeartbeatResponse;
struct JoinGroupResponse;
struct LeaveGroupResponse;
struct SyncGroupResponse;
}  // namespace tailrace::kafka

namespace tailrace::sim {

class ClassicMember final : public GroupMember {
 public:
  using GroupMember::GroupMember;

 private:
  void begin() override { join(); }
  void revoke() override;
  void join();
  void on_joined(const kafka::JoinGroupResponse* response, kafka::ErrorCode error);
  void sync();
  void on_synced(const kafka::SyncGroupResponse* response, kafka::ErrorCode error);
  void live();
  void heartbeat();
  void on_heartbeat(const kafka::HeartbeatResponse* response, kafka::ErrorCode error);
  void on_commit(const kafka::OffsetCommitResponse* response, kafka::ErrorCode error) override;
  void leave();
  void on_left(const kafka::LeaveGroupResponse* response, kafka::ErrorCode error);
  // An error of a request in a generation; what to do follows.
  void go_on_after(kafka::ErrorCode error);
  [[nodiscard]] std::string identity() const { return instance_.empty() ? member_id_ : instance_; }
  [[nodiscard]] std::string_view protocol_type() const { return plan_.is_mixed ? "consumer" : "sim"; }

  bool is_leader_ = false;
  bool is_synced_ = false;            // it knows what it has in its generation
  std::vector<std::string> members_;  // of the generation that it leads
};

}  // namespace tailrace::sim
