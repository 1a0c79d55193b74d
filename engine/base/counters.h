// Counters: what a process counts, for `tailrace stat`. They live in a small memory-mapped file, `<run
// dir>/<process>.counters`, so a reader in another process costs the writer nothing. The writer does a relaxed add on
// its own cell. Layout: a 64-byte file header {magic, version, cells}, then one 64-byte cell per counter {48-byte name,
// 0-padded; 64-bit value; unused}.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace tailrace {

class Counter {
 public:
  Counter() = default;
  void add(std::uint64_t amount = 1) {
    cell_->store(cell_->load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void set(std::uint64_t value) { cell_->store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return cell_->load(std::memory_order_relaxed); }

 private:
  friend class Counters;
  explicit Counter(std::atomic<std::uint64_t>* cell) : cell_(cell) {}
  static std::atomic<std::uint64_t>& nowhere();
  std::atomic<std::uint64_t>* cell_ = &nowhere();
};

class Counters {
 public:
  static constexpr std::size_t kCellsMax = 255;
  // Replaces the file. Error: system failures.
  static Result<std::unique_ptr<Counters>> create(const std::string& path);
  ~Counters();
  // A new cell; names longer than 47 bytes are cut. CHECKs that there are at most kCellsMax.
  Counter make(std::string_view name);

  struct Reading {
    std::string name;
    std::uint64_t value = 0;
  };
  // Reads another process's file. Errors: not_found, corrupt.
  static Result<std::vector<Reading>> read(const std::string& path);

 private:
  Counters() = default;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace tailrace
