// Recorded traffic: when requests came and how long they were, without what they said.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

// Tokens that a Mooncake block hash stands for.
inline constexpr int32_t kTraceBlockTokens = 512;

struct TraceRequest {
  std::chrono::nanoseconds time{0};  // since the trace's first request
  int32_t input_tokens = 0;          // at least 1
  int32_t output_tokens = 0;
  // Of the prompt's blocks of kTraceBlockTokens, the last of which may be shorter: requests share
  // their prompts' beginning as far as these are equal. May cover less than the prompt, whose rest
  // is its own.
  std::vector<uint64_t> block_hashes;
};

// A Mooncake trace or Azure's CSV, whichever the first line looks like; in order of time. At least
// one request.
Result<std::vector<TraceRequest>> ReadTrace(const std::string& path);

// One line of either; `time` as the line says it, from an origin of the format's choice.
// {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, ...]}, with
// the timestamp in milliseconds (https://github.com/kvcache-ai/Mooncake).
Result<TraceRequest> ParseMooncakeLine(std::string_view line);
// 2023-11-16 18:15:46.6805900,374,44 below the header TIMESTAMP,ContextTokens,GeneratedTokens, the
// time with up to nine decimals and perhaps +00:00 (https://github.com/Azure/AzurePublicDataset).
Result<TraceRequest> ParseAzureLine(std::string_view line);

}  // namespace weft
