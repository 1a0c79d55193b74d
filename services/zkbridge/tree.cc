#include "services/zkbridge/tree.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/base/check.h"

namespace tailrace::zkbridge {
namespace {

constexpr std::size_t kPathBytesMax = 1024;

std::string_view leaf_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_ephemeral(CreateMode mode) { return mode == CreateMode::ephemeral || mode == CreateMode::ephemeral_sequential; }
bool is_sequential(CreateMode mode) {
  return mode == CreateMode::sequential || mode == CreateMode::ephemeral_sequential;
}

}  // namespace

const char* name(StoreCode code) {
  switch (code) {
    case StoreCode::ok:
      return "ok";
    case StoreCode::no_node:
      return "no_node";
    case StoreCode::node_exists:
      return "node_exists";
    case StoreCode::bad_version:
      return "bad_version";
    case StoreCode::not_empty:
      return "not_empty";
    case StoreCode::ephemeral_parent:
      return "ephemeral_parent";
    case StoreCode::bad_path:
      return "bad_path";
    case StoreCode::rolled_back:
      return "rolled_back";
    case StoreCode::no_space:
      return "no_space";
    case StoreCode::unavailable:
      return "unavailable";
  }
  return "unknown";
}

bool is_path(std::string_view path) {
  if (path == "/") return true;
  if (path.empty() || path.front() != '/' || path.back() == '/' || path.size() > kPathBytesMax) return false;
  std::size_t from = 1;
  while (from <= path.size()) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string_view part = path.substr(from, slash - from);
    if (part.empty() || part == "." || part == "..") return false;
    if (std::ranges::any_of(part, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
      return false;
    from = slash + 1;
  }
  return true;
}

std::string_view parent_path(std::string_view path) {
  if (path == "/") return {};
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

Tree::Tree() { nodes_["/"].data = ""; }

const Tree::Node* Tree::find(std::string_view path) const {
  const auto at = nodes_.find(path);
  return at == nodes_.end() ? nullptr : &at->second;
}
Tree::Node* Tree::node_at(std::string_view path) {
  const auto at = nodes_.find(path);
  return at == nodes_.end() ? nullptr : &at->second;
}

StoreCode Tree::apply_one(const Transaction& transaction, const Create& create, OperationResult& result) {
  // The name of a sequential node may be the number alone.
  if (!is_path(is_sequential(create.mode) ? create.path + "0" : create.path) || create.path == "/") {
    return StoreCode::bad_path;
  }
  const std::string parent_name(parent_path(create.path));
  Node* const parent = node_at(parent_name);
  if (parent == nullptr) return StoreCode::no_node;
  if (parent->stat.ephemeral_owner != 0) return StoreCode::ephemeral_parent;
  std::string path = create.path;
  if (is_sequential(create.mode)) path += fmt::format("{:010}", parent->stat.children_version);
  if (nodes_.contains(path)) return StoreCode::node_exists;

  undo_.push_back({Undo::Kind::created, path, {}, parent->stat.children_version});
  ++parent->stat.children_version;
  parent->children.emplace(leaf_name(path));
  Node& node = nodes_[path];
  node.data = create.data;
  node.stat = {.created_zxid = transaction.zxid,
               .modified_zxid = transaction.zxid,
               .created_ms = transaction.time_ms,
               .modified_ms = transaction.time_ms,
               .ephemeral_owner = is_ephemeral(create.mode) ? transaction.session : 0};
  result.path = std::move(path);
  result.stat = node.stat;
  return StoreCode::ok;
}

StoreCode Tree::apply_one(const Transaction& transaction, const Set& set, OperationResult& result) {
  result.path = set.path;
  Node* const node = node_at(set.path);
  if (node == nullptr) return is_path(set.path) ? StoreCode::no_node : StoreCode::bad_path;
  if (set.version != -1 && set.version != node->stat.version) return StoreCode::bad_version;
  undo_.push_back(
      {Undo::Kind::changed, set.path, {.data = std::move(node->data), .stat = node->stat, .children = {}}, 0});
  node->data = set.data;
  // A version never becomes -1, which would mean "any".
  node->stat.version = node->stat.version == INT32_MAX ? 0 : node->stat.version + 1;
  node->stat.modified_zxid = transaction.zxid;
  node->stat.modified_ms = transaction.time_ms;
  result.stat = node->stat;
  return StoreCode::ok;
}

StoreCode Tree::apply_one(const Transaction&, const Remove& remove, OperationResult& result) {
  result.path = remove.path;
  Node* const node = node_at(remove.path);
  if (node == nullptr) return is_path(remove.path) ? StoreCode::no_node : StoreCode::bad_path;
  if (remove.path == "/") return StoreCode::bad_path;
  if (remove.version != -1 && remove.version != node->stat.version) return StoreCode::bad_version;
  if (!node->children.empty()) return StoreCode::not_empty;
  Node* const parent = node_at(parent_path(remove.path));
  CHECK(parent != nullptr);
  parent->children.erase(std::string(leaf_name(remove.path)));
  undo_.push_back({Undo::Kind::removed, remove.path, std::move(*node), 0});
  nodes_.erase(remove.path);
  return StoreCode::ok;
}

StoreCode Tree::apply_one(const Transaction&, const Check& check, OperationResult& result) {
  result.path = check.path;
  const Node* const node = node_at(check.path);
  if (node == nullptr) return is_path(check.path) ? StoreCode::no_node : StoreCode::bad_path;
  if (check.version != -1 && check.version != node->stat.version) return StoreCode::bad_version;
  return StoreCode::ok;
}

void Tree::undo_all() {
  while (!undo_.empty()) {
    Undo& undo = undo_.back();
    switch (undo.kind) {
      case Undo::Kind::created: {
        Node* const parent = node_at(parent_path(undo.path));
        parent->children.erase(std::string(leaf_name(undo.path)));
        parent->stat.children_version = undo.parent_children_version;
        nodes_.erase(undo.path);
        break;
      }
      case Undo::Kind::changed: {
        Node* const node = node_at(undo.path);
        node->data = std::move(undo.before.data);
        node->stat = undo.before.stat;
        break;
      }
      case Undo::Kind::removed: {
        node_at(parent_path(undo.path))->children.emplace(leaf_name(undo.path));
        nodes_[undo.path] = std::move(undo.before);
        break;
      }
    }
    undo_.pop_back();
  }
}

void Tree::report(std::vector<WatchEvent>& changes) const {
  for (const Undo& undo : undo_) {
    const bool changed = undo.kind == Undo::Kind::changed;
    const WatchEvent::Kind kind = changed                            ? WatchEvent::Kind::changed
                                  : undo.kind == Undo::Kind::created ? WatchEvent::Kind::created
                                                                     : WatchEvent::Kind::removed;
    changes.push_back({kind, undo.path});
    if (!changed) changes.push_back({WatchEvent::Kind::children_changed, std::string(parent_path(undo.path))});
  }
}

StoreCode Tree::apply(const Transaction& transaction, std::vector<OperationResult>& results,
                      std::vector<WatchEvent>* changes) {
  results.assign(transaction.operations.size(), {});
  undo_.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const StoreCode code =
        std::visit([&](const auto& operation) { return apply_one(transaction, operation, results[i]); },
                   transaction.operations[i]);
    if (code == StoreCode::ok) continue;
    undo_all();
    for (OperationResult& result : results) result.code = StoreCode::rolled_back;
    results[i].code = code;
    return code;
  }
  if (changes != nullptr) report(*changes);
  undo_.clear();
  return StoreCode::ok;
}

std::vector<TreeNode> Tree::below(std::string_view path) const {
  std::vector<TreeNode> found;
  const std::string prefix = path == "/" ? "/" : std::string(path) + "/";
  for (auto at = nodes_.find(path); at != nodes_.end(); ++at) {
    // "/a-b" sorts between "/a" and "/a/": not below it, but no reason to stop.
    const bool below = at->first == path || at->first.starts_with(prefix);
    if (!below && at->first > prefix) break;
    if (below) found.push_back({at->first, at->second.data, at->second.stat});
  }
  return found;
}

void Tree::end_sessions_but(std::int64_t session) {
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    const std::int64_t owner = at->second.stat.ephemeral_owner;
    if (owner == 0 || owner == session) {
      ++at;
      continue;
    }
    node_at(parent_path(at->first))->children.erase(std::string(leaf_name(at->first)));
    at = nodes_.erase(at);
  }
}

bool Tree::restore(const std::vector<TreeNode>& nodes) {
  nodes_.clear();
  for (const TreeNode& from : nodes) {
    if (!is_path(from.path)) return false;
    if (from.path != "/") {
      Node* const parent = node_at(parent_path(from.path));
      if (parent == nullptr) return false;
      parent->children.emplace(leaf_name(from.path));
    }
    const auto [at, added] = nodes_.emplace(from.path, Node{from.data, from.stat, {}});
    if (!added) return false;
  }
  return nodes_.contains("/");
}

}  // namespace tailrace::zkbridge
