// The controller: decides who leads what, makes and deletes topics, hands out producer ids, and keeps all of it in the
// store in Kafka 3.x's layout. Events and a time go in, effects come out; it reaches nothing by itself. PURE.
//
// A client's request is answered when the change is durable in the store and every live broker concerned has said that
// it did its part; what a broker misses while it is away is sent to it when it is back, whole.
//
// Phases: loading (the tree is read) -> electing (base nodes and /controller are made) -> active. In `standby` another
// controller lives; the death of its node leads back to electing. Clients that come before `active` wait.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "services/kafka/buffer.h"
#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "services/node/config.h"
#include "services/node/control.h"
#include "services/zkbridge/cluster.h"
#include "services/zkbridge/config_plans.h"
#include "services/zkbridge/control_frames.h"
#include "services/zkbridge/found.h"
#include "services/zkbridge/quota_plans.h"
#include "services/zkbridge/store.h"
#include "services/zkbridge/topic_plans.h"

namespace tailrace::zkbridge {

using ClientId = std::uint64_t;  // of a session with another process, chosen by the owner, never used again

struct Moment {
  Instant now;              // for deadlines
  TimestampMs wall_ms = 0;  // for what is written down
};

struct Effects {
  struct StoreRequest {
    std::uint64_t id = 0;
    Request request;
  };
  struct Message {
    ClientId client = 0;
    node::ControlType type = node::ControlType::welcome;
    std::optional<std::uint64_t> number;  // of forward_reply and control
    kafka::Buffer bytes;  // forward_reply without bytes: the body was not sound, the client is to be cut off
  };
  std::vector<StoreRequest> store;
  std::vector<Message> messages;   // to be sent in this order
  std::vector<std::string> notes;  // for the log
  std::string fatal;               // not empty: this controller cannot go on; the process ends and starts again
  std::string refusal;             // not empty: this metadata is not for this node; a new start would end the same way
};

struct ControllerOptions {
  BrokerId node_id = 0;
  const node::Config* config = nullptr;  // outlives the controller
  std::string cluster_id;                // of the data directory, where it has one; else a new one is made
  FoundData found;                       // what the data directory has; taken in when the store is new
  Chance chance;
};

class Controller {
 public:
  explicit Controller(ControllerOptions options);

  Effects start();
  Effects on_store_result(StoreResult result, const Moment& moment);
  Effects on_watch(const WatchEvent& event);
  // hello: kafka::NodeRegistrationRequest. A client that is gone is never heard of again.
  Effects on_hello(ClientId client, Bytes message, const Moment& moment);
  Effects on_forward(ClientId client, std::uint64_t number, Bytes frame, const Moment& moment);
  Effects on_control_reply(ClientId client, std::uint64_t number, Bytes frame);
  Effects on_client_gone(ClientId client, const Moment& moment);
  // Requests whose time is over are answered; deletions that failed are tried again.
  Effects on_time(const Moment& moment);
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  [[nodiscard]] bool is_active() const { return phase_ == Phase::active; }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }

 private:
  enum class Phase : std::uint8_t { loading, electing, standby, active };

  struct Client {
    std::optional<BrokerId> broker;  // registered, or being registered, as this broker
    bool is_observer = false;        // not a broker; it is told of the cluster as brokers are
    bool is_welcome = false;
    std::deque<std::vector<std::byte>> early;  // a hello that came before we were active
  };

  // One topic of a request, or the request itself where it is about none.
  struct Outcome {
    std::string name;
    bool names_nothing = false;  // DeleteTopics by an id that is unknown: the answer has no name
    Uuid id;
    kafka::ErrorCode code = kafka::ErrorCode::NONE;
    std::optional<std::string> message;
    bool is_decided = false;
    bool is_left_out = false;  // said with another outcome
    std::int32_t partitions = -1;
    std::int16_t replication_factor = -1;
    node::ConfigMap configs;  // the topic's own, as created
  };
  struct AdminRequest {
    ClientId client = 0;
    std::uint64_t number = 0;
    std::int16_t key = 0;
    std::int16_t version = 0;
    std::int32_t correlation_id = 0;
    Instant deadline;
    std::vector<Outcome> outcomes;
    std::vector<std::byte> body;  // of alterations, whose answers repeat what was asked
  };
  struct OutcomeRef {
    std::uint64_t request = 0;
    std::size_t index = 0;
  };

