// kafka-configs' options that say whose settings are meant, for the commands that take them.
#pragma once

#include <initializer_list>

#include "cli/command.h"
#include "cli/entities.h"

namespace tailrace::cli {

// --entity-type, --entity-name, --entity-default and the short forms of `types`: --topic NAME, --broker-defaults ...
void add_entity_options(CLI::App& command, EntityArguments& arguments);
void add_short_forms(CLI::App& command, EntityArguments& arguments, std::initializer_list<EntityType> types);

}  // namespace tailrace::cli
