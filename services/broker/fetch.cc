#include "services/broker/fetch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/api/client.h"
#include "engine/base/check.h"
#include "services/broker/reachable.h"
#include "services/broker/topics.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/fetch.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using kafka::FetchRequest;
using kafka::FetchResponse;

// A plan that fails for a passing reason (a descriptor that was evicted or could not be passed just now) is made again,
// this often.
constexpr int kReplansMax = 8;

constexpr std::int16_t kFirstVersionWithLeaders = 16;  // KIP-951

// What an answer takes without its records, roughly, for quotas.
constexpr double kResponseBytes = 24;
constexpr double kPartitionBytes = 64;

}  // namespace

struct Fetch::PartitionRead {
  Pending* pending = nullptr;
  FetchTarget target;
  FetchSession::Partitions::iterator cached;  // with a session
  Uuid topic_id;                              // of the topic in the image, zero when unknown
  ErrorCode error = ErrorCode::NONE;
  api::ReadPlan plan;
  std::vector<FetchResponse::AbortedTransaction> aborted;
  api::FileCache::Entry* file = nullptr;
  std::uint32_t length = 0;  // to be sent
  bool in_flight = false;    // a plan is awaited now (watching does not count)
  bool watching = false;
  Offset watched_from = kNoOffset;  // as last asked for
  int replans = 0;
  api::Call<api::ReadPlan> call;

  void on_plan(const api::ReadPlan& answer, Bytes extra);
};

struct Fetch::Pending {
  Fetch* fetch = nullptr;
  Request* request = nullptr;
  FetchRequest message;  // max_bytes and min_bytes as far as the broker and the quota of the client allow
  std::shared_ptr<FetchSession> session;
  bool is_incremental = false;
  std::vector<PartitionRead> reads;  // sized before the first call
  std::size_t awaited = 0;
  bool is_due = false;  // max_wait is over, or nobody waits any more
  bool is_ending = false;
  io::Timer timer;

  void on_due() {
    is_due = true;
    if (awaited == 0) fetch->on_all_planned(*this);
  }
};

Fetch::Fetch(NodeState& node, Counters& counters)
    : node_(node),
      sessions_(static_cast<std::size_t>(node.config.integer("max.incremental.fetch.session.cache.slots"))) {
  requests_ = counters.make("fetch_requests");
  waited_ = counters.make("fetch_requests_that_waited");
  file_bytes_ = counters.make("fetch_bytes_from_files");
  open_sessions_ = counters.make("fetch_sessions");
}

Fetch::~Fetch() {
  for (const std::unique_ptr<Pending>& pending : running_) node_.io.disarm(pending->timer);
}

void Fetch::start(Request& request) {
  requests_.add();
  const std::int16_t version = request.header.api_version;
  Result<FetchRequest> message = kafka::decode<FetchRequest>(request.body, version);
  if (!message) return request.refuse();
  FetchSessions::Opened opened = sessions_.open(*message, version, node_.io.now(), node_.io.random());
  open_sessions_.set(sessions_.size());
  if (opened.error != ErrorCode::NONE) {
    FetchResponse response;
    response.error_code = static_cast<std::int16_t>(opened.error);
    return request.respond(response);
  }
  if (spare_.empty()) spare_.push_back(std::make_unique<Pending>());
  running_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  Pending& pending = *running_.back();
  pending.fetch = this;
  pending.request = &request;
  pending.message = std::move(*message);
  bound_bytes(request, pending.message);
  pending.session = std::move(opened.session);
  pending.is_incremental = opened.is_incremental;
  pending.is_due = false;
  pending.is_ending = false;
  pending.timer.bind<&Pending::on_due>(&pending);
  pending.reads.clear();
  if (pending.session != nullptr) {
    auto& partitions = pending.session->partitions();
    pending.reads.resize(partitions.size());
    std::size_t i = 0;
    for (auto each = partitions.begin(); each != partitions.end(); ++each, ++i) {
      pending.reads[i].target = each->target;
      pending.reads[i].cached = each;
    }
  } else {
    pending.reads.resize(opened.full.size());
    for (std::size_t i = 0; i < opened.full.size(); ++i) pending.reads[i].target = std::move(opened.full[i]);
  }
  const bool waits = pending.message.max_wait_ms > 0 && pending.message.min_bytes > 0;
  pending.awaited = 1;  // until all are started
  for (PartitionRead& read : pending.reads) {
    read.pending = &pending;
    read.call.bind<&PartitionRead::on_plan>(&read);
    // A replica asks to follow; this node has none, so nobody may.
    start_read(read, waits);
  }
  --pending.awaited;
  if (pending.awaited == 0) on_all_planned(pending);
}

