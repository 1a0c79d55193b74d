// A completion is where an operation in flight reports: it lives in the object that started the operation, so the sum
// of the owners' limits is the limit of the system. The loop runs completions from a queue, never inside the call
// that started the operation.
#pragma once

#include <cstdint>

#include "engine/base/check.h"

namespace tailrace::io {

struct Completion {
  using Function = void (*)(void* owner, std::int64_t result);

  Function function = nullptr;
  void* owner = nullptr;
  Completion* next = nullptr;   // in the loop's queue
  std::int64_t result = 0;      // bytes or another count >= 0; a negative number is -errno
  bool pending = false;         // started and not yet run; the owner must stay alive and in place

  // completion.bind<&Connection::on_received>(this), where on_received takes the result.
  template <auto Method, class Owner>
  void bind(Owner* to) {
    owner = to;
    function = [](void* o, std::int64_t r) { (static_cast<Owner*>(o)->*Method)(r); };
  }
};

// First in, first out; intrusive, so it never allocates.
class CompletionQueue {
 public:
  void push(Completion& completion, std::int64_t result) {
    completion.result = result;
    completion.next = nullptr;
    (tail_ == nullptr ? head_ : tail_->next) = &completion;
    tail_ = &completion;
  }
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  // Runs what is queued now; completions queued meanwhile wait for the next call. Returns how many ran.
  std::uint64_t run() {
    Completion* completion = head_;
    head_ = tail_ = nullptr;
    std::uint64_t count = 0;
    while (completion != nullptr) {
      Completion* const next = completion->next;
      CHECK(completion->pending);
      completion->pending = false;
      completion->function(completion->owner, completion->result);
      completion = next;
      ++count;
    }
    return count;
  }

 private:
  Completion* head_ = nullptr;
  Completion* tail_ = nullptr;
};

}  // namespace tailrace::io
