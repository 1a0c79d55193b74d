// Recovery: what happens to a partition's directory before its log is open (Kafka's LogLoader): the work of a cleaner
// or a removal that a crash cut short is finished or undone.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/io/files.h"

namespace tailrace::log {

// Removes .deleted and .cleaned files, puts whole .swap files in the place of the segments they replace, and removes
// indexes without a .log. May be repeated after a crash. Returns the base offsets of the segments that are there,
// ascending.
Result<std::vector<Offset>> settle_directory(io::Files& files, const std::string& directory);

}  // namespace tailrace::log
