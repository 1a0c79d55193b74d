// Why a request is not served: the code, and the words for whoever reads them. PURE.
#pragma once

#include <string>

#include "services/kafka/errors.h"

namespace tailrace::groupcoord {

struct Refusal {
  kafka::ErrorCode error;
  std::string message;
};

}  // namespace tailrace::groupcoord
