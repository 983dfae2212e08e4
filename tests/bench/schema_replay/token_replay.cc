#include "tests/bench/schema_replay/token_replay.h"

#include <bit>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <time.h>
#include <utility>

#include "grammar/mask/mask_maker.h"
#include "model/formats/gguf.h"

namespace weft {
namespace {

constexpr int64_t kMostTokens = 1 << 20;  // more than any vocabulary that is replayed

Result<std::shared_ptr<const Tokenizer>> LoadTokenizer(const std::string& path) {
  if (std::filesystem::is_directory(path)) return Tokenizer::FromDirectory(path, kMostTokens);
  WEFT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  return Tokenizer::FromGguf(file.metadata, kMostTokens);
}

}  // namespace

double ThreadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string InstanceText(const nlohmann::ordered_json& value, bool is_spaced) {
  if (!value.is_structured() || !is_spaced) return value.dump();
  std::string text(1, value.is_object() ? '{' : '[');
  for (const auto& [name, part] : value.items()) {
    if (text.size() > 1) text += ", ";
    if (value.is_object()) text += nlohmann::ordered_json(name).dump() + ": ";
    text += InstanceText(part, is_spaced);
  }
  return text + (value.is_object() ? '}' : ']');
}

Result<ReplayVocabulary> ReplayVocabulary::Load(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<const Tokenizer> tokenizer, LoadTokenizer(path));
  return ReplayVocabulary(std::move(tokenizer));
}

ReplayVocabulary::ReplayVocabulary(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)) {
  const auto size = static_cast<TokenId>(tokenizer_->vocab_size());
  for (TokenId token = 0; token < size; ++token) {
    if (tokenizer_->TokenText(token).empty()) continue;
    texts_.resize(static_cast<size_t>(token) + 1);
    if (!tokenizer_->IsControl(token)) texts_.back() = tokenizer_->TokenBytes(token);
  }
  masks_ = std::make_shared<MaskVocabulary>(texts_);
}

// Behind a line end, which stands alone: SentencePiece would put a space before the text itself.
Result<std::vector<TokenId>> ReplayVocabulary::TokensOf(const std::string& text) const {
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                        tokenizer_->Encode("\n" + text, {.add_special_tokens = false,
                                                         .parse_special_tokens = false}));
  size_t before = 0;
  while (before < tokens.size() && !tokenizer_->TokenBytes(tokens[before]).ends_with('\n')) {
    ++before;
  }
  if (before == tokens.size())
    return Fail(ErrorCode::kUnsupported, "a line end and '{}' share a token", text.substr(0, 10));
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(before) + 1);
  return tokens;
}

bool ReplayTokens(const ReplayVocabulary& vocabulary, std::span<const TokenId> tokens,
                  Recognizer& recognizer, const std::string& name, MaskTimes& times) {
  MaskMaker maker(&vocabulary.masks(), &recognizer);
  std::vector<uint32_t> mask((vocabulary.texts().size() + 31) / 32);
  Recognizer::State state = recognizer.Start();
  std::string text;
  for (const TokenId token : tokens) {
    if (state == Recognizer::kDead) return false;
    std::ranges::fill(mask, 0);
    const double start = ThreadSeconds();
    maker.Fill(state, mask);
    const double seconds = ThreadSeconds() - start;
    times.seconds.push_back(static_cast<float>(seconds));
    if (seconds > times.worst.seconds) times.worst = {seconds, name + ": " + text};
    int allowed = 0;
    for (const uint32_t word : mask) allowed += std::popcount(word);
    if (allowed == 1 && !recognizer.Accepts(state)) ++times.of_one_token;
    if ((mask[static_cast<size_t>(token) / 32] >> (token % 32) & 1) == 0) return false;
    for (const char c : vocabulary.texts()[static_cast<size_t>(token)]) {
      state = recognizer.Step(state, static_cast<uint8_t>(c));
      text.push_back(c);
    }
  }
  return state != Recognizer::kDead && recognizer.Accepts(state);
}

}  // namespace weft
