// The options of commands that produce, with the same words in each. What they fill must live as long as the command.
#pragma once

#include <string>

#include "cli/producer.h"

namespace CLI {
class App;
}

namespace tailrace::cli {

void add_acks(CLI::App& command, std::string& acks);
void add_compression(CLI::App& command, ProducerOptions& options);
void add_batching(CLI::App& command, ProducerOptions& options);

}  // namespace tailrace::cli
