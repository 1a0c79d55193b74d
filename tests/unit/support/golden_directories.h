// The log directories that real brokers left behind (tests/golden/dirs), unpacked for one test program, and copies to
// work on.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/support/temporary_directory.h"

namespace tailrace::test {

// The folder of a case ("kafka-4.4-clean"), with data/ and expected/ in it; unpacked once.
inline std::string golden_case(const std::string& name) {
  static TemporaryDirectory unpacked;
  const std::string folder = unpacked / name;
  if (!std::filesystem::exists(folder)) {
    std::filesystem::create_directory(folder);
    for (const char* part : {"data", "expected"}) {
      const std::string archive = std::string(TAILRACE_GOLDEN) + "/dirs/" + name + "." + part + ".tar.zst";
      const std::string command = "tar --zstd -xf '" + archive + "' -C '" + unpacked.path() + "'";
      if (std::system(command.c_str()) != 0) {
        ADD_FAILURE() << "cannot unpack " << archive;
        std::abort();
      }
    }
  }
  return folder;
}

inline std::vector<nlohmann::json> read_json_lines(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

// SHA-256 of the files of a directory, by name; without leader-epoch-checkpoint, where an epoch without records is
// forgotten at start.
inline std::map<std::string, std::string> sha256_of_files(const std::string& directory) {
  std::map<std::string, std::string> sums;
  const std::string command = "cd '" + directory + "' && sha256sum -- 0* partition.metadata";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return sums;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::string text(line);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.size() > 66) sums[text.substr(66)] = text.substr(0, 64);
  }
  pclose(pipe);
  return sums;
}

}  // namespace tailrace::test
