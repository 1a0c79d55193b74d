// ClassicMembers: who is in a classic group, what each member supports, who leads, and who waits for an answer. Owned
// by its ClassicGroup, which decides when members come and go. What holds: the leader is a member, a group with members
// has a leader, and an instance id belongs to one member. Kafka: ClassicGroup, ClassicGroupMember. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "services/groupcoord/effects.h"

namespace tailrace::groupcoord {

// What a member says about itself under one protocol (for a consumer: an assignor and its subscription). The bytes are
// the members' own affair.
struct ClassicProtocol {
  std::string name{};
  std::vector<std::byte> metadata{};
  friend bool operator==(const ClassicProtocol&, const ClassicProtocol&) = default;
};

struct ClassicMember {
  std::string id{};
  std::optional<std::string> instance_id{};  // a static member (KIP-345)
  std::string client_id{};
  std::string client_host{};
  std::int32_t rebalance_timeout_ms = 0;
  std::int32_t session_timeout_ms = 0;
  std::vector<ClassicProtocol> protocols{};  // the preferred one first, no name twice
  std::vector<std::byte> assignment{};       // by the leader of the last generation that became stable

  std::optional<Call> waiting_join{};
  std::optional<Call> waiting_sync{};
  bool is_new = false;     // has not had an answer to its first JoinGroup: may run out of time while it waits
  bool owes_sync = false;  // has had the answer to JoinGroup of this generation, and has not sent SyncGroup since

  [[nodiscard]] bool is_static() const { return instance_id.has_value(); }
  // Empty when the member does not support the protocol.
  [[nodiscard]] Bytes metadata(std::string_view protocol) const;
};

class ClassicMembers {
 public:
  using Map = std::map<std::string_view, std::unique_ptr<ClassicMember>>;  // by the member's id

  [[nodiscard]] const Map& all() const { return members_; }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] bool empty() const { return members_.empty(); }
  // nullptr: there is none.
  [[nodiscard]] ClassicMember* find(std::string_view id) const;
  [[nodiscard]] ClassicMember* find_static(std::string_view instance_id) const;

  // Neither its id nor its instance id may be here. The first one leads; one that was pending is not any more.
  ClassicMember& add(ClassicMember member);
  // If it leads, some other member does from now on.
  void remove(ClassicMember& member);
  // A static member comes back under a new id: all else stays as it is, its leading too.
  void rename(ClassicMember& member, std::string id);
  void set_protocols(ClassicMember& member, std::vector<ClassicProtocol> protocols);

  // Ids that were given out and have not been seen in a JoinGroup since (KIP-394).
  [[nodiscard]] bool is_pending(std::string_view id) const { return pending_.contains(id); }
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  void add_pending(std::string id) { pending_.insert(std::move(id)); }
  bool remove_pending(std::string_view id);

  // Changes waiting_join; returns what it was.
  std::optional<Call> set_waiting_join(ClassicMember& member, std::optional<Call> call);
  [[nodiscard]] std::size_t waiting_to_join() const { return waiting_to_join_; }
  // Nobody is missing for the next generation, not even one that is pending.
  [[nodiscard]] bool have_all_joined() const { return waiting_to_join_ == members_.size() && pending_.empty(); }

  // nullptr: there are no members.
  [[nodiscard]] const ClassicMember* leader() const { return leader_; }
  void set_leader(const ClassicMember& member) { leader_ = &member; }
  // Makes one that waits to join the leader, unless the leader does. False: nobody waits.
  bool elect_joined_leader();

  // Whether every member supports the protocol; true when there are none.
  [[nodiscard]] bool all_support(std::string_view protocol) const;
  // Each member votes for the one it likes best of those that all support; of equal votes the least name wins. Only
  // with members. nullopt: there is none that all support.
  [[nodiscard]] std::optional<std::string> vote() const;

  // The longest of the members, 0 without members.
  [[nodiscard]] std::int32_t rebalance_timeout_ms() const;

 private:
  void count_protocols(const ClassicMember& member);
  void uncount_protocols(const ClassicMember& member);

  Map members_;
  std::map<std::string_view, ClassicMember*> static_members_;  // by the member's instance id
  std::set<std::string, std::less<>> pending_;
  std::map<std::string, std::size_t, std::less<>> supporters_;  // of a protocol: how many members
  std::size_t waiting_to_join_ = 0;
  const ClassicMember* leader_ = nullptr;
};

}  // namespace tailrace::groupcoord
