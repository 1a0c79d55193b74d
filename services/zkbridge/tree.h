// Tree: the nodes of a store in memory, and what each transaction does to them. Deterministic: the same transactions in
// the same order give the same tree, which is how a journal is read back. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/zkbridge/store.h"

namespace tailrace::zkbridge {

// "/a/b": true; "a", "/a/", "//", "/a/./b", control characters: false. "/" itself is a path.
bool is_path(std::string_view path);
std::string_view parent_path(std::string_view path);  // of "/a" it is "/"; of "/" it is ""

struct Transaction {
  std::int64_t zxid = 0;  // one more than the one before
  TimestampMs time_ms = 0;
  std::int64_t session = 0;  // owns the ephemeral nodes it creates
  std::vector<Operation> operations;
};

class Tree {
 public:
  Tree();  // the root alone

  // All of it, or nothing and the code of the first operation that failed. `changes`, when given, receives what
  // happened, in order.
  StoreCode apply(const Transaction& transaction, std::vector<OperationResult>& results,
                  std::vector<WatchEvent>* changes = nullptr);

  // Other sessions are over: what they owned goes, without a transaction.
  void end_sessions_but(std::int64_t session);

  struct Node {
    std::optional<std::string> data;
    NodeStat stat;
    std::set<std::string, std::less<>> children;  // names
  };
  [[nodiscard]] const Node* find(std::string_view path) const;
  [[nodiscard]] std::vector<TreeNode> below(std::string_view path) const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  // From a checkpoint: nodes in the order of below("/"). False when one has no parent or comes twice.
  bool restore(const std::vector<TreeNode>& nodes);

 private:
  struct Undo;
  StoreCode apply_one(const Transaction& transaction, const Create& create, OperationResult& result);
  StoreCode apply_one(const Transaction& transaction, const Set& set, OperationResult& result);
  StoreCode apply_one(const Transaction& transaction, const Remove& remove, OperationResult& result);
  StoreCode apply_one(const Transaction& transaction, const Check& check, OperationResult& result);
  Node* node_at(std::string_view path);
  void undo_all();
  void report(std::vector<WatchEvent>& changes) const;

  // How to take one operation back.
  struct Undo {
    enum class Kind : std::uint8_t { created, changed, removed };
    Kind kind = Kind::created;
    std::string path;
    Node before;                               // changed (without children) and removed
    std::int32_t parent_children_version = 0;  // created
  };

  std::map<std::string, Node, std::less<>> nodes_;
  std::vector<Undo> undo_;  // of the transaction being applied
};

}  // namespace tailrace::zkbridge
