// What a Shard answers from what its partitions have: reads (plans of what to read, with the descriptors that they
// need), the watches of reads that found too little, questions for offsets, and descriptions.
#include <cstring>

#include "engine/base/check.h"
#include "engine/server/shard_parts.h"

namespace tailrace::server {
namespace {

// Of one session; a read beyond is answered without a watch. At about 200 bytes each this bounds their memory to 50 MB.
constexpr std::size_t kWatchesMax = std::size_t{1} << 18;

}  // namespace

Result<partition::PlannedRead> Shard::plan(Hosted& hosted, const api::Read& request) const {
  const bool committed_only = request.isolation == api::Isolation::read_committed;
  std::uint32_t max_bytes = request.max_bytes;
  for (;;) {
    Result<partition::PlannedRead> planned =
        hosted.partition->plan_read(request.fetch_offset, max_bytes, request.whole_first_batch != 0, committed_only,
                                    request.current_leader_epoch, request.last_fetched_epoch);
    if (!planned || planned->aborted.size() <= kAbortedMax) return planned;
    if (max_bytes <= 1) return failure(Code::limit_reached, "naming the aborted transactions of one batch");
    max_bytes /= 2;
  }
}

void Shard::on_read(Session& session, const api::Read& request) {
  reads_.add();
  Hosted* const hosted = find(request.partition);
  if (hosted != nullptr) return reply_read(session, *hosted, request, false);
  reply(session,
        api::ReadPlan{.request = request.request, .code = static_cast<std::uint16_t>(Code::unknown_partition)});
}

void Shard::reply_read(Session& session, Hosted& hosted, const api::Read& request, bool moved) {
  partition::Partition& partition = *hosted.partition;
  api::ReadPlan answer{.request = request.request};
  answer.moved = moved ? 1 : 0;
  answer.high_watermark = partition.high_watermark();
  answer.last_stable_offset = partition.last_stable_offset();
  answer.log_start_offset = partition.log_start_offset();
  answer.leader_epoch = partition.leader_epoch();

  Result<partition::PlannedRead> planned = plan(hosted, request);
  Result<void> done = planned ? Result<void>{} : std::unexpected(planned.error());
  if (planned && planned->extent.length != 0) done = pass_file(session, planned->extent);
  answer.code = api::to_code(done);
  if (done) {
    answer.length = planned->extent.length;
    answer.first_batch_length = planned->extent.first_batch_length;
    answer.file_id = planned->extent.segment.file_id;
    answer.position = planned->extent.position;
    answer.available = planned->available_bytes;
    answer.readable_end = planned->readable_end;
    answer.diverging_epoch = planned->diverging.leader_epoch;
    answer.diverging_end_offset = planned->diverging.end_offset;
    answer.aborted_count = static_cast<std::uint32_t>(planned->aborted.size());
    planned_bytes_.add(answer.length);
    const bool wants_more = request.watch_from != kNoOffset && planned->readable_end <= request.watch_from;
    if (!moved && wants_more && planned->diverging.leader_epoch == kNoLeaderEpoch &&
        session.watched.size() < kWatchesMax) {
      partition.waiters().watch({.beyond = request.watch_from,
                                 .from = request.fetch_offset,
                                 .committed_only = request.isolation == api::Isolation::read_committed,
                                 .token = {session.id, request.request}});
      session.watched[request.request] = request;
      answer.watching = 1;
    }
  }
  const std::size_t aborted_bytes = answer.aborted_count * sizeof(api::AbortedRange);
  std::byte* const space =
      session.link->producer().reserve(static_cast<std::uint32_t>(api::Type::read_plan), sizeof answer + aborted_bytes);
  CHECK(space != nullptr);
  std::memcpy(space, &answer, sizeof answer);
  for (std::size_t i = 0; i < answer.aborted_count; ++i) {
    const api::AbortedRange range{planned->aborted[i].producer_id, planned->aborted[i].first_offset};
    std::memcpy(space + sizeof answer + i * sizeof range, &range, sizeof range);
  }
}

Result<void> Shard::pass_file(Session& session, const log::Extent& extent) {
  if (session.files_passed.contains(extent.segment.file_id)) return {};
  Result<void> sent = session.link->send_file(extent.segment.file_id, extent.file);
  if (sent) session.files_passed.insert(extent.segment.file_id);
  return sent;
}

void Shard::on_cancel(Session& session, const api::Cancel& request) {
  if (session.watched.erase(request.request) == 0) return;  // it has fired already
  if (Hosted* const hosted = find(request.partition))
    hosted->partition->waiters().cancel_watch({session.id, request.request});
}

void Shard::fire(Session& session, std::uint64_t request) {
  const auto watched = session.watched.find(request);
  if (watched == session.watched.end()) return;
  session.fired.push_back(watched->second);
  session.watched.erase(watched);
}

bool Shard::answer_fired(Session& session) {
  bool answered = false;
  for (; !session.fired.empty() && has_room(session); session.fired.pop_front()) {
    const api::Read& request = session.fired.front();
    answered = true;
    if (Hosted* const hosted = find(request.partition)) {
      reply_read(session, *hosted, request, true);
    } else {
      reply(session,
            api::ReadPlan{
                .request = request.request, .code = static_cast<std::uint16_t>(Code::unknown_partition), .moved = 1});
    }
  }
  return answered;
}

void Shard::on_list_offset(Session& session, const api::ListOffset& request) {
  api::OffsetListed answer{.request = request.request};
  Hosted* const hosted = find(request.partition);
  Result<partition::ListedOffset> listed = failure(Code::unknown_partition);
  if (hosted != nullptr) {
    listed = hosted->partition->list_offset(request.timestamp, request.isolation == api::Isolation::read_committed,
                                            request.current_leader_epoch);
  }
  if (listed) {
    answer.offset = listed->offset;
    answer.timestamp = listed->timestamp;
    answer.leader_epoch = listed->leader_epoch;
  } else {
    answer.code = static_cast<std::uint16_t>(listed.error().code);
  }
  reply(session, answer);
}

void Shard::on_end_of_epoch(Session& session, const api::EndOfEpoch& request) {
  api::EpochEnded answer{.request = request.request};
  Hosted* const hosted = find(request.partition);
  Result<log::EpochEnd> end = failure(Code::unknown_partition);
  if (hosted != nullptr) end = hosted->partition->end_of_epoch(request.leader_epoch, request.current_leader_epoch);
  if (end) {
    answer.leader_epoch = end->leader_epoch;
    answer.end_offset = end->end_offset;
  } else {
    answer.code = static_cast<std::uint16_t>(end.error().code);
  }
  reply(session, answer);
}

void Shard::on_describe_log(Session& session, const api::DescribeLog& request) {
  api::LogDescribed answer{.request = request.request};
  if (const Hosted* const hosted = find(request.partition)) {
    answer.size_bytes = hosted->partition->log().size_bytes();
  } else {
    answer.code = static_cast<std::uint16_t>(Code::unknown_partition);
  }
  reply(session, answer);
}

void Shard::on_describe_producers(Session& session, const api::DescribeProducers& request) {
  api::ProducersDescribed answer{.request = request.request};
  const Hosted* const hosted = find(request.partition);
  std::vector<api::DescribedProducer> page;
  if (hosted == nullptr) {
    answer.code = static_cast<std::uint16_t>(Code::unknown_partition);
  } else if (!hosted->partition->is_leader()) {
    answer.code = static_cast<std::uint16_t>(Code::not_leader);
  } else {
    const auto& all = hosted->partition->producers().all();
    auto each = all.upper_bound(request.after);
    for (; each != all.end() && page.size() < kProducersPerPage; ++each) {
      const partition::ProducerState& state = each->second;
      page.push_back({.producer_id = each->first,
                      .last_timestamp = state.last_timestamp,
                      .transaction_first_offset = state.current_transaction_first_offset,
                      .last_sequence = state.batches.empty() ? -1 : state.batches.back().last_sequence,
                      .producer_epoch = state.producer_epoch,
                      .coordinator_epoch = state.coordinator_epoch});
    }
    answer.has_more = each != all.end() ? 1 : 0;
  }
  answer.count = static_cast<std::uint32_t>(page.size());
  const std::size_t page_bytes = page.size() * sizeof(api::DescribedProducer);
  std::byte* const space = session.link->producer().reserve(static_cast<std::uint32_t>(api::Type::producers_described),
                                                            sizeof answer + page_bytes);
  CHECK(space != nullptr);
  std::memcpy(space, &answer, sizeof answer);
  if (!page.empty()) std::memcpy(space + sizeof answer, page.data(), page_bytes);
}

void Shard::on_forget_file(Session& session, const api::ForgetFile& request) {
  session.files_passed.erase(request.file_id);
}

void Shard::forget_files(const Hosted& hosted) {
  for (const log::SegmentInfo& segment : hosted.partition->log().segments()) tell_file_gone(segment.file_id);
}

void Shard::tell_file_gone(std::uint64_t file_id) {
  for (const std::shared_ptr<Session>& session : sessions_) {
    if (session->files_passed.erase(file_id) != 0) session->gone_files.push_back(file_id);
  }
}

}  // namespace tailrace::server
