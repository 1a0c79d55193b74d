// A plaintext fetch moves no payload through user space: what the broker counts says so, and what the kernel sees of it
// does, too.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

class ZeroCopy : public WireTest {
 protected:
  // Reads it all; returns the bytes of records that came, the beginnings of batches at the end of an answer included.
  static std::uint64_t consume(Client& client, const std::string& topic, Offset end) {
    std::uint64_t bytes = 0;
    for (Offset offset = 0; offset < end;) {
      const std::string records =
          fetch(client, topic, offset, {.max_bytes = 8 << 20, .partition_max_bytes = 8 << 20}).records;
      const auto headers = headers_of(records);
      if (headers.empty()) {
        ADD_FAILURE() << "nothing at " << offset;
        return bytes;
      }
      bytes += records.size();
      offset = headers.back().next_offset();
    }
    return bytes;
  }
};

// The system calls of a process while the object lives, by strace.
class Trace {
 public:
  explicit Trace(pid_t process) {
    path_ = (std::filesystem::temp_directory_path() / ("tailrace-strace-" + std::to_string(::getpid()))).string();
    tracer_ = ::fork();
    if (tracer_ == 0) {
      const std::string id = std::to_string(process);
      std::freopen((path_ + ".err").c_str(), "w", stderr);
      ::execlp("strace", "strace", "-f", "-q", "-s", "0", "-o", path_.c_str(), "-p", id.c_str(), nullptr);
      ::_exit(127);
    }
    eventually([&] { return is_attached(process) || has_ended(); });
    works_ = is_attached(process);
  }
  ~Trace() {
    stop();
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".err");
  }
  [[nodiscard]] bool works() const { return works_; }
  [[nodiscard]] std::string why_not() const {
    std::ifstream file(path_ + ".err");
    std::string line;
    std::getline(file, line);
    return line.empty() ? "strace is not there" : line;
  }
  void stop() {
    if (tracer_ <= 0) return;
    ::kill(tracer_, SIGINT);
    ::waitpid(tracer_, nullptr, 0);
    tracer_ = -1;
  }

  struct Sums {
    std::map<std::string, std::uint64_t> bytes;  // returned by each system call
    std::uint64_t maps_of_files = 0;
    std::uint64_t of(std::initializer_list<const char*> names) {
      std::uint64_t sum = 0;
      for (const char* const name : names) sum += bytes[name];
      return sum;
    }
  };
  [[nodiscard]] Sums sums() const {
    // "1234  sendto(5, ""..., 61, MSG_NOSIGNAL, NULL, 0) = 61", "1234  <... pwritev resumed>) = 61"
    static const std::regex call(R"(^\d+\s+(?:<\.\.\. )?(\w+)[ (].*= (\d+)$)");
    static const std::regex map_of_file(R"(^\d+\s+mmap\([^,]+, [^,]+, [^,]+, [^,]+, \d+,)");
    Sums sums;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, call))
        sums.bytes[match[1]] += std::strtoull(match[2].str().c_str(), nullptr, 10);
      if (std::regex_search(line, map_of_file)) ++sums.maps_of_files;
    }
    return sums;
  }

 private:
  static bool is_attached(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("TracerPid:")) return std::atoi(line.c_str() + 10) != 0;
    }
    return false;
  }
  bool has_ended() {
    if (tracer_ > 0 && ::waitpid(tracer_, nullptr, WNOHANG) == tracer_) tracer_ = -1;
    return tracer_ < 0;
  }

  std::string path_;
  pid_t tracer_ = -1;
  bool works_ = false;
};

TEST_F(ZeroCopy, NoPayloadOfAPlaintextFetchEntersUserSpace) {
  constexpr int kBatches = 32;
  constexpr std::uint64_t kSmallShare = 100;  // headers and requests are less than a hundredth of the payload
  const std::string topic = fresh("zero-copy");
  make_topic(client, topic);
  const std::string batch = batch_of({std::string(1'000'000, 'z')});
  for (int i = 0; i < kBatches; ++i) ASSERT_EQ(produce(client, topic, batch).error, ErrorCode::NONE);

  const std::uint64_t counted_before = node().counter("broker", "fetch_bytes_from_files");
  const std::uint64_t payload = consume(client, topic, kBatches);
  EXPECT_GE(payload, kBatches * batch.size());
  EXPECT_EQ(node().counter("broker", "fetch_bytes_from_files") - counted_before, payload);

  Trace trace(node().processes()["broker"]);
  if (!trace.works()) {
    std::printf("the system calls are not looked at: %s\n", trace.why_not().c_str());
    return;
  }
  EXPECT_EQ(consume(client, topic, kBatches), payload);
  trace.stop();
  Trace::Sums sums = trace.sums();
  const std::uint64_t sent_from_memory =
      sums.of({"sendto", "send", "sendmsg", "sendmmsg", "write", "writev", "pwrite64", "pwritev", "pwritev2"});
  const std::uint64_t read_to_memory =
      sums.of({"read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg"});
  std::printf("of %llu payload bytes sendfile moved %llu, sends from memory %llu, reads to memory %llu\n",
              static_cast<unsigned long long>(payload), static_cast<unsigned long long>(sums.of({"sendfile"})),
              static_cast<unsigned long long>(sent_from_memory), static_cast<unsigned long long>(read_to_memory));
  EXPECT_EQ(sums.of({"sendfile", "splice"}), payload);
  EXPECT_LT(sent_from_memory, payload / kSmallShare);
  EXPECT_LT(read_to_memory, payload / kSmallShare);
  EXPECT_EQ(sums.maps_of_files, 0u);
}

}  // namespace
}  // namespace tailrace::wire
