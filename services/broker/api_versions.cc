// ApiVersions: the table of served APIs, told to clients (KIP-511), if this is the node that they look for (KIP-1242).
#include <algorithm>

#include "services/broker/connection.h"
#include "services/broker/metadata.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/api_versions.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;

// ApiVersionsRequest.isValid: letters, digits, dashes and dots, beginning and ending with a letter or digit.
bool is_software_text(std::string_view text) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (text.empty() || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

// Both what the client takes us for, or nothing; another cluster or node tells it to begin anew with its bootstrap
// servers.
ErrorCode check_identity(const NodeState& node, const kafka::ApiVersionsRequest& message) {
  const bool names_node = message.node_id != -1;
  if (message.cluster_id.has_value() != names_node) return ErrorCode::INVALID_REQUEST;
  if (!names_node || (*message.cluster_id == node.cluster_id && message.node_id == node.node_id)) {
    return ErrorCode::NONE;
  }
  return ErrorCode::REBOOTSTRAP_REQUIRED;
}

}  // namespace

void answer_api_versions(const NodeState& node, Request& request) {
  kafka::ApiVersionsResponse response;
  if (!request.api->serves(request.header.api_version)) {
    // Whatever version was asked, everybody can read version 0; the one entry says which versions there are.
    request.header.api_version = 0;
    response.error_code = static_cast<std::int16_t>(ErrorCode::UNSUPPORTED_VERSION);
    response.api_keys.push_back({request.api->key, request.api->advertised_min, request.api->advertised_max});
    return request.respond(response);
  }
  const auto message = kafka::decode<kafka::ApiVersionsRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  if (request.header.api_version >= 3) {
    ErrorCode error = check_identity(node, *message);
    if (!is_software_text(message->client_software_name) || !is_software_text(message->client_software_version)) {
      error = ErrorCode::INVALID_REQUEST;
    }
    if (error != ErrorCode::NONE) {
      response.error_code = kafka::wire(error);
      return request.respond(response);
    }
    request.connection->client_software =
        std::string(message->client_software_name) + " " + std::string(message->client_software_version);
  }
  for (const kafka::Api& api : kafka::api_table()) {
    if (api.advertised()) response.api_keys.push_back({api.key, api.advertised_min, api.advertised_max});
  }
  request.respond(response);
}

}  // namespace tailrace::broker
