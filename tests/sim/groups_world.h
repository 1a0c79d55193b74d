// GroupsWorld: one run of one seed with groups: the real coordinator over the real engine, members of both protocols
// that come and go, and faults that strike the processes and the sessions between them. When everything is healed, each
// group must find its way to one generation that has all partitions, the coordinator must say the same of it, and what
// was committed must be there.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/groupcoord/settings.h"
#include "tests/sim/client_process.h"
#include "tests/sim/engine_process.h"
#include "tests/sim/group_ledger.h"
#include "tests/sim/group_member.h"
#include "tests/sim/group_process.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/seeds.h"

namespace tailrace::kafka {
struct ConsumerGroupDescribeResponse;
struct DescribeGroupsResponse;
}  // namespace tailrace::kafka

namespace tailrace::sim {

class GroupsWorld final : public GroupNetwork {
 public:
  GroupsWorld(std::uint64_t seed, bool verbose);
  ~GroupsWorld() override;
  Outcome run();

  void call(std::int16_t api_key, std::int16_t version, const std::string& client_id, std::vector<std::byte> body,
            std::weak_ptr<const void> life, std::function<void(GroupAnswer)> on_answer) override;
  Schedule& schedule() override { return schedule_; }
  GroupLedger& ledger() override { return ledger_; }
  void on_commit_sent(const GroupPlan& plan) override {
    if (schedule_.random.one_in(4)) fetch(plan);
  }
  bool is_calm() override { return calm_; }

 private:
  enum class Protocol : std::uint8_t { classic, consumer, mixed };
  void make_groups();
  void make_members(const GroupPlan& plan, Protocol protocol);
  bool run_until(Instant end);  // false: a rule was broken
  void start_engine();
  void end_engine(bool power_cut);
  void start_groups();
  void end_groups();
  template <class Client>
  void connect(Client& client);
  void connect_all();
  void strike();
  void plan_next_strike();
  void fetch_some();
  void fetch(const GroupPlan& plan);
  // What the coordinator says of each group when all are settled.
  void describe(const GroupPlan& plan, Protocol protocol);
  void on_described(const GroupPlan& plan, const kafka::ConsumerGroupDescribeResponse& response);
  void on_described(const GroupPlan& plan, const kafka::DescribeGroupsResponse& response);
  template <class Response, class Request>
  void ask(const GroupPlan& plan, const Request& request, std::int16_t version,
           void (GroupsWorld::*then)(const GroupPlan&, const Response&));
  [[nodiscard]] std::string unfinished() const;

  Schedule schedule_;
  Plan plan_;
  Disk disk_;
  Network network_;
  Surroundings around_;
  History history_;
  std::vector<Slot> slots_;
  Stage stage_;
  GroupLedger ledger_;
  server::Settings engine_settings_;
  groupcoord::Settings settings_;
  std::map<std::string, std::pair<Uuid, std::int32_t>> topics_;
  std::unique_ptr<ClientProcess> control_;
  std::unique_ptr<EngineProcess> engine_;
  std::unique_ptr<GroupProcess> groups_;
  std::vector<std::pair<std::unique_ptr<GroupPlan>, Protocol>> plans_;
  std::vector<std::unique_ptr<GroupMember>> members_;
  std::shared_ptr<const void> life_ = std::make_shared<int>(0);
  std::uint64_t incarnation_ = 0;
  std::uint64_t coordinators_ = 0;
  std::size_t fetches_ = 0;
  std::set<std::string> described_;  // as they are
  bool engine_is_loading_ = false;
  bool calm_ = false;
};

}  // namespace tailrace::sim
