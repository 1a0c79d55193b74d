// Bridge: the session with tailrace-zkbridge, which has the controller: says hello, learns who this node is and what
// the cluster is like, sends request frames and hands over their answers. A session that ends or breaks the protocol is
// dropped and a new one is made; what was asked over it is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/io/io.h"
#include "engine/ipc/message_channel.h"
#include "engine/ipc/session.h"

namespace tailrace::node {
class MetadataImage;
struct Config;
}  // namespace tailrace::node

namespace tailrace::groupcoord {

class Bridge {
 public:
  // `path`: zkbridge's socket file. `config` outlives the bridge.
  Bridge(io::Io& io, const ipc::Bell& bell, const std::string& path, const node::Config& config);
  ~Bridge();

  // Called from work(); they may send, but not destroy the bridge.
  std::function<void()> on_registered;  // the node's identity came, perhaps a new one
  std::function<void()> on_lost;        // after on_registered: no requests until the next one
  std::function<void()> on_image;       // image() is another one
  // False: the frame is not what was asked for; the session ends.
  std::function<bool(std::uint64_t number, Bytes response)> on_reply;

  void connect() { connector_.connect(); }
  // Ends the session and makes a new one, which learns the node's identity anew.
  void renew();

  [[nodiscard]] bool is_registered() const { return is_registered_; }
  [[nodiscard]] BrokerId broker_id() const { return broker_id_; }
  [[nodiscard]] std::int64_t broker_epoch() const { return broker_epoch_; }
  [[nodiscard]] const std::string& cluster_id() const { return cluster_id_; }
  // As it was last told; not null.
  [[nodiscard]] const std::shared_ptr<const node::MetadataImage>& image() const { return image_; }
  // A request frame, header and body without the size. Only while registered. Returns the number of its answer.
  std::uint64_t send(Bytes frame);

  // As of node::Worker.
  bool work();
  bool prepare_to_sleep();
  void wake();

 private:
  enum class Ending : std::uint8_t { none, closed, violated, unwanted };

  void on_session(std::unique_ptr<ipc::SocketLink> link);
  void on_message(std::uint32_t type, Bytes message);
  void on_welcome(Bytes message);
  bool on_config_image(Bytes message);
  bool on_control(Bytes message);
  void on_pause_over() { connector_.connect(); }
  void end_session();

  io::Io& io_;
  const node::Config& config_;
  ipc::Connector connector_;
  std::unique_ptr<ipc::MessageChannel> channel_;  // null: none
  Ending ending_ = Ending::none;                  // of the session; carried out by work()
  bool is_registered_ = false;
  bool is_refusal_logged_ = false;
  BrokerId broker_id_ = -1;
  std::int64_t broker_epoch_ = -1;
  std::string cluster_id_;
  std::shared_ptr<const node::MetadataImage> image_;
  bool has_topics_ = false;  // of this session
  std::uint64_t next_number_ = 1;
  io::Timer pause_;
};

}  // namespace tailrace::groupcoord
