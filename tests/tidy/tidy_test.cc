// Reads the source as text and checks the rules that no compiler checks: who may include whom, what pure code keeps
// away from, which calls belong behind the io seam, and how a file looks. Each finding is printed as path:line: what is
// wrong.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using Folders = std::set<std::string, std::less<>>;

// The dependency rule of docs/architecture.md: a file of the folder may include headers of these folders.
const std::map<std::string, Folders, std::less<>> kMayInclude = {
    {"engine/base", {"engine/base"}},
    {"engine/io", {"engine/base", "engine/io"}},
    {"engine/ipc", {"engine/base", "engine/io", "engine/ipc"}},
    {"engine/api", {"engine/base", "engine/io", "engine/ipc", "engine/record", "engine/api"}},
    {"engine/record", {"engine/base", "engine/record"}},
    {"engine/log", {"engine/base", "engine/io", "engine/record", "engine/log"}},
    {"engine/partition", {"engine/base", "engine/io", "engine/record", "engine/log", "engine/partition"}},
    {"engine/server",
     {"engine/base", "engine/io", "engine/ipc", "engine/record", "engine/log", "engine/partition", "engine/api",
      "engine/server"}},
    {"services/kafka", {"engine/base", "engine/record", "services/kafka"}},
    {"services/node",
     {"engine/base", "engine/io", "engine/ipc", "engine/record", "engine/api", "services/kafka", "services/node"}},
    {"services/broker",
     {"engine/base", "engine/io", "engine/ipc", "engine/record", "engine/api", "services/kafka", "services/node",
      "services/broker"}},
    {"services/zkbridge",
     {"engine/base", "engine/io", "engine/ipc", "engine/record", "engine/api", "services/kafka", "services/node",
      "services/zkbridge"}},
    {"services/groupcoord",
     {"engine/base", "engine/io", "engine/ipc", "engine/record", "engine/api", "services/kafka", "services/node",
      "services/groupcoord"}},
    {"cli",
     {"engine/base", "engine/io", "engine/ipc", "engine/record", "engine/api", "engine/log", "engine/partition",
      "services/kafka", "services/node", "cli"}},
};

// Calls that engine and services make only through the io seam, so that a simulated world can stand in for them.
struct BannedCall {
  const char* pattern;
  const char* instead;
};
constexpr BannedCall kBannedCalls[] = {
    {R"(::now\s*\()", "take the time as an argument or from io.now()"},
    {R"(\b(system_clock|steady_clock|high_resolution_clock|utc_clock)\b)", "take the time from io"},
    {R"(\b(clock_gettime|gettimeofday|localtime|localtime_r)\s*\()", "take the time from io"},
    {R"(\btime\s*\(\s*(nullptr|NULL|0|&))", "take the time from io"},
    {R"(\b(rand|srand|rand_r|drand48|getrandom|arc4random)\s*\()", "take chance from io.random()"},
    {R"(\brandom_device\b)", "take chance from io.random()"},
    {R"(\b(sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\()", "arm a timer of io"},
    {R"(\bgetpid\s*\()", "identity comes from the configuration"},
    {R"(\b(getenv|secure_getenv|setenv)\s*\()", "settings come from the configuration"},
};

// Where such a call is right, each with its reason. engine/io and every main.cc are outside the rule altogether.
struct Exception {
  const char* path;
  const char* pattern;  // what the line holds
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"engine/base/observe.cc", "getenv", "TAILRACE_LOG must work before there is a configuration"},
    {"services/node/process.cc", "getenv", "NOTIFY_SOCKET and RUNTIME_DIRECTORY are given by systemd"},
    {"services/node/process.cc", "getpid", "the process names itself to its parent"},
};

struct SourceFile {
  std::string path;    // relative to the root, as "engine/base/bytes.h"
  std::string folder;  // "engine/base"
  std::vector<std::string> lines;
  std::vector<std::string> code;  // the lines without comments and with empty string literals
  [[nodiscard]] bool is_header() const { return path.ends_with(".h"); }
  [[nodiscard]] bool is_main() const { return path.ends_with("/main.cc"); }
};

