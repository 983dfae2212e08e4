#include "model/tokenizer/text_tokenizer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace weft {
namespace {

constexpr auto kEndOfTurnTexts = std::to_array<std::string_view>({
    "</s>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|EOT|>",
    "<|eot|>",
    "<|eom|>",
    "<EOT>",
    "[EOT]",
    "[EOS]",
    "<eos>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
    "<|end_of_sentence|>",        // ERNIE
    "<|observation|>",            // GLM: where tools are to answer
    "<turn|>",                    // Gemma 4
    "<|tool_response>",           // Gemma 4: as GLM's
    "<start_function_response>",  // FunctionGemma: as GLM's
    "<|tools_suffix|>",           // Apertus: behind its calls
    "<|flush|>",                  // Solar Open
    "<|calls|>",                  // Solar Open: behind its calls
    "[e~[",                       // MiniMax
});

// What normalisation may make of a text: much more than any language's does of a long one (three
// bytes of one, for spaces and for decomposed Hangul), and of a short one whatever it likes.
size_t MaxNormalizedBytes(size_t text_bytes) { return 4 * text_bytes + (size_t{1} << 20); }

void Append(const std::vector<TokenId>& tail, std::vector<TokenId>* ids) {
  ids->insert(ids->end(), tail.begin(), tail.end());
}

class TextTokenizer final : public Tokenizer {
 public:
  explicit TextTokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
    parts_.description += fmt::format(", {} tokens", parts_.vocabulary->tokens().size());
  }

  Result<std::vector<TokenId>> Encode(std::string_view text,
                                      const EncodeOptions& options) const override;
  Result<EncodedText> EncodeTruncated(std::string_view text, const EncodeOptions& options,
                                      const Truncation& truncation) const override;
  Result<EncodedText> EncodePair(std::string_view first, std::string_view second,
                                 const EncodeOptions& options,
                                 const Truncation& truncation) const override;
  std::string Decode(const std::vector<TokenId>& ids, bool keep_special_tokens) const override;
  LeadingSpaces leading_spaces() const override {
    return LeadingSpaces(parts_.decode_drops_spaces);
  }

  std::string_view TokenBytes(TokenId id) const override { return parts_.vocabulary->Bytes(id); }
  int64_t vocab_size() const override { return parts_.vocabulary->size(); }
  std::string_view TokenText(TokenId id) const override { return parts_.vocabulary->Text(id); }
  bool IsControl(TokenId id) const override {
    const TokenKind kind = parts_.vocabulary->Kind(id);
    return kind == TokenKind::kControl || kind == TokenKind::kUnknown;
  }
  std::optional<TokenId> TokenOf(std::string_view vocabulary_text) const override {
    return parts_.vocabulary->Find(vocabulary_text);
  }
  std::optional<TokenId> bos() const override { return parts_.bos; }
  std::optional<TokenId> eos() const override { return parts_.eos; }
  const std::vector<TokenId>& end_tokens() const override { return parts_.end_tokens; }
  bool adds_bos() const override {
    return parts_.bos && !parts_.prefix.empty() && parts_.prefix.front() == *parts_.bos;
  }
  bool adds_eos() const override {
    return parts_.eos && !parts_.suffix.empty() && parts_.suffix.back() == *parts_.eos;
  }
  std::string_view description() const override { return parts_.description; }

 private:
  struct Scratch {
    PieceScratch piece;
    PreTokenizeScratch pre_tokenize;
    std::vector<std::string_view> pieces;
    bool match_control = true;
    bool at_text_start = true;
    size_t normalized_bytes_left = 0;  // that the normalizer may still make of this text
  };

  // Appends the tokens of `text` alone to `ids`.
  Result<void> AppendText(std::string_view text, bool parse_special_tokens,
                          std::vector<TokenId>* ids) const;
  // Moves the language code that `text` begins with to `ids`.
  void TakeCode(std::string_view* text, std::vector<TokenId>* ids) const;
  // A segment without raw special tokens; any bytes. False where normalising makes too much of it.
  bool EncodeSegment(std::string_view segment, Scratch* scratch, std::vector<TokenId>* ids) const;
  // A part of it that is valid UTF-8.
  bool EncodeValid(std::string_view text, bool begins_segment, Scratch* scratch,
                   std::vector<TokenId>* ids) const;
  void EncodePieces(std::string_view normalized, Scratch* scratch, std::vector<TokenId>* ids) const;