  // What a store request was for.
  struct Load {};
  struct Prepare {};
  struct Elect {};
  struct AwaitElection {};
  struct TakeIn {};  // found topics, ids for topics without one
  struct Register {
    ClientId client = 0;
    BrokerId id = 0;
    Broker broker;
  };
  struct Unregister {};
  struct MakeTopic {
    std::string name;
    OutcomeRef outcome;
  };
  struct Grow {
    std::string name;
    std::vector<PartitionState> added;
    OutcomeRef outcome;
  };
  struct IntendDeletion {
    std::string name;
    OutcomeRef outcome;
  };
  struct ListDeleted {
    std::string name;
  };
  struct FinishDeletion {
    std::string name;
  };
  struct MoveLeaders {
    std::map<std::string, std::vector<std::int32_t>> partitions;
  };
  struct TakeProducerIds {
    std::int64_t first = 0;
  };
  struct ConfigEntity {
    std::int8_t type = 0;  // kafka::kTopicEntity and its kin
    std::string name;      // of a broker: its id or kAllBrokers; of quotas: node::quota_path
  };
  struct StoreConfig {
    ConfigEntity entity;
    node::ConfigMap configs;
    OutcomeRef outcome;
    std::vector<std::string> made;  // paths
    std::vector<std::string> removed;
  };
  struct ForgetConfigChange {};
  using Step =
      std::variant<Load, Prepare, Elect, AwaitElection, TakeIn, Register, Unregister, MakeTopic, Grow, IntendDeletion,
                   ListDeleted, FinishDeletion, MoveLeaders, TakeProducerIds, StoreConfig, ForgetConfigChange>;

  // Partitions that clients may hear of when their brokers have them.
  struct Announcement {
    std::string name;
    std::vector<std::int32_t> partitions;
    std::set<BrokerId> awaited;
    OutcomeRef outcome;
    std::uint64_t first_control = 0;  // messages from this number on speak of them
    std::optional<Refusal> trouble;   // what a broker said
  };
  struct Deletion {
    std::set<BrokerId> awaited;
    std::vector<OutcomeRef> outcomes;
    std::optional<Instant> retry;
    bool is_in_store = false;   // the intention is durable
    bool is_finishing = false;  // the nodes are being removed
  };
  struct Control {  // a message that was not answered yet
    ClientId client = 0;
    BrokerId broker = 0;  // -1: to an observer
    std::int16_t key = 0;
    bool is_whole = false;
    std::set<std::string, std::less<>> topics;
  };
  // A request that changes settings or quotas, as far as it was carried out. What it wants borrows from `body`.
  struct Alteration {
    std::uint64_t request = 0;
    std::vector<std::byte> body;
    kafka::AlterClientQuotasRequest quotas;
    std::vector<QuotaWish> quota_wishes;
    std::vector<ConfigWish> config_wishes;
    bool validate_only = false;
    std::size_t next = 0;  // of its outcomes
  };
  struct ProducerIdsRequest {
    ClientId client = 0;
    std::uint64_t number = 0;
    std::int16_t version = 0;
    std::int32_t correlation_id = 0;
  };

  // Store.
  void submit(Step step, Request request);
  void change(Step step, std::vector<Operation> operations);  // only while we are the controller
  void on_step(const Load& step, StoreResult& result, const Moment& moment);
  void on_step(const Prepare& step, StoreResult& result, const Moment& moment);
  void on_step(const Elect& step, StoreResult& result, const Moment& moment);
  void on_step(const AwaitElection& step, StoreResult& result, const Moment& moment);
  void on_step(const TakeIn& step, StoreResult& result, const Moment& moment);
  void on_step(Register& step, StoreResult& result, const Moment& moment);
  void on_step(const Unregister& step, StoreResult& result, const Moment& moment);
  void on_step(const MakeTopic& step, StoreResult& result, const Moment& moment);
  void on_step(Grow& step, StoreResult& result, const Moment& moment);
  void on_step(const IntendDeletion& step, StoreResult& result, const Moment& moment);
  void on_step(const ListDeleted& step, StoreResult& result, const Moment& moment);
  void on_step(const FinishDeletion& step, StoreResult& result, const Moment& moment);
  void on_step(const MoveLeaders& step, StoreResult& result, const Moment& moment);
  void on_step(const TakeProducerIds& step, StoreResult& result, const Moment& moment);
  void on_step(StoreConfig& step, StoreResult& result, const Moment& moment);
  void on_step(const ForgetConfigChange& step, StoreResult& result, const Moment& moment);
  bool went_wrong(const StoreResult& result, const char* doing);

  // Becoming the controller.
  void load(const std::vector<TreeNode>& tree);
  void load_node(const TreeNode& node);
  void prepare(const Moment& moment);
  void elect(const Moment& moment);
  void take_in(const Moment& moment);
  void activate(const Moment& moment);

  // Brokers.
  void register_client(ClientId id, Bytes hello, const Moment& moment);
  void welcome(ClientId client, kafka::ErrorCode code);
  void send_whole_state(ClientId client, BrokerId id);
  void send_whole_image(ClientId observer);
  void broker_gone(BrokerId id);
  void move_leaders();
  [[nodiscard]] std::optional<ClientId> client_of(BrokerId id) const;
  void send_config(const kafka::Buffer& image);
  void send_control(BrokerId to, std::int16_t key, std::vector<Mention> topics, bool is_whole);
  void send_control(ClientId client, BrokerId broker, std::int16_t key, const std::vector<Mention>& topics,
                    bool is_whole);
  [[nodiscard]] std::vector<Mention> all_topics() const;
  void send_metadata(const std::vector<Mention>& topics);

