#include "tests/integration/scripted_runner.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

constexpr std::string_view kTurn = "<|im_start|>assistant";
constexpr std::string_view kGenerationPrompt = "<|im_start|>assistant\n";

bool Fits(const Scene& scene, std::string_view text) {
  return std::ranges::all_of(scene.needs, [&](const std::string& each) {
    return text.find(each) != std::string_view::npos;
  });
}

}  // namespace

Result<Script> Script::Read(const std::string& path) {
  std::ifstream file(path);
  Script script;
  try {
    for (const nlohmann::json& scene : nlohmann::json::parse(file)) {
      script.scenes.push_back({.needs = scene.at("needs"), .turns = scene.at("turns")});
      if (script.scenes.back().turns.empty())
        return Fail(ErrorCode::kInvalidArgument, "{}: a scene without turns", path);
    }
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {}", path, error.what());
  }
  return script;
}

std::string_view Script::RestAfter(std::string_view text) const {
  const size_t last = text.rfind(kGenerationPrompt);
  if (last == std::string_view::npos) return {};
  const std::string_view prompt = text.substr(0, last);
  const std::string_view said = text.substr(last + kGenerationPrompt.size());
  const auto scene =
      std::ranges::find_if(scenes, [&](const Scene& each) { return Fits(each, prompt); });
  if (scene == scenes.end()) return {};
  size_t turn = 0;
  size_t at = scene->needs.empty() ? 0 : prompt.find(scene->needs.front());
  while ((at = prompt.find(kTurn, at)) != std::string_view::npos) {
    ++turn;
    at += kTurn.size();
  }
  const std::string_view reply = scene->turns[std::min(turn, scene->turns.size() - 1)];
  return reply.starts_with(said) ? reply.substr(said.size()) : std::string_view();
}

ScriptedRunner::ScriptedRunner(Script script, std::shared_ptr<const Tokenizer> tokenizer,
                               int64_t block_count)
    : script_(std::move(script)),
      tokenizer_(std::move(tokenizer)),
      groups_{{.block_count = block_count}},
      tokens_(static_cast<size_t>(block_count * kBlockSize)) {}

TokenId& ScriptedRunner::TokenAt(std::span<const int32_t> table, int32_t position) {
  const int64_t block = table[static_cast<size_t>(position / kBlockSize)];
  return tokens_[static_cast<size_t>(block * kBlockSize + position % kBlockSize)];
}

Result<TokenId> ScriptedRunner::Next(std::span<const int32_t> table, int32_t position) {
  std::vector<TokenId> ids;
  for (int32_t i = 0; i <= position; ++i) ids.push_back(TokenAt(table, i));
  const std::string text = tokenizer_->Decode(ids, /*keep_special_tokens=*/true);
  const std::string_view rest = script_.RestAfter(text);
  if (rest.empty()) return tokenizer_->end_tokens().front();
  WEFT_ASSIGN_OR_RETURN(const std::vector<TokenId> next,
                        tokenizer_->Encode(rest, {.add_special_tokens = false}));
  return next.front();
}

Result<void> ScriptedRunner::Run(const ForwardBatch& batch, const LogitsVisitor& visit) {
  for (const SequenceSpan& span : batch.sequences) {
    for (int32_t i = 0; i < span.row_count; ++i) {
      TokenAt(span.block_tables[0], span.first_position + i) =
          batch.token_ids[static_cast<size_t>(span.first_row + i)];
    }
  }
  // Above what penalties and biases of requests can change.
  constexpr float kLikely = 2000;
  std::vector<float> logits(static_cast<size_t>(vocab_size()));
  auto span = batch.sequences.begin();
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const int32_t row = batch.logit_rows[i];
    while (row >= span->first_row + span->row_count) ++span;
    WEFT_ASSIGN_OR_RETURN(const TokenId next,
                          Next(span->block_tables[0], batch.positions[static_cast<size_t>(row)]));
    std::ranges::fill(logits, 0.0F);
    // Where a constraint forbids what comes next, the text ends as soon as it may.
    logits[static_cast<size_t>(tokenizer_->end_tokens().front())] = kLikely;
    logits[static_cast<size_t>(next)] = 2 * kLikely;
    visit(static_cast<int64_t>(i), 0, logits.data());
  }
  return {};
}

void ScriptedRunner::CopyBlock(size_t, int32_t from, int32_t to) {
  std::copy_n(tokens_.begin() + from * kBlockSize, kBlockSize, tokens_.begin() + to * kBlockSize);
}

}  // namespace weft
