// The table of Kafka's errors, in the order of their numbers from -1 on.
#include "services/kafka/errors.h"

#include <array>

namespace tailrace::kafka {
namespace {

struct Description {
  ErrorCode code;
  bool retriable;
  std::string_view name;
  std::string_view text;
};

constexpr std::int16_t kFirst = -1;

constexpr std::array kDescriptions = {
    Description{ErrorCode::UNKNOWN_SERVER_ERROR, false, "UNKNOWN_SERVER_ERROR", "An unexpected error on the server."},
    Description{ErrorCode::NONE, false, "NONE", "No error."},
    Description{ErrorCode::OFFSET_OUT_OF_RANGE, false, "OFFSET_OUT_OF_RANGE",
                "The offset is outside the log of this partition."},
    Description{ErrorCode::CORRUPT_MESSAGE, true, "CORRUPT_MESSAGE",
                "The bytes of a batch or message do not pass their checks."},
    Description{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, true, "UNKNOWN_TOPIC_OR_PARTITION",
                "This server has no such topic or partition."},
    Description{ErrorCode::INVALID_FETCH_SIZE, false, "INVALID_FETCH_SIZE", "The fetch size is not valid."},
    Description{ErrorCode::LEADER_NOT_AVAILABLE, true, "LEADER_NOT_AVAILABLE",
                "The partition has no leader at the moment."},
    Description{ErrorCode::NOT_LEADER_OR_FOLLOWER, true, "NOT_LEADER_OR_FOLLOWER",
                "This broker does not lead the partition, or has no replica of it."},
    Description{ErrorCode::REQUEST_TIMED_OUT, true, "REQUEST_TIMED_OUT",
                "The request was not completed within its time."},
    Description{ErrorCode::BROKER_NOT_AVAILABLE, false, "BROKER_NOT_AVAILABLE", "The broker cannot be reached."},
    Description{ErrorCode::REPLICA_NOT_AVAILABLE, true, "REPLICA_NOT_AVAILABLE", "The replica is not available here."},
    Description{ErrorCode::MESSAGE_TOO_LARGE, false, "MESSAGE_TOO_LARGE",
                "A batch is larger than the topic allows (max.message.bytes)."},
    Description{ErrorCode::STALE_CONTROLLER_EPOCH, false, "STALE_CONTROLLER_EPOCH",
                "The request comes from a controller that was replaced."},
    Description{ErrorCode::OFFSET_METADATA_TOO_LARGE, false, "OFFSET_METADATA_TOO_LARGE",
                "The metadata beside a committed offset is too long."},
    Description{ErrorCode::NETWORK_EXCEPTION, true, "NETWORK_EXCEPTION",
                "The connection was lost before an answer came."},
    Description{ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, true, "COORDINATOR_LOAD_IN_PROGRESS",
                "The coordinator is still reading its state."},
    Description{ErrorCode::COORDINATOR_NOT_AVAILABLE, true, "COORDINATOR_NOT_AVAILABLE",
                "There is no coordinator at the moment."},
    Description{ErrorCode::NOT_COORDINATOR, true, "NOT_COORDINATOR", "Another broker is the coordinator."},
    Description{ErrorCode::INVALID_TOPIC_EXCEPTION, false, "INVALID_TOPIC_EXCEPTION",
                "The topic name is not valid, or the topic may not be used like this."},
    Description{ErrorCode::RECORD_LIST_TOO_LARGE, false, "RECORD_LIST_TOO_LARGE",
                "A batch is larger than a segment (segment.bytes)."},
    Description{ErrorCode::NOT_ENOUGH_REPLICAS, true, "NOT_ENOUGH_REPLICAS",
                "Fewer replicas are in sync than min.insync.replicas asks for; nothing was written."},
    Description{ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND, true, "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
                "The records were written, but fewer replicas are in sync than min.insync.replicas asks for."},
    Description{ErrorCode::INVALID_REQUIRED_ACKS, false, "INVALID_REQUIRED_ACKS", "acks must be -1, 0 or 1."},
    Description{ErrorCode::ILLEGAL_GENERATION, false, "ILLEGAL_GENERATION",
                "The generation is not the group's current one."},
    Description{ErrorCode::INCONSISTENT_GROUP_PROTOCOL, false, "INCONSISTENT_GROUP_PROTOCOL",
                "The member has no protocol in common with its group, or named none."},
    Description{ErrorCode::INVALID_GROUP_ID, false, "INVALID_GROUP_ID", "The group id is not valid."},
    Description{ErrorCode::UNKNOWN_MEMBER_ID, false, "UNKNOWN_MEMBER_ID", "The group has no such member."},
    Description{ErrorCode::INVALID_SESSION_TIMEOUT, false, "INVALID_SESSION_TIMEOUT",
                "The session timeout is outside group.min.session.timeout.ms and group.max.session.timeout.ms."},
    Description{ErrorCode::REBALANCE_IN_PROGRESS, false, "REBALANCE_IN_PROGRESS",
                "The group is rebalancing; members must join again."},
    Description{ErrorCode::INVALID_COMMIT_OFFSET_SIZE, false, "INVALID_COMMIT_OFFSET_SIZE",
                "The offsets to commit take too many bytes."},
    Description{ErrorCode::TOPIC_AUTHORIZATION_FAILED, false, "TOPIC_AUTHORIZATION_FAILED",
                "No permission for this topic."},
    Description{ErrorCode::GROUP_AUTHORIZATION_FAILED, false, "GROUP_AUTHORIZATION_FAILED",
                "No permission for this group."},
    Description{ErrorCode::CLUSTER_AUTHORIZATION_FAILED, false, "CLUSTER_AUTHORIZATION_FAILED",
                "No permission for this operation on the cluster."},
    Description{ErrorCode::INVALID_TIMESTAMP, false, "INVALID_TIMESTAMP",
                "A record time is outside the bounds of the topic."},
    Description{ErrorCode::UNSUPPORTED_SASL_MECHANISM, false, "UNSUPPORTED_SASL_MECHANISM",
                "The SASL mechanism is not offered here."},
    Description{ErrorCode::ILLEGAL_SASL_STATE, false, "ILLEGAL_SASL_STATE",
                "The request does not fit the state of the SASL exchange."},
    Description{ErrorCode::UNSUPPORTED_VERSION, false, "UNSUPPORTED_VERSION",
                "This version of the request is not served."},
    Description{ErrorCode::TOPIC_ALREADY_EXISTS, false, "TOPIC_ALREADY_EXISTS", "A topic with this name exists."},
    Description{ErrorCode::INVALID_PARTITIONS, false, "INVALID_PARTITIONS", "The number of partitions is not valid."},
    Description{ErrorCode::INVALID_REPLICATION_FACTOR, false, "INVALID_REPLICATION_FACTOR",
                "The replication factor is below 1 or above the number of brokers."},
    Description{ErrorCode::INVALID_REPLICA_ASSIGNMENT, false, "INVALID_REPLICA_ASSIGNMENT",
                "The assignment of replicas is not valid."},
    Description{ErrorCode::INVALID_CONFIG, false, "INVALID_CONFIG",
                "A setting is not known or its value is not valid."},
    Description{ErrorCode::NOT_CONTROLLER, true, "NOT_CONTROLLER", "Another node is the controller."},
    Description{ErrorCode::INVALID_REQUEST, false, "INVALID_REQUEST",
                "The request contradicts itself or its protocol."},
    Description{ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT, false, "UNSUPPORTED_FOR_MESSAGE_FORMAT",
                "The record format does not allow this request."},
    Description{ErrorCode::POLICY_VIOLATION, false, "POLICY_VIOLATION",
                "A policy of this cluster forbids the request."},
    Description{ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, false, "OUT_OF_ORDER_SEQUENCE_NUMBER",
                "The producer's sequence number leaves a gap."},
    Description{ErrorCode::DUPLICATE_SEQUENCE_NUMBER, false, "DUPLICATE_SEQUENCE_NUMBER",
                "The producer's batch was written before."},
    Description{ErrorCode::INVALID_PRODUCER_EPOCH, false, "INVALID_PRODUCER_EPOCH",
                "The producer's epoch is older than the current one."},
    Description{ErrorCode::INVALID_TXN_STATE, false, "INVALID_TXN_STATE",
                "The state of the transaction does not allow the operation."},
    Description{ErrorCode::INVALID_PRODUCER_ID_MAPPING, false, "INVALID_PRODUCER_ID_MAPPING",
                "The producer id does not belong to the transactional id."},
    Description{ErrorCode::INVALID_TRANSACTION_TIMEOUT, false, "INVALID_TRANSACTION_TIMEOUT",
                "The transaction timeout is above transaction.max.timeout.ms."},
    Description{ErrorCode::CONCURRENT_TRANSACTIONS, true, "CONCURRENT_TRANSACTIONS",
                "Another operation on the same transaction is under way."},
    Description{ErrorCode::TRANSACTION_COORDINATOR_FENCED, false, "TRANSACTION_COORDINATOR_FENCED",
                "The transaction coordinator was replaced."},
    Description{ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, false, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
                "No permission for this transactional id."},
    Description{ErrorCode::SECURITY_DISABLED, false, "SECURITY_DISABLED", "This cluster runs without authorization."},
    Description{ErrorCode::OPERATION_NOT_ATTEMPTED, false, "OPERATION_NOT_ATTEMPTED", "The operation was not tried."},
    Description{ErrorCode::KAFKA_STORAGE_ERROR, true, "KAFKA_STORAGE_ERROR",
                "The log could not be read or written: its disk failed or is full."},
    Description{ErrorCode::LOG_DIR_NOT_FOUND, false, "LOG_DIR_NOT_FOUND", "The broker has no such log directory."},
    Description{ErrorCode::SASL_AUTHENTICATION_FAILED, false, "SASL_AUTHENTICATION_FAILED",
                "The credentials were refused."},
    Description{ErrorCode::UNKNOWN_PRODUCER_ID, false, "UNKNOWN_PRODUCER_ID",
                "Nothing is known of this producer id (any more)."},
    Description{ErrorCode::REASSIGNMENT_IN_PROGRESS, false, "REASSIGNMENT_IN_PROGRESS",
                "The partition is being reassigned."},
    Description{ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED, false, "DELEGATION_TOKEN_AUTH_DISABLED",
                "Delegation tokens are not in use."},
    Description{ErrorCode::DELEGATION_TOKEN_NOT_FOUND, false, "DELEGATION_TOKEN_NOT_FOUND",
                "There is no such delegation token."},
    Description{ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH, false, "DELEGATION_TOKEN_OWNER_MISMATCH",
                "The principal is neither owner nor renewer of the token."},
    Description{ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, false, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
                "Delegation tokens may not be requested over this connection."},
    Description{ErrorCode::DELEGATION_TOKEN_AUTHORIZATION_FAILED, false, "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
                "No permission for this delegation token."},
    Description{ErrorCode::DELEGATION_TOKEN_EXPIRED, false, "DELEGATION_TOKEN_EXPIRED",
                "The delegation token has expired."},
    Description{ErrorCode::INVALID_PRINCIPAL_TYPE, false, "INVALID_PRINCIPAL_TYPE",
                "The type of principal is not supported."},
    Description{ErrorCode::NON_EMPTY_GROUP, false, "NON_EMPTY_GROUP", "The group has members."},
    Description{ErrorCode::GROUP_ID_NOT_FOUND, false, "GROUP_ID_NOT_FOUND", "There is no such group."},
    Description{ErrorCode::FETCH_SESSION_ID_NOT_FOUND, true, "FETCH_SESSION_ID_NOT_FOUND",
                "There is no such fetch session (any more)."},
    Description{ErrorCode::INVALID_FETCH_SESSION_EPOCH, true, "INVALID_FETCH_SESSION_EPOCH",
                "The epoch of the fetch session is not the expected one."},
    Description{ErrorCode::LISTENER_NOT_FOUND, true, "LISTENER_NOT_FOUND",
                "The leader has no listener that matches this one."},
    Description{ErrorCode::TOPIC_DELETION_DISABLED, false, "TOPIC_DELETION_DISABLED",
                "Deleting topics is switched off (delete.topic.enable)."},
    Description{ErrorCode::FENCED_LEADER_EPOCH, true, "FENCED_LEADER_EPOCH",
                "The leader epoch of the request is older than the broker's."},
    Description{ErrorCode::UNKNOWN_LEADER_EPOCH, true, "UNKNOWN_LEADER_EPOCH",
                "The leader epoch of the request is newer than the broker's."},
    Description{ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, false, "UNSUPPORTED_COMPRESSION_TYPE",
                "The client cannot read the compression of this partition."},
    Description{ErrorCode::STALE_BROKER_EPOCH, false, "STALE_BROKER_EPOCH", "The broker has registered again since."},
    Description{ErrorCode::OFFSET_NOT_AVAILABLE, true, "OFFSET_NOT_AVAILABLE",
                "The new leader does not know its high watermark yet."},
    Description{ErrorCode::MEMBER_ID_REQUIRED, false, "MEMBER_ID_REQUIRED",
                "The member must join again with the member id it was given."},
    Description{ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE, true, "PREFERRED_LEADER_NOT_AVAILABLE",
                "The preferred leader is not available."},
    Description{ErrorCode::GROUP_MAX_SIZE_REACHED, false, "GROUP_MAX_SIZE_REACHED",
                "The group has as many members as it may have (group.max.size)."},
    Description{ErrorCode::FENCED_INSTANCE_ID, false, "FENCED_INSTANCE_ID",
                "Another member has registered with the same group.instance.id."},
    Description{ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE, true, "ELIGIBLE_LEADERS_NOT_AVAILABLE",
                "No replica that may lead is available."},
    Description{ErrorCode::ELECTION_NOT_NEEDED, true, "ELECTION_NOT_NEEDED", "The partition needs no election."},
    Description{ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, false, "NO_REASSIGNMENT_IN_PROGRESS",
                "The partition is not being reassigned."},
    Description{ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC, false, "GROUP_SUBSCRIBED_TO_TOPIC",
                "The group is subscribed to the topic, so its offsets stay."},
    Description{ErrorCode::INVALID_RECORD, false, "INVALID_RECORD",
                "A record breaks a rule of the topic or of its batch."},
    Description{ErrorCode::UNSTABLE_OFFSET_COMMIT, true, "UNSTABLE_OFFSET_COMMIT",
                "Offsets of an open transaction are pending."},
    Description{ErrorCode::THROTTLING_QUOTA_EXCEEDED, true, "THROTTLING_QUOTA_EXCEEDED", "A quota is used up for now."},
    Description{ErrorCode::PRODUCER_FENCED, false, "PRODUCER_FENCED",
                "A newer producer uses the same transactional id."},
    Description{ErrorCode::RESOURCE_NOT_FOUND, false, "RESOURCE_NOT_FOUND", "There is no such resource."},
    Description{ErrorCode::DUPLICATE_RESOURCE, false, "DUPLICATE_RESOURCE", "The request names a resource twice."},
    Description{ErrorCode::UNACCEPTABLE_CREDENTIAL, false, "UNACCEPTABLE_CREDENTIAL",
                "The credential does not meet the rules."},
    Description{ErrorCode::INCONSISTENT_VOTER_SET, false, "INCONSISTENT_VOTER_SET",
                "The voter sets of sender and receiver differ."},
    Description{ErrorCode::INVALID_UPDATE_VERSION, false, "INVALID_UPDATE_VERSION",
                "The version of the update is not valid."},
    Description{ErrorCode::FEATURE_UPDATE_FAILED, false, "FEATURE_UPDATE_FAILED", "The features could not be updated."},
    Description{ErrorCode::PRINCIPAL_DESERIALIZATION_FAILURE, false, "PRINCIPAL_DESERIALIZATION_FAILURE",
                "The principal of a forwarded request could not be read."},
    Description{ErrorCode::SNAPSHOT_NOT_FOUND, false, "SNAPSHOT_NOT_FOUND", "There is no such snapshot."},
    Description{ErrorCode::POSITION_OUT_OF_RANGE, false, "POSITION_OUT_OF_RANGE",
                "The position is outside the snapshot."},
    Description{ErrorCode::UNKNOWN_TOPIC_ID, true, "UNKNOWN_TOPIC_ID", "This server has no topic with this id."},
    Description{ErrorCode::DUPLICATE_BROKER_REGISTRATION, false, "DUPLICATE_BROKER_REGISTRATION",
                "Another broker runs under this id."},
    Description{ErrorCode::BROKER_ID_NOT_REGISTERED, false, "BROKER_ID_NOT_REGISTERED",
                "No broker is registered under this id."},
    Description{ErrorCode::INCONSISTENT_TOPIC_ID, true, "INCONSISTENT_TOPIC_ID",
                "The log belongs to a topic with another id."},
    Description{ErrorCode::INCONSISTENT_CLUSTER_ID, false, "INCONSISTENT_CLUSTER_ID",
                "The request is meant for another cluster."},
    Description{ErrorCode::TRANSACTIONAL_ID_NOT_FOUND, false, "TRANSACTIONAL_ID_NOT_FOUND",
                "There is no such transactional id."},
    Description{ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR, true, "FETCH_SESSION_TOPIC_ID_ERROR",
                "The fetch session mixes topics with and without ids."},
    Description{ErrorCode::INELIGIBLE_REPLICA, false, "INELIGIBLE_REPLICA",
                "A replica of the new in-sync set may not be in it."},
    Description{ErrorCode::NEW_LEADER_ELECTED, false, "NEW_LEADER_ELECTED",
                "The change was made, and the partition has a new leader."},
    Description{ErrorCode::OFFSET_MOVED_TO_TIERED_STORAGE, false, "OFFSET_MOVED_TO_TIERED_STORAGE",
                "The offset is in tiered storage."},
    Description{ErrorCode::FENCED_MEMBER_EPOCH, false, "FENCED_MEMBER_EPOCH",
                "The member's epoch is fenced; it must give up its partitions and join again."},
    Description{ErrorCode::UNRELEASED_INSTANCE_ID, false, "UNRELEASED_INSTANCE_ID",
                "Another member still uses this instance id."},
    Description{ErrorCode::UNSUPPORTED_ASSIGNOR, false, "UNSUPPORTED_ASSIGNOR",
                "The group does not support this assignor."},
    Description{ErrorCode::STALE_MEMBER_EPOCH, false, "STALE_MEMBER_EPOCH",
                "The member's epoch is behind; its next heartbeat brings the current one."},
    Description{ErrorCode::MISMATCHED_ENDPOINT_TYPE, false, "MISMATCHED_ENDPOINT_TYPE",
                "The endpoint is of another type than the request expects."},
    Description{ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, false, "UNSUPPORTED_ENDPOINT_TYPE",
                "The type of endpoint is not supported."},
    Description{ErrorCode::UNKNOWN_CONTROLLER_ID, false, "UNKNOWN_CONTROLLER_ID",
                "There is no controller with this id."},
    Description{ErrorCode::UNKNOWN_SUBSCRIPTION_ID, false, "UNKNOWN_SUBSCRIPTION_ID",
                "The telemetry subscription is not known (any more)."},
    Description{ErrorCode::TELEMETRY_TOO_LARGE, false, "TELEMETRY_TOO_LARGE",
                "The telemetry is larger than the broker accepts."},
    Description{ErrorCode::INVALID_REGISTRATION, false, "INVALID_REGISTRATION",
                "The controller refuses the registration."},
    Description{ErrorCode::TRANSACTION_ABORTABLE, false, "TRANSACTION_ABORTABLE",
                "The transaction failed and can be aborted; the transactional id stays usable."},
    Description{ErrorCode::INVALID_RECORD_STATE, false, "INVALID_RECORD_STATE",
                "The record is not in a state that allows the acknowledgement."},
    Description{ErrorCode::SHARE_SESSION_NOT_FOUND, true, "SHARE_SESSION_NOT_FOUND",
                "There is no such share session (any more)."},
    Description{ErrorCode::INVALID_SHARE_SESSION_EPOCH, true, "INVALID_SHARE_SESSION_EPOCH",
                "The epoch of the share session is not the expected one."},
    Description{ErrorCode::FENCED_STATE_EPOCH, false, "FENCED_STATE_EPOCH", "The state epoch is not the current one."},
    Description{ErrorCode::INVALID_VOTER_KEY, false, "INVALID_VOTER_KEY", "The voter key is not that of the receiver."},
    Description{ErrorCode::DUPLICATE_VOTER, false, "DUPLICATE_VOTER", "The voter is in the set already."},
    Description{ErrorCode::VOTER_NOT_FOUND, false, "VOTER_NOT_FOUND", "The voter is not in the set."},
    Description{ErrorCode::INVALID_REGULAR_EXPRESSION, false, "INVALID_REGULAR_EXPRESSION",
                "The regular expression is not valid."},
    Description{ErrorCode::REBOOTSTRAP_REQUIRED, false, "REBOOTSTRAP_REQUIRED",
                "The client's metadata is too old; it should start from its bootstrap servers."},
    Description{ErrorCode::STREAMS_INVALID_TOPOLOGY, false, "STREAMS_INVALID_TOPOLOGY", "The topology is not valid."},
    Description{ErrorCode::STREAMS_INVALID_TOPOLOGY_EPOCH, false, "STREAMS_INVALID_TOPOLOGY_EPOCH",
                "The topology epoch is not valid."},
    Description{ErrorCode::STREAMS_TOPOLOGY_FENCED, false, "STREAMS_TOPOLOGY_FENCED", "The topology epoch is behind."},
    Description{ErrorCode::SHARE_SESSION_LIMIT_REACHED, true, "SHARE_SESSION_LIMIT_REACHED",
                "There are as many share sessions as there may be."},
    Description{ErrorCode::GROUP_DELETION_FAILED, false, "GROUP_DELETION_FAILED",
                "The group could not be deleted; its result says why."},
    Description{ErrorCode::STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED, false,
                "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", "The description of the topology could not be updated."},
    Description{ErrorCode::CONTROLLER_ID_NOT_REGISTERED, false, "CONTROLLER_ID_NOT_REGISTERED",
                "No controller is registered under this id."},
};

constexpr bool in_order() {
  std::int16_t expected = kFirst;
  for (const Description& row : kDescriptions) {
    if (wire(row.code) != expected++) return false;
  }
  return true;
}
static_assert(in_order());

constexpr Description kUnknown{ErrorCode::UNKNOWN_SERVER_ERROR, false, "UNKNOWN_ERROR_CODE", "An unknown error code."};

const Description& describe_error(std::int16_t code) {
  const int row = code - kFirst;
  if (row < 0 || row >= static_cast<int>(kDescriptions.size())) return kUnknown;
  return kDescriptions[static_cast<std::size_t>(row)];
}

}  // namespace

std::string_view error_name(std::int16_t code) { return describe_error(code).name; }
std::string_view error_text(std::int16_t code) { return describe_error(code).text; }
bool error_retriable(std::int16_t code) { return describe_error(code).retriable; }

ErrorCode to_wire(Code code) {
  switch (code) {
    // "Not at this moment": the error that producers, consumers and admin clients all retry without refreshing
    // anything else first.
    case Code::retry:
      return ErrorCode::REQUEST_TIMED_OUT;
    case Code::limit_reached:
      return ErrorCode::REQUEST_TIMED_OUT;
    // The engine (or the session to it) is gone and will be back; to clients that is a leader that moved: they refresh
    // their metadata and come again.
    case Code::peer_gone:
      return ErrorCode::NOT_LEADER_OR_FOLLOWER;
    case Code::not_leader:
      return ErrorCode::NOT_LEADER_OR_FOLLOWER;
    case Code::fenced_epoch:
      return ErrorCode::FENCED_LEADER_EPOCH;
    case Code::unknown_epoch:
      return ErrorCode::UNKNOWN_LEADER_EPOCH;
    case Code::unknown_partition:
      return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    case Code::unknown_topic:
      return ErrorCode::UNKNOWN_TOPIC_ID;
    case Code::out_of_range:
      return ErrorCode::OFFSET_OUT_OF_RANGE;
    case Code::corrupt:
      return ErrorCode::CORRUPT_MESSAGE;
    case Code::invalid_record:
      return ErrorCode::INVALID_RECORD;
    case Code::invalid_timestamp:
      return ErrorCode::INVALID_TIMESTAMP;
    case Code::too_large:
      return ErrorCode::MESSAGE_TOO_LARGE;
    case Code::out_of_order_sequence:
      return ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
    case Code::duplicate_sequence:
      return ErrorCode::DUPLICATE_SEQUENCE_NUMBER;
    case Code::invalid_producer_epoch:
      return ErrorCode::INVALID_PRODUCER_EPOCH;
    case Code::unknown_producer:
      return ErrorCode::UNKNOWN_PRODUCER_ID;
    case Code::invalid_transaction:
      return ErrorCode::INVALID_TXN_STATE;
    // A full disk must look like a disk, and be retriable: producers keep their records and go on when there is room
    // again.
    case Code::disk_full:
      return ErrorCode::KAFKA_STORAGE_ERROR;
    case Code::io_failed:
      return ErrorCode::KAFKA_STORAGE_ERROR;
    case Code::exists:
      return ErrorCode::TOPIC_ALREADY_EXISTS;
    case Code::not_found:
      return ErrorCode::RESOURCE_NOT_FOUND;
    case Code::invalid_argument:
      return ErrorCode::INVALID_REQUEST;
    case Code::unsupported:
      return ErrorCode::UNSUPPORTED_VERSION;
    case Code::locked:
      return ErrorCode::KAFKA_STORAGE_ERROR;
    case Code::mismatch:
      return ErrorCode::INCONSISTENT_CLUSTER_ID;
  }
  return ErrorCode::UNKNOWN_SERVER_ERROR;
}

}  // namespace tailrace::kafka
