// The options of commands that produce, with the same words in each. What they fill must live as long as the command.
#pragma once

#include <string>

#include "cli/producer.h"

namespace tailrace::cli {

class Command;

void add_acks(Command command, std::string& acks);
void add_compression(Command command, ProducerOptions& options);
void add_batching(Command command, ProducerOptions& options);

}  // namespace tailrace::cli
