// World: one run of one seed. It makes the disk, the engine and its clients, lets faults strike for a while, heals
// everything and requires progress, stops the engine cleanly and looks through what is left.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/broker_process.h"
#include "tests/sim/client_process.h"
#include "tests/sim/engine_process.h"
#include "tests/sim/history.h"
#include "tests/sim/kafka_client.h"
#include "tests/sim/plan.h"
#include "tests/sim/seeds.h"

namespace tailrace::sim {

class World {
 public:
  World(std::uint64_t seed, bool verbose);
  ~World();
  Outcome run();

 private:
  void make_clients();
  bool run_until(Instant end);  // false: a rule was broken
  void strike();
  void fail_syncs();
  void plan_next_strike();
  void plan_start(Duration delay);
  void start_engine();
  void on_engine_loaded(const Result<void>& loaded);
  void end_engine(Ending ending);
  template <class Client>
  void connect(Client& client);
  void connect_clients();
  void start_broker();
  void end_broker();
  void heal();
  bool wait_for_progress();
  void stop_and_look();
  [[nodiscard]] std::string unfinished() const;

  Schedule schedule_;
  Plan plan_;
  Disk disk_;
  Network network_;
  Surroundings around_;
  History history_;
  std::vector<Slot> slots_;
  Stage stage_;
  server::Settings settings_;
  std::vector<std::unique_ptr<ClientProcess>> clients_;
  std::vector<std::unique_ptr<KafkaClient>> kafka_clients_;
  std::unique_ptr<EngineProcess> engine_;
  std::unique_ptr<BrokerProcess> broker_;  // where the plan has Kafka clients
  Ending last_ending_ = Ending::killed;
  bool engine_is_loading_ = false;
  std::uint64_t faults_before_load_ = 0;
  bool stopping_ = false;
  std::uint64_t start_plan_ = 0;
  bool calm_ = false;  // no more faults
  std::uint64_t restarts_ = 0;
};

}  // namespace tailrace::sim
