// LagReader: asks the engine what pages of lag want to know, one page after the other and a few questions at a time, so
// that appends, and with them heartbeats and commits, wait for a handful of answers at most. A page is given out when
// all is answered; at once where the engine is away, and soon where it says nothing: with what is known then.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/api/client.h"
#include "engine/io/io.h"
#include "services/groupcoord/lag_page.h"

namespace tailrace::groupcoord {

class LagReader {
 public:
  static constexpr std::size_t kQuestionsMax = 8;  // on their way at the same time
  // Without any answer: the engine is stopped, or is busy with something very long.
  static constexpr Duration kPatience = std::chrono::seconds(2);

  using OnPage = std::function<void(std::uint64_t asker, const LagPage& page)>;

  // `engine` outlives the reader, and is polled no more when the reader goes with questions on their way. `on_page` may
  // not call back.
  LagReader(io::Io& io, api::Client& engine, OnPage on_page);
  ~LagReader();
  LagReader(const LagReader&) = delete;

  // As many pages wait as there are askers: each waits for its answer before it asks again.
  void start(std::uint64_t asker, std::unique_ptr<LagPage> page);
  // The asker is gone.
  void forget(std::uint64_t asker);
  // Begins with pages that wait. Called once a turn, before the engine's ring is published.
  void work();

 private:
  // A question on its way.
  struct Asked {
    LagReader* reader = nullptr;
    bool is_busy = false;
    std::uint64_t page = 0;  // its number; another than the current one's: nobody waits for it any more
    LagPage::Question question;
    Offset from = 0;     // where the record is looked for now
    int reads_left = 0;  // of batches for this question
    api::Call<api::OffsetListed> list;
    api::Call<api::ReadPlan> read;

    void on_end(const api::OffsetListed& answer, Bytes extra);
    void on_plan(const api::ReadPlan& plan, Bytes extra);
  };
  struct Waiting {
    std::uint64_t asker;
    std::unique_ptr<LagPage> page;
  };

  void ask_more();
  void ask(Asked& asked, const LagPage::Question& question);
  void read(Asked& asked);
  // False: nobody waits for it any more.
  bool on_answer(Asked& asked);
  void on_end(Asked& asked, const api::OffsetListed& answer);
  void on_plan(Asked& asked, const api::ReadPlan& plan);
  // nullopt: the batch cannot be read, or does not tell.
  std::optional<record::FirstTime> look(const api::FileCache::Entry& file, const api::ReadPlan& plan, Offset from);
  [[nodiscard]] bool is_waiting_for_answers() const;
  void finish();
  // The current page is not the current one any more.
  void leave();
  void on_silence();

  io::Io& io_;
  api::Client& engine_;
  OnPage on_page_;
  std::deque<Waiting> pages_;  // the first is the current one
  std::uint64_t page_number_ = 1;
  std::array<Asked, kQuestionsMax> asked_;
  bool is_engine_silent_ = false;  // questions of a page that was given out wait for it
  io::Timer silence_;
  std::vector<std::byte> bytes_;
  record::Scratch unpacked_;
};

}  // namespace tailrace::groupcoord