// Blanks comments, string and character literals, keeping the lines. Raw strings are handled; digit separators too.
std::vector<std::string> strip(const std::vector<std::string>& lines) {
  enum class State { code, block_comment, raw_string };
  State state = State::code;
  std::string raw_end;
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    std::string kept;
    const bool is_include = line.starts_with("#include");
    for (std::size_t i = 0; i < line.size();) {
      if (state == State::block_comment) {
        if (line.compare(i, 2, "*/") == 0) state = State::code, ++i;
        ++i;
      } else if (state == State::raw_string) {
        if (line.compare(i, raw_end.size(), raw_end) == 0) {
          state = State::code;
          i += raw_end.size();
        } else {
          ++i;
        }
      } else if (line.compare(i, 2, "//") == 0) {
        break;
      } else if (line.compare(i, 2, "/*") == 0) {
        state = State::block_comment;
        i += 2;
      } else if (line.compare(i, 2, "R\"") == 0) {
        const std::size_t open = line.find('(', i);
        if (open == std::string::npos) break;
        raw_end = ")" + line.substr(i + 2, open - i - 2) + "\"";
        state = State::raw_string;
        i = open + 1;
      } else if (line[i] == '"' && !is_include) {
        kept += "\"\"";
        for (++i; i < line.size() && line[i] != '"'; ++i) {
          if (line[i] == '\\') ++i;
        }
        ++i;
      } else if (line[i] == '\'' && !(i > 0 && std::isxdigit(static_cast<unsigned char>(line[i - 1])))) {
        kept += "''";
        for (++i; i < line.size() && line[i] != '\''; ++i) {
          if (line[i] == '\\') ++i;
        }
        ++i;
      } else {
        kept += line[i++];
      }
    }
    out.push_back(std::move(kept));
  }
  return out;
}

