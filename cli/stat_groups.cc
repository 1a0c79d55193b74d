#include "cli/stat_groups.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/absent.h"
#include "cli/clock.h"
#include "cli/connection.h"
#include "cli/output.h"
#include "cli/record_times.h"
#include "cli/text.h"
#include "engine/io/io.h"
#include "engine/ipc/message_channel.h"
#include "engine/ipc/session.h"
#include "services/kafka/buffer.h"
#include "services/kafka/codec.h"
#include "services/kafka/messages/group_lag.h"
#include "services/node/control.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

// For the session, and then for each page.
constexpr Duration kPatience = std::chrono::seconds(10);
// While groupcoord still reads its groups.
constexpr Duration kLoadingPause = std::chrono::milliseconds(100);

// Asks groupcoord for one page after the other.
class LagAsker {
 public:
  LagAsker(io::Io& io, const ipc::Bell& bell, const std::string& run)
      : io_(io),
        run_(run),
        connector_(io, bell, run + "/groupcoord.sock", {.role = ipc::Role::tool},
                   [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); }) {
    give_up_.bind<&LagAsker::on_give_up>(this);
    ask_again_.bind<&LagAsker::ask>(this);
  }
  ~LagAsker() {
    io_.disarm(give_up_);
    io_.disarm(ask_again_);
  }
  LagAsker(const LagAsker&) = delete;

  // Sorted by group. Error: a sentence.
  Outcome<std::vector<LaggingGroup>> ask_all();

 private:
  void on_session(std::unique_ptr<ipc::SocketLink> link);
  void ask();
  void on_message(std::uint32_t type, Bytes message);
  void add_page(const kafka::GroupLagResponse& page);
  void look_at_connection();
  void on_give_up();
  void fail_with(std::string why) {
    if (trouble_.empty()) trouble_ = std::move(why);
  }

  io::Io& io_;
  const std::string& run_;
  ipc::Connector connector_;
  std::unique_ptr<ipc::MessageChannel> channel_;
  io::Timer give_up_;
  io::Timer ask_again_;
  bool is_loading_ = false;
  bool is_done_ = false;
  std::string trouble_;
  std::vector<LaggingGroup> groups_;  // the last one may go on with the next page
};

Outcome<std::vector<LaggingGroup>> LagAsker::ask_all() {
  io_.arm(give_up_, io_.now() + kPatience);
  connector_.connect();
  while (!is_done_ && trouble_.empty()) {
    bool may_sleep = true;
    if (channel_ != nullptr) {
      const bool worked = channel_->poll([this](std::uint32_t type, Bytes message) { on_message(type, message); });
      if (channel_->is_broken()) fail_with("the answer of tailrace-groupcoord is not understood");
      channel_->publish();
      may_sleep = channel_->prepare_to_sleep() && !worked;
    }
    if (is_done_ || !trouble_.empty()) break;
    io_.turn(!may_sleep);
    if (channel_ != nullptr) channel_->wake();
    look_at_connection();
  }
  if (!trouble_.empty()) return std::unexpected(trouble_);
  std::ranges::sort(groups_, {}, &LaggingGroup::group);
  return std::move(groups_);
}

void LagAsker::on_session(std::unique_ptr<ipc::SocketLink> link) {
  link->on_closed = [this] {
    fail_with("tailrace-groupcoord ended the session: it has stopped, or too many ask it at the same time; try again");
  };
  channel_ = std::make_unique<ipc::MessageChannel>(io_, std::move(link));
  ask();
}

void LagAsker::ask() {
  kafka::GroupLagRequest request;
  if (!groups_.empty()) {
    const LaggingGroup& last = groups_.back();
    request.after_group = last.group;
    if (!last.partitions.empty()) {
      request.after_topic = last.partitions.back().topic;
      request.after_partition = last.partitions.back().partition;
    }
  }
  kafka::Buffer body;
  kafka::encode(request, 0, body);
  channel_->send(static_cast<std::uint32_t>(node::ControlType::group_lag), {body.bytes()});
}

void LagAsker::on_message(std::uint32_t type, Bytes message) {
  const auto page = kafka::decode_exactly<kafka::GroupLagResponse>(message, 0);
  const bool is_reply = static_cast<node::ControlType>(type) == node::ControlType::group_lag_reply;
  // A page that has more but nothing itself would be asked for again and again.
  if (!is_reply || !page || (page->has_more && page->groups.empty())) {
    return fail_with("the answer of tailrace-groupcoord is not understood");
  }
  is_loading_ = page->is_loading;
  if (is_loading_) return io_.arm(ask_again_, io_.now() + kLoadingPause);
  add_page(*page);
  if (!page->has_more) {
    is_done_ = true;
    return;
  }
  io_.arm(give_up_, io_.now() + kPatience);
  ask();
}

