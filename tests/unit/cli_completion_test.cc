// Help texts and the completion that is written from the tree of commands.
#include <algorithm>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/help.h"

namespace tailrace::cli {
namespace {

// All commands, as main() makes them.
struct Program {
  Program() {
    app.name("tailrace");
    app.formatter(std::make_shared<HelpFormatter>());
    for (const auto add :
         {add_up_command,           add_stat_command,           add_dump_command,          add_produce_command,
          add_consume_command,      add_perf_command,           add_topics_command,        add_groups_command,
          add_configs_command,      add_client_metrics_command, add_quotas_command,        add_offsets_command,
          add_records_command,      add_producers_command,      add_log_dirs_command,      add_cluster_command,
          add_api_versions_command, add_reassign_command,       add_elect_leaders_command, add_completion_command}) {
      add(app, exit_code);
    }
  }
  CLI::App app{"test"};
  int exit_code = 0;
};

const CompletedCommand* find(const std::vector<CompletedCommand>& commands, std::string_view path) {
  const auto at = std::find_if(commands.begin(), commands.end(), [&](const auto& one) { return one.path == path; });
  return at == commands.end() ? nullptr : &*at;
}

TEST(Help, TextIsWrappedAtBlanks) {
  EXPECT_EQ(wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrap("a\nb", 80, 4), "a\n    b");
  EXPECT_EQ(wrap("longerthanall x", 5, 0), "longerthanall\nx");
}

TEST(Help, EveryCommandFitsATerminalOf80ColumnsAndHasAnExample) {
  Program program;
  const auto check = [](const auto& self, const CLI::App& app, const std::string& path) -> void {
    const std::string help = app.help();
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.size() <= kHelpColumns || line.starts_with("  tailrace ")) << path << ": " << line;
    }
    const auto subs = app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
    for (const CLI::App* sub : subs) self(self, *sub, path + " " + sub->get_name());
    if (subs.empty()) {
      EXPECT_NE(help.find("Example"), std::string::npos) << path;
    }
  };
  check(check, program.app, "tailrace");
}

TEST(Completion, KnowsCommandsOptionsAndWhatTheyTake) {
  Program program;
  const auto commands = completed_commands(program.app);
  ASSERT_NE(find(commands, ""), nullptr);
  const CompletedCommand* consume = find(commands, "consume");
  ASSERT_NE(consume, nullptr);
  const auto topic = std::find_if(consume->options.begin(), consume->options.end(), [](const CompletedOption& option) {
    return std::count(option.names.begin(), option.names.end(), "--topic") > 0;
  });
  ASSERT_NE(topic, consume->options.end());
  EXPECT_EQ(topic->kind, ValueKind::topic);
  for (const CompletedOption& option : consume->options) {
    if (option.names.back() == "--json" || option.names.back() == "--help") {
      EXPECT_EQ(option.kind, ValueKind::none) << "a flag takes nothing: " << option.names.back();
    }
  }
  EXPECT_NE(find(commands, "topics create"), nullptr);
  // Options in groups, too.
  const CompletedCommand* describe = find(commands, "topics describe");
  ASSERT_NE(describe, nullptr);
  EXPECT_TRUE(std::any_of(describe->options.begin(), describe->options.end(), [](const CompletedOption& option) {
    return option.names == std::vector<std::string>{"--under-replicated-partitions"};
  }));
}

TEST(Completion, EveryScriptNamesEveryCommandAndOption) {
  Program program;
  const auto commands = completed_commands(program.app);
  const std::string bash = bash_completion(commands);
  const std::string zsh = zsh_completion(commands);
  const std::string fish = fish_completion(commands);
  for (const CompletedCommand& command : commands) {
    EXPECT_NE(bash.find("'" + command.path + "'"), std::string::npos) << command.path;
    EXPECT_NE(zsh.find("'" + command.path + "'"), std::string::npos) << command.path;
    EXPECT_NE(fish.find("'" + command.path + "'"), std::string::npos) << command.path;
    for (const CompletedOption& option : command.options) {
      for (const std::string& name : option.names) {
        EXPECT_NE(bash.find(name), std::string::npos) << name;
        EXPECT_NE(zsh.find("'" + name + ":"), std::string::npos) << name;
        const std::string in_fish = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        EXPECT_NE(fish.find(in_fish), std::string::npos) << name;
      }
    }
  }
}

}  // namespace
}  // namespace tailrace::cli