std::vector<SourceFile> read_tree() {
  std::vector<SourceFile> files;
  const fs::path root = TAILRACE_SOURCE;
  for (const char* top : {"engine", "services", "cli", "bench", "fuzz", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      SourceFile file;
      file.path = fs::relative(entry.path(), root).string();
      file.folder = fs::path(file.path).parent_path().string();
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      file.code = strip(file.lines);
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_tree();
  return files;
}

// services/kafka/messages is part of services/kafka: the folder that a rule speaks of is the longest known prefix.
std::string rule_folder(std::string folder) {
  while (!folder.empty() && !kMayInclude.contains(folder)) folder = fs::path(folder).parent_path().string();
  return folder;
}

void found(const SourceFile& file, std::size_t line, const std::string& what) {
  ADD_FAILURE() << file.path << ":" << line + 1 << ": " << what;
}

// The header that a line includes by a path of ours; empty for none.
std::string own_include(const std::string& line) {
  static const std::regex include(R"(^\s*#include\s+"([^"]+)\")");
  std::smatch match;
  return std::regex_search(line, match, include) ? match[1].str() : std::string();
}

bool is_pure(const SourceFile& file) {
  static const std::regex word(R"(\bPURE\b)");
  for (const std::string& line : file.lines) {
    if (!line.starts_with("//")) return false;  // only the opening comment speaks for the file
    if (std::regex_search(line, word)) return true;
  }
  return false;
}

std::size_t width(std::string_view line) {  // UTF-8 characters
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(Tidy, FindsTheTree) { ASSERT_GT(tree().size(), 20u); }

TEST(Tidy, FoldersIncludeOnlyWhatTheyMay) {
  for (const SourceFile& file : tree()) {
    const auto rule = kMayInclude.find(rule_folder(file.folder));
    if (rule == kMayInclude.end()) continue;  // bench, fuzz and tests may look anywhere
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string header = own_include(file.lines[i]);
      if (header.empty()) continue;
      const std::string folder = rule_folder(fs::path(header).parent_path().string());
      if (folder.empty() || !fs::exists(fs::path(TAILRACE_SOURCE) / header)) {
        found(file, i, "include by the path from the root: " + header);
      } else if (!rule->second.contains(folder)) {
        found(file, i, rule->first + " may not include " + folder);
      }
    }
  }
}

TEST(Tidy, HeadersIncludeNoCycle) {
  std::map<std::string, std::vector<std::string>> includes;
  for (const SourceFile& file : tree()) {
    if (!file.is_header()) continue;
    for (const std::string& line : file.lines) {
      if (const std::string header = own_include(line); !header.empty()) includes[file.path].push_back(header);
    }
  }
  enum class Mark { none, open, done };
  std::map<std::string, Mark> marks;
  auto visit = [&](auto&& self, const std::string& path) -> void {
    if (marks[path] == Mark::done) return;
    if (marks[path] == Mark::open) {
      ADD_FAILURE() << path << ": includes itself by way of others";
      return;
    }
    marks[path] = Mark::open;
    for (const std::string& header : includes[path]) self(self, header);
    marks[path] = Mark::done;
  };
  for (const auto& [path, unused] : std::map(includes)) visit(visit, path);
}

TEST(Tidy, PureFilesReachNoWorld) {
  static const std::regex world(
      R"re(#include\s+[<"](sys/.*|unistd\.h|fcntl\.h|poll\.h|netdb\.h|arpa/.*|netinet/.*|fstream|iostream|filesystem|thread|mutex|ctime|time\.h|random|engine/ipc/.*|engine/io/(io|files)\.h)[>"])re");
  static const std::regex iovec(R"(#include\s+<sys/uio\.h>)");  // a plain struct
  for (const SourceFile& file : tree()) {
    if (!is_pure(file)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], world) && !std::regex_search(file.lines[i], iovec)) {
        found(file, i, "a PURE file does no I/O and reads no clock");
      }
    }
  }
}

TEST(Tidy, TheWorldIsReachedThroughIo) {
  for (const SourceFile& file : tree()) {
    const std::string folder = rule_folder(file.folder);
    if (folder.empty() || folder == "cli" || folder == "engine/io" || file.is_main()) continue;
    for (const BannedCall& banned : kBannedCalls) {
      const std::regex pattern(banned.pattern);
      for (std::size_t i = 0; i < file.code.size(); ++i) {
        std::smatch match;
        if (!std::regex_search(file.code[i], match, pattern)) continue;
        const bool excepted = std::any_of(std::begin(kExceptions), std::end(kExceptions), [&](const Exception& e) {
          return file.path == e.path && file.code[i].find(e.pattern) != std::string::npos;
        });
        if (!excepted) found(file, i, match.str() + ": " + banned.instead);
      }
    }
  }
}

// An error code that a switch forgets must be a compiler warning and not a default.
TEST(Tidy, SwitchesOverErrorCodesHaveNoDefault) {
  static const std::regex token(R"(\bswitch\b|\bcase\s+(\w+::)*(Code|ErrorCode|Errors)::|\bdefault\s*:|[{}])");
  struct Open {
    std::size_t depth = 0;
    bool over_errors = false;
    std::size_t default_line = 0;
    bool has_default = false;
  };
  for (const SourceFile& file : tree()) {
    if (rule_folder(file.folder).empty()) continue;  // a test may lump together what it does not expect
    std::vector<Open> switches;
    std::size_t depth = 0;
    bool in_switch_head = false;
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      const std::string& line = file.code[i];
      for (std::sregex_iterator at(line.begin(), line.end(), token), end; at != end; ++at) {
        const std::string word = at->str();
        if (word == "switch") {
          in_switch_head = true;
        } else if (word == "{") {
          ++depth;
          if (in_switch_head) switches.push_back(Open{.depth = depth});
          in_switch_head = false;
        } else if (word == "}") {
          if (!switches.empty() && switches.back().depth == depth) {
            const Open closed = switches.back();
            switches.pop_back();
            if (closed.over_errors && closed.has_default) {
              found(file, closed.default_line, "a switch over error codes names every code and has no default");
            }
          }
          if (depth > 0) --depth;
        } else if (!switches.empty() && word.starts_with("case")) {
          switches.back().over_errors = true;
        } else if (!switches.empty()) {
          switches.back().has_default = true;
          switches.back().default_line = i;
        }
      }
    }
  }
}

