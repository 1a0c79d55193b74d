// FindCoordinator, in a release without groups and transactions. Clients that assign partitions by themselves ask, too,
// because they have a group's name: of all errors COORDINATOR_NOT_AVAILABLE is the one that leaves them alone. The API
// is served at all since librdkafka before 2.11 takes its absence for a broker that cannot store lz4
// (rdkafka_feature.c).
#include "services/kafka/messages/find_coordinator.h"
#include "services/broker/metadata.h"
#include "services/kafka/errors.h"

namespace tailrace::broker {
namespace {

constexpr std::int16_t kFirstVersionWithMessage = 1;
constexpr std::int16_t kFirstVersionWithSeveralKeys = 4;
constexpr std::string_view kMessage = "This node does not coordinate groups or transactions.";

}  // namespace

void answer_find_coordinator(Request& request) {
  const std::int16_t version = request.header.api_version;
  const auto message = kafka::decode<kafka::FindCoordinatorRequest>(request.body, version);
  if (!message) return request.refuse();
  const std::int16_t error = kafka::wire(kafka::ErrorCode::COORDINATOR_NOT_AVAILABLE);
  kafka::FindCoordinatorResponse response;
  if (version < kFirstVersionWithSeveralKeys) {
    response.error_code = error;
    response.node_id = -1;
    response.port = -1;
    if (version >= kFirstVersionWithMessage) response.error_message = kMessage;
    return request.respond(response);
  }
  for (const std::string_view key : message->coordinator_keys) {
    response.coordinators.push_back(
        {.key = key, .node_id = -1, .port = -1, .error_code = error, .error_message = kMessage});
  }
  request.respond(response);
}

}  // namespace tailrace::broker
