// kafka-configs' options that say whose settings are meant, for the commands that take them.
#pragma once

#include <initializer_list>

#include "cli/command.h"
#include "cli/entities.h"

namespace tailrace::cli {

// --entity-type, --entity-name, --entity-default and the short forms of `types`: --topic NAME, --broker-defaults ...
void add_entity_options(Command command, EntityArguments& arguments);
void add_short_forms(Command command, EntityArguments& arguments, std::initializer_list<EntityType> types);

}  // namespace tailrace::cli
