// A model that says what a script says, for tests of clients that want certain answers: tool calls,
// edits, last words. It keeps its tokens where a model keeps keys and values, and reads what it
// goes on with back through the block tables, so that a prefix that is found wrongly is a wrong
// answer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model_runner.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// What is said in conversations in which all of `needs` stand; the others' words before the first
// place of needs[0] do not count as turns.
struct Scene {
  std::vector<std::string> needs;  // empty: any conversation
  std::vector<std::string> turns;  // of the assistant, in their order; then the last one again
};

// The first scene counts that fits.
struct Script {
  std::vector<Scene> scenes;

  // A file with [{"needs": ["..."], "turns": ["..."]}, ...]. Errors: one line.
  static Result<Script> Read(const std::string& path);
  // What is still to be said behind a text of ChatML's form, which ends somewhere in the
  // assistant's turn; empty: nothing, or the text went another way.
  std::string_view RestAfter(std::string_view text) const;
};

class ScriptedRunner : public ModelRunner {
 public:
  static constexpr int64_t kBlockSize = 32;

  // `tokenizer` has an end token, and puts nothing before a text.
  ScriptedRunner(Script script, std::shared_ptr<const Tokenizer> tokenizer, int64_t block_count);

  int64_t vocab_size() const override { return tokenizer_->vocab_size(); }
  int64_t block_size() const override { return kBlockSize; }
  std::span<const StateGroup> groups() const override { return groups_; }
  int thread_count() const override { return 1; }
  bool generates() const override { return true; }
  bool makes(PooledOutput) const override { return false; }
  SparseSpec sparse() const override { return {}; }
  std::vector<float> FromPooled(PooledOutput, std::vector<float> pooled) override { return pooled; }
  Result<void> Run(const ForwardBatch& batch, const LogitsVisitor& visit) override;
  void CopyBlock(size_t group, int32_t from, int32_t to) override;

 private:
  TokenId& TokenAt(std::span<const int32_t> table, int32_t position);
  // The likeliest token behind the sequence's positions up to this one.
  Result<TokenId> Next(std::span<const int32_t> table, int32_t position);

  const Script script_;
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const std::vector<StateGroup> groups_;
  std::vector<TokenId> tokens_;  // of each slot of each block
};

}  // namespace weft
