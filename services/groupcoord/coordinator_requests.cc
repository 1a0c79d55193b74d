// Requests about several groups: each group's shard gives its part, and the answer goes when every part rests on
// records that are durable.
#include <set>
#include <utility>

#include "services/groupcoord/coordinator.h"
#include "services/groupcoord/group_answers.h"
#include "services/groupcoord/offset_fetch.h"
#include "services/node/offsets_topic.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

template <class Request>
std::optional<Request> Coordinator::decode(const Call& call, Bytes body) {
  auto request = kafka::decode<Request>(body, call.api_version);
  if (request) return std::move(*request);
  answerer_.refuse(call.token);
  return std::nullopt;
}

template <class Response>
void Coordinator::finish(const Call& call, const Response& response, Shares shares) {
  kafka::Buffer body;
  kafka::encode(response, call.api_version, body);
  if (shares.empty()) return answerer_.answer(call.token, body.bytes());
  open_[call.token] = {.partition = -1, .shares = shares.size(), .body = std::move(body)};
  for (auto& [shard, effects] : shares) {
    effects.replies.push_back({call, {}});
    shard->carry_out(std::move(effects));
  }
}

void Coordinator::offset_fetch(const Call& call, Bytes body) {
  const auto request = decode<kafka::OffsetFetchRequest>(call, body);
  if (!request) return;
  Shares shares;
  AnswerRoom room;
  std::vector<FetchedGroup> fetched;
  const std::vector<WantedOffsets> wanted = wanted_offsets(*request, call.api_version);
  for (const WantedOffsets& group : wanted) {
    const auto hosted = find(group.group_id);
    if (!hosted) {
      fetched.push_back(refuse_fetch(group, hosted.error(), call.api_version));
      continue;
    }
    shares[*hosted];
    fetched.push_back(fetch_offsets(*(*hosted)->shard(), group, request->require_stable, call.api_version, room));
  }
  finish(call, fetch_response(std::move(fetched), call.api_version), std::move(shares));
}

void Coordinator::describe_groups(const Call& call, Bytes body) {
  const auto request = decode<kafka::DescribeGroupsRequest>(call, body);
  if (!request) return;
  Shares shares;
  AnswerRoom room;
  kafka::DescribeGroupsResponse response;
  for (const std::string_view group : request->groups) {
    const auto hosted = find(group);
    if (!hosted) {
      response.groups.push_back({.error_code = kafka::wire(hosted.error()), .group_id = group});
      continue;
    }
    shares[*hosted];
    response.groups.push_back(
        describe_group(*(*hosted)->shard(), group, request->include_authorized_operations, call.api_version, room));
  }
  finish(call, response, std::move(shares));
}

void Coordinator::consumer_group_describe(const Call& call, Bytes body) {
  const auto request = decode<kafka::ConsumerGroupDescribeRequest>(call, body);
  if (!request) return;
  Shares shares;
  AnswerRoom room;
  kafka::ConsumerGroupDescribeResponse response;
  for (const std::string_view group : request->group_ids) {
    const auto hosted = find(group);
    if (!hosted) {
      response.groups.push_back({.error_code = kafka::wire(hosted.error()), .group_id = group});
      continue;
    }
    shares[*hosted];
    response.groups.push_back(
        describe_consumer_group(*(*hosted)->shard(), group, request->include_authorized_operations, room));
  }
  finish(call, response, std::move(shares));
}

void Coordinator::delete_groups(const Call& call, Bytes body) {
  const auto request = decode<kafka::DeleteGroupsRequest>(call, body);
  if (!request) return;
  Shares shares;
  kafka::DeleteGroupsResponse response;
  std::set<std::string_view> named;
  for (const std::string_view group : request->groups_names) {
    if (!named.insert(group).second) continue;
    const auto hosted = find(group);
    response.results.push_back(hosted ? delete_group(*(*hosted)->shard(), group, shares[*hosted])
                                      : DeletedGroup{.group_id = group, .error_code = kafka::wire(hosted.error())});
  }
  finish(call, response, std::move(shares));
}

// All that this node has, or the error of a partition that it has not yet read (GroupCoordinatorService.listGroups).
void Coordinator::list_groups(const Call& call, Bytes body) {
  const auto request = decode<kafka::ListGroupsRequest>(call, body);
  if (!request) return;
  Shares shares;
  kafka::ListGroupsResponse response;
  bool is_loading = image_ == nullptr;
  for (const auto& [index, hosted] : hosted_) {
    const Shard* const shard = hosted->shard();
    is_loading |= shard == nullptr;
    if (shard == nullptr) continue;
    shares[hosted.get()];
    groupcoord::list_groups(*shard, *request, response);
  }
  if (is_loading) {
    response.error_code = kafka::wire(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    response.groups.clear();
    shares.clear();
  }
  finish(call, response, std::move(shares));
}

std::unique_ptr<LagPage> Coordinator::lag_page(std::size_t rows_max, const LagCursor& after) const {
  if (image_ == nullptr) return nullptr;
  auto page = std::make_unique<LagPage>(rows_max);
  const bool is_first = !after.group || partitions_ == 0;
  const std::int32_t from = is_first ? 0 : node::offsets_partition_of(*after.group, partitions_);
  for (auto at = hosted_.lower_bound(from); at != hosted_.end(); ++at) {
    const Shard* const shard = at->second->shard();
    if (shard == nullptr) return nullptr;
    if (!page->add(*shard, at->first == from ? after : LagCursor{})) break;
  }
  return page;
}

}  // namespace tailrace::groupcoord
