// Controller: the client that stands in for the controller: it tells the engine which partitions it leads, raises their
// epochs, and deletes and makes topics.
#pragma once

#include "engine/api/messages.h"
#include "tests/sim/client_process.h"

namespace tailrace::sim {

class Controller final : public Actor {
 public:
  explicit Controller(ClientProcess& client);
  void act() override;
  void on_session() override;
  [[nodiscard]] std::string unfinished() const override;

 private:
  void disturb();
  void set_role(std::size_t index);
  void on_role(const api::RoleSet& answer, Bytes);
  void on_deleted(const api::Done& answer, Bytes);

  api::Call<api::RoleSet> role_call_;
  api::Call<api::Done> delete_call_;
  bool in_flight_ = false;
  std::size_t slot_ = 0;  // that the call is about
  LeaderEpoch epoch_ = 0;
  Offset end_before_ = 0;    // readable when the call was made
  Offset start_before_ = 0;  // the log start known then
};

}  // namespace tailrace::sim
