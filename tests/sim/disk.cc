#include "tests/sim/disk.h"

#include <algorithm>
#include <set>

namespace tailrace::sim {
namespace {

constexpr std::uint64_t kPage = 512;  // smaller than any real one: more ways to tear a write

void put(std::vector<std::byte>& content, Bytes bytes, std::uint64_t position) {
  if (content.size() < position + bytes.size()) content.resize(position + bytes.size());
  std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(position));
}

void carry_out(std::map<std::string, std::shared_ptr<Inode>>& names, const Inode::NameChange& change) {
  for (const auto& [name, inode] : change.names) {
    if (inode == nullptr) {
      names.erase(name);
    } else {
      names[name] = inode;
    }
  }
}

void carry_out(std::vector<std::byte>& content, const Inode::Change& change) {
  if (change.truncates) {
    content.resize(change.position);
  } else {
    put(content, change.bytes, change.position);
  }
}

}  // namespace

Inode::~Inode() { disk.used_bytes_ -= allocated; }

void Inode::set_allocated(std::uint64_t bytes) {
  disk.used_bytes_ += bytes - allocated;
  allocated = bytes;
}

Disk::Disk(Random& random) : random_(random), root_(std::make_shared<Inode>(*this, true)) {}
Disk::~Disk() = default;

std::shared_ptr<Inode> Disk::find(const std::string& path) const {
  std::shared_ptr<Inode> at = root_;
  std::size_t from = 0;
  while (from < path.size()) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, slash - from);
    from = slash + 1;
    if (part.empty()) continue;
    if (!at->is_directory) return nullptr;
    const auto found = at->names.find(part);
    if (found == at->names.end()) return nullptr;
    at = found->second;
  }
  return at;
}

std::shared_ptr<Inode> Disk::parent_of(const std::string& path, std::string& name) const {
  const std::size_t slash = path.rfind('/');
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  std::shared_ptr<Inode> parent = find(slash == std::string::npos ? "" : path.substr(0, slash));
  return parent != nullptr && parent->is_directory ? parent : nullptr;
}

void Disk::change_names(Inode& directory, Inode::NameChange change) {
  carry_out(directory.names, change);
  directory.unsynced_names.push_back(std::move(change));
}

std::size_t Disk::write(Inode& file, Bytes from, std::uint64_t position) {
  const std::uint64_t end = position + from.size();
  if (end > file.allocated) {
    const std::uint64_t granted = std::min(end, file.allocated + free_bytes());
    from = from.first(granted > position ? static_cast<std::size_t>(granted - position) : 0);
    file.set_allocated(granted);
  }
  if (from.empty()) return 0;
  put(file.content, from, position);
  file.unsynced.push_back({false, position, {from.begin(), from.end()}});
  return from.size();
}

void Disk::truncate(Inode& file, std::uint64_t size) {
  if (size != file.content.size()) {
    file.content.resize(size);
    file.unsynced.push_back({true, size, {}});
  }
  file.set_allocated(size);
}

bool Disk::allocate(Inode& file, std::uint64_t end) {
  if (end <= file.allocated) return true;
  if (end - file.allocated > free_bytes()) return false;
  file.set_allocated(end);
  return true;
}

void Disk::sync(Inode& inode) {
  for (const Inode::Change& change : inode.unsynced) carry_out(inode.durable, change);
  inode.unsynced.clear();
  for (const Inode::NameChange& change : inode.unsynced_names) carry_out(inode.durable_names, change);
  inode.unsynced_names.clear();
}

void Disk::fail_sync(Inode& file) {
  if (changes_left) return;  // somebody is about to be killed
  ++syncs_failed;
  const bool all_lost = random_.one_in(2);
  for (const Inode::Change& change : file.unsynced) {
    if (change.truncates || (!all_lost && random_.one_in(2))) carry_out(file.durable, change);
  }
  file.unsynced.clear();
  if (!strikes(faults.cache_lost)) return;
  const std::size_t size = file.content.size();
  file.content = file.durable;
  file.content.resize(size);
}

bool Disk::strikes(std::uint64_t odds) {
  if (odds == 0 || !random_.one_in(odds)) return false;
  ++faults_struck_;
  return true;
}

bool Disk::may_change() {
  if (!changes_left) return true;
  if (*changes_left == 0) {
    ++faults_struck_;
    return false;
  }
  --*changes_left;
  return true;
}

