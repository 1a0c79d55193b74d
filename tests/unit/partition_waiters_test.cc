// "Tell me once when ...": each token comes back exactly once.
#include "engine/partition/waiters.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

namespace tailrace::partition {
namespace {

class WaitersTest : public ::testing::Test {
 protected:
  using Acknowledgement = Waiters::Acknowledgement;
  static Acknowledgement until(Offset end, std::uint64_t request, std::uint64_t session = 1) {
    return {.end = end, .token = {session, request}, .base_offset = end - 1, .timestamp = 77};
  }
  static Waiters::Watch beyond(Offset offset, std::uint64_t request, std::uint64_t session = 1,
                               bool committed = false) {
    return {.beyond = offset, .committed_only = committed, .token = {session, request}};
  }
  // The requests that are due, in order.
  std::vector<std::uint64_t> acknowledged(Offset safe_end, Offset high_watermark) {
    std::vector<std::uint64_t> requests;
    waiters_.take_acknowledged(safe_end, high_watermark,
                               [&](const Acknowledgement& a) { requests.push_back(a.token.request); });
    return requests;
  }
  std::vector<std::uint64_t> lost_beyond(Offset end) {
    std::vector<std::uint64_t> requests;
    waiters_.take_beyond(end, [&](const Acknowledgement& a) { requests.push_back(a.token.request); });
    return requests;
  }
  std::vector<std::uint64_t> readable(Offset high_watermark, Offset last_stable) {
    std::vector<std::uint64_t> requests;
    waiters_.take_readable(high_watermark, last_stable,
                           [&](const Waiters::Watch& w) { requests.push_back(w.token.request); });
    return requests;
  }
  using Requests = std::vector<std::uint64_t>;