TEST(Tidy, HeadersOpenWithACommentAndPragmaOnce) {
  for (const SourceFile& file : tree()) {
    if (!file.is_header()) continue;
    if (file.lines.empty() || !file.lines.front().starts_with("// ")) {
      found(file, 0, "a header opens by saying what it is and who owns it");
    }
    if (std::count(file.lines.begin(), file.lines.end(), "#pragma once") != 1)
      found(file, 0, "#pragma once is missing");
  }
}

TEST(Tidy, LinesAreShortAndHaveNoTabs) {
  for (const SourceFile& file : tree()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      // clang-format holds code at 120 and leaves alone what it can't break: a string, or prose in a comment.
      const bool is_text = line.find('"') != std::string::npos;
      const bool is_comment = line.find("//") != std::string::npos;
      if (width(line) > (is_comment ? 132 : 120) && !is_text) found(file, i, "wider than 120 columns");
      if (line.find('\t') != std::string::npos) found(file, i, "a tab");
      if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) found(file, i, "space at the end of the line");
    }
  }
}

TEST(Tidy, EverySourceBelongsToAFolderThatIsBuilt) {
  const Folders others = {"bench",     "fuzz",       "tests/unit",    "tests/unit/support", "tests/tidy",
                          "tests/sim", "tests/wire", "tests/clients", "tests/faults"};
  for (const SourceFile& file : tree()) {
    if (rule_folder(file.folder).empty() && !others.contains(file.folder)) {
      found(file, 0, "no build file knows this folder");
    }
    if (file.folder == "tests/unit" && !file.is_header() && !file.path.ends_with("_test.cc")) {
      found(file, 0, "a unit test is named <folder>_<what>_test.cc");
    }
  }
}

TEST(Tidy, NothingThrowsOrUnwrapsBlindly) {
  static const std::regex throwing(R"(\bthrow\b|\.value\(\))");
  for (const SourceFile& file : tree()) {
    const std::string folder = rule_folder(file.folder);
    if (folder.empty() || folder == "cli") continue;  // CLI11 reports by exceptions at start
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      if (std::regex_search(file.code[i], throwing)) found(file, i, "errors travel as Result, looked at before use");
    }
  }
}

// docs/configuration.md is made from the settings; at the end it lists the keys that have no effect.
TEST(Tidy, WhatASettingDoesIsTold) {
  std::ifstream docs(fs::path(TAILRACE_SOURCE) / "docs" / "configuration.md");
  std::set<std::string> idle;
  bool is_idle = false;
  for (std::string line; std::getline(docs, line);) {
    if (line.starts_with("## ")) is_idle = line.ends_with("no effect");
    if (is_idle && line.starts_with("- `")) idle.insert(line.substr(3, line.find('`', 3) - 3));
  }
  ASSERT_GT(idle.size(), 20u);
  static const std::regex reading(R"re(config(\(\))?(\.|->)\w+\("([a-z0-9.]+)")re");
  for (const SourceFile& file : tree()) {
    if (!file.folder.starts_with("services/") || file.folder == "services/node") continue;  // node checks every key
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (std::regex_search(file.lines[i], match, reading) && idle.contains(match[3])) {
        found(file, i, match[3].str() + " has an effect: tell it with the setting");
      }
    }
  }
}

}  // namespace
