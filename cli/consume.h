// `tailrace consume`: prints the records of a topic, from all partitions or some, without a consumer group.
#pragma once

namespace CLI {
class App;
}

namespace tailrace::cli {

// Adds the subcommand; when it runs, `exit_code` gets the status.
void add_consume_command(CLI::App& app, int& exit_code);

}  // namespace tailrace::cli