// More than the quota of a whole window would be throttled in any case (KafkaApis.handleFetchRequest).
void Fetch::bound_bytes(const Request& request, FetchRequest& message) const {
  std::int64_t max_bytes = std::min<std::int64_t>(message.max_bytes, node_.config.integer("fetch.max.bytes"));
  if (const std::optional<double> quota = node_.quotas.fetch_bytes_max(request.client())) {
    max_bytes = std::min(max_bytes, static_cast<std::int64_t>(std::min(*quota, 1e9)));
  }
  message.max_bytes = static_cast<std::int32_t>(max_bytes);
  message.min_bytes = std::min(message.min_bytes, message.max_bytes);
}

// False: the client gets an empty answer, and comes again after the time that it is told.
bool Fetch::is_within_quota(Pending& pending) {
  Request& request = *pending.request;
  if (request.settle_throttle() > 0) return false;
  if (!node_.quotas.has(QuotaType::fetch)) return true;
  double bytes = kResponseBytes;
  for (const PartitionRead& read : pending.reads) bytes += kPartitionBytes + static_cast<double>(read.length);
  const Quotas::FetchVerdict verdict = node_.quotas.record_fetch(request.client(), bytes, node_.quota_time());
  request.throttle(verdict.throttle_ms);
  return verdict.is_sent;
}

// The session goes on where it was; one that this request began is not there (FetchContext.getThrottledResponse).
void Fetch::answer_throttled(Pending& pending) {
  for (PartitionRead& read : pending.reads) {
    if (read.file != nullptr) node_.engine.release_file(read.file);
    read.file = nullptr;
  }
  FetchResponse response;
  if (pending.session != nullptr && pending.is_incremental) response.session_id = pending.session->id();
  if (pending.session != nullptr && !pending.is_incremental) sessions_.close(*pending.session);
  pending.session.reset();
  pending.request->respond(response);
  end(pending);
}

void Fetch::start_read(PartitionRead& read, bool watches) {
  Pending& pending = *read.pending;
  const FetchTarget& target = read.target;
  const bool by_id = !target.topic_id.is_zero() || pending.request->header.api_version >= 13;
  const node::TopicImage* const topic = by_id ? node_.image->find(target.topic_id) : node_.image->find(target.topic);
  const node::PartitionImage* const partition = topic == nullptr ? nullptr : topic->find(target.partition);
  read.error = ErrorCode::NONE;
  read.plan = {};
  if (topic == nullptr) {
    read.error = by_id ? ErrorCode::UNKNOWN_TOPIC_ID : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  } else if (partition == nullptr) {
    read.error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  } else if (partition->leader != node_.node_id) {
    read.error = ErrorCode::NOT_LEADER_OR_FOLLOWER;
  }
  if (topic != nullptr) read.topic_id = topic->id;
  if (read.error != ErrorCode::NONE) return;
  read.watched_from = watches ? target.fetch_offset : kNoOffset;
  read.in_flight = true;
  ++pending.awaited;
  const std::int32_t max_bytes = std::max(0, std::min(target.max_bytes, pending.message.max_bytes));
  node_.engine.read({.request = 0,
                     .partition = {topic->id, target.partition},
                     .current_leader_epoch = target.current_leader_epoch,
                     .last_fetched_epoch = target.last_fetched_epoch,
                     .fetch_offset = target.fetch_offset,
                     .watch_from = read.watched_from,
                     .max_bytes = static_cast<std::uint32_t>(max_bytes),
                     .isolation = static_cast<api::Isolation>(pending.message.isolation_level == 1),
                     .whole_first_batch = 1},
                    read.call);
}

