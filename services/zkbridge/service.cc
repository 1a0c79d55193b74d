#include "services/zkbridge/service.h"

#include <optional>
#include <utility>
#include <vector>

#include "engine/base/observe.h"

namespace tailrace::zkbridge {
namespace {

using node::ControlType;

}  // namespace

Service::Service(io::Io& io, Store& store, Controller& controller, std::function<void()> on_active)
    : io_(io), store_(store), controller_(controller), on_active_(std::move(on_active)) {
  deadline_.bind<&Service::on_timer>(this);
}

Service::~Service() { io_.disarm(deadline_); }

Result<void> Service::start(const ipc::Bell& bell, const std::string& socket_path) {
  Result<std::unique_ptr<ipc::Listener>> listener =
      ipc::Listener::create(io_, bell, socket_path, {.roles = {ipc::Role::broker, ipc::Role::groupcoord}},
                            [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); });
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  store_.start(*this);
  carry_out(controller_.start());
  return {};
}

// -- Sessions ------------------------------------------------------------------------------------------------------

void Service::on_session(std::unique_ptr<ipc::SocketLink> link) {
  const ClientId id = next_client_++;
  Client& client = clients_[id];
  client.link = link.get();
  link->on_closed = [this, id] { clients_[id].is_closed = true; };
  client.channel = std::make_unique<ipc::MessageChannel>(io_, std::move(link));
}

void Service::on_message(ClientId id, std::uint32_t type, Bytes message) {
  switch (static_cast<ControlType>(type)) {
    case ControlType::hello:
      return carry_out(controller_.on_hello(id, message, moment()));
    case ControlType::forward: {
      const Result<node::ForwardedFrame> numbered = node::parse_forwarded_frame(message);
      if (numbered) return carry_out(controller_.on_forward(id, numbered->number, numbered->frame, moment()));
      break;
    }
    case ControlType::control_reply: {
      const Result<node::NumberedFrame> numbered = node::parse_numbered_frame(message);
      if (numbered) return carry_out(controller_.on_control_reply(id, numbered->number, numbered->frame));
      break;
    }
    case ControlType::welcome:
    case ControlType::forward_reply:
    case ControlType::control:
    case ControlType::config_image:
    case ControlType::forward_error:
    case ControlType::group_lag:
    case ControlType::group_lag_reply:
      break;
  }
  log_warning("session_ended client={} reason=\"a message that a client does not send\" type={}", id, type);
  clients_[id].is_closed = true;
}

bool Service::drop_closed() {
  std::vector<ClientId> closed;
  for (auto& [id, client] : clients_) {
    if (client.is_closed || client.channel->is_broken()) closed.push_back(id);
  }
  for (const ClientId id : closed) {
    clients_.erase(id);
    carry_out(controller_.on_client_gone(id, moment()));
  }
  return !closed.empty();
}

// -- The controller's effects --------------------------------------------------------------------------------------

void Service::carry_out(Effects effects) {
  worked_ = true;
  for (const std::string& note : effects.notes) log_info("{}", note);
  if (!effects.refusal.empty()) {
    if (refusal_.empty()) refusal_ = effects.refusal;
    return;
  }
  if (!effects.fatal.empty()) {
    if (failure_.empty()) failure_ = effects.fatal;
    return;
  }
  for (Effects::StoreRequest& request : effects.store) {
    ++store_waits_for_;
    store_.submit(request.id, std::move(request.request));
  }
  for (const Effects::Message& message : effects.messages) {
    const auto client = clients_.find(message.client);
    if (client == clients_.end() || client->second.is_closed) continue;
    const auto type = static_cast<std::uint32_t>(message.type);
    if (message.number) {
      client->second.channel->send(type, {node::frame_number(*message.number), message.bytes.bytes()});
    } else {
      client->second.channel->send(type, {message.bytes.bytes()});
    }
  }
  if (controller_.is_active() && !std::exchange(was_active_, controller_.is_active()) && on_active_) on_active_();
}

void Service::on_store_result(StoreResult result) {
  --store_waits_for_;
  carry_out(controller_.on_store_result(std::move(result), moment()));
}

void Service::on_watch(const WatchEvent& event) { carry_out(controller_.on_watch(event)); }

void Service::on_session_lost(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

// -- The loop ------------------------------------------------------------------------------------------------------

bool Service::work() {
  worked_ = false;
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const ClientId id : ids) {
    Client& client = clients_[id];
    if (!client.is_closed)
      client.channel->poll([this, id](std::uint32_t type, Bytes message) { on_message(id, type, message); });
  }
  drop_closed();
  if (std::exchange(is_due_, false)) carry_out(controller_.on_time(moment()));
  store_.turn();
  for (auto& [id, client] : clients_) {
    if (!client.is_closed) client.channel->publish();
  }
  set_timer();
  return worked_;
}

void Service::set_timer() {
  if (const std::optional<Instant> due = controller_.next_deadline()) {
    io_.arm(deadline_, *due);
  } else {
    io_.disarm(deadline_);
  }
}

bool Service::prepare_to_sleep() {
  for (auto& [id, client] : clients_) {
    if (client.is_closed) return false;
    if (!client.channel->prepare_to_sleep()) return false;
  }
  return true;
}

void Service::wake() {
  for (auto& [id, client] : clients_) client.channel->wake();
}

}  // namespace tailrace::zkbridge
