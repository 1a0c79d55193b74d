// Store: a small versioned tree with watches and sessions, ZooKeeper's own model. The controller keeps the cluster's
// metadata in it and knows no more than this file. Implementations: LocalStore (one journal in the data directory),
// SimStore (tests), and in a cluster one over ZooKeeper. Owned by one thread; answers come through the listener, never
// inside submit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::zkbridge {

enum class StoreCode : std::uint8_t {
  ok,
  no_node,  // the node, or the parent of one to create, is not there
  node_exists,
  bad_version,       // the node's version is another
  not_empty,         // a node with children cannot be removed
  ephemeral_parent,  // ephemeral nodes have no children
  bad_path,
  rolled_back,  // sound itself, but another operation of the same multi failed
  no_space,     // the disk is full: nothing was changed, and reading goes on
  unavailable,  // the store cannot be reached; whether it was done is not known
};
const char* name(StoreCode code);

struct NodeStat {
  std::int64_t created_zxid = 0;   // of the transaction that created the node; a broker's epoch
  std::int64_t modified_zxid = 0;  // of the last that set its data
  TimestampMs created_ms = 0;
  TimestampMs modified_ms = 0;
  std::int32_t version = 0;           // of the data; counts from 0
  std::int32_t children_version = 0;  // children made so far: sequential names are counted by it
  std::int64_t ephemeral_owner = 0;   // a session, 0: persistent
  friend bool operator==(const NodeStat&, const NodeStat&) = default;
};

enum class CreateMode : std::uint8_t { persistent = 0, ephemeral = 1, sequential = 2, ephemeral_sequential = 3 };

// Paths begin with '/' and do not end with one, but for the root "/". Data may be absent, which is not the same as
// empty.
struct Create {
  std::string path;
  std::optional<std::string> data;
  CreateMode mode = CreateMode::persistent;
};
struct Set {
  std::string path;
  std::optional<std::string> data;
  std::int32_t version = -1;  // -1: whatever it is
};
struct Remove {
  std::string path;
  std::int32_t version = -1;
};
struct Check {
  std::string path;
  std::int32_t version = -1;
};
using Operation = std::variant<Create, Set, Remove, Check>;

struct OperationResult {
  StoreCode code = StoreCode::ok;
  std::string path;  // Create: with the number of a sequential node
  NodeStat stat;     // Create and Set: after it
};

// Requests. Watches fire once, when what was read (or was not there) changes.
struct Get {  // one node; no_node when it is not there
  std::string path;
  bool watch = false;
};
struct GetChildren {  // names, sorted
  std::string path;
  bool watch = false;
};
struct GetTree {  // a node and everything below it
  std::string path;
};
struct Multi {  // all of it or nothing
  std::vector<Operation> operations;
};
using Request = std::variant<Get, GetChildren, GetTree, Multi>;

struct TreeNode {
  std::string path;
  std::optional<std::string> data;
  NodeStat stat;
};

struct StoreResult {
  std::uint64_t id = 0;                     // of the request
  StoreCode code = StoreCode::ok;           // Multi: of the operation that failed
  TreeNode node;                            // Get
  std::vector<std::string> children;        // GetChildren
  std::vector<TreeNode> tree;               // GetTree, parents before children, sorted by path
  std::vector<OperationResult> operations;  // Multi, one for each
};

struct WatchEvent {
  enum class Kind : std::uint8_t { created, changed, removed, children_changed };
  Kind kind = Kind::changed;
  std::string path;
};

// How the store speaks to its owner. Calls come from the loop, in the order of the requests; a watch comes before the
// result of any request that was submitted after the change.
class StoreListener {
 public:
  virtual ~StoreListener() = default;
  virtual void on_store_result(StoreResult result) = 0;
  virtual void on_watch(const WatchEvent& event) = 0;
  // The session is over: ephemeral nodes are gone, nothing that was not answered is known to have happened, and the
  // store answers no more. For the local store: the disk failed. The process ends and is started again.
  virtual void on_session_lost(const std::string& why) = 0;
};

class Store {
 public:
  virtual ~Store() = default;
  // Before anything else, once.
  virtual void start(StoreListener& listener) = 0;
  // A Multi is durable before its result says ok; results come in the order of the requests.
  virtual void submit(std::uint64_t id, Request request) = 0;
  // Once in each turn of the loop, when its completions have run and requests were submitted: hands out the results
  // that are due (whose handling may submit more) and begins what was submitted.
  virtual void turn() = 0;
};

}  // namespace tailrace::zkbridge
