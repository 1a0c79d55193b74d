#include "services/broker/log_dirs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "engine/api/client.h"
#include "engine/base/check.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/describe_log_dirs.h"

namespace tailrace::broker {
namespace {

using kafka::DescribeLogDirsRequest;
using kafka::DescribeLogDirsResponse;
using kafka::ErrorCode;

// Of one request: enough to keep the engine busy, a small part of the ring.
constexpr std::size_t kInFlightMax = 128;

std::string absolute_data_directory(const node::Config& config) {
  const std::string dirs = config.text("log.dirs");
  const std::string directory = dirs.empty() ? config.text("log.dir") : dirs;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  return error ? directory : absolute.string();
}

}  // namespace

struct LogDirs::Pending {
  struct Wanted {
    std::shared_ptr<const node::TopicImage> topic;
    std::int32_t partition = 0;
    std::int64_t size_bytes = -1;  // -1: there is no such log
  };
  struct Question {
    Pending* pending = nullptr;
    std::size_t wanted = 0;
    bool in_flight = false;
    api::Call<api::LogDescribed> call;
    void on_described(const api::LogDescribed& described, Bytes) {
      in_flight = false;
      if (described.code == api::kOk) {
        pending->wanted[wanted].size_bytes = static_cast<std::int64_t>(described.size_bytes);
      } else if (described.code != static_cast<std::uint16_t>(Code::unknown_partition)) {
        pending->is_out_of_reach = true;
      }
      --pending->awaited;
      pending->owner->ask_more(*pending);
    }
  };
  LogDirs* owner = nullptr;
  Request* request = nullptr;
  std::vector<Wanted> wanted;  // by topic
  std::size_t next = 0;
  std::size_t awaited = 0;
  bool is_out_of_reach = false;  // the engine is gone
  std::array<Question, kInFlightMax> questions;
};

LogDirs::LogDirs(NodeState& node) : node_(node), directory_(absolute_data_directory(node.config)) {}
LogDirs::~LogDirs() = default;

void LogDirs::start(Request& request) {
  const Result<DescribeLogDirsRequest> message =
      kafka::decode<DescribeLogDirsRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  running_.push_back(std::make_unique<Pending>());
  Pending& pending = *running_.back();
  pending.owner = this;
  pending.request = &request;
  const node::MetadataImage::Topics& topics = node_.image->topics();
  if (!message->topics) {
    for (const auto& [name, topic] : topics) {
      for (const auto& [index, partition] : topic->partitions) pending.wanted.push_back({topic, index});
    }
  } else {
    // One that nobody knows is left out, and one that is named twice is told once, as in Kafka.
    std::set<std::pair<std::string_view, std::int32_t>> seen;
    for (const auto& asked : *message->topics) {
      const auto found = topics.find(asked.topic);
      if (found == topics.end()) continue;
      for (const std::int32_t index : asked.partitions) {
        if (found->second->find(index) == nullptr || !seen.emplace(asked.topic, index).second) continue;
        pending.wanted.push_back({found->second, index});
      }
    }
    std::ranges::sort(pending.wanted, {}, [](const Pending::Wanted& each) {
      return std::pair(std::string_view(each.topic->name), each.partition);
    });
  }
  for (Pending::Question& question : pending.questions) {
    question.pending = &pending;
    question.call.bind<&Pending::Question::on_described>(&question);
  }
  ask_more(pending);
}

void LogDirs::ask_more(Pending& pending) {
  for (Pending::Question& question : pending.questions) {
    if (pending.next == pending.wanted.size()) break;
    if (question.in_flight) continue;
    question.in_flight = true;
    question.wanted = pending.next++;
    ++pending.awaited;
    const Pending::Wanted& wanted = pending.wanted[question.wanted];
    node_.engine.describe_log({.request = 0, .partition = {wanted.topic->id, wanted.partition}}, question.call);
  }
  if (pending.awaited == 0) answer(pending);
}

void LogDirs::answer(Pending& pending) {
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const auto& each) { return each.get() == &pending; });
  CHECK(found != running_.end());
  const std::unique_ptr<Pending> done = std::move(*found);
  running_.erase(found);
  DescribeLogDirsResponse response;
  DescribeLogDirsResponse::DescribeLogDirsResult& result = response.results.emplace_back();
  result.log_dir = directory_;
  if (done->is_out_of_reach) {
    result.error_code = kafka::wire(ErrorCode::KAFKA_STORAGE_ERROR);
    return done->request->respond(response);
  }
  if (const Result<io::DiskSpace> space = node_.io.files().disk_space(directory_)) {
    result.total_bytes = static_cast<std::int64_t>(space->total);
    result.usable_bytes = static_cast<std::int64_t>(space->usable);
  }
  for (const Pending::Wanted& each : done->wanted) {
    if (each.size_bytes < 0) continue;
    if (result.topics.empty() || result.topics.back().name != each.topic->name) {
      result.topics.push_back({.name = each.topic->name});
    }
    result.topics.back().partitions.push_back(
        {.partition_index = each.partition, .partition_size = each.size_bytes, .offset_lag = 0});
  }
  done->request->respond(response);
}

}  // namespace tailrace::broker
