// Questions to a cluster that several commands ask: settings of resources (KIP-133, KIP-339), client quotas (KIP-546),
// offsets, and whatever only the controller answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "services/kafka/errors.h"

namespace tailrace::cli {

// What became of one thing that a request named.
struct Verdict {
  std::string name;
  std::int16_t error_code = 0;
  std::string message{};
  [[nodiscard]] bool is_done() const { return error_code == 0; }
  [[nodiscard]] std::string error() const { return is_done() ? std::string() : describe_error(error_code, message); }
};

constexpr int kControllerTries = 3;

// Asks the controller, and the next one when it has moved. `verdicts` turns an answer into one Verdict per thing.
template <class Answer, class Request, class Verdicts>
Outcome<std::vector<Verdict>> ask_controller(Client& client, const Request& request, Verdicts verdicts) {
  for (int attempt = 1;; ++attempt) {
    auto controller = client.controller();
    if (!controller) return std::unexpected(controller.error());
    // The broker may take as long as we told it; it needs a moment more to say so.
    auto reply = ask<Answer>(**controller, request, client.timeout() + std::chrono::seconds(2));
    if (!reply) return std::unexpected(reply.error());
    std::vector<Verdict> all = verdicts(reply->message);
    const bool moved = !all.empty() && all.front().error_code == kafka::wire(kafka::ErrorCode::NOT_CONTROLLER);
    if (!moved || attempt == kControllerTries) return all;
    const std::vector<std::string> none;
    if (auto again = client.describe(&none, false); !again) return std::unexpected(again.error());
  }
}

// ConfigResource.Type
enum class ResourceType : std::int8_t { topic = 2, broker = 4, broker_logger = 8, client_metrics = 16, group = 32 };

struct Resource {
  ResourceType type = ResourceType::topic;
  std::string name;  // of a broker: its id, or "" for what counts for all brokers
};

struct Setting {
  struct Synonym {
    std::string name;
    std::optional<std::string> value;
    std::int8_t source = 0;
  };
  std::string name;
  std::optional<std::string> value;  // none: it has none, or is a secret
  std::int8_t source = 0;            // DescribeConfigsResponse.ConfigSource
  bool is_read_only = false;
  bool is_sensitive = false;
  std::int8_t type = 0;
  std::vector<Synonym> synonyms;  // the value in force first
  std::string documentation;

  // Set for this resource, or for all of its kind, at run time: what kafka-configs describes without --all.
  [[nodiscard]] bool is_dynamic() const;
  [[nodiscard]] std::string shown_value() const;
};

// "topic", "broker", "all brokers", "file", "default" ..., and Kafka's own word (DYNAMIC_TOPIC_CONFIG).
std::string_view source_word(std::int8_t source);
std::string_view source_name(std::int8_t source);
std::string_view setting_type_name(std::int8_t type);

struct ResourceSettings {
  Resource resource;
  std::int16_t error_code = 0;
  std::string message;
  std::vector<Setting> settings;  // sorted by name
};

// In the order of `resources`. Settings of a broker come from that broker.
Outcome<std::vector<ResourceSettings>> describe_settings(Client& client, const std::vector<Resource>& resources,
                                                         bool with_documentation);

enum class ChangeKind : std::int8_t { set = 0, remove = 1, append = 2, subtract = 3 };
struct Change {
  ChangeKind kind = ChangeKind::set;
  std::string name;
  std::string value;
};
// The same changes for each of the resources; the verdicts are named by resource_text.
Outcome<std::vector<Verdict>> alter_settings(Client& client, const std::vector<Resource>& resources,
                                             const std::vector<Change>& changes, bool validate_only);
// "topic events", "broker 0", "all brokers", ...
std::string resource_text(const Resource& resource);

// Names of resources that have settings of their own.
Outcome<std::vector<std::string>> list_resources(Client& client, ResourceType type);

// One part of what a quota is for: type "user", "client-id" or "ip"; without a name it is the default.
struct QuotaPart {
  std::string type;
  std::optional<std::string> name;
};
using QuotaEntity = std::vector<QuotaPart>;
struct QuotaEntry {
  QuotaEntity entity;
  std::vector<std::pair<std::string, double>> values;
};
struct QuotaFilter {
  enum class Match : std::int8_t { exact = 0, is_default = 1, any = 2 };
  std::string type;
  Match match = Match::any;
  std::string name;
};
struct QuotaChange {
  std::string key;
  std::optional<double> value;  // none: remove
};
// strict: only entities that have exactly the types of the filters.
Outcome<std::vector<QuotaEntry>> describe_quotas(Client& client, const std::vector<QuotaFilter>& filters, bool strict);
Outcome<Verdict> alter_quotas(Client& client, const QuotaEntity& entity, const std::vector<QuotaChange>& changes,
                              bool validate_only);
// "user alice, client-id <default>"
std::string entity_text(const QuotaEntity& entity);

// ListOffsetsRequest's special times.
constexpr std::int64_t kLatestTime = -1;
constexpr std::int64_t kEarliestTime = -2;

struct PartitionKey {
  std::string topic;
  std::int32_t partition = 0;
  friend auto operator<=>(const PartitionKey&, const PartitionKey&) = default;
};
struct FoundOffset {
  Offset offset = kNoOffset;  // none: no record is that late, or there is no such offset
  TimestampMs timestamp = kNoTimestamp;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::string error;  // empty: none
};
// Asks the leaders that `cluster` names. Each key gets an answer or an error.
Outcome<std::map<PartitionKey, FoundOffset>> find_offsets(Client& client, const Cluster& cluster,
                                                          const std::vector<PartitionKey>& keys, std::int64_t time,
                                                          bool committed_only);

}  // namespace tailrace::cli
