#include "services/broker/producers.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "engine/api/client.h"
#include "engine/base/check.h"
#include "services/broker/topics.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/describe_producers.h"

namespace tailrace::broker {
namespace {

using kafka::DescribeProducersRequest;
using kafka::DescribeProducersResponse;
using kafka::ErrorCode;
using PartitionAnswer = DescribeProducersResponse::PartitionResponse;

void refuse(PartitionAnswer& answer, ErrorCode error) {
  answer.error_code = kafka::wire(error);
  answer.active_producers.clear();
}

}  // namespace

// One page of one partition is in flight.
struct DescribeProducers::Pending {
  DescribeProducers* owner = nullptr;
  Request* request = nullptr;
  DescribeProducersRequest message;
  DescribeProducersResponse response;
  std::size_t topic = 0;  // of the question in flight, or the next one
  std::size_t partition = 0;
  ProducerId after = kNoProducerId;
  // One that is named again is refused, where Kafka answers again: a short request must not get a boundless answer.
  std::set<std::pair<std::string_view, std::int32_t>> described;
  api::Call<api::ProducersDescribed> call;

  void on_page(const api::ProducersDescribed& page, Bytes extra) {
    PartitionAnswer& answer = response.topics[topic].partitions[partition];
    bool has_more = false;
    if (page.code != api::kOk) {
      refuse(answer, data_path_error(static_cast<Code>(page.code)));
    } else {
      const std::size_t count = std::min<std::size_t>(page.count, extra.size() / sizeof(api::DescribedProducer));
      for (std::size_t i = 0; i < count; ++i) {
        api::DescribedProducer each;
        std::memcpy(&each, extra.data() + i * sizeof each, sizeof each);
        answer.active_producers.push_back({.producer_id = each.producer_id,
                                           .producer_epoch = each.producer_epoch,
                                           .last_sequence = each.last_sequence,
                                           .last_timestamp = each.last_timestamp,
                                           .coordinator_epoch = each.coordinator_epoch,
                                           .current_txn_start_offset = each.transaction_first_offset});
        after = each.producer_id;
      }
      has_more = page.has_more != 0 && count > 0;
    }
    if (!has_more) {
      ++partition;
      after = kNoProducerId;
    }
    owner->ask_next(*this);
  }
};

DescribeProducers::DescribeProducers(NodeState& node) : node_(node) {}
DescribeProducers::~DescribeProducers() = default;

void DescribeProducers::start(Request& request) {
  Result<DescribeProducersRequest> message =
      kafka::decode<DescribeProducersRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  running_.push_back(std::make_unique<Pending>());
  Pending& pending = *running_.back();
  pending.owner = this;
  pending.request = &request;
  pending.message = std::move(*message);
  pending.call.bind<&Pending::on_page>(&pending);
  for (const auto& asked : pending.message.topics) {
    auto& topic = pending.response.topics.emplace_back();
    topic.name = asked.name;
    for (const std::int32_t index : asked.partition_indexes) topic.partitions.push_back({.partition_index = index});
  }
  ask_next(pending);
}

// The next question that the engine can answer; the answer when there is none.
void DescribeProducers::ask_next(Pending& pending) {
  for (; pending.topic < pending.response.topics.size(); ++pending.topic, pending.partition = 0) {
    auto& topic = pending.response.topics[pending.topic];
    const node::TopicImage* const known = node_.image->find(topic.name);
    for (; pending.partition < topic.partitions.size(); ++pending.partition) {
      PartitionAnswer& answer = topic.partitions[pending.partition];
      const node::PartitionImage* const partition = known == nullptr ? nullptr : known->find(answer.partition_index);
      if (partition == nullptr) {
        refuse(answer, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        if (known == nullptr) answer.error_message = "This server does not host this topic-partition.";
      } else if (partition->leader != node_.node_id) {
        refuse(answer, ErrorCode::NOT_LEADER_OR_FOLLOWER);
      } else if (pending.after == kNoProducerId &&
                 !pending.described.emplace(topic.name, answer.partition_index).second) {
        refuse(answer, ErrorCode::INVALID_REQUEST);
      } else {
        return node_.engine.describe_producers(
            {.request = 0, .partition = {known->id, answer.partition_index}, .after = pending.after}, pending.call);
      }
      pending.after = kNoProducerId;
    }
  }
  answer(pending);
}

void DescribeProducers::answer(Pending& pending) {
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const auto& each) { return each.get() == &pending; });
  CHECK(found != running_.end());
  const std::unique_ptr<Pending> done = std::move(*found);
  running_.erase(found);
  done->request->respond(done->response);
}

}  // namespace tailrace::broker
