// ClassicMember: a client in a classic group, as a model of what Kafka's clients do: it joins, leads where it is told
// to, heartbeats, commits for the partitions that it has, gives them up when a rebalance begins, and at times leaves,
// dies without a word, or comes back. One request is on its way at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "services/kafka/errors.h"
#include "tests/sim/group_ledger.h"
#include "tests/sim/group_process.h"

namespace tailrace::kafka {
struct HeartbeatResponse;
struct JoinGroupResponse;
struct LeaveGroupResponse;
struct OffsetCommitResponse;
struct SyncGroupResponse;
}  // namespace tailrace::kafka

namespace tailrace::sim {

// What a member reaches the coordinator by: answers come later, or never when the member has died meanwhile.
class GroupNetwork {
 public:
  virtual ~GroupNetwork() = default;
  virtual void call(std::int16_t api_key, std::int16_t version, const std::string& client_id,
                    std::vector<std::byte> body, std::weak_ptr<const void> life,
                    std::function<void(GroupAnswer)> on_answer) = 0;
  virtual Schedule& schedule() = 0;
  virtual GroupLedger& ledger() = 0;
  // Nothing is to end or begin any more.
  virtual bool is_calm() = 0;
};

class ClassicMember {
 public:
  static constexpr std::int32_t kSessionTimeoutMs = 6'000;
  static constexpr std::int32_t kRebalanceTimeoutMs = 10'000;

  // `number`: of the client, unique in the world. `instance`: group.instance.id; empty: none.
  ClassicMember(GroupNetwork& network, std::string group, std::string topic, std::int32_t partitions, int number,
                std::string instance);
  ~ClassicMember();

  // It has been in a generation for some heartbeats, and has this of it.
  [[nodiscard]] bool is_settled() const { return is_alive_ && heartbeats_ >= 2; }
  [[nodiscard]] bool is_alive() const { return is_alive_; }
  [[nodiscard]] const std::string& group() const { return group_; }
  [[nodiscard]] std::int32_t generation() const { return generation_; }
  [[nodiscard]] const GroupLedger::Partitions& assignment() const { return assignment_; }
  [[nodiscard]] std::string text() const;

 private:
  template <class Response, class Request>
  void ask(const Request& request, std::int16_t version,
           void (ClassicMember::*then)(const Response*, kafka::ErrorCode));
  void after(std::int64_t low_us, std::int64_t high_us, void (ClassicMember::*then)());
  void join();
  void on_joined(const kafka::JoinGroupResponse* response, kafka::ErrorCode error);
  void sync();
  void on_synced(const kafka::SyncGroupResponse* response, kafka::ErrorCode error);
  void live();
  void heartbeat();
  void on_heartbeat(const kafka::HeartbeatResponse* response, kafka::ErrorCode error);
  void commit();
  void on_commit(const kafka::OffsetCommitResponse* response, kafka::ErrorCode error);
  void leave();
  void on_left(const kafka::LeaveGroupResponse* response, kafka::ErrorCode error);
  void die();
  void come_back();
  void revoke();
  // An error of a request in a generation; what to do follows.
  void go_on_after(kafka::ErrorCode error);
  [[nodiscard]] std::string identity() const { return instance_.empty() ? member_id_ : instance_; }

  GroupNetwork& network_;
  std::string group_;
  std::string topic_;
  std::int32_t partitions_;
  int number_;
  std::string instance_;

  bool is_alive_ = false;
  std::shared_ptr<const void> life_;
  std::string member_id_;
  std::int32_t generation_ = -1;
  bool is_leader_ = false;
  std::vector<std::string> members_;  // of the generation that it leads
  GroupLedger::Partitions assignment_;
  int heartbeats_ = 0;
  Instant asked_at_;
  Instant last_contact_;  // when the last request that was answered well was sent
  std::int32_t committing_ = -1;
  std::int64_t committed_ = -1;
};

}  // namespace tailrace::sim
