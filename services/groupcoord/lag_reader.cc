#include "services/groupcoord/lag_reader.h"

#include <algorithm>
#include <utility>

#include "engine/record/batch.h"

namespace tailrace::groupcoord {
namespace {

// Four times what clients gather into a batch by default (batch.size). Of a larger one the header is read.
constexpr std::size_t kBatchBytesMax = std::size_t{64} << 10;
// Batches without a record that consumers see are passed over, but not for ever. As `tailrace groups describe`.
constexpr int kReadsMax = 16;

bool is(std::uint16_t code, Code expected) { return code == static_cast<std::uint16_t>(expected); }

}  // namespace

void LagReader::Asked::on_end(const api::OffsetListed& answer, Bytes) { reader->on_end(*this, answer); }
void LagReader::Asked::on_plan(const api::ReadPlan& plan, Bytes) { reader->on_plan(*this, plan); }

LagReader::LagReader(io::Io& io, api::Client& engine, OnPage on_page)
    : io_(io), engine_(engine), on_page_(std::move(on_page)) {
  silence_.bind<&LagReader::on_silence>(this);
  for (Asked& each : asked_) {
    each.reader = this;
    each.list.bind<&Asked::on_end>(&each);
    each.read.bind<&Asked::on_plan>(&each);
  }
}

LagReader::~LagReader() { io_.disarm(silence_); }

void LagReader::start(std::uint64_t asker, std::unique_ptr<LagPage> page) {
  pages_.push_back({asker, std::move(page)});
}

void LagReader::forget(std::uint64_t asker) {
  if (pages_.empty()) return;
  if (pages_.front().asker == asker) leave();
  std::erase_if(pages_, [&](const Waiting& each) { return each.asker == asker; });
}

void LagReader::work() {
  while (!pages_.empty()) {
    const bool may_ask = engine_.attached() && !is_engine_silent_;
    if (may_ask) ask_more();
    if (is_waiting_for_answers() || (may_ask && pages_.front().page->has_questions())) {
      if (!silence_.armed()) io_.arm(silence_, io_.now() + kPatience);
      return;
    }
    finish();
  }
}

void LagReader::ask_more() {
  for (Asked& each : asked_) {
    if (each.is_busy) continue;
    const std::optional<LagPage::Question> question = pages_.front().page->next_question();
    if (!question) return;
    ask(each, *question);
  }
}

void LagReader::ask(Asked& asked, const LagPage::Question& question) {
  asked.is_busy = true;
  asked.page = page_number_;
  asked.question = question;
  if (question.offset != kNoOffset) {
    asked.from = question.offset;
    asked.reads_left = kReadsMax;
    return read(asked);
  }
  api::ListOffset request;
  request.partition = {question.partition.topic_id, question.partition.partition};
  request.timestamp = -1;
  engine_.list_offset(request, asked.list);
}

void LagReader::read(Asked& asked) {
  --asked.reads_left;
  api::Read request;
  request.partition = {asked.question.partition.topic_id, asked.question.partition.partition};
  request.fetch_offset = asked.from;
  request.max_bytes = 1;  // the first batch alone
  request.whole_first_batch = 1;
  engine_.read(request, asked.read);
}

// -- Answers -------------------------------------------------------------------------------------------------------

bool LagReader::on_answer(Asked& asked) {
  asked.is_busy = false;
  is_engine_silent_ = false;
  io_.disarm(silence_);
  return asked.page == page_number_;
}

void LagReader::on_end(Asked& asked, const api::OffsetListed& answer) {
  if (on_answer(asked) && answer.code == api::kOk) {
    pages_.front().page->on_end(asked.question.partition, answer.offset);
  }
}

void LagReader::on_plan(Asked& asked, const api::ReadPlan& plan) {
  if (!on_answer(asked)) return;
  const bool is_planned = plan.code == api::kOk;
  if (is_planned ? plan.length == 0 : !is(plan.code, Code::retry)) return;
  if (api::FileCache::Entry* const file = is_planned ? engine_.acquire_file(plan.file_id) : nullptr; file != nullptr) {
    const std::optional<record::FirstTime> first = look(*file, plan, asked.from);
    engine_.release_file(file);
    if (!first) return;
    if (first->time) {
      return pages_.front().page->on_time(asked.question.partition, asked.question.offset, *first->time);
    }
    if (first->next_offset <= asked.from) return;
    asked.from = first->next_offset;
  }
  // The next batch; or the same once more, since its file was not at hand.
  if (asked.reads_left == 0) return;
  asked.is_busy = true;
  read(asked);
}

std::optional<record::FirstTime> LagReader::look(const api::FileCache::Entry& file, const api::ReadPlan& plan,
                                                 Offset from) {
  const std::size_t batch_size = plan.first_batch_length;
  bytes_.resize(batch_size <= kBatchBytesMax ? batch_size : record::kBatchHeaderSize);
  const Result<std::size_t> got = io_.files().read(file.file, bytes_, plan.position);
  if (!got) return std::nullopt;
  return first_unread(Bytes(bytes_).first(std::min(*got, bytes_.size())), batch_size, from, unpacked_);
}

// -- Pages ---------------------------------------------------------------------------------------------------------

bool LagReader::is_waiting_for_answers() const {
  return std::ranges::any_of(asked_, [&](const Asked& each) { return each.is_busy && each.page == page_number_; });
}

void LagReader::finish() {
  on_page_(pages_.front().asker, *pages_.front().page);
  leave();
}

void LagReader::leave() {
  io_.disarm(silence_);
  pages_.pop_front();
  ++page_number_;
}

void LagReader::on_silence() {
  is_engine_silent_ = true;
  finish();
}

}  // namespace tailrace::groupcoord
