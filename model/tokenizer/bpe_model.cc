#include "model/tokenizer/bpe_model.h"

#include <algorithm>

#include "base/check.h"
#include "base/quoted.h"
#include "base/utf8.h"

namespace weft {
namespace {

// A character without symbol travels through the merges as a negative id.
constexpr TokenId UnknownCharacter(char32_t character) {
  return -2 - static_cast<TokenId>(character);
}
constexpr char32_t CharacterOf(TokenId unknown) { return static_cast<char32_t>(-2 - unknown); }

// Whether merges may produce it and pieces may become it.
bool IsSpellable(TokenKind kind) {
  return kind == TokenKind::kNormal || kind == TokenKind::kUserDefined ||
         kind == TokenKind::kUnused;
}

// Whether U+2581 stands to the right of another character.
bool HasInnerSpace(std::string_view text) {
  size_t offset = 0;
  while (text.substr(offset).starts_with(kSpaceSymbol)) offset += kSpaceSymbol.size();
  return text.find(kSpaceSymbol, offset) != std::string_view::npos;
}

}  // namespace

BpeModel::BpeModel(std::shared_ptr<const Vocabulary> vocabulary, const BpeOptions& options)
    : vocabulary_(std::move(vocabulary)), options_(options) {
  byte_tokens_.fill(kNoToken);
  ascii_symbols_.fill(kNoToken);
  const bool byte_level = vocabulary_->spelling() == Spelling::kByteLevel;
  const std::vector<Token>& tokens = vocabulary_->tokens();
  // Backwards, so that of several tokens with one spelling the lowest id remains.
  for (size_t i = tokens.size(); i-- > 0;) {
    const TokenId id = static_cast<TokenId>(i);
    const Token& token = tokens[i];
    if (!byte_level) {
      const std::optional<uint8_t> byte = ByteOfFallbackSpelling(token.text);
      if (byte) byte_tokens_[*byte] = id;
    }
    if (token.text.empty() || !IsSpellable(token.kind)) continue;
    if (options_.ignore_merges) {
      whole_pieces_[byte_level ? vocabulary_->Bytes(id) : token.text] = id;
    }
    const Utf8Character first = DecodeUtf8(token.text, 0);
    if (first.status != Utf8Status::kValid || first.size_bytes != token.text.size()) continue;
    if (byte_level) {
      // A user-defined token is its literal text, not a byte.
      const std::optional<uint8_t> byte = ByteOfByteLevelCharacter(first.code_point);
      if (byte && token.kind != TokenKind::kUserDefined) byte_tokens_[*byte] = id;
    } else {
      character_symbols_[first.code_point] = id;
      if (first.code_point < ascii_symbols_.size()) ascii_symbols_[first.code_point] = id;
    }
  }
  cut_at_spaces_ = !byte_level && !options_.ignore_merges && SymbolOf(U'\u2581') >= 0;
}

void BpeModel::ForbidCutsIfMergesCross(std::string_view merged) {
  if (cut_at_spaces_ && HasInnerSpace(merged)) cut_at_spaces_ = false;
}

Result<std::unique_ptr<BpeModel>> BpeModel::FromMerges(
    std::shared_ptr<const Vocabulary> vocabulary,
    const std::vector<std::pair<std::string_view, std::string_view>>& merges,
    const BpeOptions& options, const std::string& source) {
  std::unique_ptr<BpeModel> model(new BpeModel(std::move(vocabulary), options));
  model->merges_ = MergeTable(merges.size());
  std::string merged;
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    merged.assign(left).append(right);
    // Trimmed vocabularies keep merges that make no token any more: they never apply.
    if (!model->vocabulary_->Find(merged)) continue;
    TokenId ids[3];
    const std::string_view texts[3] = {left, right, merged};
    for (int part = 0; part < 3; ++part) {
      const std::optional<TokenId> id = model->vocabulary_->Find(texts[part]);
      if (!id) {
        return Fail(ErrorCode::kCorrupt,
                    "{}: merge {} of {} and {} names {}, which is not in the vocabulary", source, i,
                    Quoted(left), Quoted(right), Quoted(texts[part]));
      }
      ids[part] = *id;
    }
    model->merges_.Insert(ids[0], ids[1], {static_cast<uint32_t>(i), ids[2]});
    model->ForbidCutsIfMergesCross(merged);
  }
  return model;
}

