// The client's cache of descriptors: least recently used first to go, what is held never.
#include "engine/api/file_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/support/inline_files.h"

namespace tailrace::api {
namespace {

class FileCacheTest : public ::testing::Test {
 protected:
  // Puts a file in and returns its descriptor.
  int add(FileCache& cache, std::uint64_t id) {
    const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_GE(descriptor, 0);
    cache.add(id, io::File{descriptor}, [this](std::uint64_t evicted) { evicted_.push_back(evicted); });
    return descriptor;
  }
  int add(std::uint64_t id) { return add(cache_, id); }
  static bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }
  bool touch(std::uint64_t id) {
    FileCache::Entry* const entry = cache_.acquire(id);
    if (entry != nullptr) cache_.release(entry);
    return entry != nullptr;
  }

  test::InlineFiles files_;
  FileCache cache_{files_, 3};
  std::vector<std::uint64_t> evicted_;
};

TEST_F(FileCacheTest, FindsWhatIsThere) {
  const int descriptor = add(7);
  FileCache::Entry* const entry = cache_.acquire(7);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->file_id, 7u);
  EXPECT_EQ(entry->file.handle, descriptor);
  EXPECT_EQ(cache_.acquire(8), nullptr);
  cache_.release(entry);
  EXPECT_TRUE(is_open(descriptor));
}

TEST_F(FileCacheTest, TheLeastRecentlyUsedGoesFirst) {
  const int first = add(1);
  const int second = add(2);
  add(3);
  EXPECT_TRUE(touch(1));
  add(4);
  EXPECT_EQ(evicted_, (std::vector<std::uint64_t>{2}));
  EXPECT_FALSE(is_open(second));
  EXPECT_TRUE(is_open(first));
  EXPECT_FALSE(touch(2));
  EXPECT_EQ(cache_.size(), 3u);
}

TEST_F(FileCacheTest, WhatIsHeldIsPassedOver) {
  const int held = add(1);
  FileCache::Entry* const entry = cache_.acquire(1);
  add(2);
  add(3);
  add(4);
  add(5);
  EXPECT_EQ(evicted_, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_TRUE(is_open(held));
  cache_.release(entry);
  EXPECT_TRUE(is_open(held));  // still cached
  add(6);
  EXPECT_EQ(evicted_, (std::vector<std::uint64_t>{2, 3, 1}));
  EXPECT_FALSE(is_open(held));
}

TEST_F(FileCacheTest, WhenAllIsHeldItGrowsUntilSomethingIsReleased) {
  std::vector<FileCache::Entry*> held;
  for (std::uint64_t id = 1; id <= 5; ++id) {
    add(id);
    held.push_back(cache_.acquire(id));
  }
  EXPECT_TRUE(evicted_.empty());
  EXPECT_EQ(cache_.size(), 5u);
  for (FileCache::Entry* const each : held) cache_.release(each);
  add(6);
  EXPECT_EQ(evicted_, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(cache_.size(), 3u);
}

TEST_F(FileCacheTest, ADroppedFileIsClosedWithItsLastHolder) {
  const int descriptor = add(1);
  FileCache::Entry* const one = cache_.acquire(1);
  FileCache::Entry* const two = cache_.acquire(1);
  EXPECT_EQ(one, two);
  cache_.drop(1);
  EXPECT_EQ(cache_.acquire(1), nullptr);
  EXPECT_EQ(cache_.size(), 0u);
  cache_.release(one);
  EXPECT_TRUE(is_open(descriptor));
  cache_.release(two);
  EXPECT_FALSE(is_open(descriptor));
  cache_.drop(1);
  cache_.drop(99);
  EXPECT_TRUE(evicted_.empty());
}

TEST_F(FileCacheTest, AFileOfTheSameIdTakesThePlaceOfTheOldOne) {
  const int old = add(1);
  FileCache::Entry* const held = cache_.acquire(1);
  const int next = add(1);
  EXPECT_NE(old, next);
  EXPECT_EQ(cache_.size(), 1u);
  FileCache::Entry* const now = cache_.acquire(1);
  EXPECT_EQ(now->file.handle, next);
  EXPECT_EQ(held->file.handle, old);
  cache_.release(held);
  EXPECT_FALSE(is_open(old));
  cache_.release(now);
  EXPECT_TRUE(is_open(next));
}

TEST_F(FileCacheTest, DropAllLeavesWhatIsHeldToItsHolders) {
  const int first = add(1);
  const int second = add(2);
  FileCache::Entry* const held = cache_.acquire(1);
  cache_.drop_all();
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_FALSE(is_open(second));
  EXPECT_TRUE(is_open(first));
  cache_.release(held);
  EXPECT_FALSE(is_open(first));
}

TEST_F(FileCacheTest, TheNewFileItselfIsNeverEvicted) {
  FileCache none(files_, 0);
  const int first = add(none, 1);
  EXPECT_TRUE(is_open(first));
  const int second = add(none, 2);
  EXPECT_FALSE(is_open(first));
  EXPECT_TRUE(is_open(second));
}

TEST_F(FileCacheTest, EverythingIsClosedAtTheEnd) {
  int cached = 0;
  int held = 0;
  {
    FileCache cache(files_, 3);
    cached = add(cache, 1);
    held = add(cache, 2);
    cache.acquire(2);
    cache.drop(2);
  }
  EXPECT_FALSE(is_open(cached));
  EXPECT_FALSE(is_open(held));
}

// Against a model: what is held is open, what is out is closed, and the cache is as large as it may be.
TEST_F(FileCacheTest, RandomUseLeaksNothing) {
  std::mt19937 random(1);
  std::vector<std::pair<FileCache::Entry*, int>> held;
  std::map<std::uint64_t, int> cached;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t id = random() % 10;
    switch (random() % 6) {
      case 0:
      case 1: {
        evicted_.clear();
        const int descriptor = add(id);
        for (const std::uint64_t each : evicted_) cached.erase(each);
        cached[id] = descriptor;
        ASSERT_LE(cache_.size(), 3 + held.size());
        break;
      }
      case 2:
        if (held.size() < 4) {
          FileCache::Entry* const entry = cache_.acquire(id);
          ASSERT_EQ(entry != nullptr, cached.contains(id));
          if (entry != nullptr) held.emplace_back(entry, entry->file.handle);
        }
        break;
      case 3:
      case 4:
        if (!held.empty()) {
          const auto at = held.begin() + static_cast<std::ptrdiff_t>(random() % held.size());
          cache_.release(at->first);
          held.erase(at);
        }
        break;
      default:
        cache_.drop(id);
        cached.erase(id);
        break;
    }
    ASSERT_EQ(cache_.size(), cached.size());
    for (const auto& [entry, descriptor] : held) {
      ASSERT_EQ(entry->file.handle, descriptor);
      ASSERT_TRUE(is_open(descriptor));
    }
    for (const auto& [each, descriptor] : cached) ASSERT_TRUE(is_open(descriptor));
  }
}

}  // namespace
}  // namespace tailrace::api
