// `tailrace topics`: list, create, describe, alter and delete topics of a running cluster, in the words of
// kafka-topics.
#pragma once

namespace CLI {
class App;
}

namespace tailrace::cli {

// Adds the subcommand with its own subcommands; when one runs, `exit_code` gets the status.
void add_topics_command(CLI::App& app, int& exit_code);

}  // namespace tailrace::cli