  TokenizerParts parts_;
};

Result<std::vector<TokenId>> TextTokenizer::Encode(std::string_view text,
                                                   const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 8);
  if (options.add_special_tokens) ids = parts_.prefix;
  WEFT_RETURN_IF_ERROR(AppendText(text, options.parse_special_tokens, &ids));
  if (options.add_special_tokens) Append(parts_.suffix, &ids);
  return ids;
}

Result<EncodedText> TextTokenizer::EncodeTruncated(std::string_view text,
                                                   const EncodeOptions& options,
                                                   const Truncation& truncation) const {
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
  if (options.add_special_tokens) {
    prefix = parts_.prefix;
    suffix = parts_.suffix;
  }
  std::vector<TokenId> text_ids;
  WEFT_RETURN_IF_ERROR(AppendText(text, options.parse_special_tokens, &text_ids));
  EncodedText encoded;
  WEFT_ASSIGN_OR_RETURN(
      encoded.dropped_count,
      Truncate(truncation, std::ssize(prefix) + std::ssize(suffix), &text_ids, nullptr));
  encoded.ids = std::move(prefix);
  Append(text_ids, &encoded.ids);
  Append(suffix, &encoded.ids);
  return encoded;
}

Result<EncodedText> TextTokenizer::EncodePair(std::string_view first, std::string_view second,
                                              const EncodeOptions& options,
                                              const Truncation& truncation) const {
  if (!parts_.pair) return tl::unexpected(parts_.pair.error());
  PairLayout layout = *parts_.pair;
  if (!options.add_special_tokens) {
    layout.before.clear();
    layout.between.clear();
    layout.after.clear();
    if (layout.second_type) layout.second_type = 0;
  }
  std::vector<TokenId> first_ids;
  std::vector<TokenId> second_ids;
  WEFT_RETURN_IF_ERROR(AppendText(first, options.parse_special_tokens, &first_ids));
  WEFT_RETURN_IF_ERROR(AppendText(second, options.parse_special_tokens, &second_ids));
  const int64_t special_count =
      std::ssize(layout.before) + std::ssize(layout.between) + std::ssize(layout.after);
  EncodedText encoded;
  WEFT_ASSIGN_OR_RETURN(encoded.dropped_count,
                        Truncate(truncation, special_count, &first_ids, &second_ids));
  encoded.ids = std::move(layout.before);
  Append(first_ids, &encoded.ids);
  if (layout.second_type) {
    encoded.second_text = static_cast<int32_t>(encoded.ids.size() + *layout.second_type);
  }
  Append(layout.between, &encoded.ids);
  Append(second_ids, &encoded.ids);
  Append(layout.after, &encoded.ids);
  return encoded;
}

Result<void> TextTokenizer::AppendText(std::string_view text, bool parse_special_tokens,
                                       std::vector<TokenId>* ids) const {
  Scratch scratch;
  scratch.piece.cache.Reset(text.size());
  scratch.match_control = parse_special_tokens;
  const size_t max_normalized_bytes = MaxNormalizedBytes(text.size());
  scratch.normalized_bytes_left = max_normalized_bytes;
  for (auto [segment, token] : parts_.raw_specials.Split(text, scratch.match_control)) {
    if (parts_.unknown_code && parse_special_tokens) TakeCode(&segment, ids);
    if (!EncodeSegment(segment, &scratch, ids)) {
      return Fail(ErrorCode::kResourceExhausted,
                  "the model's normalizer makes more than {} bytes of the {} bytes of this text",
                  max_normalized_bytes, text.size());
    }
    if (token == nullptr) continue;
    ids->push_back(token->id);
    scratch.at_text_start = false;
  }
  return {};
}

void TextTokenizer::TakeCode(std::string_view* text, std::vector<TokenId>* ids) const {
  if (!text->starts_with(">>")) return;
  const size_t end = text->find("<<");
  if (end == std::string_view::npos) return;
  const std::string_view code = text->substr(0, end + 2);
  ids->push_back(TokenOf(code).value_or(*parts_.unknown_code));
  text->remove_prefix(code.size());
}