  // Topics.
  void create_topics(AdminRequest request, Bytes body);
  void delete_topics(AdminRequest request, Bytes body);
  void create_partitions(AdminRequest request, Bytes body);
  void make_topic(std::string name, Topic topic, OutcomeRef outcome);
  void announce(std::string name, std::vector<std::int32_t> partitions, OutcomeRef outcome);
  void partitions_ready(Announcement& announcement);
  void delete_topic(const std::string& name, OutcomeRef outcome);
  void stop_replicas(const std::string& name);
  void replicas_stopped(const std::string& name);
  void on_leader_and_isr_reply(const Control& control, std::uint64_t number, Bytes body, std::int16_t version);
  void on_stop_replica_reply(const Control& control, Bytes body, std::int16_t version);

  // Settings and quotas: one entity after the other, each a change of its own.
  void take_alteration(AdminRequest request, Bytes body);
  void go_on_altering(const Moment& moment);
  void alter_config(const ConfigWish& wish, bool validate_only, OutcomeRef outcome);
  void alter_quota(const QuotaWish& wish, bool validate_only, OutcomeRef outcome);
  void change_config(ConfigEntity entity, node::ConfigMap configs, bool validate_only, OutcomeRef outcome);
  [[nodiscard]] std::optional<Refusal> refuse_to_store(const ConfigEntity& entity,
                                                       const node::ConfigMap& configs) const;
  std::vector<Operation> config_operations(StoreConfig& step);
  void apply_config(StoreConfig& step);
  void forget_config_changes(const Moment& moment);
  void load_config(const TreeNode& node);
  [[nodiscard]] node::ConfigMap configs_of(const ConfigEntity& entity) const;
  kafka::Buffer answer_alteration(const AdminRequest& request) const;
  void describe_quotas(const AdminRequest& request, Bytes body);
  void list_config_resources(const AdminRequest& request, Bytes body);

  // Replicas and leaders, as far as a node on its own has a choice.
  void alter_reassignments(const AdminRequest& request, Bytes body);
  void list_reassignments(const AdminRequest& request, Bytes body);
  void elect_leaders(const AdminRequest& request, Bytes body);

  // Producer ids.
  void allocate_producer_ids(const ProducerIdsRequest& request, Bytes body);
  void take_producer_ids();
  void answer_producer_ids(const ProducerIdsRequest& request, kafka::ErrorCode code, std::int64_t first,
                           std::int32_t count);

  // Answers. A request is kept while one of its outcomes is open.
  std::uint64_t keep(AdminRequest request, std::int32_t timeout_ms);
  void decide(const OutcomeRef& outcome, kafka::ErrorCode code, std::optional<std::string> message = std::nullopt);
  void answer_if_decided(std::uint64_t id);
  kafka::Buffer answer(const AdminRequest& request) const;
  void refuse_frame(ClientId client, std::uint64_t number);
  void reply(const AdminRequest& request, kafka::Buffer frame);
  void note(std::string text) { effects_.notes.push_back(std::move(text)); }
  Effects take() { return std::exchange(effects_, {}); }
  [[nodiscard]] node::BrokerConfigs broker_configs() const;

  ControllerOptions options_;
  Phase phase_ = Phase::loading;
  Cluster cluster_;
  Effects effects_;
  Instant now_;

  std::set<std::string, std::less<>> loaded_paths_;  // while becoming the controller
  bool has_producer_ids_ = false;
  std::set<BrokerId> registered_nodes_;  // /brokers/ids/N, as it will be when everything submitted is done

  std::uint64_t next_store_id_ = 1;
  std::map<std::uint64_t, Step> steps_;
  std::map<ClientId, Client> clients_;
  std::uint64_t next_control_ = 1;
  std::map<std::uint64_t, Control> controls_;
  std::uint64_t next_request_ = 1;
  std::map<std::uint64_t, AdminRequest> requests_;
  std::vector<Announcement> announcements_;
  std::map<std::string, Deletion, std::less<>> deletions_;
  std::deque<Alteration> alterations_;                              // the first is being carried out
  std::size_t configs_storing_ = 0;                                 // changes of settings that the store was asked for
  std::set<std::string, std::less<>> config_paths_;                 // nodes of settings, topics' left out
  std::deque<std::pair<std::string, TimestampMs>> config_changes_;  // notices in the store and when they were made
  std::deque<ProducerIdsRequest> producer_id_requests_;
  std::size_t producer_ids_taking_ = 0;  // of the requests in front, how many the store is asked for
};

}  // namespace tailrace::zkbridge
