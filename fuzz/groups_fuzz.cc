// Groups of one partition of __consumer_offsets: a log that anybody may have written, then requests of every API about
// groups, whatever they say, and time that passes. Each request is answered once, with a sound response of the version
// asked for; a shard that reads the log knows what the one knows that wrote it; and neither memory nor time is spent
// without end. The real shard, without the processes around it.
//
// The input is a list of steps: a byte that says what to do, two bytes of arguments, two bytes of length
// (little-endian), that many bytes.
//   0  a record of the log, until the first request: the key's size is the first argument, the second has the producer
//      of a transaction (low bits; 0: none) and whether the value is null
//   1  a transaction ends: producer, whether it commits
//   2  the process is started again
//   3  time passes: as many steps of 2^n ms as the arguments say
//   4  topics come and go: which of the clusters
//   else: a request: API (kApis), version; the body
// A member id of one byte below 32 means one that was given out before, and with it the generation or epoch 100 means
// its last one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "services/groupcoord/consumer_group.h"
#include "services/groupcoord/group_answers.h"
#include "services/groupcoord/offset_fetch.h"
#include "services/groupcoord/settings.h"
#include "services/groupcoord/shard.h"
#include "services/kafka/api_table.h"
#include "services/kafka/message_types.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/delete_groups.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/list_groups.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/sync_group.h"
#include "tests/unit/support/cluster_image.h"

namespace {

using namespace tailrace;
using namespace tailrace::groupcoord;
namespace api_key = kafka::api_key;

constexpr std::size_t kStepsMax = 64;
constexpr std::size_t kStepHeader = 5;
constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20;
constexpr std::size_t kLogBytesMax = std::size_t{64} << 20;
constexpr int kCallsWithoutTimeMax = 1'000;
constexpr std::int32_t kLastGeneration = 100;

constexpr std::array kApis{api_key::kOffsetCommit,
                           api_key::kOffsetFetch,
                           api_key::kJoinGroup,
                           api_key::kHeartbeat,
                           api_key::kLeaveGroup,
                           api_key::kSyncGroup,
                           api_key::kDescribeGroups,
                           api_key::kListGroups,
                           api_key::kDeleteGroups,
                           api_key::kOffsetDelete,
                           api_key::kConsumerGroupHeartbeat,
                           api_key::kConsumerGroupDescribe};

enum Step : std::uint8_t { kRecord, kTransactionEnd, kRestart, kTime, kCluster, kRequest };

// The clusters that there are: topics as they are at first, without one, with another of its name, with more.
const std::vector<ClusterImage::Image>& clusters() {
  static const std::vector<ClusterImage::Image> all = [] {
    ClusterImage cluster;
    std::vector<ClusterImage::Image> made;
    cluster.add("t1", 1, 4);
    made.push_back(cluster.add("t2", 2, 2));
    made.push_back(cluster.remove("t1"));
    made.push_back(cluster.add("t1", 3, 3));
    made.push_back(cluster.add("t2", 2, 7));
    made.push_back(cluster.add("t3", 0, 1));
    made.push_back(node::MetadataImage::empty());
    return made;
  }();
  return all;
}

const Settings& settings() {
  static const Settings made = [] {
    Settings settings;
    settings.offsets_retention_ms = 3'600'000;
    settings.group_size_max = settings.consumer_group_size_max = 20;
    return settings;
  }();
  return made;
}

// A member, as it would know itself.
struct Given {
  std::string id;
  std::int32_t generation = 0;
};

class World {
 public:
  World() { start(); }

  void run(Bytes left);

 private:
  struct Logged {
    Record record;
    ProducerId producer_id = kNoProducerId;
    std::optional<bool> is_committed{};  // the end of a transaction
  };

  void start() { shard_ = std::make_unique<Shard>(settings(), chance_, clusters()[cluster_]); }
  void load() {
    if (std::exchange(is_loaded_, true)) return;
    take(shard_->on_loaded(moment_));
  }
  static void feed(const Logged& logged, Shard& shard);
  void see(Logged logged);
  void restart();
  void pass(Duration time);
  void serve(std::uint8_t api, std::uint8_t version, Bytes body);
  void take(Effects effects);
  void end();
  void check_reload() const;
  void check_same(const Group& live, const Shard& shard, const Shard& again) const;

