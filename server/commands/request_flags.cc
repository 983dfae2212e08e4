#include "server/commands/request_flags.h"

namespace weft {

void AddRequestFlags(CLI::App& app, RequestRules& rules) {
  app.add_flag("--clamp-max-tokens", rules.clamps_max_tokens,
               "Of requests that ask for more tokens than the context has room for, generate what "
               "there is room for (they get 400)");
}

}  // namespace weft