std::unique_ptr<BpeModel> BpeModel::FromScores(std::shared_ptr<const Vocabulary> vocabulary,
                                               const std::vector<float>& scores,
                                               const BpeOptions& options) {
  std::unique_ptr<BpeModel> model(new BpeModel(std::move(vocabulary), options));
  const std::vector<Token>& tokens = model->vocabulary_->tokens();
  WEFT_CHECK(scores.size() == tokens.size());

  // Ranks: equal scores share one, so that the leftmost of them merges first.
  std::vector<TokenId> by_score;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].text.empty() && IsSpellable(tokens[i].kind) &&
        ValidUtf8Prefix(tokens[i].text) == tokens[i].text.size()) {
      by_score.push_back(static_cast<TokenId>(i));
    }
  }
  const auto score = [&](TokenId id) { return scores[static_cast<size_t>(id)]; };
  std::stable_sort(by_score.begin(), by_score.end(),
                   [&](TokenId a, TokenId b) { return score(a) > score(b); });

  // The symbol of a part of a token: the token of that spelling, or a character of its own.
  const auto symbol_of_part = [&](std::string_view part) {
    const std::optional<TokenId> id = model->vocabulary_->Find(part);
    if (id && IsSpellable(model->vocabulary_->Kind(*id))) return *id;
    const Utf8Character character = DecodeUtf8(part, 0);
    if (character.size_bytes != part.size()) return kNoToken;
    const auto [entry, is_new] = model->character_symbols_.try_emplace(
        character.code_point,
        static_cast<TokenId>(model->vocabulary_->size() +
                             static_cast<int64_t>(model->extra_symbols_.size())));
    if (is_new) {
      model->extra_symbols_.push_back(character.code_point);
      if (character.code_point < 128) model->ascii_symbols_[character.code_point] = entry->second;
    }
    return entry->second;
  };

  uint32_t rank = 0;
  for (size_t i = 0; i < by_score.size(); ++i) {
    const TokenId id = by_score[i];
    if (i > 0 && score(id) != score(by_score[i - 1])) ++rank;
    const std::string_view text = tokens[static_cast<size_t>(id)].text;
    if (model->vocabulary_->Find(text) != id) continue;  // a second token of this spelling
    bool merges = false;
    for (size_t cut = DecodeUtf8(text, 0).size_bytes; cut < text.size();
         cut += DecodeUtf8(text, cut).size_bytes) {
      const TokenId left = symbol_of_part(text.substr(0, cut));
      if (left < 0) continue;
      const TokenId right = symbol_of_part(text.substr(cut));
      if (right < 0) continue;
      model->merges_.Insert(left, right, {rank, id});
      merges = true;
    }
    if (merges) model->ForbidCutsIfMergesCross(text);
  }
  return model;
}

TokenId BpeModel::SymbolOf(char32_t character) const {
  if (character < ascii_symbols_.size()) {
    const TokenId id = ascii_symbols_[character];
    return id >= 0 ? id : UnknownCharacter(character);
  }
  const auto found = character_symbols_.find(character);
  return found == character_symbols_.end() ? UnknownCharacter(character) : found->second;
}

void BpeModel::Encode(std::string_view piece, PieceScratch* scratch,
                      std::vector<TokenId>* ids) const {
  if (!cut_at_spaces_) {
    EncodeWord(piece, scratch, ids);
    return;
  }
  size_t begin = 0;
  while (begin < piece.size()) {
    size_t end = begin;  // behind the word's leading U+2581
    while (piece.substr(end).starts_with(kSpaceSymbol)) end += kSpaceSymbol.size();
    end = std::min(piece.find(kSpaceSymbol, end), piece.size());
    EncodeWord(piece.substr(begin, end - begin), scratch, ids);
    begin = end;
  }
}

