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
  Completion* next = nullptr;  // in the loop's queue
  std::int64_t result = 0;     // bytes or another count >= 0; a negative number is -errno
  bool pending = false;        // started and not yet run; the owner must stay alive and in place

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
    ++size_;
  }
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  // Runs what is queued now; completions queued meanwhile wait for the next call. Returns how many ran.
  std::uint64_t run() {
    std::uint64_t count = 0;
    for (std::uint64_t limit = size_; count < limit && head_ != nullptr; ++count) {
      Completion& completion = *head_;
      head_ = completion.next;
      if (head_ == nullptr) tail_ = nullptr;
      --size_;
      CHECK(completion.pending);
      completion.pending = false;
      completion.function(completion.owner, completion.result);
    }
    return count;
  }
  // Takes a completion out, so that it does not run; nothing happens when it is not queued.
  void remove(const Completion& completion) {
    Completion* before = nullptr;
    for (Completion* each = head_; each != nullptr; before = each, each = each->next) {
      if (each != &completion) continue;
      (before == nullptr ? head_ : before->next) = each->next;
      if (tail_ == each) tail_ = before;
      --size_;
      return;
    }
  }

 private:
  Completion* head_ = nullptr;
  Completion* tail_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace tailrace::io
