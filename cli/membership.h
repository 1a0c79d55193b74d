// A member of a consumer group by the classic protocol, as kafka-console-consumer is one: it joins, reads one topic,
// and leaves. As the leader it shares out with the range assignor, which all of Kafka's clients know. It owns its
// client. Blocking, single-threaded: its owner calls beat() often, and joins again when that says so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/group_admin.h"

namespace tailrace::cli {

struct Subscriber {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::vector<std::string> topics;
};
// Kafka's RangeAssignor without racks: of each topic, neighbouring partitions to the members in order, static ones
// first; the first members get one more where it does not come out even. By member id; nobody is left out. Pure.
std::map<std::string, std::vector<PartitionKey>> assign_ranges(std::vector<Subscriber> subscribers,
                                                               const std::map<std::string, std::int32_t>& partitions);

class Membership {
 public:
  Membership(Client client, std::string group, std::string topic)
      : client_(std::move(client)), group_(std::move(group)), topic_(std::move(topic)) {}

  // Joins, or joins again, and waits as long as others may take for that. The partitions that it is to read; there may
  // be none. Error: the group does not take it, or its coordinator does not answer.
  Outcome<std::vector<std::int32_t>> join();
  // Says that we are there when it is time for that. False: the group shares out anew; commit and join again.
  Outcome<bool> beat();
  // Of the partitions that have one.
  Outcome<std::map<std::int32_t, Offset>> committed();
  // False: we are no member any more, or not of this generation, so that nothing was committed.
  Outcome<bool> commit(const std::map<std::int32_t, Offset>& offsets);
  // So that others need not wait until we are missed.
  void leave();

 private:
  Outcome<Connection*> coordinator();
  void forget_coordinator();
  // What a code means for a member: true, it has to join again (and perhaps look for the coordinator first).
  bool must_join_again(std::int16_t code);
  // Of all that the members are subscribed to.
  Outcome<std::map<std::string, std::vector<PartitionKey>>> share_out(std::vector<Subscriber> subscribers);

  Client client_;
  std::string group_;
  std::string topic_;
  BrokerId coordinator_ = -1;
  std::string member_id_;
  std::int32_t generation_ = -1;
  Connection::Clock::time_point next_beat_{};
};

}  // namespace tailrace::cli