  Waiters waiters_;
};

TEST_F(WaitersTest, AnAppendIsAcknowledgedWhenItsEndIsReached) {
  waiters_.acknowledge_local(until(10, 1));
  waiters_.acknowledge_local(until(20, 2));
  EXPECT_EQ(acknowledged(9, 100), Requests{});
  EXPECT_EQ(acknowledged(10, 0), Requests{1});
  EXPECT_EQ(acknowledged(10, 100), Requests{});  // once
  EXPECT_EQ(acknowledged(25, 0), Requests{2});
}

TEST_F(WaitersTest, OneReplicaOrAllAreTwoEnds) {
  waiters_.acknowledge_local(until(10, 1));
  waiters_.acknowledge_replicated(until(10, 2));
  EXPECT_EQ(acknowledged(10, 9), Requests{1});
  EXPECT_EQ(acknowledged(10, 10), Requests{2});
}

TEST_F(WaitersTest, WhatWasSaidComesBackWithTheToken) {
  waiters_.acknowledge_replicated({.end = 5, .token = {3, 4}, .base_offset = 2, .timestamp = 9, .duplicate = true});
  int calls = 0;
  waiters_.take_acknowledged(0, 5, [&](const Acknowledgement& a) {
    ++calls;
    EXPECT_EQ(a.token, (WaiterToken{3, 4}));
    EXPECT_EQ(a.base_offset, 2);
    EXPECT_EQ(a.timestamp, 9);
    EXPECT_TRUE(a.duplicate);
  });
  EXPECT_EQ(calls, 1);
}

TEST_F(WaitersTest, ADuplicateThatComesLateWaitsWithTheNewest) {
  waiters_.acknowledge_replicated(until(10, 1));
  waiters_.acknowledge_replicated(until(30, 2));
  waiters_.acknowledge_replicated(until(10, 3));  // a repeat of the first
  EXPECT_EQ(acknowledged(0, 10), Requests{1});
  EXPECT_EQ(acknowledged(0, 30), (Requests{2, 3}));
  waiters_.acknowledge_replicated(until(10, 4));  // with nothing before it: by its own end
  EXPECT_EQ(acknowledged(0, 30), Requests{4});
}

TEST_F(WaitersTest, WhatIsCutOffIsLost) {
  for (Offset end = 10; end <= 50; end += 10) {
    waiters_.acknowledge_local(until(end, static_cast<std::uint64_t>(end)));
    waiters_.acknowledge_replicated(until(end, static_cast<std::uint64_t>(end + 1)));
  }
  EXPECT_EQ(lost_beyond(30), (Requests{50, 40, 51, 41}));
  EXPECT_EQ(lost_beyond(30), Requests{});
  EXPECT_EQ(acknowledged(100, 100), (Requests{10, 20, 30, 11, 21, 31}));
}

TEST_F(WaitersTest, MoreMayBeAskedForFromWithin) {
  waiters_.acknowledge_local(until(1, 1));
  Requests requests;
  waiters_.take_acknowledged(5, 0, [&](const Acknowledgement& a) {
    requests.push_back(a.token.request);
    if (a.token.request < 4) waiters_.acknowledge_local(until(a.end + 1, a.token.request + 1));
    waiters_.watch(beyond(0, 100 + a.token.request));
  });
  EXPECT_EQ(requests, (Requests{1, 2, 3, 4}));
  waiters_.take_readable(1, 1, [&](const Waiters::Watch& w) {
    if (w.token.request < 200) waiters_.watch(beyond(0, w.token.request + 100));
  });
  EXPECT_EQ(readable(1, 1), (Requests{201, 202, 203, 204}));
}

TEST_F(WaitersTest, AWatchIsDueWhenThereIsMoreThanItSaw) {
  waiters_.watch(beyond(10, 1));
  waiters_.watch(beyond(12, 2));
  EXPECT_EQ(readable(10, 10), Requests{});
  EXPECT_EQ(readable(11, 0), Requests{1});
  EXPECT_EQ(readable(12, 12), Requests{});
  EXPECT_EQ(readable(50, 0), Requests{2});
  EXPECT_EQ(readable(99, 99), Requests{});
}

TEST_F(WaitersTest, AReaderOfCommittedRecordsWaitsForTheLastStableOffset) {
  waiters_.watch(beyond(10, 1, 1, true));
  EXPECT_EQ(readable(20, 10), Requests{});
  EXPECT_EQ(readable(20, 11), Requests{1});
}

TEST_F(WaitersTest, ACancelledWatchIsNeverDue) {
  waiters_.watch(beyond(10, 1));
  waiters_.watch(beyond(10, 2));
  waiters_.cancel_watch({1, 1});
  waiters_.cancel_watch({1, 99});
  waiters_.cancel_watch({2, 2});  // another session's
  EXPECT_EQ(readable(20, 20), Requests{2});
}

TEST_F(WaitersTest, NobodyIsToldOfASessionThatIsGone) {
  for (const std::uint64_t session : {1, 2}) {
    waiters_.acknowledge_local(until(10, session * 10, session));
    waiters_.acknowledge_replicated(until(10, session * 10 + 1, session));
    waiters_.watch(beyond(5, session * 10 + 2, session));
  }
  waiters_.cancel_session(1);
  EXPECT_EQ(acknowledged(10, 10), (Requests{20, 21}));
  EXPECT_EQ(readable(10, 10), Requests{22});
}

TEST_F(WaitersTest, AllWatchesComeBackWhenThePartitionGoes) {
  waiters_.watch(beyond(5, 1));
  waiters_.watch(beyond(1000, 2, 1, true));
  Requests requests;
  const auto take = [&] {
    waiters_.take_all_watches([&](const Waiters::Watch& w) { requests.push_back(w.token.request); });
  };
  take();
  EXPECT_EQ(requests, (Requests{1, 2}));
  take();
  EXPECT_EQ(requests.size(), 2u);
}

// In whatever order things happen: a token comes back once, an acknowledgement never before its end is reached and in
// order, and nothing that is due stays.
TEST_F(WaitersTest, RandomEventsGiveEachTokenBackOnce) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Waiters waiters;
    std::map<std::uint64_t, Offset> waiting_local;
    std::map<std::uint64_t, Offset> waiting_replicated;
    std::map<std::uint64_t, Offset> watching;
    std::uint64_t next = 1;
    Offset end = 0;
    Offset safe = 0;
    Offset high_watermark = 0;
    for (int i = 0; i < 3000; ++i) {
      switch (random() % 7) {
        case 0:
        case 1: {
          end += 1 + static_cast<Offset>(random() % 5);
          Waiters::Acknowledgement one = until(end, next);
          if (random() % 5 == 0)
            one.end = std::max<Offset>(1, one.end - static_cast<Offset>(random() % 20));  // a duplicate
          auto& model = random() % 2 == 0 ? waiting_local : waiting_replicated;
          if (&model == &waiting_local)
            waiters.acknowledge_local(one);
          else
            waiters.acknowledge_replicated(one);
          model[next++] = one.end;
          break;
        }
        case 2:
          waiters.watch(beyond(high_watermark + static_cast<Offset>(random() % 3), next));
          watching[next] = high_watermark;
          ++next;
          break;
        case 3:
          safe = std::min(end, safe + static_cast<Offset>(random() % 8));
          break;
        case 4:
          high_watermark = std::min(safe, high_watermark + static_cast<Offset>(random() % 8));
          break;
        case 5: {
          if (random() % 10 != 0) break;
          const Offset cut = high_watermark + static_cast<Offset>(random() % 3);
          end = std::min(end, cut);
          safe = std::min(safe, end);
          waiters.take_beyond(end, [&](const Waiters::Acknowledgement& a) {
            ASSERT_EQ(waiting_local.erase(a.token.request) + waiting_replicated.erase(a.token.request), 1u);
          });
          break;
        }
        default: {
          std::map<bool, std::uint64_t> last;
          waiters.take_acknowledged(safe, high_watermark, [&](const Waiters::Acknowledgement& a) {
            const bool local = waiting_local.contains(a.token.request);
            auto& model = local ? waiting_local : waiting_replicated;
            ASSERT_TRUE(model.contains(a.token.request));
            ASSERT_LE(model[a.token.request], local ? safe : high_watermark);
            ASSERT_GE(a.end, model[a.token.request]);
            ASSERT_LT(std::exchange(last[local], a.token.request), a.token.request);
            model.erase(a.token.request);
          });
          waiters.take_readable(high_watermark, 0, [&](const Waiters::Watch& w) {
            ASSERT_LT(w.beyond, high_watermark);
            ASSERT_EQ(watching.erase(w.token.request), 1u);
          });
          break;
        }
      }
      if (HasFatalFailure()) return;
    }
    waiters.take_acknowledged(end, end, [&](const Waiters::Acknowledgement& a) {
      ASSERT_EQ(waiting_local.erase(a.token.request) + waiting_replicated.erase(a.token.request), 1u);
    });
    waiters.take_all_watches([&](const Waiters::Watch& w) { ASSERT_EQ(watching.erase(w.token.request), 1u); });
    EXPECT_TRUE(waiting_local.empty());
    EXPECT_TRUE(waiting_replicated.empty());
    EXPECT_TRUE(watching.empty());
  }
}

}  // namespace
}  // namespace tailrace::partition
