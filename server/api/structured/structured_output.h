// What a served model has for constraints on its texts: the vocabulary in bytes, made when it is
// first asked for, and what was compiled last.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "grammar/cfg/grammar.h"
#include "model/tokenizer/tokenizer.h"
#include "proto/api_error.h"
#include "server/api/structured/grammar_matcher.h"

namespace weft {

// Of the texts that a request allows.
struct CompiledOutput {
  RecognizerFactory make;
  int32_t loose_tool_count = 0;  // tools whose arguments are not held to all of their schema
};

struct OutputConstraint {
  std::shared_ptr<const GrammarConstraint> constraint;
  int32_t loose_tool_count = 0;
};

// A digest of all that a constraint is made of.
using OutputKey = std::array<uint8_t, 32>;
OutputKey OutputKeyOf(std::string_view text);

// Thread-safe.
class StructuredOutput {
 public:
  // The memory may be that of several models.
  StructuredOutput(std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<MatcherPool> memory)
      : tokenizer_(std::move(tokenizer)), matchers_(std::move(memory)) {}

  // What was compiled under the key; its constraint is nullptr where that is not there any more.
  OutputConstraint Find(const OutputKey& key);
  // Compiles, and keeps it under the key; `finishes`: see GrammarConstraint::Prepare. Error,
  // besides those of `compile`: 400, not even the beginning of its texts can be found within the
  // limits, or no short text.
  ApiResult<OutputConstraint> Compile(const OutputKey& key, size_t size_bytes, bool finishes,
                                      const std::function<ApiResult<CompiledOutput>()>& compile);

 private:
  // What is kept: so many, which take so much of the memory together.
  static constexpr size_t kMostEntries = 64;
  size_t most_bytes() const { return matchers_->largest_bytes() / 2; }

  struct Entry {
    OutputKey key;
    OutputConstraint output;
    size_t size_bytes = 0;
  };

  std::shared_ptr<const GrammarVocabulary> Vocabulary();
  void Keep(Entry entry);

  const std::shared_ptr<const Tokenizer> tokenizer_;
  const std::shared_ptr<MatcherPool> matchers_;
  std::once_flag vocabulary_made_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  std::mutex mutex_;          // guards what follows
  std::list<Entry> entries_;  // the last used first
  std::map<OutputKey, std::list<Entry>::iterator> by_key_;
  size_t size_bytes_ = 0;  // of entries_
};

}  // namespace weft
