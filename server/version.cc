#include "server/version.h"

namespace weft {

std::string_view Version() { return WEFT_VERSION; }

}  // namespace weft