// In an order that does not depend on addresses; what only a durable name still leads to comes, too.
void Disk::each_inode(const std::function<void(Inode&)>& visit) {
  std::set<const Inode*> seen;
  const std::function<void(Inode&)> walk = [&](Inode& inode) {
    if (!seen.insert(&inode).second) return;
    visit(inode);
    const std::map<std::string, std::shared_ptr<Inode>> names = inode.names;
    const std::map<std::string, std::shared_ptr<Inode>> durable_names = inode.durable_names;
    const std::vector<Inode::NameChange> unsynced = inode.unsynced_names;
    for (const auto& [name, child] : names) walk(*child);
    for (const auto& [name, child] : durable_names) walk(*child);
    for (const Inode::NameChange& change : unsynced) {
      for (const auto& [name, child] : change.names) {
        if (child != nullptr) walk(*child);
      }
    }
  };
  walk(*root_);
}

void Disk::cut_power_of_file(Inode& file) {
  // Sizes change in order, so a prefix of them survives, the last growth perhaps in part. Of the bytes below that size
  // any page may have been written and any not. What was written behind a truncation that is lost went to other blocks,
  // and is lost with it.
  std::vector<std::byte> survived = file.durable;
  const std::uint64_t mode = random_.below(4);  // nothing, everything, or something
  std::size_t kept = mode == 0 ? 0 : file.unsynced.size();
  if (mode >= 2) kept = random_.below(file.unsynced.size() + 1);
  bool truncation_lost = false;
  for (std::size_t i = 0; i < file.unsynced.size() && mode != 0; ++i) {
    const Inode::Change& change = file.unsynced[i];
    if (change.truncates) {
      if (i < kept) {
        survived.resize(change.position);
      } else {
        truncation_lost = true;
      }
      continue;
    }
    if (truncation_lost) break;
    Bytes bytes = change.bytes;
    if (i < kept) {
      if (survived.size() < change.position + bytes.size()) survived.resize(change.position + bytes.size());
    } else {
      if (i == kept && random_.one_in(2)) {  // its growth survives in part
        const std::uint64_t end = change.position + random_.below(bytes.size() + 1);
        if (survived.size() < end) survived.resize(end);
      }
      const std::uint64_t end = std::max(survived.size(), change.position) - change.position;
      bytes = bytes.first(std::min<std::size_t>(bytes.size(), end));
    }
    const bool whole = mode == 1 || random_.one_in(2);
    for (std::uint64_t at = 0; at < bytes.size();) {
      const std::uint64_t size = std::min(kPage - (change.position + at) % kPage, bytes.size() - at);
      const std::uint64_t torn = random_.one_in(8) ? random_.below(size + 1) : size;
      if (whole || random_.one_in(2)) {
        put(survived, bytes.subspan(at, whole ? size : torn), change.position + at);
      }
      at += size;
    }
  }
  file.content = survived;
  file.durable = std::move(survived);
  file.unsynced.clear();
  file.set_allocated(file.content.size());
}

void Disk::cut_power_of_directory(Inode& directory) {
  const std::uint64_t mode = random_.below(4);  // nothing, everything, a prefix, any of them
  std::size_t kept = mode == 0 ? 0 : directory.unsynced_names.size();
  if (mode == 2) kept = random_.below(kept + 1);
  for (std::size_t i = 0; i < kept; ++i) {
    if (mode == 3 && random_.one_in(2)) continue;
    carry_out(directory.durable_names, directory.unsynced_names[i]);
  }
  directory.unsynced_names.clear();
  directory.names = directory.durable_names;
}

void Disk::cut_power() {
  std::vector<Inode*> inodes;
  each_inode([&](Inode& inode) { inodes.push_back(&inode); });
  // Files first: names that go may take their inodes with them.
  for (Inode* const inode : inodes) {
    if (!inode->is_directory) cut_power_of_file(*inode);
  }
  std::vector<std::shared_ptr<Inode>> directories;
  const std::function<void(const std::shared_ptr<Inode>&)> walk = [&](const std::shared_ptr<Inode>& directory) {
    cut_power_of_directory(*directory);
    for (const auto& [name, child] : directory->names) {
      if (child->is_directory) walk(child);
    }
  };
  walk(root_);
}

void Disk::write_back_some() {
  std::vector<Inode*> inodes;
  each_inode([&](Inode& inode) {
    if (!inode.unsynced.empty() || !inode.unsynced_names.empty()) inodes.push_back(&inode);
  });
  if (!inodes.empty()) sync(*inodes[random_.below(inodes.size())]);
}

}  // namespace tailrace::sim