void Fetch::PartitionRead::on_plan(const api::ReadPlan& answer, Bytes extra) {
  if (in_flight) {
    in_flight = false;
    --pending->awaited;
  }
  plan = answer;
  watching = answer.watching != 0;
  error = answer.code == api::kOk ? ErrorCode::NONE : data_path_error(static_cast<Code>(answer.code));
  aborted.clear();
  for (std::uint32_t i = 0; i < answer.aborted_count && extra.size() >= (i + 1) * sizeof(api::AbortedRange); ++i) {
    api::AbortedRange range;
    std::memcpy(&range, extra.data() + i * sizeof range, sizeof range);
    aborted.push_back({.producer_id = range.producer_id, .first_offset = range.first_offset});
  }
  const bool passing = answer.code == static_cast<std::uint16_t>(Code::retry);
  if (passing && replans < kReplansMax) {
    ++replans;
    pending->fetch->start_read(*this, false);  // which fails at once when the topic has gone meanwhile
  }
  if (pending->awaited == 0) pending->fetch->on_all_planned(*pending);
}

// Enough bytes, an error, or no more time: answer. Else the watches (and the timer) bring us back here.
void Fetch::on_all_planned(Pending& pending) {
  if (pending.is_ending) return;
  const FetchRequest& message = pending.message;
  std::uint64_t available = 0;
  bool answers_now = pending.is_due || message.max_wait_ms <= 0 || message.min_bytes <= 0 || pending.reads.empty();
  bool watches_all = true;
  for (const PartitionRead& read : pending.reads) {
    if (read.error != ErrorCode::NONE || read.plan.diverging_epoch != kNoLeaderEpoch) answers_now = true;
    available +=
        std::min<std::uint64_t>(read.plan.available, static_cast<std::uint64_t>(std::max(read.target.max_bytes, 1)));
    if (!read.watching) watches_all = false;
  }
  if (answers_now || available >= static_cast<std::uint64_t>(message.min_bytes)) return answer(pending);
  if (!pending.timer.armed()) {
    waited_.add();
    const Instant due = pending.request->received_at + std::chrono::milliseconds(message.max_wait_ms);
    node_.io.arm(pending.timer, std::max(due, node_.io.now()));
  }
  if (watches_all) return;
  // Some bytes, but fewer than min_bytes: watch what is not watched for what comes behind its readable end.
  for (PartitionRead& read : pending.reads) {
    if (read.watching || read.in_flight) continue;
    // Not watched although nothing has come: the engine watches too many. The timer alone brings us back.
    if (read.plan.readable_end <= read.watched_from) continue;
    read.watched_from = read.plan.readable_end;
    read.in_flight = true;
    ++pending.awaited;
    const std::int32_t max_bytes = std::max(0, std::min(read.target.max_bytes, message.max_bytes));
    node_.engine.read({.request = 0,
                       .partition = {read.topic_id, read.target.partition},
                       .current_leader_epoch = read.target.current_leader_epoch,
                       .last_fetched_epoch = read.target.last_fetched_epoch,
                       .fetch_offset = read.target.fetch_offset,
                       .watch_from = read.watched_from,
                       .max_bytes = static_cast<std::uint32_t>(max_bytes),
                       .isolation = static_cast<api::Isolation>(message.isolation_level == 1),
                       .whole_first_batch = 1},
                      read.call);
  }
}

// Takes hold of the files and shares max_bytes out, in the order of the request: the first partition with records gets
// its first batch whole, others only what is left (KIP-74).
void Fetch::fill_files(Pending& pending) {
  std::uint64_t left = static_cast<std::uint64_t>(std::max(pending.message.max_bytes, 0));
  bool is_first = true;
  for (PartitionRead& read : pending.reads) {
    read.length = 0;
    read.file = nullptr;
    if (read.error != ErrorCode::NONE || read.plan.length == 0 || read.plan.diverging_epoch != kNoLeaderEpoch) continue;
    std::uint64_t length = read.plan.length;
    if (!is_first && length > left) length = left >= read.plan.first_batch_length ? left : 0;
    if (length == 0) continue;
    read.file = node_.engine.acquire_file(read.plan.file_id);
    if (read.file == nullptr) continue;  // evicted since: the client comes again for it
    read.length = static_cast<std::uint32_t>(length);
    left -= std::min(left, length);
    is_first = false;
  }
}

// Who leads now, and where, so that the client need not ask for metadata first (KIP-951).
void Fetch::tell_leader(const PartitionRead& read, const Reachable& reachable, FetchResponse& response,
                        FetchResponse::PartitionData& data) const {
  const node::TopicImage* const topic = node_.image->find(read.topic_id);
  const node::PartitionImage* const partition = topic == nullptr ? nullptr : topic->find(read.target.partition);
  if (partition == nullptr) return;
  data.current_leader = {.leader_id = partition->leader, .leader_epoch = partition->leader_epoch};
  for (const Reachable::Broker& broker : reachable.brokers()) {
    const bool is_told = std::ranges::any_of(response.node_endpoints,
                                             [&](const auto& each) { return each.node_id == broker.image->id; });
    if (broker.image->id != partition->leader || is_told) continue;
    response.node_endpoints.push_back({.node_id = broker.image->id, .host = broker.host, .port = broker.port});
    if (broker.image->rack) response.node_endpoints.back().rack = *broker.image->rack;
  }
}

