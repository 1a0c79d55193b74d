#include "tests/sim/group_process.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/node/config.h"
#include "services/node/metadata_image.h"

namespace tailrace::sim {
namespace {

constexpr std::size_t kArenaSize = std::size_t{1} << 20;
constexpr BrokerId kThisBroker = 1;

const node::Config& config() {
  static const node::Config made = [] {
    std::expected<node::Config, std::string> parsed = node::make_config({}, {});
    CHECK(parsed.has_value());
    return std::move(*parsed);
  }();
  return made;
}

}  // namespace

GroupProcess::GroupProcess(Surroundings& around, Stage& stage, const groupcoord::Settings& settings)
    : Process(around, "groupcoord"),
      stage_(stage),
      arena_memory_(std::make_shared<std::vector<std::byte>>(kArenaSize)),
      arena_(*arena_memory_),
      engine_(io(), 1 + around.schedule.random.below(8)),
      coordinator_(io(), engine_, arena_, settings, *this) {
  identify_.bind<&GroupProcess::on_identified>(this);
}

// Whoever waits hears that its connection broke. (In the node it is the broker that says so.)
GroupProcess::~GroupProcess() {
  for (auto& [token, on_answer] : waiting_) on_answer({.is_lost = true});
}

void GroupProcess::use_link(std::unique_ptr<SimLink> link) {
  link_ = link.get();
  link_closed_ = false;
  link_->on_closed = [this] { link_closed_ = true; };
  engine_.attach(std::move(link));
  const api::Identify request = identity();
  engine_.identify(request, identify_);
  wake();
}

void GroupProcess::on_identified(const api::Done& answer, Bytes) {
  if (answer.code != api::kOk && link_ != nullptr) link_->break_session();
}

void GroupProcess::use_topics(const std::map<std::string, std::pair<Uuid, std::int32_t>>& topics) {
  topics_ = topics;
  topics_changed_ = true;
  wake();
}

// What the controller would tell: this broker leads all that was made.
void GroupProcess::update_image() {
  const auto is_same = [](const Slot& a, const Slot& b) {
    return a.topic_id == b.topic_id && a.epoch == b.epoch && a.created == b.created;
  };
  if (!topics_changed_ && std::ranges::equal(stage_.slots, image_slots_, is_same)) return;
  topics_changed_ = false;
  image_slots_ = stage_.slots;
  if (std::ranges::any_of(image_slots_, [](const Slot& slot) { return !slot.created; })) return;
  kafka::UpdateMetadataRequest update;
  update.controller_id = kThisBroker;
  update.live_brokers.push_back(
      {.id = kThisBroker, .endpoints = {{.port = 9092, .host = "127.0.0.1", .listener = "PLAINTEXT"}}});
  const auto add = [&](std::string_view name, const Uuid& id, std::int32_t index, LeaderEpoch epoch) {
    if (update.topic_states.empty() || update.topic_states.back().topic_name != name) {
      update.topic_states.push_back({.topic_name = name, .topic_id = id});
    }
    update.topic_states.back().partition_states.push_back({.topic_name = name,
                                                           .partition_index = index,
                                                           .leader = kThisBroker,
                                                           .leader_epoch = epoch,
                                                           .isr = {kThisBroker},
                                                           .replicas = {kThisBroker}});
  };
  for (const Slot& slot : image_slots_) add(slot.topic, slot.topic_id, slot.partition, slot.epoch);
  for (const auto& [name, topic] : topics_) {
    for (std::int32_t i = 0; i < topic.second; ++i) add(name, topic.first, i, 0);
  }
  coordinator_.use_image(node::MetadataImage::empty()->with(update, config()), kThisBroker);
}

void GroupProcess::serve(std::int16_t api_key, std::int16_t version, const groupcoord::Client& client, Bytes body,
                         OnAnswer on_answer) {
  const groupcoord::Call call{next_token_++, api_key, version};
  waiting_[call.token] = std::move(on_answer);
  CHECK(coordinator_.serve(call, client, body));
  wake();
}

void GroupProcess::finish(std::uint64_t token, GroupAnswer answer) {
  const auto found = waiting_.find(token);
  if (found == waiting_.end()) return around_.schedule.fail("a request was answered twice");
  const OnAnswer on_answer = std::move(found->second);
  waiting_.erase(found);
  on_answer(std::move(answer));
}

void GroupProcess::answer(std::uint64_t token, Bytes body) { finish(token, {.body = {body.begin(), body.end()}}); }
void GroupProcess::fail(std::uint64_t token, kafka::ErrorCode error) { finish(token, {.error = error}); }
void GroupProcess::refuse(std::uint64_t token) {
  around_.schedule.fail("a sound request was refused");
  finish(token, {.is_lost = true});
}

bool GroupProcess::step() {
  bool worked = false;
  if (link_closed_) {
    link_closed_ = false;
    link_ = nullptr;
    engine_.detach();
    worked = true;
  }
  update_image();
  engine_.wake();
  worked |= engine_.poll();
  coordinator_.work();
  engine_.publish();
  return worked || !engine_.prepare_to_sleep();
}

}  // namespace tailrace::sim
