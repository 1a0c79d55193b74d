// docs/configuration.md as text, made from the table of settings. PURE.
#pragma once

#include <string>

namespace tailrace::node {

std::string settings_markdown();

}  // namespace tailrace::node
