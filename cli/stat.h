// `tailrace stat`: shows what the processes of a running node count. It reads their counter files from the run
// directory, which costs them nothing.
#pragma once

namespace CLI {
class App;
}

namespace tailrace::cli {

// Adds the subcommand; when it runs, `exit_code` gets the status.
void add_stat_command(CLI::App& app, int& exit_code);

}  // namespace tailrace::cli
