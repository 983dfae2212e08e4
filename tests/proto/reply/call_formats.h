// Every way in which replies write calls.
#pragma once

#include "proto/reply/reply_format.h"

namespace weft {

inline constexpr CallFormat kAllCallFormats[] = {
    CallFormat::kPlainJson,    CallFormat::kLlama,       CallFormat::kHermes,
    CallFormat::kQwenXml,      CallFormat::kSeedXml,     CallFormat::kMiniMax,
    CallFormat::kGlm,          CallFormat::kMistral,     CallFormat::kMistralNamed,
    CallFormat::kDeepSeekV3,   CallFormat::kDeepSeekV31, CallFormat::kKimi,
    CallFormat::kGranite,      CallFormat::kHunyuan,     CallFormat::kNemotron,
    CallFormat::kNemotronMini, CallFormat::kCommandR,    CallFormat::kCommandAction,
    CallFormat::kApertus,      CallFormat::kGemma,       CallFormat::kFunctionGemma,
    CallFormat::kOlmo,         CallFormat::kLfm2,        CallFormat::kHarmony,
    CallFormat::kSolar,        CallFormat::kGlm4};

}  // namespace weft
