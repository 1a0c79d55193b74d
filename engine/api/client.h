// Client: typed calls to the engine over one link. A call lives in its owner until its answer has come; every call is
// answered exactly once, with Code::peer_gone when the session breaks first. Owned by one thread. It survives its
// sessions: the owner attaches a new link after each break.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/api/file_cache.h"
#include "engine/api/messages.h"
#include "engine/base/bytes.h"
#include "engine/io/io.h"
#include "engine/ipc/link.h"

namespace tailrace::api {

// Where an answer goes. `extra` is what follows the fixed part (a ReadPlan's AbortedRanges, the producers of a
// ProducersDescribed), valid during the call only.
template <class Answer>
struct Call {
  using Function = void (*)(void* owner, const Answer& answer, Bytes extra);
  Function function = nullptr;
  void* owner = nullptr;
  std::uint64_t request = 0;  // while it is in flight

  template <auto Method, class Owner>
  void bind(Owner* to) {
    owner = to;
    function = [](void* o, const Answer& answer, Bytes extra) { (static_cast<Owner*>(o)->*Method)(answer, extra); };
  }
};

class Client {
 public:
  // `descriptors_max` bounds the cache of open files.
  Client(io::Io& io, std::size_t descriptors_max);
  ~Client();

  void attach(std::unique_ptr<ipc::Link> link);
  // Answers all calls in flight with peer_gone: their memory is used again, so not before the link has told of its end.
  void detach();
  [[nodiscard]] bool attached() const { return link_ != nullptr; }
  // The engine broke the format of the ring: nothing more comes of this session, end it.
  [[nodiscard]] bool is_broken() { return link_ != nullptr && link_->consumer().violated(); }

  // The request's own number is set here. Without a session the answer (peer_gone) comes from the next poll.
  void identify(const Identify& request, Call<Done>& call) { start(request, call); }
  void set_role(const SetRole& request, Call<RoleSet>& call) { start(request, call); }
  void delete_partition(const DeletePartition& request, Call<Done>& call) { start(request, call); }
  void append(const Append& request, Call<Appended>& call) { start(request, call); }
  // With `watching` set in the answer, the call stays in flight until the second answer or cancel.
  void read(const Read& request, Call<ReadPlan>& call) { start(request, call); }
  void list_offset(const ListOffset& request, Call<OffsetListed>& call) { start(request, call); }
  void end_of_epoch(const EndOfEpoch& request, Call<EpochEnded>& call) { start(request, call); }
  void delete_records(const DeleteRecords& request, Call<RecordsDeleted>& call) { start(request, call); }
  void describe_log(const DescribeLog& request, Call<LogDescribed>& call) { start(request, call); }
  void describe_producers(const DescribeProducers& request, Call<ProducersDescribed>& call) { start(request, call); }
  // Ends a watching call at once: it is free for reuse, and no answer will come.
  void cancel(Call<ReadPlan>& call, const Partition& partition);

  // Runs the answers that have come, sends what waits for room. True: something was done.
  bool poll();
  void publish();
  // True: the engine rings when an answer comes. It does not ring when it makes room: while requests wait for that, a
  // timer brings the loop here.
  bool prepare_to_sleep();
  void wake() {
    if (link_ != nullptr) link_->consumer().wake();
  }
  // True: requests wait for room in the ring; whoever can should not start more.
  [[nodiscard]] bool is_congested() const { return !overflow_.empty(); }

  // The open file of an extent; nullptr: not known (any more), plan the read again. Held until release.
  FileCache::Entry* acquire_file(std::uint64_t file_id);
  void release_file(FileCache::Entry* entry) { files_.release(entry); }

 private:
  struct Slot {
    std::uint32_t generation = 0;
    bool in_use = false;
    Type answer_type = Type::done;
    void* call = nullptr;
  };
  struct Waiting {
    Type type;
    std::vector<std::byte> bytes;
  };

  template <class Request, class Answer>
  void start(Request request, Call<Answer>& call);
  std::uint64_t take_slot(Type answer_type, void* call);
  Slot* slot_of(std::uint64_t request);
  void free_slot(std::uint64_t request);
  void send(Type type, Bytes record);
  bool try_send(Type type, Bytes record);
  template <class Answer>
  void answer(Type type, Bytes payload);
  void dispatch(const ipc::RingRecord& record);
  void lose(std::uint64_t request);
  void on_room_due() {}  // the turn that follows polls

  io::Io& io_;
  io::Timer room_timer_;
  std::unique_ptr<ipc::Link> link_;
  FileCache files_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::deque<Waiting> overflow_;     // bounded by the calls in flight
  std::vector<std::uint64_t> lost_;  // calls to be answered with peer_gone
};

}  // namespace tailrace::api