  // -- Requests --

  const Given* refer(std::string_view& member_id) const;
  template <class Request>
  void refer_all(Request& request) const;
  template <class Request, class Serve>
  void serve_one(const Call& call, Bytes body, Serve serve);
  void offset_fetch(const Call& call, Bytes body);
  void describe_groups(const Call& call, Bytes body);
  void describe_consumer_groups(const Call& call, Bytes body);
  void list(const Call& call, Bytes body);
  void delete_groups(const Call& call, Bytes body);
  void remember(const Reply& reply);

  std::uint64_t random_ = 1;
  Chance chance_ = [this] { return random_ = random_ * 6364136223846793005u + 1442695040888963407u; };
  Moment moment_{Instant{1'000'000}, 1'700'000'000'000};
  std::size_t cluster_ = 0;
  std::unique_ptr<Shard> shard_;
  bool is_loaded_ = false;
  std::vector<Logged> log_;
  std::size_t log_bytes_ = 0;
  std::map<std::uint64_t, Call> open_;
  std::uint64_t next_token_ = 1;
  std::vector<Given> given_;
};

// -- The log -------------------------------------------------------------------------------------------------------

void World::feed(const Logged& logged, Shard& shard) {
  if (logged.is_committed) return shard.end_transaction(logged.producer_id, *logged.is_committed);
  const auto& value = logged.record.value;
  shard.apply(logged.record.key, value ? std::optional<Bytes>(*value) : std::nullopt, logged.producer_id);
}

void World::see(Logged logged) {
  if (is_loaded_) return;
  feed(logged, *shard_);
  log_.push_back(std::move(logged));
}

// Whoever waited hears of a broken connection.
void World::restart() {
  open_.clear();
  start();
  for (const Logged& each : log_) feed(each, *shard_);
  is_loaded_ = false;
  load();
}

// -- What comes out ------------------------------------------------------------------------------------------------

void World::take(Effects effects) {
  for (Record& each : effects.records) {
    log_bytes_ += each.key.size() + (each.value ? each.value->size() : 0);
    log_.push_back({std::move(each)});
  }
  CHECK(log_bytes_ <= kLogBytesMax);
  for (const Reply& reply : effects.replies) {
    const auto found = open_.find(reply.call.token);
    CHECK(found != open_.end());
    CHECK(found->second.api_key == reply.call.api_key && found->second.api_version == reply.call.api_version);
    open_.erase(found);
    const Bytes body = reply.body.bytes();
    CHECK(body.size() <= kAnswerBytesMax);
    const kafka::MessageType* const type = kafka::find_message_type(reply.call.api_key, kafka::MessageKind::response);
    CHECK(type != nullptr);
    kafka::Buffer again;
    std::size_t used = 0;
    CHECK(type->recode(body, reply.call.api_version, used, again).has_value());
    CHECK(used == body.size());
    remember(reply);
  }
}

void World::remember(const Reply& reply) {
  Given given;
  if (reply.call.api_key == api_key::kJoinGroup) {
    const auto joined = kafka::decode<kafka::JoinGroupResponse>(reply.body.bytes(), reply.call.api_version);
    given = {std::string(joined->member_id), joined->generation_id};
  } else if (reply.call.api_key == api_key::kConsumerGroupHeartbeat) {
    const auto beat = kafka::decode<kafka::ConsumerGroupHeartbeatResponse>(reply.body.bytes(), reply.call.api_version);
    given = {std::string(beat->member_id.value_or("")), beat->member_epoch};
  }
  if (given.id.empty()) return;
  const auto known = std::ranges::find(given_, given.id, &Given::id);
  if (known == given_.end()) {
    given_.push_back(std::move(given));
  } else {
    known->generation = given.generation;
  }
}

// -- Time ----------------------------------------------------------------------------------------------------------

void World::pass(Duration time) {
  constexpr int kDeadlinesMax = 32;  // that are met at their time; those behind them are met late
  const Instant end = moment_.now + time;
  int without_time = 0;
  for (int met = 0;;) {
    const std::optional<Instant> due = shard_->next_deadline();
    if (!due || *due > end) break;
    const Instant at = met < kDeadlinesMax ? std::max(*due, moment_.now) : end;
    if (at > moment_.now) {
      moment_.wall_ms += (at - moment_.now) / std::chrono::milliseconds(1);
      moment_.now = at;
      without_time = 0;
      ++met;
    }
    CHECK(++without_time <= kCallsWithoutTimeMax);
    take(shard_->on_time(moment_));
  }
  moment_.wall_ms += (end - moment_.now) / std::chrono::milliseconds(1);
  moment_.now = end;
}

// -- Requests ------------------------------------------------------------------------------------------------------

const Given* World::refer(std::string_view& member_id) const {
  constexpr std::uint8_t kReferencesMax = 32;
  if (member_id.size() != 1 || given_.empty()) return nullptr;
  const auto number = static_cast<std::uint8_t>(member_id[0]);
  if (number >= kReferencesMax) return nullptr;
  const Given& given = given_[number % given_.size()];
  member_id = given.id;
  return &given;
}

template <class Request>
void World::refer_all(Request& request) const {
  const auto set = [](const Given* given, std::int32_t& generation) {
    if (given != nullptr && generation == kLastGeneration) generation = given->generation;
  };
  if constexpr (requires { request.member_id; }) {
    [[maybe_unused]] const Given* const given = refer(request.member_id);
    if constexpr (requires { request.generation_id; }) set(given, request.generation_id);
    if constexpr (requires { request.member_epoch; }) set(given, request.member_epoch);
    if constexpr (requires { request.generation_id_or_member_epoch; }) {
      set(given, request.generation_id_or_member_epoch);
    }
  }
  if constexpr (requires { request.members.front().member_id; }) {
    for (auto& member : request.members) refer(member.member_id);
  }
  if constexpr (requires { request.assignments.front().member_id; }) {
    for (auto& assignment : request.assignments) refer(assignment.member_id);
  }
  if constexpr (requires { request.groups.front().member_epoch; }) {
    for (auto& group : request.groups) {
      if (group.member_id) set(refer(*group.member_id), group.member_epoch);
    }
  }
}

template <class Request, class Serve>
void World::serve_one(const Call& call, Bytes body, Serve serve) {
  auto request = kafka::decode<Request>(body, call.api_version);
  if (!request) return;  // its connection ends
  refer_all(*request);
  open_.emplace(call.token, call);
  take(serve(*request));
}

void World::offset_fetch(const Call& call, Bytes body) {
  serve_one<kafka::OffsetFetchRequest>(call, body, [&](const auto& request) {
    Effects effects;
    AnswerRoom room;
    std::vector<FetchedGroup> fetched;
    const std::vector<WantedOffsets> wanted = wanted_offsets(request, call.api_version);
    for (const WantedOffsets& each : wanted) {
      fetched.push_back(fetch_offsets(*shard_, each, request.require_stable, call.api_version, room));
    }
    effects.reply(call, fetch_response(std::move(fetched), call.api_version));
    return effects;
  });
}

void World::describe_groups(const Call& call, Bytes body) {
  serve_one<kafka::DescribeGroupsRequest>(call, body, [&](const auto& request) {
    Effects effects;
    AnswerRoom room;
    kafka::DescribeGroupsResponse response;
    for (const std::string_view each : request.groups) {
      response.groups.push_back(
          describe_group(*shard_, each, request.include_authorized_operations, call.api_version, room));
    }
    effects.reply(call, response);
    return effects;
  });
}

void World::describe_consumer_groups(const Call& call, Bytes body) {
  serve_one<kafka::ConsumerGroupDescribeRequest>(call, body, [&](const auto& request) {
    Effects effects;
    AnswerRoom room;
    kafka::ConsumerGroupDescribeResponse response;
    for (const std::string_view each : request.group_ids) {
      response.groups.push_back(describe_consumer_group(*shard_, each, request.include_authorized_operations, room));
    }
    effects.reply(call, response);
    return effects;
  });
}

void World::list(const Call& call, Bytes body) {
  serve_one<kafka::ListGroupsRequest>(call, body, [&](const auto& request) {
    Effects effects;
    kafka::ListGroupsResponse response;
    list_groups(*shard_, request, response);
    effects.reply(call, response);
    return effects;
  });
}

void World::delete_groups(const Call& call, Bytes body) {
  serve_one<kafka::DeleteGroupsRequest>(call, body, [&](const auto& request) {
    Effects effects;
    kafka::DeleteGroupsResponse response;
    std::set<std::string_view> named;
    for (const std::string_view each : request.groups_names) {
      if (named.insert(each).second) response.results.push_back(delete_group(*shard_, each, effects));
    }
    effects.reply(call, response);
    return effects;
  });
}

void World::serve(std::uint8_t api, std::uint8_t version, Bytes body) {
  const kafka::Api* const known = kafka::find_api(kApis[api % kApis.size()]);
  CHECK(known != nullptr && known->handler == kafka::Handler::groupcoord);
  const int versions = known->advertised_max - known->served_min + 1;
  const Call call{next_token_++, known->key, static_cast<std::int16_t>(known->served_min + version % versions)};
  constexpr Client kClient{.id = "fuzz", .host = "/127.0.0.1"};
  switch (known->key) {
    case api_key::kOffsetCommit:
      return serve_one<kafka::OffsetCommitRequest>(
          call, body, [&](const auto& request) { return shard_->commit(call, request, moment_); });
    case api_key::kOffsetFetch:
      return offset_fetch(call, body);
    case api_key::kJoinGroup:
      return serve_one<kafka::JoinGroupRequest>(
          call, body, [&](const auto& request) { return shard_->join(call, kClient, request, moment_); });
    case api_key::kHeartbeat:
      return serve_one<kafka::HeartbeatRequest>(
          call, body, [&](const auto& request) { return shard_->heartbeat(call, request, moment_); });
    case api_key::kLeaveGroup:
      return serve_one<kafka::LeaveGroupRequest>(
          call, body, [&](const auto& request) { return shard_->leave(call, request, moment_); });
    case api_key::kSyncGroup:
      return serve_one<kafka::SyncGroupRequest>(
          call, body, [&](const auto& request) { return shard_->sync(call, request, moment_); });
    case api_key::kDescribeGroups:
      return describe_groups(call, body);
    case api_key::kListGroups:
      return list(call, body);
    case api_key::kDeleteGroups:
      return delete_groups(call, body);
    case api_key::kOffsetDelete:
      return serve_one<kafka::OffsetDeleteRequest>(
          call, body, [&](const auto& request) { return shard_->delete_offsets(call, request, moment_); });
    case api_key::kConsumerGroupHeartbeat:
      return serve_one<kafka::ConsumerGroupHeartbeatRequest>(
          call, body, [&](const auto& request) { return shard_->consumer_heartbeat(call, kClient, request, moment_); });
    default:
      return describe_consumer_groups(call, body);
  }
}

// -- What must hold ------------------------------------------------------------------------------------------------

bool is_same(const CommittedOffset& a, const CommittedOffset& b) {
  return a.partition == b.partition && a.leader_epoch == b.leader_epoch && a.offset == b.offset &&
         a.committed_ms == b.committed_ms && a.expires_ms == b.expires_ms && a.order == b.order &&
         a.topic_id == b.topic_id && a.metadata.view() == b.metadata.view();
}

void check_same_offsets(const Offsets& a, const Offsets& b) {
  CHECK(a.groups().size() == b.groups().size());
  for (const auto& [group, topics] : a.groups()) {
    const Offsets::Topics* const same = b.find(group);
    CHECK(same != nullptr && same->size() == topics.size());
    for (const auto& [topic, partitions] : topics) {
      const auto found = same->find(topic);
      CHECK(found != same->end() && found->second.size() == partitions.size());
      partitions.for_each([&](const CommittedOffset& each) {
        const CommittedOffset* const other = found->second.find(each.partition);
        CHECK(other != nullptr && is_same(each, *other));
        CHECK(a.is_unstable(group, topic, each.partition) == b.is_unstable(group, topic, each.partition));
      });
    }
  }
}

std::string described(const Shard& shard, std::string_view group) {
  AnswerRoom room;
  kafka::DescribeGroupsResponse response;
  response.groups.push_back(describe_group(shard, group, false, 6, room));
  kafka::Buffer bytes;
  kafka::encode(response, 6, bytes);
  return std::string(as_text(bytes.bytes()));
}

void World::check_same(const Group& live, const Shard& shard, const Shard& again) const {
  const Group* const read = again.find(live.id());
  CHECK(read != nullptr && read->type() == live.type());
  CHECK(shard.offsets().has_any(live.id()) == again.offsets().has_any(live.id()));
  if (live.type() == GroupType::consumer) {
    CHECK(static_cast<const ConsumerGroup&>(live).has_same_fold(static_cast<const ConsumerGroup&>(*read)));
    return;
  }
  // Between two generations the record says the last one.
  if (live.state() != "Stable" && live.state() != "Empty") return;
  CHECK(described(shard, live.id()) == described(again, live.id()));
}

void World::check_reload() const {
  Shard again(settings(), chance_, clusters()[cluster_]);
  for (const Logged& each : log_) feed(each, again);
  (void)again.on_loaded(moment_);
  check_same_offsets(shard_->offsets(), again.offsets());
  CHECK(shard_->groups().size() == again.groups().size());
  for (const auto& [id, group] : shard_->groups()) check_same(*group, *shard_, again);
}

// When all clients are silent everybody is answered in the end.
void World::end() {
  if (open_.empty()) return;
  constexpr Duration kLongerThanAnything = std::chrono::hours(24 * 30);
  for (int i = 0; i < 4 && !open_.empty(); ++i) pass(kLongerThanAnything);
  CHECK(open_.empty());
  check_reload();
}

void World::run(Bytes left) {
  for (std::size_t steps = 0; left.size() >= kStepHeader && steps < kStepsMax; ++steps) {
    const auto byte = [&left](std::size_t i) { return std::to_integer<std::uint8_t>(left[i]); };
    const std::uint8_t what = byte(0);
    const std::uint8_t first = byte(1);
    const std::uint8_t second = byte(2);
    const std::size_t length = std::min<std::size_t>(byte(3) | std::size_t{byte(4)} << 8, left.size() - kStepHeader);
    const Bytes bytes = left.subspan(kStepHeader, length);
    left = left.subspan(kStepHeader + length);
    const ProducerId producer = (second & 3) == 0 ? kNoProducerId : second & 3;
    switch (what) {
      case kRecord: {
        const Bytes key = bytes.first(std::min<std::size_t>(first, bytes.size()));
        const Bytes value = bytes.subspan(key.size());
        Logged logged{.record = {.key = {key.begin(), key.end()}, .value = std::nullopt}, .producer_id = producer};
        if ((second & 4) == 0) logged.record.value.emplace(value.begin(), value.end());
        see(std::move(logged));
        break;
      }
      case kTransactionEnd:
        see({.record = {}, .producer_id = producer, .is_committed = (first & 1) != 0});
        break;
      case kRestart:
        restart();
        break;
      case kTime:
        load();
        pass(std::chrono::milliseconds(first * (std::int64_t{1} << second % 24)));
        break;
      case kCluster:
        load();
        cluster_ = first % clusters().size();
        take(shard_->on_image(clusters()[cluster_], ImageChange::between(shard_->image(), *clusters()[cluster_])));
        break;
      default:
        load();
        serve(first, second, bytes);
    }
  }
  load();
  // What is to be done at once is part of what was done: offsets of topics that are gone.
  pass({});
  check_reload();
  end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World().run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
