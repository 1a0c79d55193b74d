// `tailrace up`: runs a node in the foreground. This file turns the command line into settings, finds the directories
// and hands over to the Supervisor.
#pragma once

#include <string>
#include <vector>

namespace tailrace::cli {

class Command;

struct UpOptions {
  std::string config;            // --config FILE
  std::string data;              // --data DIR
  std::string listen;            // --listen HOST:PORT
  std::string run;               // --run DIR
  std::vector<std::string> set;  // --set KEY=VALUE
  bool ephemeral = false;        // --ephemeral
};

// Adds the subcommand; when it runs, `exit_code` gets the status.
void add_up_command(Command app, int& exit_code);

// Runs until told to stop; returns the exit status. Says on stderr what is wrong.
int up(const UpOptions& options);

}  // namespace tailrace::cli
