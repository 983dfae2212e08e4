// Where a model's chat template stands.
#pragma once

#include <string>

#include "base/result.h"

namespace weft {

// Jinja source, of a Hugging Face directory: chat_template.jinja, or tokenizer_config.json's
// chat_template (a string, or a list of named ones of which "default" counts). Empty if there is
// none. Errors name the file.
Result<std::string> ReadHfChatTemplate(const std::string& directory);

}  // namespace weft