void BpeModel::EncodeWord(std::string_view word, PieceScratch* scratch,
                          std::vector<TokenId>* ids) const {
  if (word.empty()) return;
  const std::span<const TokenId> cached = scratch->cache.Find(word);
  if (!cached.empty()) {
    ids->insert(ids->end(), cached.begin(), cached.end());
    return;
  }
  const size_t first = ids->size();
  if (options_.ignore_merges) {
    const auto whole = whole_pieces_.find(word);
    if (whole != whole_pieces_.end()) {
      ids->push_back(whole->second);
      scratch->cache.Insert(word, std::span(*ids).subspan(first));
      return;
    }
  }
  std::vector<TokenId>& symbols = scratch->symbols;
  symbols.clear();
  if (vocabulary_->spelling() == Spelling::kByteLevel) {
    AppendByteSymbols(word, &symbols);
  } else {
    AppendCharacterSymbols(word, &symbols);
  }
  ApplyMerges(merges_, &symbols, &scratch->merge);
  bool after_unknown = false;
  std::string unknown;  // the characters that the last one of `ids` stands for, if finds_unknown
  for (const TokenId symbol : symbols) {
    const bool is_token = symbol >= 0 && symbol < vocabulary_->size();
    if (is_token) {
      FindUnknown(&unknown, ids);
      ids->push_back(symbol);
      after_unknown = false;
      continue;
    }
    const char32_t character =
        symbol < 0 ? CharacterOf(symbol)
                   : extra_symbols_[static_cast<size_t>(symbol - vocabulary_->size())];
    const size_t before = ids->size();
    AppendCharacter(character, ids);
    const bool is_unknown = ids->size() == before + 1 && ids->back() == options_.unknown;
    if (is_unknown && after_unknown && options_.fuse_unknown) ids->pop_back();
    if (is_unknown && options_.finds_unknown) AppendUtf8(character, &unknown);
    after_unknown = is_unknown;
  }
  FindUnknown(&unknown, ids);
  scratch->cache.Insert(word, std::span(*ids).subspan(first));
}

// Where the unknown token that has just been added stands for a text that some token spells.
void BpeModel::FindUnknown(std::string* text, std::vector<TokenId>* ids) const {
  if (text->empty()) return;
  if (const std::optional<TokenId> found = vocabulary_->Find(*text)) ids->back() = *found;
  text->clear();
}

void BpeModel::AppendByteSymbols(std::string_view word, std::vector<TokenId>* symbols) const {
  for (const char c : word) {
    const TokenId id = byte_tokens_[static_cast<uint8_t>(c)];
    if (id >= 0) {
      symbols->push_back(id);
    } else if (options_.unknown) {
      if (options_.fuse_unknown && !symbols->empty() && symbols->back() == options_.unknown) {
        continue;
      }
      symbols->push_back(*options_.unknown);
    }
  }
}

void BpeModel::AppendCharacterSymbols(std::string_view word, std::vector<TokenId>* symbols) const {
  for (size_t offset = 0; offset < word.size();) {
    const Utf8Character character = DecodeUtf8(word, offset);
    symbols->push_back(SymbolOf(character.code_point));
    offset += character.size_bytes;
  }
}

// A character that is no token: its bytes if the vocabulary has them all, otherwise unknown.
void BpeModel::AppendCharacter(char32_t character, std::vector<TokenId>* ids) const {
  if (options_.byte_fallback) {
    std::string bytes;
    AppendUtf8(character, &bytes);
    const auto token_of = [&](char byte) { return byte_tokens_[static_cast<uint8_t>(byte)]; };
    if (std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return token_of(byte) >= 0; })) {
      for (const char byte : bytes) ids->push_back(token_of(byte));
      return;
    }
  }
  if (options_.unknown) ids->push_back(*options_.unknown);
}

void BpeModel::EncodeInvalidByte(char byte, PieceScratch* scratch,
                                 std::vector<TokenId>* ids) const {
  const TokenId id = byte_tokens_[static_cast<uint8_t>(byte)];
  const bool usable = vocabulary_->spelling() == Spelling::kByteLevel || options_.byte_fallback;
  if (usable && id >= 0) {
    ids->push_back(id);
  } else {
    EncodeWord(kReplacementCharacter, scratch, ids);
  }
}

}  // namespace weft