bool TextTokenizer::EncodeSegment(std::string_view segment, Scratch* scratch,
                                  std::vector<TokenId>* ids) const {
  for (size_t offset = 0; offset < segment.size();) {
    const std::string_view rest = segment.substr(offset);
    const size_t valid_bytes = ValidUtf8Prefix(rest);
    if (valid_bytes > 0) {
      if (!EncodeValid(rest.substr(0, valid_bytes), offset == 0, scratch, ids)) return false;
      offset += valid_bytes;
    } else {
      parts_.model->EncodeInvalidByte(rest[0], &scratch->piece, ids);
      ++offset;
    }
    scratch->at_text_start = false;
  }
  return true;
}

bool TextTokenizer::EncodeValid(std::string_view text, bool begins_segment, Scratch* scratch,
                                std::vector<TokenId>* ids) const {
  std::optional<std::string> normalized;
  if (!parts_.normalizer.empty()) {
    normalized = parts_.normalizer.Apply(text, begins_segment, scratch->normalized_bytes_left);
    if (!normalized) return false;
    text = *normalized;
    scratch->normalized_bytes_left -= text.size();
  }
  if (parts_.normalized_specials.empty()) {
    EncodePieces(text, scratch, ids);
    return true;
  }
  for (const auto& [segment, token] :
       parts_.normalized_specials.Split(text, scratch->match_control)) {
    EncodePieces(segment, scratch, ids);
    if (token != nullptr) ids->push_back(token->id);
    scratch->at_text_start = false;
  }
  return true;
}

void TextTokenizer::EncodePieces(std::string_view normalized, Scratch* scratch,
                                 std::vector<TokenId>* ids) const {
  parts_.pre_tokenizer.Split(normalized, scratch->at_text_start, &scratch->pre_tokenize,
                             &scratch->pieces);
  for (const std::string_view piece : scratch->pieces) {
    parts_.model->Encode(piece, &scratch->piece, ids);
  }
}

std::string TextTokenizer::Decode(const std::vector<TokenId>& ids, bool keep_special_tokens) const {
  std::string text;
  LeadingSpaces spaces = leading_spaces();
  for (const TokenId id : ids) {
    text += spaces.Strip(keep_special_tokens && IsControl(id) ? TokenText(id) : TokenBytes(id));
  }
  return text;
}

}  // namespace

std::shared_ptr<const Tokenizer> MakeTokenizer(TokenizerParts parts) {
  return std::make_shared<TextTokenizer>(std::move(parts));
}

PairLayout PairOfSingles(const TokenizerParts& parts) {
  PairLayout pair = {.before = parts.prefix,
                     .between = parts.suffix,
                     .after = parts.suffix,
                     .second_type = parts.suffix.size()};
  Append(parts.prefix, &pair.between);
  return pair;
}

EndOfTurnTexts::EndOfTurnTexts(const std::vector<Token>& tokens) {
  const auto has = [&](std::string_view text) {
    return std::ranges::find(tokens, text, &Token::text) != tokens.end();
  };
  has_messages_ = (has("<|return|>") && has("<|call|>")) || (has("<|flush|>") && has("<|calls|>"));
  has_html_ = has("<eos>");
}

bool EndOfTurnTexts::Contains(std::string_view text) const {
  if (has_messages_ && text == "<|end|>") return false;
  if (has_html_ && text == "</s>") return false;
  return std::ranges::find(kEndOfTurnTexts, text) != kEndOfTurnTexts.end();
}

std::vector<TokenId> EndTokens(const Vocabulary& vocabulary, std::vector<TokenId> declared) {
  const EndOfTurnTexts ends(vocabulary.tokens());
  for (size_t i = 0; i < vocabulary.tokens().size(); ++i) {
    const Token& token = vocabulary.tokens()[i];
    if (token.kind != TokenKind::kControl && token.kind != TokenKind::kUserDefined) continue;
    if (ends.Contains(token.text)) declared.push_back(static_cast<TokenId>(i));
  }
  std::sort(declared.begin(), declared.end());
  declared.erase(std::unique(declared.begin(), declared.end()), declared.end());
  return declared;
}

}  // namespace weft
