// `tailrace produce`: sends lines of standard input, or of files, as records.
#pragma once

namespace CLI {
class App;
}

namespace tailrace::cli {

// Adds the subcommand; when it runs, `exit_code` gets the status.
void add_produce_command(CLI::App& app, int& exit_code);

}  // namespace tailrace::cli
