// Quotas: how much each client may produce, fetch, make the broker work, and change topics, and how long one that had
// more must wait: Kafka's ClientQuotaManager and its kin (KIP-13, 55, 124, 599). The most specific quota that names a
// client counts; clients that one quota does not tell apart share it. PURE.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "services/broker/rate.h"
#include "services/node/client_quotas.h"

namespace tailrace::broker {

enum class QuotaType : std::uint8_t {
  produce,   // bytes of requests
  fetch,     // bytes of responses
  request,   // per cent of one thread's time
  mutation,  // partitions made or deleted
};

constexpr double kNanosecondsPerPercent = 1e7;  // of a second of one thread

// Which quota counts for whom.
class QuotaTable {
 public:
  using Set = std::map<std::string, node::ClientQuota>;  // MetadataImage::Quotas

  QuotaTable() = default;
  explicit QuotaTable(const Set& set);

  struct Match {
    double bound = 0;        // per second
    bool by_user = false;    // each user has it for itself
    bool by_client = false;  // each client id
  };
  // Kafka's order: user and client id, user and any client id, user, any user and client id, any user and any client
  // id, any user, client id, any client id.
  [[nodiscard]] std::optional<Match> find(QuotaType type, std::string_view user, std::string_view client_id) const;
  [[nodiscard]] bool has(QuotaType type) const;

 private:
  static constexpr std::size_t kTypes = 4;
  static constexpr std::size_t kLevels = 8;
  struct Less {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      const std::string_view first(a.first);
      return first == b.first ? std::string_view(a.second) < b.second : first < b.first;
    }
  };
  using Level = std::map<std::pair<std::string, std::string>, double, Less>;  // user, client id; "" where any
  void put(QuotaType type, const node::QuotaEntity& entity, const std::optional<double>& bound);

  std::array<std::array<Level, kLevels>, kTypes> levels_;
};

class Quotas {
 public:
  // What is known of clients takes no more than this; the one that was idle longest goes, and begins anew.
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  // quota.window.* and controller.quota.window.*
  Quotas(QuotaWindows of_clients, QuotaWindows of_controller) : windows_(of_clients), mutations_(of_controller) {}
  // From now on; what was recorded stays. Null: none.
  void use(std::shared_ptr<const QuotaTable::Set> set);
  [[nodiscard]] bool has(QuotaType type) const { return table_.has(type); }

  struct Client {
    std::string_view user;
    std::string_view id;
  };
  // Counts `amount`. Returns for how many ms the client is to be muted; 0: it is within its quota, or has none.
  std::int32_t record(QuotaType type, const Client& client, double amount, TimestampMs now);

  // The same of a response with records, which is not sent where it is too much: what was counted is taken back. But
  // one that comes after nothing is sent however large it is (a whole batch at least must be), or it never could be.
  struct FetchVerdict {
    std::int32_t throttle_ms = 0;
    bool is_sent = true;
  };
  FetchVerdict record_fetch(const Client& client, double bytes, TimestampMs now);
  // More than so many bytes at once would be too much in any case; nullopt: no quota.
  [[nodiscard]] std::optional<double> fetch_bytes_max(const Client& client) const;

  // Changes of topics, as a whole or not at all: counted if there is no debt, however many they are (KIP-599). Returns
  // for how many ms none is taken; 0: these were.
  std::int32_t take_mutations(const Client& client, double partitions, TimestampMs now);

  // Forgets clients that a new one does not differ from.
  void forget_idle(TimestampMs now);
  [[nodiscard]] std::size_t clients() const { return entities_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entity {
    QuotaType type = QuotaType::produce;
    double bound = 0;  // as last used
    Rate rate;
    TokenBucket bucket;
    std::list<const std::string*>::iterator place;  // among all, the one used longest ago first
  };
  using Entities = std::unordered_map<std::string, Entity>;
  Entity* find(QuotaType type, const Client& client);
  [[nodiscard]] static std::size_t bytes_of(const std::string& key);
  void forget(Entities::iterator entity);

  QuotaWindows windows_;
  QuotaWindows mutations_;
  std::shared_ptr<const QuotaTable::Set> set_;
  QuotaTable table_;
  Entities entities_;
  std::list<const std::string*> by_use_;
  std::size_t bytes_ = 0;
  std::string key_;  // of the one that is looked up
};

}  // namespace tailrace::broker
