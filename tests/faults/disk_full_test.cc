// A full disk. A small file system of the test's own is filled by another file: producing gets a storage error that
// clients retry, reading goes on, and when there is room again so does producing; nothing acknowledged is missing and
// no process has died of it.
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

// An ext4 image in a loop device where that can be had, else memory; each is a file system whose room ends.
class SmallDisk {
 public:
  explicit SmallDisk(bool ext4) {
    folder_ = (std::filesystem::temp_directory_path() / "tailrace-disk-XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
    std::filesystem::create_directory(path());
    if (!ext4) {
      is_mounted_ = ::mount("tailrace-test", path().c_str(), "tmpfs", 0, "size=48m") == 0;
      if (!is_mounted_) why_not_ = std::string("a tmpfs cannot be mounted: ") + std::strerror(errno);
      return;
    }
    const std::string image = folder_ + "/image";
    const std::string command = "truncate -s 64M '" + image + "' && mkfs.ext4 -q -F -m 0 '" + image +
                                "' && mount -o loop '" + image + "' '" + path() + "' 2>'" + folder_ + "/why'";
    is_mounted_ = std::system(command.c_str()) == 0;
    if (is_mounted_) return;
    std::ifstream why(folder_ + "/why");
    std::getline(why, why_not_);
    why_not_ = "an ext4 image cannot be mounted: " + why_not_;
  }
  ~SmallDisk() {
    if (is_mounted_ && ::umount2(path().c_str(), 0) != 0) ::umount2(path().c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool is_mounted() const { return is_mounted_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] std::string path() const { return folder_ + "/disk"; }

  // Takes what room there is, to the last block.
  void fill() {
    std::ofstream file(path() + "/ballast", std::ios::binary | std::ios::app);
    const std::string block(4096, 'b');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())) && file.flush()) {
    }
  }
  void make_room() { std::filesystem::remove(path() + "/ballast"); }

 private:
  std::string folder_;
  std::string why_not_;
  bool is_mounted_ = false;
};

class DiskFull : public ::testing::TestWithParam<bool> {};

TEST_P(DiskFull, IsAnErrorToRetryAndNothingAcknowledgedIsLost) {
  SmallDisk disk(GetParam());
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::unique_ptr<Node> node = Node::start({.data = disk.path() + "/data"});
  const auto processes = node->processes();
  {
    Client client(node->port());
    make_topic(client, "full", 2, {{"segment.bytes", "16777216"}});
    std::map<std::pair<std::int32_t, Offset>, std::string> acknowledged;
    std::int32_t sequence[2] = {0, 0};
    int number = 0;
    // One partition idempotent, one not.
    const auto produce_one = [&](std::int32_t partition) {
      const std::string value = std::to_string(number++) + std::string(60'000, 'x');
      const record::BatchOptions options =
          partition == 0 ? record::BatchOptions{.producer_id = 70, .producer_epoch = 0, .base_sequence = sequence[0]}
                         : record::BatchOptions{};
      const Produced produced = produce(client, "full", batch_of({value}, options), partition);
      if (produced.error == ErrorCode::NONE) {
        EXPECT_TRUE(acknowledged.emplace(std::pair(partition, produced.base_offset), value).second);
        ++sequence[partition];
      }
      return produced.error;
    };
    const auto all_are_there = [&] {
      std::size_t found = 0;
      for (std::int32_t partition = 0; partition < 2; ++partition) {
        for (Offset offset = 0, end = log_end(client, "full", partition); offset < end;) {
          const Fetched fetched = fetch(client, "full", offset, {.partition = partition});
          ASSERT_EQ(fetched.error, ErrorCode::NONE);
          const auto values = values_of(fetched.records);
          ASSERT_FALSE(values.empty());
          for (const std::string& value : values) {
            const auto at = acknowledged.find({partition, offset++});
            if (at == acknowledged.end()) continue;
            EXPECT_EQ(at->second, value);
            ++found;
          }
        }
      }
      EXPECT_EQ(found, acknowledged.size());
    };

    for (int i = 0; i < 20; ++i) ASSERT_EQ(produce_one(i % 2), ErrorCode::NONE);
    for (int round = 0; round < 2; ++round) {
      disk.fill();
      // What was reserved ahead may still take some.
      ErrorCode error = ErrorCode::NONE;
      for (int i = 0; i < 2'000 && error == ErrorCode::NONE; ++i) error = produce_one(1);
      ASSERT_EQ(error, ErrorCode::KAFKA_STORAGE_ERROR) << kafka::error_name(error);
      EXPECT_TRUE(kafka::error_retriable(error));
      for (int i = 0; i < 2'000 && (error = produce_one(0)) == ErrorCode::NONE; ++i) {
      }
      EXPECT_EQ(error, ErrorCode::KAFKA_STORAGE_ERROR) << kafka::error_name(error);
      all_are_there();
      // A topic cannot be made now, and that is said.
      const ErrorCode made = create_topic(client, "more-" + std::to_string(round));
      EXPECT_TRUE(made == ErrorCode::NONE || made == ErrorCode::KAFKA_STORAGE_ERROR ||
                  made == ErrorCode::REQUEST_TIMED_OUT)
          << kafka::error_name(made);
      all_are_there();

      disk.make_room();
      for (const std::int32_t partition : {0, 1}) {
        EXPECT_TRUE(eventually([&] { return produce_one(partition) == ErrorCode::NONE; }))
            << "production does not go on";
      }
      for (int i = 0; i < 20; ++i) EXPECT_EQ(produce_one(i % 2), ErrorCode::NONE);
      all_are_there();
    }
    EXPECT_EQ(node->processes(), processes) << node->said();
    ASSERT_EQ(node->restart(), 0);
    Client after(node->port());
    EXPECT_EQ(log_end(after, "full", 0), sequence[0]);
    EXPECT_EQ(produce(after, "full", batch_of({"on"}), 1).error, ErrorCode::NONE);
  }
  EXPECT_EQ(node->stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(OfTwoFileSystems, DiskFull, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "ext4" : "tmpfs"; });

}  // namespace
}  // namespace tailrace::wire
