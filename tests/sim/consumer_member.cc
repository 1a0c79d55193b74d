#include "tests/sim/consumer_member.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/offset_commit.h"

namespace tailrace::sim {

using kafka::ErrorCode;

namespace {

constexpr std::int16_t kVersion = 1;
constexpr Duration kSessionTimeout = std::chrono::milliseconds(GroupMember::kSessionTimeoutMs);
constexpr Duration kRebalanceTimeout = std::chrono::milliseconds(GroupMember::kRebalanceTimeoutMs);

std::string random_uuid(Random& random) { return fmt::format("{:016x}{:016x}", random.next(), random.next()); }

GroupLedger::Partitions without(GroupLedger::Partitions from, const GroupLedger::Partitions& what) {
  for (const std::int32_t each : what) from.erase(each);
  return from;
}

}  // namespace

GroupLedger::Partitions ConsumerMember::held() const {
  Partitions held = assignment_;
  held.insert(told_.begin(), told_.end());
  return held;
}

Instant ConsumerMember::in_the_group_until() const {
  const Instant session = last_contact_ + kSessionTimeout;
  return give_up_by_ ? std::min(session, *give_up_by_) : session;
}

// -- Joining -------------------------------------------------------------------------------------------------------

void ConsumerMember::begin() {
  member_id_ = random_uuid(schedule().random);
  joins_ = 0;
  is_asking_ = false;
  on_known();
  join();
}

void ConsumerMember::join() {
  generation_ = 0;
  says_all_ = true;
  ++joins_;
  heartbeat();
}

// It has lost all that it had, and begins anew.
void ConsumerMember::join_again() {
  revoke();
  on_known();
  act(10'000, 200'000, &ConsumerMember::join);
}

void ConsumerMember::revoke() {
  GroupMember::revoke();
  told_.clear();
  give_up_by_.reset();
  must_report_ = is_giving_up_ = false;
  ++round_;
  ++turn_;
}

void ConsumerMember::on_known() {
  unsure_since_.reset();
  unsure_heartbeats_ = 0;
}

// -- In the group --------------------------------------------------------------------------------------------------

void ConsumerMember::act(std::int64_t low_us, std::int64_t high_us, void (ConsumerMember::*what)()) {
  schedule().after(Duration{schedule().random.between(low_us, high_us)}, life_, [this, what, turn = ++turn_] {
    if (turn == turn_) (this->*what)();
  });
}

void ConsumerMember::live() {
  Random& random = schedule().random;
  if (!network_.is_calm() && random.one_in(25)) return random.one_in(2) ? leave() : die();
  if (must_report_) return heartbeat();
  const std::int64_t pause_us =
      next_heartbeat_ > schedule().now() ? (next_heartbeat_ - schedule().now()).count() : std::int64_t{0};
  if (!assignment_.empty() && random.one_in(2)) {
    const std::int64_t at_us = random.between(1'000, 500'000);
    if (at_us < pause_us) return act(at_us, at_us, &ConsumerMember::commit_if_any);
  }
  act(pause_us, pause_us, &ConsumerMember::heartbeat);
}

void ConsumerMember::heartbeat() { send(generation_); }

void ConsumerMember::send(std::int32_t epoch) {
  kafka::ConsumerGroupHeartbeatRequest request;
  request.group_id = group();
  request.member_id = member_id_;
  request.member_epoch = epoch;
  request.instance_id = instance();
  reported_.reset();
  if (epoch >= 0) {
    if (says_all_) {
      request.rebalance_timeout_ms = kRebalanceTimeoutMs;
      request.subscribed_topic_names = {{plan_.topic}};
    }
    if (says_all_ || must_report_) {
      reported_ = assignment_;
      auto& topics = request.topic_partitions.emplace();
      if (!assignment_.empty()) {
        topics.push_back({.topic_id = plan_.topic_id, .partitions = {assignment_.begin(), assignment_.end()}});
      }
    }
    says_all_ = must_report_ = false;
    if (!unsure_since_) unsure_since_ = schedule().now();
    ++unsure_heartbeats_;
  }
  is_asking_ = true;
  ask<kafka::ConsumerGroupHeartbeatResponse>(request, kVersion,
                                             epoch < 0 ? &ConsumerMember::on_left : &ConsumerMember::on_heartbeat);
}

void ConsumerMember::on_heartbeat(const kafka::ConsumerGroupHeartbeatResponse* response, ErrorCode error) {
  is_asking_ = false;
  if (error != ErrorCode::NONE) return on_error(error);
  take(*response);
  live();
}

void ConsumerMember::take(const kafka::ConsumerGroupHeartbeatResponse& response) {
  if (response.member_id != member_id_) {
    return schedule().fail("{} is answered as {}", text(), response.member_id.value_or("nobody"));
  }
  const bool is_news = response.member_epoch != generation_ || response.assignment;
  last_contact_ = asked_at_;
  generation_ = response.member_epoch;
  next_heartbeat_ = schedule().now() + Duration{1000ll * response.heartbeat_interval_ms};
  // A mixed group may end and begin anew with low epochs.
  ledger().on_epoch(group(), plan_.is_mixed ? fmt::format("{}/{}", member_id_, joins_) : member_id_, generation_);
  if (reported_ && std::ranges::includes(told_, *reported_)) give_up_by_.reset();
  if (response.assignment) use_assignment(response);
  // Who has to give something up goes on when that is done.
  if (!plan_.is_mixed && generation_ < asked_generation_ && !give_up_by_) {
    return schedule().fail("{} is not told of epoch {}", text(), asked_generation_);
  }
  ledger().on_generation(group(), generation_);
  ledger().on_contact(group(), number_, in_the_group_until());
  ledger().on_assigned(group(), generation_, false, number_, member_id_, held());
  if (is_news) schedule().note("{} is told of {} partitions", text(), told_.size());
  heartbeats_ = is_news || told_ != assignment_ ? 0 : heartbeats_ + 1;
  on_known();
}

void ConsumerMember::use_assignment(const kafka::ConsumerGroupHeartbeatResponse& response) {
  Partitions told;
  for (const auto& topic : response.assignment->topic_partitions) {
    if (topic.topic_id != plan_.topic_id) return schedule().fail("{} is told of another topic", text());
    told.insert(topic.partitions.begin(), topic.partitions.end());
  }
  // The coordinator counts from when it said so for the first time.
  if (!std::ranges::includes(told, held()) && !give_up_by_) give_up_by_ = *unsure_since_ + kRebalanceTimeout;
  told_ = std::move(told);
  if (!is_giving_up_) go_to_told();
}

// -- Giving up and taking over -------------------------------------------------------------------------------------

void ConsumerMember::go_to_told() {
  const Partitions lost = without(assignment_, told_);
  if (lost.empty()) {
    assignment_ = told_;
    must_report_ = true;
    return;
  }
  is_giving_up_ = true;
  Random& random = schedule().random;
  std::int64_t takes_us = random.one_in(3) ? 0 : random.between(0, 2'000'000);
  if (!network_.is_calm() && random.one_in(30)) takes_us = random.between(8'000'000, 20'000'000);
  schedule().after(Duration{takes_us}, life_, [this, lost, round = ++round_] {
    if (round == round_) on_given_up(lost);
  });
}

void ConsumerMember::on_given_up(const Partitions& what) {
  is_giving_up_ = false;
  if (schedule().random.one_in(3)) commit_too_late(*what.begin());
  assignment_ = without(assignment_, what);
  go_to_told();
  must_report_ = true;
  schedule().note("{} has given up {} partitions", text(), what.size());
  ledger().on_given_up(group(), number_, without(what, told_));
  if (is_asking_) return;  // then it says so next
  ++turn_;
  heartbeat();
}

// -- Commits -------------------------------------------------------------------------------------------------------

void ConsumerMember::commit_if_any() {
  if (assignment_.empty()) return live();
  is_asking_ = true;
  commit();
}

void ConsumerMember::on_commit(const kafka::OffsetCommitResponse*, ErrorCode error) {
  is_asking_ = false;
  switch (error) {
    case ErrorCode::NONE:
      ledger().on_committed(group(), number_, committing_, committed_, asked_at_);
      break;
    case ErrorCode::STALE_MEMBER_EPOCH:
    case ErrorCode::UNKNOWN_MEMBER_ID:  // the next heartbeat will say so, too
      if (!unsure_since_) on_thrown_out(error, in_the_group_until());
      break;
    case ErrorCode::NETWORK_EXCEPTION:
    case ErrorCode::COORDINATOR_NOT_AVAILABLE:
    case ErrorCode::COORDINATOR_LOAD_IN_PROGRESS:
    case ErrorCode::NOT_COORDINATOR:
      break;
    default:
      return schedule().fail("a commit of {} is answered with error {}", text(), kafka::error_name(error));
  }
  live();
}

// For what it has given up, with its epoch of then. (With its present one, which it may keep until it has given up
// more, it may commit for anything: clients let their commits end before they give up.)
void ConsumerMember::commit_too_late(std::int32_t partition) {
  schedule().after(Duration{schedule().random.between(1'000, 5'000'000)}, life_,
                   [this, partition, epoch = generation_] {
                     if (generation_ > epoch) commit_as(partition, member_id_, epoch);
                   });
}

// -- Trouble and the end -------------------------------------------------------------------------------------------

void ConsumerMember::on_error(ErrorCode error) {
  switch (error) {
    case ErrorCode::NETWORK_EXCEPTION:
    case ErrorCode::COORDINATOR_NOT_AVAILABLE:
    case ErrorCode::COORDINATOR_LOAD_IN_PROGRESS:
    case ErrorCode::NOT_COORDINATOR:
      says_all_ = true;  // nobody knows what has arrived
      return act(50'000, 200'000, &ConsumerMember::heartbeat);
    case ErrorCode::FENCED_MEMBER_EPOCH:
      // An epoch that is older than the last two is one: after two answers that were lost it may be.
      if (unsure_heartbeats_ <= 2) on_thrown_out(error, in_the_group_until());
      return join_again();
    case ErrorCode::UNKNOWN_MEMBER_ID:
      on_thrown_out(error, in_the_group_until());
      return join_again();
    case ErrorCode::UNRELEASED_INSTANCE_ID:  // of a static member that has died
    case ErrorCode::FENCED_INSTANCE_ID:
      if (instance_.empty()) break;
      return die();
    case ErrorCode::GROUP_ID_NOT_FOUND:  // it is a classic one, with those who are left
      if (!plan_.is_mixed || generation_ == 0) break;
      on_thrown_out(error, in_the_group_until());
      return die();
    default:
      break;
  }
  schedule().fail("{} is answered with error {}", text(), kafka::error_name(error));
}

void ConsumerMember::leave() {
  schedule().note("{} leaves", text());
  if (!assignment_.empty() && schedule().random.one_in(2)) commit_late(any_partition(), 5'000'000);
  revoke();
  send(instance_.empty() || schedule().random.one_in(3) ? -1 : -2);
}

void ConsumerMember::on_left(const kafka::ConsumerGroupHeartbeatResponse*, ErrorCode) { die(); }

}  // namespace tailrace::sim
