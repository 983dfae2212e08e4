#include "model/tokenizer/unigram_model.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace weft {

// Takes the tokens of the best way in their order. Neighbouring unknown characters are one unknown
// token, or all of their bytes.
class UnigramModel::Output {
 public:
  Output(const UnigramModel& model, std::string_view piece, PieceScratch* scratch,
         std::vector<TokenId>* ids)
      : model_(model), piece_(piece), scratch_(*scratch), ids_(*ids) {}

  // The way that scratch.steps describe, which is the text's from offset `begin` on.
  void Take(size_t begin) {
    const std::vector<UnigramStep>& steps = scratch_.steps;
    std::vector<size_t>& ends = scratch_.ends;
    ends.clear();
    for (size_t end = steps.size() - 1; end > 0; end -= steps[end].size_bytes) {
      WEFT_CHECK(steps[end].size_bytes > 0 && steps[end].size_bytes <= end);
      ends.push_back(end);
    }
    for (size_t i = ends.size(); i-- > 0;) {
      const UnigramStep& step = steps[ends[i]];
      const size_t end = begin + ends[i];
      TakeToken(step.id, end - step.size_bytes, end);
    }
  }

  void Finish() { EndUnknown(); }

 private:
  void TakeToken(TokenId id, size_t begin, size_t end) {
    if (id == kNoToken || id == model_.options_.unknown) {
      if (unknown_begin_ == unknown_end_) unknown_begin_ = begin;
      unknown_end_ = end;
      return;
    }
    EndUnknown();
    ids_.push_back(id);
  }

  void EndUnknown() {
    const std::string_view bytes = piece_.substr(unknown_begin_, unknown_end_ - unknown_begin_);
    if (bytes.empty()) return;
    if (model_.HasByteTokens(bytes)) {
      for (const char byte : bytes) {
        ids_.push_back(model_.byte_tokens_[static_cast<uint8_t>(byte)]);
      }
    } else if (const std::optional<TokenId> id = model_.UnknownTokenOf(bytes)) {
      ids_.push_back(*id);
    }
    unknown_begin_ = unknown_end_;
  }

  const UnigramModel& model_;
  std::string_view piece_;
  PieceScratch& scratch_;
  std::vector<TokenId>& ids_;
  size_t unknown_begin_ = 0;  // piece_[unknown_begin_, unknown_end_) is unknown and not yet taken
  size_t unknown_end_ = 0;
};

UnigramModel::UnigramModel(std::shared_ptr<const Vocabulary> vocabulary,
                           std::span<const UnigramPiece> pieces, const UnigramOptions& options)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      scores_(vocabulary_->tokens().size(), 0.0) {
  byte_tokens_.fill(kNoToken);
  if (options_.byte_fallback) {
    for (size_t i = 0; i < vocabulary_->tokens().size(); ++i) {
      const std::optional<uint8_t> byte = ByteOfFallbackSpelling(vocabulary_->tokens()[i].text);
      if (byte) byte_tokens_[*byte] = static_cast<TokenId>(i);
    }
  }
  std::vector<ByteTrie::Entry> entries;
  entries.reserve(pieces.size());
  for (size_t i = pieces.size(); i-- > 0;) {  // the trie keeps the first of equal spellings
    const UnigramPiece& piece = pieces[i];
    const std::string_view text = vocabulary_->Text(piece.id);
    if (text.empty() || ValidUtf8Prefix(text) != text.size()) continue;
    entries.push_back({text, piece.id});
    scores_[static_cast<size_t>(piece.id)] = piece.score;
  }
  trie_ = ByteTrie(entries);
}

void UnigramModel::Encode(std::string_view piece, PieceScratch* scratch,
                          std::vector<TokenId>* ids) const {
  if (piece.empty()) return;
  const std::span<const TokenId> cached = scratch->cache.Find(piece);
  if (!cached.empty()) {
    ids->insert(ids->end(), cached.begin(), cached.end());
    return;
  }
  const size_t first = ids->size();
  Output output(*this, piece, scratch, ids);
  // steps[i]: the best way to offset base + i. Where no token goes beyond `begin`, every way comes
  // through here, and what lies before is decided.
  std::vector<UnigramStep>& steps = scratch->steps;
  steps.assign(1, UnigramStep{});
  size_t base = 0;
  for (size_t begin = 0; begin < piece.size();) {
    if (base + steps.size() == begin + 1) {
      output.Take(base);
      steps.front() = {.score = steps.back().score};
      steps.resize(1);
      base = begin;
    }
    AddTokens(piece.substr(begin), begin - base, &steps);
    begin += DecodeUtf8(piece, begin).size_bytes;
  }
  output.Take(base);
  output.Finish();
  scratch->cache.Insert(piece, std::span(*ids).subspan(first));
}

// Offers all tokens that `rest` begins with, and an unknown character if its first one is no token,
// to the steps where they end. steps[at]: the way to `rest`.
void UnigramModel::AddTokens(std::string_view rest, size_t at,
                             std::vector<UnigramStep>* steps) const {
  const double score = (*steps)[at].score;
  const auto step_behind = [&](size_t size_bytes) {
    if (steps->size() <= at + size_bytes) steps->resize(at + size_bytes + 1);
    return &(*steps)[at + size_bytes];
  };
  const size_t character_bytes = DecodeUtf8(rest, 0).size_bytes;
  bool has_character = false;
  uint32_t node = ByteTrie::kRoot;
  for (size_t i = 0; i < rest.size(); ++i) {
    node = trie_.Child(node, static_cast<uint8_t>(rest[i]));
    if (node == ByteTrie::kRoot) break;
    const TokenId id = trie_.Value(node);
    if (id < 0) continue;
    const size_t size_bytes = i + 1;
    Offer(Sum(score, scores_[static_cast<size_t>(id)]), id, size_bytes, step_behind(size_bytes));
    has_character |= size_bytes == character_bytes;
  }
  if (has_character) return;
  Offer(Sum(score, options_.unknown_score), kNoToken, character_bytes,
        step_behind(character_bytes));
}

double UnigramModel::Sum(double a, double b) const {
  return options_.float32_sums ? double{static_cast<float>(a) + static_cast<float>(b)} : a + b;
}

void UnigramModel::Offer(double score, TokenId id, size_t size_bytes, UnigramStep* step) {
  if (step->size_bytes > 0 && score <= step->score) return;
  *step = {.score = score, .id = id, .size_bytes = static_cast<uint32_t>(size_bytes)};
}

bool UnigramModel::HasByteTokens(std::string_view bytes) const {
  return options_.byte_fallback && std::ranges::all_of(bytes, [&](char byte) {
           return byte_tokens_[static_cast<uint8_t>(byte)] >= 0;
         });
}

std::optional<TokenId> UnigramModel::UnknownTokenOf(std::string_view text) const {
  const std::optional<TokenId> found =
      options_.finds_unknown ? vocabulary_->Find(text) : std::nullopt;
  return found ? found : options_.unknown;
}

void UnigramModel::EncodeInvalidByte(char byte, PieceScratch* scratch,
                                     std::vector<TokenId>* ids) const {
  const TokenId id = byte_tokens_[static_cast<uint8_t>(byte)];
  if (id >= 0) {
    ids->push_back(id);
  } else {
    Encode(kReplacementCharacter, scratch, ids);
  }
}

}  // namespace weft
