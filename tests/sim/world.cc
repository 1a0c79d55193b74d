#include "tests/sim/world.h"

#include "tests/sim/controller.h"
#include "tests/sim/deleter.h"
#include "tests/sim/kafka_reader.h"
#include "tests/sim/producer.h"
#include "tests/sim/reader.h"

namespace tailrace::sim {
namespace {

const std::string kDataDirectory = "/data";

// After everything was healed the last append and the last read must be through by then. Generous: a slow sync of each
// of a few hundred batches is in it.
constexpr Duration kProgressTime{120'000'000};

server::Settings make_settings(const Plan& plan) {
  server::Settings settings;
  settings.data_directory = kDataDirectory;
  settings.durability = plan.durable ? server::Durability::disk : server::Durability::memory;
  settings.checkpoint_interval_ms = plan.checkpoint_interval_ms;
  settings.file_delete_delay_ms = 300;
  settings.retention_check_interval_ms = plan.retention_check_interval_ms;
  return settings;
}

}  // namespace

World::World(std::uint64_t seed, bool verbose)
    : schedule_(seed, verbose),
      plan_(schedule_.random),
      disk_(schedule_.random),
      network_(schedule_),
      around_{schedule_, disk_, network_},
      history_(schedule_, plan_.durable, plan_.moves_log_starts()),
      stage_{plan_, history_, slots_},
      settings_(make_settings(plan_)) {
  std::string name;
  const std::shared_ptr<Inode> root = disk_.parent_of(kDataDirectory, name);
  disk_.change_names(*root, {{{name, std::make_shared<Inode>(disk_, true)}}});
  disk_.sync(*root);
  make_clients();
}

// What is in flight still borrows memory of its owners.
World::~World() {
  if (broker_ != nullptr) broker_->io().abandon();
  if (engine_ != nullptr) engine_->io().abandon();
}

void World::make_clients() {
  Random& random = schedule_.random;
  for (std::size_t i = 0; i < plan_.slots; ++i) {
    Slot slot;
    slot.topic = "topic" + std::to_string(i);
    slot.partition = static_cast<std::int32_t>(i % 2);
    slot.topic_id = random_topic_id(random);
    slots_.push_back(slot);
  }
  clients_.push_back(std::make_unique<ClientProcess>(around_, stage_, "control", 4));
  clients_[0]->actors().push_back(std::make_unique<Controller>(*clients_[0]));
  for (std::size_t i = 0; i < plan_.clients; ++i) {
    clients_.push_back(
        std::make_unique<ClientProcess>(around_, stage_, "client" + std::to_string(i), 1 + random.below(8)));
  }
  const auto any_client = [&]() -> ClientProcess& { return *clients_[1 + random.below(plan_.clients)]; };
  const auto add = [&]<class A>(ClientProcess& client, auto... arguments) {
    client.actors().push_back(std::make_unique<A>(client, random.below(plan_.slots), arguments...));
  };
  for (std::size_t i = 0; i < plan_.idempotent_producers; ++i) {
    add.operator()<Producer>(any_client(), static_cast<ProducerId>(i + 1), true);
  }
  for (std::size_t i = 0; i < plan_.plain_producers; ++i) add.operator()<Producer>(any_client(), ProducerId{0}, false);
  for (std::size_t i = 0; i < plan_.readers; ++i) add.operator()<Reader>(any_client());
  if (plan_.deletes_records) add.operator()<Deleter>(any_client());
  for (std::size_t i = 0; i < plan_.kafka_producers + plan_.kafka_readers; ++i) {
    kafka_clients_.push_back(std::make_unique<KafkaClient>(around_, stage_, "kafka" + std::to_string(i)));
    KafkaClient& client = *kafka_clients_.back();
    if (i >= plan_.kafka_producers) {
      client.actors().push_back(std::make_unique<KafkaReader>(client, random.below(plan_.slots)));
    } else {
      add.operator()<Producer>(client, static_cast<ProducerId>(100 + i), !random.one_in(3));
    }
  }
}

bool World::run_until(Instant end) {
  while (!schedule_.violation() && schedule_.now() < end) {
    if (disk_.changes_left == 0u) {
      disk_.changes_left.reset();
      const bool power = plan_.cuts_power && schedule_.random.one_in(2);
      if (engine_ != nullptr) end_engine(power ? Ending::power_cut : Ending::killed);
    }
    if (engine_is_loading_ && !engine_->is_loading()) on_engine_loaded(engine_->loaded());
    if (engine_ != nullptr && engine_->stopped()) {
      engine_.reset();
      last_ending_ = Ending::stopped;
      // Without the mark the next start looks first.
      if (disk_.find(kDataDirectory + "/.kafka_cleanshutdown")) history_.audit(disk_, kDataDirectory, last_ending_);
      if (!stopping_) plan_start(Duration{1000});
    }
    if (!schedule_.run_next()) return true;
  }
  return !schedule_.violation();
}

// The last plan counts.
void World::plan_start(Duration delay) {
  schedule_.after(delay, [this, plan = ++start_plan_] {
    if (plan == start_plan_) start_engine();
  });
}

void World::start_engine() {
  if (engine_ != nullptr) return;
  Random& random = schedule_.random;
  if (!calm_ && plan_.crashes_midway && random.one_in(4)) disk_.changes_left = random.below(20);
  faults_before_load_ = disk_.faults_struck();
  engine_ = std::make_unique<EngineProcess>(around_, settings_);
  history_.on_engine_started();
  ++restarts_;
  engine_is_loading_ = true;
  if (Result<void> loaded = engine_->load(); !loaded) return on_engine_loaded(loaded);
  connect_clients();
}

// Once what the engine has found is durable, or when that has failed; it takes no request before.
void World::on_engine_loaded(const Result<void>& loaded) {
  engine_is_loading_ = false;
  schedule_.note("engine started: {}", loaded ? "ready" : loaded.error().text());
  if (loaded) {
    history_.audit(disk_, kDataDirectory, last_ending_);
    last_ending_ = Ending::killed;
    return;
  }
  const bool excused = disk_.faults_struck() != faults_before_load_ || (plan_.fills_disk && !calm_);
  if (!excused) return schedule_.fail("the engine does not start: {}", loaded.error().text());
  if (disk_.changes_left) {
    disk_.changes_left.reset();
    if (plan_.cuts_power && schedule_.random.one_in(2)) return end_engine(Ending::power_cut);
  }
  end_engine(last_ending_);
}

void World::end_engine(Ending ending) {
  schedule_.note("engine {}", ending == Ending::power_cut ? "loses its power" : "is killed");
  if (engine_ != nullptr) {
    engine_->io().abandon();
    engine_.reset();
    engine_is_loading_ = false;
  }
  // A power cut counts until a start has succeeded.
  last_ending_ = last_ending_ == Ending::power_cut ? last_ending_ : ending;
  if (ending == Ending::power_cut) {
    end_broker();
    for (const auto& client : clients_) client->on_power_cut();
    for (const auto& client : kafka_clients_) client->on_power_cut();
    disk_.cut_power();
  }
  plan_start(Duration{schedule_.random.between(1000, 100'000)});
}

template <class Client>
void World::connect(Client& client) {
  if (!client.wants_session() || engine_ == nullptr) return;
  SimLink::Pair pair =
      SimLink::make(schedule_, client.side(), engine_->side(), plan_.ring_bytes, client.arena_memory());
  engine_->add_session(std::move(pair.server));
  client.use_link(std::move(pair.client));
}

// Each client that has no session tries again and again, as a Connector does.
void World::connect_clients() {
  for (const auto& client : clients_) connect(*client);
  if (broker_ != nullptr) connect(*broker_);
  schedule_.after(Duration{schedule_.random.between(500, 5000)}, [this, incarnation = history_.incarnation()] {
    if (incarnation == history_.incarnation()) connect_clients();
  });
}

void World::start_broker() {
  if (broker_ != nullptr || kafka_clients_.empty()) return;
  schedule_.note("broker started");
  broker_ = std::make_unique<BrokerProcess>(around_, stage_);
}

void World::end_broker() {
  if (broker_ == nullptr) return;
  schedule_.note("broker is killed");
  broker_->io().abandon();
  broker_.reset();
  schedule_.after(Duration{schedule_.random.between(1000, 50'000)}, [this] { start_broker(); });
}

void World::plan_next_strike() {
  const std::int64_t pause_us = plan_.fault_pause_ms * 1000;
  schedule_.after(Duration{schedule_.random.between(pause_us / 10, 2 * pause_us)}, [this] {
    if (calm_) return;
    strike();
    plan_next_strike();
  });
}

void World::fail_syncs() {
  Random& random = schedule_.random;
  disk_.faults.sync_error = random.one_in(3) ? 0 : static_cast<std::uint64_t>(random.between(20, 500));
  // What was acknowledged from the cache alone would be lost to its readers.
  if (plan_.durable) disk_.faults.cache_lost = random.below(4);
}

void World::strike() {
  Random& random = schedule_.random;
  if (random.one_in(3)) disk_.write_back_some();
  if (disk_.syncs_failed > 0 && random.one_in(2)) {
    // Its owner starts the engine again, and the cache may know more than the disk.
    disk_.syncs_failed = 0;
    end_engine(Ending::killed);
    if (!plan_.cuts_power) return;
    return schedule_.after(Duration{random.between(100'000, 400'000)}, [this] {
      if (!calm_) end_engine(Ending::power_cut);
    });
  }
  ClientProcess& client = *clients_[random.below(clients_.size())];
  switch (random.below(14)) {
    case 0:
      if (plan_.kills_engine && engine_ != nullptr) end_engine(Ending::killed);
      break;
    case 1:
      if (plan_.cuts_power) end_engine(Ending::power_cut);
      break;
    case 2:
      if (!plan_.breaks_sessions) break;
      if (broker_ != nullptr && random.one_in(2)) {
        broker_->break_session();
      } else {
        client.break_session();
      }
      break;
    case 3:
      if (plan_.restarts_clients) client.restart();
      break;
    case 4:
      if (plan_.stops_engine && engine_ != nullptr) engine_->stop();
      break;
    case 5:
      if (plan_.crashes_midway && !disk_.changes_left && engine_ != nullptr) disk_.changes_left = random.below(40);
      break;
    case 6:
      if (plan_.moves_clock) around_.wall_clock_offset_ms += random.between(-5000, 600'000);
      break;
    case 7:
      if (plan_.fills_disk) disk_.budget_bytes = random.one_in(3) ? random.below(200'000) : ~0ull;
      break;
    case 8:
      disk_.faults.crash_behind = plan_.crashes_midway ? 2 : 0;
      if (plan_.fails_writes)
        disk_.faults.write_error = random.one_in(2) ? 0 : static_cast<std::uint64_t>(random.between(5, 200));
      break;
    case 9:
      if (plan_.fails_syncs) fail_syncs();
      break;
    case 10:
      if (plan_.fails_metadata)
        disk_.faults.metadata_error = random.one_in(2) ? 0 : static_cast<std::uint64_t>(random.between(10, 500));
      break;
    case 11:
      if (plan_.kills_broker) end_broker();
      break;
    case 12:
      if (plan_.resets_connections && !kafka_clients_.empty()) {
        kafka_clients_[random.below(kafka_clients_.size())]->reset_connection();
      }
      break;
    default:
      if (plan_.slows_syncs)
        disk_.faults.slow_sync = random.one_in(2) ? 0 : static_cast<std::uint64_t>(random.between(2, 20));
  }
}

void World::heal() {
  calm_ = true;
  schedule_.note("healed");
  disk_.faults = {};
  disk_.budget_bytes = ~0ull;
  disk_.changes_left.reset();
  stage_.healed = true;
  // A partition that met a failing sync is read-only until the engine is restarted: its owner does that once the disk
  // is well.
  if (plan_.disk_fails()) end_engine(Ending::killed);
}

std::string World::unfinished() const {
  if (engine_ == nullptr) return "the engine is not running";
  const auto unfinished_of = [](ClientProcess& client) -> std::string {
    if (!client.is_ready()) return client.name() + " has no session";
    for (const auto& actor : client.actors()) {
      if (std::string what = actor->unfinished(); !what.empty()) return client.name() + ": " + what;
    }
    return {};
  };
  for (const auto& client : clients_) {
    if (std::string what = unfinished_of(*client); !what.empty()) return what;
  }
  for (const auto& client : kafka_clients_) {
    if (std::string what = unfinished_of(*client); !what.empty()) return what;
  }
  return {};
}

bool World::wait_for_progress() {
  const Instant end = schedule_.now() + kProgressTime;
  while (!unfinished().empty()) {
    if (schedule_.now() >= end) {
      schedule_.fail("no progress: {}", unfinished());
      return false;
    }
    if (!run_until(schedule_.now() + Duration{20'000})) return false;
  }
  return true;
}

void World::stop_and_look() {
  stopping_ = true;
  ++start_plan_;
  engine_->stop();
  const Instant end = schedule_.now() + kProgressTime;
  while (engine_ != nullptr && schedule_.now() < end) {
    if (!run_until(schedule_.now() + Duration{10'000})) return;
  }
  if (engine_ != nullptr) return schedule_.fail("the engine does not stop");
  if (!disk_.find(kDataDirectory + "/.kafka_cleanshutdown")) return schedule_.fail("a clean stop left no mark");
  stopping_ = false;
  start_engine();
  wait_for_progress();
}

Outcome World::run() {
  plan_start(Duration{0});
  schedule_.after(Duration{100}, [this] { start_broker(); });
  plan_next_strike();
  if (plan_.fails_syncs) {
    schedule_.after(Duration{schedule_.random.between(10'000, 200'000)}, [this] {
      if (!calm_) fail_syncs();
    });
  }
  if (run_until(schedule_.now() + Duration{plan_.chaos_ms * 1000})) {
    heal();
    if (wait_for_progress()) stop_and_look();
  }
  return {schedule_.violation().value_or(""),
          schedule_.trace_hash(),
          {{"events", schedule_.events_run()},
           {"batches acknowledged", history_.acknowledged_count()},
           {"read", history_.read_count()},
           {"engine starts", restarts_}}};
}

}  // namespace tailrace::sim
