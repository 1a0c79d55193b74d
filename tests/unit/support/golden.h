// What tests share that read the golden log directories (tests/golden/dirs): a directory that goes away, and unpacking
// into it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tailrace::testing_support {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tailrace-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Unpacks tests/golden/dirs/<name>.data.tar.zst (and .expected) into `into`; returns the folder with data/ and
// expected/.
inline std::filesystem::path unpack_golden(const std::string& name, const std::filesystem::path& into,
                                           bool with_expected) {
  for (const std::string part : {".data", ".expected"}) {
    if (part == ".expected" && !with_expected) break;
    const std::string command =
        "tar --zstd -xf '" TAILRACE_GOLDEN "/dirs/" + name + part + ".tar.zst' -C '" + into.string() + "'";
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << command;
  }
  return std::filesystem::exists(into / name) ? into / name : into;
}

}  // namespace tailrace::testing_support
