// The client's end of an engine session: what waits when the engine does not keep up.
#include "engine/api/client.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/unit/support/plain_link.h"
#include "tests/unit/support/set_clock_io.h"

namespace tailrace::api {
namespace {

struct Asked {
  Call<Done> call;
  int answers = 0;
  Asked() { call.bind<&Asked::on_done>(this); }
  void on_done(const Done&, Bytes) { ++answers; }
};

// A ring that the engine has not looked at for a while may be full: the requests behind it are waited for asleep, and
// come in order when there is room.
TEST(ApiClient, RequestsThatFindTheRingFullWaitAsleep) {
  test::SetClockIo io;
  Client client(io, 1);
  auto [near, far] = test::PlainLink::make_pair(1 << 12);
  client.attach(std::move(near));
  std::vector<Asked> asked(200);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    client.delete_partition({.partition = {{}, static_cast<std::int32_t>(i)}}, asked[i].call);
  }
  client.publish();
  ASSERT_TRUE(client.is_congested());

  std::int32_t next = 0;
  for (int rounds = 0; rounds < 1000 && next < 200; ++rounds) {
    client.poll();
    client.publish();
    EXPECT_TRUE(client.prepare_to_sleep());
    EXPECT_EQ(io.turn(true), 0u) << "nothing is due yet";
    client.wake();
    for (ipc::RingRecord record = far->consumer().next(); record.type != ipc::kPaddingType;
         record = far->consumer().next()) {
      DeletePartition request;
      std::memcpy(static_cast<void*>(&request), record.payload.data(), sizeof request);
      EXPECT_EQ(request.partition.partition, next++);
    }
    far->consumer().release();
    io.pass(Duration{1000});
    if (client.is_congested()) {
      EXPECT_EQ(io.turn(true), 1u) << "the timer brings the loop here";
    }
  }
  EXPECT_EQ(next, 200);
  EXPECT_FALSE(client.is_congested());
}

}  // namespace
}  // namespace tailrace::api
