// DescribeUserScramCredentials: who has SCRAM credentials. As long as SASL is not served nobody has; kafka-configs asks
// whenever it describes a user's quotas.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "services/broker/metadata.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/describe_user_scram_credentials.h"

namespace tailrace::broker {

using kafka::ErrorCode;

void answer_describe_user_scram_credentials(Request& request) {
  const auto message =
      kafka::decode<kafka::DescribeUserScramCredentialsRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  kafka::DescribeUserScramCredentialsResponse response;
  std::vector<std::string> texts;         // the response borrows them
  std::map<std::string_view, int> times;  // that a user is named
  if (message->users) {
    for (const auto& asked : *message->users) ++times[asked.name];
  }
  texts.reserve(times.size());
  for (const auto& [user, count] : times) {
    const bool is_twice = count > 1;
    texts.push_back(
        is_twice
            ? fmt::format("Cannot describe SCRAM credentials for the same user twice in a single request: {}", user)
            : fmt::format("Attempt to describe a user credential that does not exist: {}", user));
    response.results.push_back(
        {.user = user,
         .error_code = kafka::wire(is_twice ? ErrorCode::DUPLICATE_RESOURCE : ErrorCode::RESOURCE_NOT_FOUND),
         .error_message = texts.back()});
  }
  request.respond(response);
}

}  // namespace tailrace::broker
