// What a sequence's earlier tokens do to the logits of the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/sampling_params.h"

namespace weft {

// The bytes that a token adds to the text; thread-safe.
using TokenBytes = std::function<std::string_view(TokenId)>;

// Holds scratch memory; used by one thread at a time. In all methods `tokens` are prompt and output
// so far, and logits[t] is -infinity for tokens that are excluded already; others stay finite.
class Penalties {
 public:
  Penalties(int64_t vocab_size, TokenBytes token_bytes);
  // What it allocates at construction; besides, 4 bytes a token of the longest sequence.
  static int64_t ScratchBytes(int64_t vocab_size);

  static bool ArePenaltiesNeutral(const SamplingParams& params);
  // Repetition, then frequency and presence penalty. The first counts prompt and output, the others
  // the output; all three only the last repeat_last_n tokens.
  void Penalise(const SamplingParams& params, std::span<const TokenId> tokens, int32_t prompt_count,
                std::span<float> logits);

  static bool IsDryNeutral(const DryParams& params);
  // A token that contains a sequence breaker itself is free.
  void PenaliseRepetition(const DryParams& params, std::span<const TokenId> tokens,
                          std::span<float> logits);

 private:
  // How many of the last tokens come after the last sequence breaker; those before the last
  // `enough` need not be looked at, so that a long text without breakers is not read for every
  // token.
  size_t CountUnbroken(const DryParams& params, std::span<const TokenId> tokens,
                       size_t enough) const;
  bool Breaks(const DryParams& params, TokenId token) const;
  // suffix_matches_[k]: how many of the last tokens equal those that end k earlier. The most of
  // them.
  size_t MatchSuffixes(std::span<const TokenId> tokens);

  TokenBytes token_bytes_;
  std::vector<int32_t> counts_;  // a token; all 0 between calls
  std::vector<int32_t> suffix_matches_;
};

}  // namespace weft
