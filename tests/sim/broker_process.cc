#include "tests/sim/broker_process.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/node/config.h"

namespace tailrace::sim {
namespace {

constexpr std::size_t kArenaSize = std::size_t{1} << 20;
constexpr std::size_t kConnectionsMax = 1000;

const node::Config& config() {
  static const node::Config made = [] {
    std::expected<node::Config, std::string> parsed = node::make_config({}, {});
    CHECK(parsed.has_value());
    return std::move(*parsed);
  }();
  return made;
}

std::unique_ptr<Counters> make_counters() {
  const std::string path = "/tmp/tailrace-sim-" + std::to_string(::getpid()) + ".counters";
  Result<std::unique_ptr<Counters>> counters = Counters::create(path);
  CHECK(counters.has_value());
  ::unlink(path.c_str());
  return std::move(*counters);
}

}  // namespace

BrokerProcess::BrokerProcess(Surroundings& around, Stage& stage)
    : Process(around, "broker"),
      stage_(stage),
      arena_memory_(std::make_shared<std::vector<std::byte>>(kArenaSize)),
      arena_(*arena_memory_),
      counters_(make_counters()),
      engine_(io(), 1 + around.schedule.random.below(8)),
      node_(io(), config(), engine_, arena_),
      zkbridge_(node_, broker::Forwarder::kAdministrationMax),
      groupcoord_(node_, broker::Forwarder::kCoordinationMax),
      server_(node_, zkbridge_, groupcoord_, *counters_, kConnectionsMax) {
  identify_.bind<&BrokerProcess::on_identified>(this);
  node_.node_id = kNodeId;
  node_.cluster_id = kClusterId;
  update_image();
  CHECK(server_.bind({"127.0.0.1", kPort}).has_value());
  server_.accept_all();
  wake();
}

BrokerProcess::~BrokerProcess() = default;

void BrokerProcess::use_link(std::unique_ptr<SimLink> link) {
  link_ = link.get();
  link_->on_closed = [this] { link_closed_ = true; };
  engine_.attach(std::move(link));
  api::Identify request = identity();
  engine_.identify(request, identify_);
  wake();
}

void BrokerProcess::on_identified(const api::Done& answer, Bytes) {
  if (answer.code != api::kOk && link_ != nullptr) link_->break_session();
}

// What the controller would tell: every slot that was made is led by this broker.
void BrokerProcess::update_image() {
  const auto is_same = [](const Slot& a, const Slot& b) {
    return a.topic_id == b.topic_id && a.epoch == b.epoch && a.created == b.created && a.deleting == b.deleting;
  };
  if (std::ranges::equal(stage_.slots, image_slots_, is_same)) return;
  image_slots_ = stage_.slots;
  kafka::UpdateMetadataRequest update;
  update.controller_id = kNodeId;
  update.live_brokers.push_back(
      {.id = kNodeId, .endpoints = {{.port = kPort, .host = "127.0.0.1", .listener = "PLAINTEXT"}}});
  for (const Slot& slot : image_slots_) {
    if (!slot.created || slot.deleting) continue;
    kafka::UpdateMetadataRequest::UpdateMetadataTopicState topic{.topic_name = slot.topic, .topic_id = slot.topic_id};
    topic.partition_states.push_back({.topic_name = slot.topic,
                                      .partition_index = slot.partition,
                                      .leader = kNodeId,
                                      .leader_epoch = slot.epoch,
                                      .isr = {kNodeId},
                                      .replicas = {kNodeId}});
    update.topic_states.push_back(std::move(topic));
  }
  node_.image = node::MetadataImage::empty()->with(update, config());
}

bool BrokerProcess::step() {
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
  worked |= server_.work();
  engine_.publish();
  return worked || !engine_.prepare_to_sleep();
}

}  // namespace tailrace::sim