void Fetch::answer(Pending& pending) {
  pending.is_ending = true;
  node_.io.disarm(pending.timer);
  for (PartitionRead& read : pending.reads) {
    if (read.watching) node_.engine.cancel(read.call, {read.topic_id, read.target.partition});
    read.watching = false;
  }
  fill_files(pending);
  if (!is_within_quota(pending)) return answer_throttled(pending);
  Request& request = *pending.request;
  FetchResponse response;
  if (pending.session != nullptr) response.session_id = pending.session->id();
  FetchResponse::FetchableTopicResponse* topic = nullptr;
  std::vector<FetchSession::Partitions::iterator> served;
  std::optional<Reachable> reachable;  // made for the first answer that names a leader
  for (PartitionRead& read : pending.reads) {
    const api::ReadPlan& plan = read.plan;
    const bool is_error = read.error != ErrorCode::NONE;
    if (pending.session != nullptr) {
      // CachedPartition.maybeUpdateResponseData
      FetchSession::Cached& cached = *read.cached;
      const bool is_news = is_error || read.length != 0 || plan.diverging_epoch != kNoLeaderEpoch ||
                           cached.high_watermark != plan.high_watermark ||
                           cached.log_start_offset != plan.log_start_offset;
      // After an error the next answer is news in any case.
      cached.high_watermark = is_error ? -1 : plan.high_watermark;
      cached.log_start_offset = is_error ? -1 : plan.log_start_offset;
      if (pending.is_incremental && !is_news) continue;
      if (read.length != 0) served.push_back(read.cached);
    }
    if (topic == nullptr || topic->topic != read.target.topic || topic->topic_id != read.target.topic_id) {
      topic = &response.responses.emplace_back();
      topic->topic = read.target.topic;
      topic->topic_id = read.target.topic_id;
    }
    FetchResponse::PartitionData& data = topic->partitions.emplace_back();
    data.partition_index = read.target.partition;
    data.error_code = static_cast<std::int16_t>(read.error);
    data.high_watermark = is_error ? -1 : plan.high_watermark;
    data.last_stable_offset = is_error ? -1 : plan.last_stable_offset;
    data.log_start_offset = is_error ? -1 : plan.log_start_offset;
    if (plan.diverging_epoch != kNoLeaderEpoch)
      data.diverging_epoch = {plan.diverging_epoch, plan.diverging_end_offset};
    if (request.header.api_version >= kFirstVersionWithLeaders &&
        (read.error == ErrorCode::NOT_LEADER_OR_FOLLOWER || read.error == ErrorCode::FENCED_LEADER_EPOCH)) {
      if (!reachable) reachable.emplace(node_, *request.connection);
      tell_leader(read, *reachable, response, data);
    }
    // So says Kafka of what it does not know, whatever the isolation; elsewhere null is for those who did not ask.
    if (read.error == ErrorCode::UNKNOWN_TOPIC_ID || read.error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
      data.aborted_transactions.emplace();
    if (pending.message.isolation_level == 1 && !is_error) data.aborted_transactions = std::move(read.aborted);
    if (read.length != 0) {
      data.records = kafka::RecordsField::external(read.length);
      request.files.push_back({read.file, plan.position, read.length});
      file_bytes_.add(read.length);
    }
  }
  for (const auto each : served) pending.session->move_to_end(each);
  pending.session.reset();  // answering may start the next request of the connection, which is of the same session
  request.respond(response);
  end(pending);
}

void Fetch::end(Pending& pending) {
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const auto& each) { return each.get() == &pending; });
  CHECK(found != running_.end());
  std::swap(*found, running_.back());
  running_.back()->session.reset();
  spare_.push_back(std::move(running_.back()));
  running_.pop_back();
}

void Fetch::stop_waiting() {
  std::vector<Pending*> waiting;
  for (const std::unique_ptr<Pending>& each : running_) waiting.push_back(each.get());
  for (Pending* const each : waiting) each->on_due();
}

}  // namespace tailrace::broker