void LagAsker::add_page(const kafka::GroupLagResponse& page) {
  for (const auto& group : page.groups) {
    if (groups_.empty() || groups_.back().group != group.group_id) {
      groups_.push_back({.group = std::string(group.group_id),
                         .type = std::string(group.type),
                         .state = std::string(group.state),
                         .partitions = {}});
    }
    for (const auto& topic : group.topics) {
      for (const auto& each : topic.partitions) {
        LaggingPartition& added = groups_.back().partitions.emplace_back();
        added.topic = std::string(topic.name);
        added.partition = each.partition;
        added.committed = each.committed_offset;
        if (each.end_offset >= 0) added.end = each.end_offset;
        if (each.oldest_unread_timestamp >= 0) added.oldest_unread = each.oldest_unread_timestamp;
      }
    }
  }
}

// What another attempt does not change is said at once.
void LagAsker::look_at_connection() {
  const std::optional<Error>& failure = connector_.last_failure();
  if (channel_ != nullptr || !failure) return;
  if (failure->code == Code::not_found) {
    return fail_with("no node runs here: there is no tailrace-groupcoord in " + run_);
  }
  if (failure->system_error == EACCES || failure->system_error == EPERM) {
    return fail_with("no permission to ask the node in " + run_);
  }
  if (failure->code == Code::invalid_argument) fail_with(failure->text());
}

void LagAsker::on_give_up() {
  const std::optional<Error>& failure = connector_.last_failure();
  if (is_loading_) return fail_with("tailrace-groupcoord still reads its groups; try again");
  if (channel_ != nullptr || !failure) return fail_with("tailrace-groupcoord does not answer");
  if (failure->code == Code::peer_gone) {
    return fail_with("tailrace-groupcoord refuses this process: it serves its own user and root, and its own build");
  }
  fail_with("tailrace-groupcoord is not there: " + failure->text());
}

Outcome<std::vector<LaggingGroup>> ask_groupcoord(const std::string& run) {
  Result<std::unique_ptr<io::Io>> io = io::make_io();
  if (!io) return std::unexpected(io.error().text());
  Result<std::unique_ptr<ipc::Bell>> bell = ipc::Bell::create(**io);
  if (!bell) return std::unexpected(bell.error().text());
  return LagAsker(**io, **bell, run).ask_all();
}

}  // namespace

std::optional<std::int64_t> LaggingPartition::lag() const {
  if (!end) return std::nullopt;
  return *end - committed;
}

std::optional<std::int64_t> LaggingPartition::lag_ms(TimestampMs now) const {
  return cli::lag_ms(lag(), oldest_unread, now);
}

std::string lag_table(const std::vector<LaggingGroup>& groups, TimestampMs now) {
  std::vector<std::vector<std::string>> rows = {
      {"GROUP", "TYPE", "STATE", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "LAG-TIME"}};
  for (const LaggingGroup& group : groups) {
    for (const LaggingPartition& each : group.partitions) {
      const auto age = each.lag_ms(now);
      rows.push_back({group.group, group.type, group.state, each.topic, std::to_string(each.partition),
                      std::to_string(each.committed), or_dash(each.end), or_dash(each.lag()),
                      age ? human_duration(*age) : "-"});
    }
    if (group.partitions.empty()) {
      rows.push_back({group.group, group.type, group.state, "-", "-", "-", "-", "-", "-"});
    }
  }
  return table(rows);
}

std::string lag_json(const std::vector<LaggingGroup>& groups, TimestampMs now) {
  ordered_json out = ordered_json::array();
  for (const LaggingGroup& group : groups) {
    ordered_json offsets = ordered_json::array();
    for (const LaggingPartition& each : group.partitions) {
      offsets.push_back({{"topic", each.topic},
                         {"partition", each.partition},
                         {"current_offset", each.committed},
                         {"log_end_offset", or_null(each.end)},
                         {"lag", or_null(each.lag())},
                         {"oldest_unread_timestamp", or_null(each.oldest_unread)},
                         {"lag_ms", or_null(each.lag_ms(now))}});
    }
    out.push_back(
        {{"group", group.group}, {"type", group.type}, {"state", group.state}, {"offsets", std::move(offsets)}});
  }
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

int show_group_lag(const std::string& run, bool as_json, double watch_s) {
  for (;;) {
    const auto groups = ask_groupcoord(run);
    if (!groups) return fail("stat", groups.error());
    if (!as_json && watch_s > 0 && isatty(STDOUT_FILENO) == 1) write_out("\033[H\033[2J");
    write_out(as_json ? lag_json(*groups, wall_clock_ms()) : lag_table(*groups, wall_clock_ms()));
    std::fflush(stdout);
    if (watch_s <= 0) return kExitDone;
    std::this_thread::sleep_for(std::chrono::duration<double>(watch_s));
  }
}

}  // namespace tailrace::cli
