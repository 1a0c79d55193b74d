#include "tests/sim/groups_world.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/messages/consumer_group_describe.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/offset_fetch.h"
#include "services/node/offsets_topic.h"
#include "tests/sim/classic_member.h"
#include "tests/sim/consumer_member.h"
#include "tests/sim/controller.h"

namespace tailrace::sim {
namespace {

const std::string kDataDirectory = "/data";
constexpr std::size_t kOffsetsPartitions = 3;
constexpr std::uint64_t kAnswersForOneLost = 150;  // on average
// After everything was healed: some rebalances, each of which waits for members that have died.
constexpr Duration kProgressTime = std::chrono::seconds(180);

Plan groups_plan(Random& random) {
  Plan plan(random);
  plan.durable = true;
  plan.deletes_topics = false;
  plan.retention_ms = plan.retention_bytes = -1;
  plan.segment_ms = 7 * 24 * 3600 * 1000ll;
  plan.segment_bytes = static_cast<std::uint32_t>(random.between(2'000, 100'000));
  plan.chaos_ms = random.between(20'000, 90'000);
  plan.fault_pause_ms = random.between(1'000, 10'000);
  return plan;
}

}  // namespace

GroupsWorld::GroupsWorld(std::uint64_t seed, bool verbose)
    : schedule_(seed, verbose),
      plan_(groups_plan(schedule_.random)),
      disk_(schedule_.random),
      network_(schedule_),
      around_{schedule_, disk_, network_},
      history_(schedule_, true, false),
      stage_{plan_, history_, slots_},
      ledger_(schedule_) {
  engine_settings_.data_directory = kDataDirectory;
  engine_settings_.durability = server::Durability::disk;
  engine_settings_.checkpoint_interval_ms = plan_.checkpoint_interval_ms;
  settings_.initial_rebalance_delay = Duration{schedule_.random.one_in(2) ? 0 : 3'000'000};
  settings_.consumer_session_timeout_ms = GroupMember::kSessionTimeoutMs;
  settings_.consumer_heartbeat_interval_ms = 1'500;
  std::string name;
  const std::shared_ptr<Inode> root = disk_.parent_of(kDataDirectory, name);
  disk_.change_names(*root, {{{name, std::make_shared<Inode>(disk_, true)}}});
  disk_.sync(*root);
  const Uuid id = random_topic_id(schedule_.random);
  for (std::size_t i = 0; i < kOffsetsPartitions; ++i) {
    slots_.push_back(
        {.topic = std::string(node::kOffsetsTopic), .partition = static_cast<std::int32_t>(i), .topic_id = id});
  }
  control_ = std::make_unique<ClientProcess>(around_, stage_, "control", 4);
  control_->actors().push_back(std::make_unique<Controller>(*control_));
  make_groups();
}

GroupsWorld::~GroupsWorld() {
  members_.clear();
  life_.reset();
  if (groups_ != nullptr) groups_->io().abandon();
  if (engine_ != nullptr) engine_->io().abandon();
}

void GroupsWorld::make_groups() {
  Random& random = schedule_.random;
  const auto groups = random.between(1, 4);
  for (std::int64_t i = 0; i < groups; ++i) {
    const auto protocol = static_cast<Protocol>(random.below(3));
    auto plan = std::make_unique<GroupPlan>(GroupPlan{.group = "group" + std::to_string(i),
                                                      .topic = "topic" + std::to_string(i),
                                                      .topic_id = random_topic_id(random),
                                                      .partitions = static_cast<std::int32_t>(random.between(1, 12)),
                                                      .is_mixed = protocol == Protocol::mixed});
    topics_[plan->topic] = {plan->topic_id, plan->partitions};
    make_members(*plan, protocol);
    plans_.emplace_back(std::move(plan), protocol);
  }
}

void GroupsWorld::make_members(const GroupPlan& plan, Protocol protocol) {
  Random& random = schedule_.random;
  const auto members = random.between(protocol == Protocol::mixed ? 2 : 1, 5);
  for (std::int64_t k = 0; k < members; ++k) {
    const std::string instance = random.one_in(3) ? "instance" + std::to_string(k) : "";
    const int number = static_cast<int>(members_.size()) + 1;
    const bool is_consumer = protocol == Protocol::consumer || (protocol == Protocol::mixed && k % 2 == 0);
    if (is_consumer) {
      members_.push_back(std::make_unique<ConsumerMember>(*this, plan, number, instance));
    } else {
      members_.push_back(std::make_unique<ClassicMember>(*this, plan, number, instance));
    }
    if (k > 0) members_.back()->let_stay_away();
  }
}

bool GroupsWorld::run_until(Instant end) {
  while (!schedule_.violation() && schedule_.now() < end) {
    if (engine_is_loading_ && !engine_->is_loading()) {
      engine_is_loading_ = false;
      if (!engine_->loaded()) schedule_.fail("the engine does not start: {}", engine_->loaded().error().text());
    }
    if (!schedule_.run_next()) return true;
  }
  return !schedule_.violation();
}

// -- Processes and sessions ----------------------------------------------------------------------------------------

void GroupsWorld::start_engine() {
  if (engine_ != nullptr) return;
  engine_ = std::make_unique<EngineProcess>(around_, engine_settings_);
  history_.on_engine_started();
  ++incarnation_;
  engine_is_loading_ = true;
  if (Result<void> loaded = engine_->load(); !loaded) {
    return schedule_.fail("the engine does not start: {}", loaded.error().text());
  }
  connect_all();
}

void GroupsWorld::end_engine(bool power_cut) {
  schedule_.note("engine {}", power_cut ? "loses its power" : "is killed");
  if (engine_ != nullptr) {
    engine_->io().abandon();
    engine_.reset();
    engine_is_loading_ = false;
  }
  if (power_cut) {
    end_groups();
    control_->on_power_cut();
    disk_.cut_power();
  }
  schedule_.after(Duration{schedule_.random.between(1'000, 2'000'000)}, [this] { start_engine(); });
}

void GroupsWorld::start_groups() {
  if (groups_ != nullptr) return;
  schedule_.note("coordinator started");
  ++coordinators_;
  groups_ = std::make_unique<GroupProcess>(around_, stage_, settings_);
  groups_->use_topics(topics_);
}

void GroupsWorld::end_groups() {
  if (groups_ == nullptr) return;
  schedule_.note("coordinator is killed");
  groups_->io().abandon();
  groups_.reset();
  const std::int64_t longest = schedule_.random.one_in(5) ? 10'000'000 : 300'000;
  schedule_.after(Duration{schedule_.random.between(1'000, longest)}, [this] { start_groups(); });
}

template <class Client>
void GroupsWorld::connect(Client& client) {
  if (!client.wants_session() || engine_ == nullptr) return;
  SimLink::Pair pair =
      SimLink::make(schedule_, client.side(), engine_->side(), plan_.ring_bytes, client.arena_memory());
  engine_->add_session(std::move(pair.server));
  client.use_link(std::move(pair.client));
}

void GroupsWorld::connect_all() {
  connect(*control_);
  if (groups_ != nullptr) connect(*groups_);
  schedule_.after(Duration{schedule_.random.between(500, 5000)}, [this, incarnation = incarnation_] {
    if (incarnation == incarnation_) connect_all();
  });
}

// -- What members send ---------------------------------------------------------------------------------------------

void GroupsWorld::call(std::int16_t api_key, std::int16_t version, const std::string& client_id,
                       std::vector<std::byte> body, std::weak_ptr<const void> life,
                       std::function<void(GroupAnswer)> on_answer) {
  const auto travel = [this] { return Duration{schedule_.random.between(50, 3'000)}; };
  // The answer, or the news that the connection broke, goes back to a client that lives.
  const auto back = [this, travel, life, on_answer = std::move(on_answer)](GroupAnswer answer) {
    schedule_.after(travel(), life,
                    [on_answer, answer = std::move(answer)]() mutable { on_answer(std::move(answer)); });
  };
  schedule_.after(travel(), [this, api_key, version, client_id, back, body = std::move(body)] {
    if (groups_ == nullptr) return back({.is_lost = true});
    if (!calm_ && plan_.breaks_sessions && schedule_.random.one_in(kAnswersForOneLost)) {
      const auto lose = [back](const GroupAnswer&) { back({.is_lost = true}); };
      return groups_->serve(api_key, version, {.id = client_id, .host = "/127.0.0.1"}, body, lose);
    }
    groups_->serve(api_key, version, {.id = client_id, .host = "/127.0.0.1"}, body, back);
  });
}

template <class Response, class Request>
void GroupsWorld::ask(const GroupPlan& plan, const Request& request, std::int16_t version,
                      void (GroupsWorld::*then)(const GroupPlan&, const Response&)) {
  kafka::Buffer body;
  kafka::encode(request, version, body);
  call(Request::kMessage.api_key, version, "checker", {body.bytes().begin(), body.bytes().end()}, life_,
       [this, &plan, version, then](const GroupAnswer& answer) {
         if (answer.is_lost || answer.error != kafka::ErrorCode::NONE) return;
         const auto response = kafka::decode_exactly<Response>(answer.body, version);
         if (!response) return schedule_.fail("a response about {} is not one", plan.group);
         (this->*then)(plan, *response);
       });
}

void GroupsWorld::fetch_some() {
  Random& random = schedule_.random;
  fetch(*plans_[random.below(plans_.size())].first);
  schedule_.after(Duration{random.between(100'000, 2'000'000)}, life_, [this] { fetch_some(); });
}

void GroupsWorld::fetch(const GroupPlan& plan) {
  constexpr std::int16_t kVersion = 8;
  std::vector<std::int32_t> partitions(static_cast<std::size_t>(plan.partitions));
  for (std::size_t i = 0; i < partitions.size(); ++i) partitions[i] = static_cast<std::int32_t>(i);
  kafka::OffsetFetchRequest request;
  request.groups = {{.group_id = plan.group}};
  request.groups[0].topics = {{.name = plan.topic, .partition_indexes = partitions}};
  kafka::Buffer body;
  kafka::encode(request, kVersion, body);
  std::map<std::int32_t, std::int64_t> known;
  for (const std::int32_t each : partitions) known[each] = ledger_.acknowledged(plan.group, each);
  call(kafka::api_key::kOffsetFetch, kVersion, "checker", {body.bytes().begin(), body.bytes().end()}, life_,
       [this, group = plan.group, known](const GroupAnswer& answer) {
         if (answer.is_lost || answer.error != kafka::ErrorCode::NONE) return;
         const auto response = kafka::decode_exactly<kafka::OffsetFetchResponse>(answer.body, kVersion);
         if (!response) return schedule_.fail("an OffsetFetch response is not one");
         if (response->groups.at(0).error_code != 0) return;
         ++fetches_;
         for (const auto& each : response->groups[0].topics.at(0).partitions) {
           ledger_.on_fetched(group, each.partition_index, each.committed_offset, known.at(each.partition_index));
         }
       });
}

void GroupsWorld::describe(const GroupPlan& plan, Protocol protocol) {
  if (protocol == Protocol::classic) {
    const kafka::DescribeGroupsRequest request{.groups = {plan.group}};
    return ask<kafka::DescribeGroupsResponse>(plan, request, 6, &GroupsWorld::on_described);
  }
  const kafka::ConsumerGroupDescribeRequest request{.group_ids = {plan.group}};
  ask<kafka::ConsumerGroupDescribeResponse>(plan, request, 1, &GroupsWorld::on_described);
}

void GroupsWorld::on_described(const GroupPlan& plan, const kafka::DescribeGroupsResponse& response) {
  const auto& group = response.groups.at(0);
  if (group.group_state == "Stable") described_.insert(plan.group);
}

void GroupsWorld::on_described(const GroupPlan& plan, const kafka::ConsumerGroupDescribeResponse& response) {
  const auto& group = response.groups.at(0);
  // A member that is dead is one until its session is over.
  const bool is_so = std::ranges::all_of(group.members, [&](const auto& member) {
    GroupLedger::Partitions has;
    for (const auto& topic : member.assignment.topic_partitions) {
      has.insert(topic.partitions.begin(), topic.partitions.end());
    }
    return std::ranges::any_of(members_, [&](const auto& each) {
      return each->group() == plan.group && each->id() == member.member_id && each->assignment() == has;
    });
  });
  if (group.group_state == "Stable" && is_so) described_.insert(plan.group);
}

// -- Faults --------------------------------------------------------------------------------------------------------

void GroupsWorld::plan_next_strike() {
  const std::int64_t pause_us = plan_.fault_pause_ms * 1000;
  schedule_.after(Duration{schedule_.random.between(pause_us / 10, 2 * pause_us)}, [this] {
    if (calm_) return;
    strike();
    plan_next_strike();
  });
}

void GroupsWorld::strike() {
  Random& random = schedule_.random;
  switch (random.below(7)) {
    case 0:
      if (plan_.kills_engine && engine_ != nullptr) end_engine(false);
      break;
    case 1:
      if (plan_.cuts_power) end_engine(true);
      break;
    case 2:
      if (plan_.breaks_sessions && groups_ != nullptr) groups_->break_session();
      break;
    case 3:
      if (plan_.slows_syncs) disk_.faults.slow_sync = random.one_in(2) ? 0 : 5;
      break;
    case 4:
      disk_.write_back_some();
      break;
    default:
      if (plan_.restarts_clients) end_groups();
  }
}

// -- The run -------------------------------------------------------------------------------------------------------

std::string GroupsWorld::unfinished() const {
  if (engine_ == nullptr || groups_ == nullptr) return "a process is not running";
  for (const auto& [plan, protocol] : plans_) {
    const std::string& group = plan->group;
    GroupLedger::Partitions all;
    std::optional<std::int32_t> generation;
    for (const auto& member : members_) {
      if (member->group() != group || member->has_gone()) continue;
      if (!member->is_settled()) return member->text();
      if (generation && *generation != member->generation()) return group + " has two generations";
      generation = member->generation();
      all.insert(member->assignment().begin(), member->assignment().end());
    }
    if (all.size() != static_cast<std::size_t>(plan->partitions)) {
      return fmt::format("{} has {} of {} partitions", group, all.size(), plan->partitions);
    }
  }
  return {};
}

Outcome GroupsWorld::run() {
  start_engine();
  start_groups();
  plan_next_strike();
  fetch_some();
  if (run_until(schedule_.now() + Duration{plan_.chaos_ms * 1000})) {
    calm_ = true;
    disk_.faults = {};
    schedule_.note("healed");
    const Instant end = schedule_.now() + kProgressTime;
    while (!schedule_.violation() && !unfinished().empty()) {
      if (schedule_.now() >= end) schedule_.fail("no progress: {}", unfinished());
      run_until(schedule_.now() + Duration{100'000});
    }
    const std::size_t before = fetches_;
    while (!schedule_.violation() && (fetches_ < before + 3 * plans_.size() || described_.size() < plans_.size())) {
      for (const auto& [plan, protocol] : plans_) {
        if (!described_.contains(plan->group)) describe(*plan, protocol);
      }
      run_until(schedule_.now() + Duration{500'000});
      if (schedule_.now() >= end + kProgressTime) {
        schedule_.fail("{} of {} groups are described as they are", described_.size(), plans_.size());
      }
    }
  }
  return {schedule_.violation().value_or(""),
          schedule_.trace_hash(),
          {{"events", schedule_.events_run()},
           {"assignments", ledger_.assignments()},
           {"commits", ledger_.commits()},
           {"fetches", fetches_},
           {"groups", plans_.size()},
           {"coordinator starts", coordinators_},
           {"engine starts", incarnation_}}};
}

}  // namespace tailrace::sim
