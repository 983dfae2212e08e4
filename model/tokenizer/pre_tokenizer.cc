#include "model/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/unicode.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {
namespace {

using Span = PreTokenizeScratch::Span;

// Appends the pieces that `behavior` makes of spans that cover `text`.
void AppendPieces(std::string_view text, const std::vector<Span>& spans, SplitBehavior behavior,
                  std::vector<std::string_view>* parts) {
  const size_t first = parts->size();
  bool previous_was_match = false;
  for (const Span& span : spans) {
    if (span.begin == span.end) continue;
    const std::string_view piece = text.substr(span.begin, span.end - span.begin);
    bool joins = false;
    switch (behavior) {
      case SplitBehavior::kIsolated:
        break;
      case SplitBehavior::kRemoved:
        if (span.is_match) continue;
        break;
      case SplitBehavior::kMergedWithPrevious:
        joins = span.is_match && !previous_was_match;
        break;
      case SplitBehavior::kMergedWithNext:
        joins = !span.is_match && previous_was_match;
        break;
      case SplitBehavior::kContiguous:
        joins = span.is_match == previous_was_match;
        break;
    }
    previous_was_match = span.is_match;
    if (joins && parts->size() > first) {
      std::string_view& last = parts->back();
      last = std::string_view(last.data(), last.size() + piece.size());
    } else {
      parts->push_back(piece);
    }
  }
}

// A stage that finds matches and leaves the rest to the behaviour.
class SplitStage : public PreTokenizerStage {
 public:
  SplitStage(SplitBehavior behavior, bool invert) : behavior_(behavior), invert_(invert) {}

  void Apply(std::string_view piece, PreTokenizeScratch* scratch,
             std::vector<std::string_view>* parts) const final {
    std::vector<Span>& spans = scratch->spans;
    spans.clear();
    size_t covered = 0;
    size_t offset = 0;
    const std::string_view subject = Subject(piece, scratch);
    while (offset <= piece.size()) {
      const std::optional<ByteRange> match = FindNext(subject, offset, scratch);
      if (!match) break;
      if (match->begin > covered) spans.push_back({covered, match->begin, invert_});
      if (match->end > match->begin) spans.push_back({match->begin, match->end, !invert_});
      covered = match->end;
      offset = match->end;
      if (match->begin == match->end) {  // an empty match cuts, and the search goes on behind
        if (offset >= piece.size()) break;
        offset += DecodeUtf8(piece, offset).size_bytes;
      }
    }
    if (covered < piece.size()) spans.push_back({covered, piece.size(), invert_});
    AppendPieces(piece, spans, behavior_, parts);
  }

 protected:
  // What is searched instead of the piece, of as many bytes a character.
  virtual std::string_view Subject(std::string_view piece, PreTokenizeScratch*) const {
    return piece;
  }
  virtual std::optional<ByteRange> FindNext(std::string_view text, size_t offset,
                                            PreTokenizeScratch* scratch) const = 0;

 private:
  SplitBehavior behavior_;
  bool invert_;
};

class RegexStage final : public SplitStage {
 public:
  RegexStage(Regex regex, SplitBehavior behavior, bool invert)
      : SplitStage(behavior, invert), regex_(std::move(regex)) {}

 private:
  std::string_view Subject(std::string_view piece, PreTokenizeScratch* scratch) const override {
    return WithStandIns(piece, &scratch->subject);
  }
  std::optional<ByteRange> FindNext(std::string_view text, size_t offset,
                                    PreTokenizeScratch* scratch) const override {
    return regex_.Find(text, offset, &scratch->regex);
  }

  Regex regex_;
};

// \s+$, DeepSeek's: white space up to a line's end. By backtracking it takes quadratic time on a
// long run of spaces that ends elsewhere.
constexpr std::string_view kTrailingSpacePattern = R"(\s+$)";

class TrailingSpaceStage final : public SplitStage {
 public:
  using SplitStage::SplitStage;

 private:
  std::optional<ByteRange> FindNext(std::string_view text, size_t offset,
                                    PreTokenizeScratch*) const override {
    size_t run_begin = offset;  // of the white space that reaches `offset`
    size_t line_end = 0;        // the last one in the run, behind its first character
    while (offset < text.size()) {
      const Utf8Character character = DecodeUtf8(text, offset);
      if (character.code_point == '\n' && offset > run_begin) line_end = offset;
      offset += character.size_bytes;
      if (!IsSpace(character.code_point)) {
        if (line_end > 0) break;
        run_begin = offset;
      } else if (offset == text.size()) {
        line_end = offset;
      }
    }
    if (line_end == 0) return std::nullopt;
    return ByteRange{run_begin, line_end};
  }
};

// Digits in groups of three from the right, as two patterns say it that look ahead over all that
// are left, and so take quadratic time on a long number: SuperBPE's, which cuts before each whole
// group, and Tiny Aya's, which makes a piece of each group of a number that no word character
// follows.
constexpr std::string_view kGroupsPattern = R"((?=(\d{3})+(?!\d)))";
constexpr std::string_view kGroupPiecesPattern = R"(\d{1,3}(?=(?:\d{3})*\b))";

class DigitGroupsStage final : public PreTokenizerStage {
 public:
  explicit DigitGroupsStage(bool makes_pieces) : makes_pieces_(makes_pieces) {}

  void Apply(std::string_view piece, PreTokenizeScratch* scratch,
             std::vector<std::string_view>* parts) const override {
    size_t begin = 0;  // of the part that has not ended yet
    const auto cut_at = [&](size_t offset) {
      if (offset > begin) parts->push_back(piece.substr(begin, offset - begin));
      begin = offset;
    };
    std::vector<Span>& digits = scratch->spans;
    for (size_t offset = 0; offset < piece.size();) {
      digits.clear();
      Utf8Character next = DecodeUtf8(piece, offset);
      while (offset < piece.size() && IsDecimalDigit(next.code_point)) {
        digits.push_back({offset, offset + next.size_bytes, true});
        offset += next.size_bytes;
        if (offset < piece.size()) next = DecodeUtf8(piece, offset);
      }
      const bool in_word = offset < piece.size() && IsOnigurumaWord(next.code_point);
      if (!digits.empty() && !(makes_pieces_ && in_word)) {
        if (makes_pieces_) cut_at(digits.front().begin);
        for (size_t i = digits.size() % 3; i < digits.size(); i += 3) cut_at(digits[i].begin);
        if (makes_pieces_) cut_at(offset);
      }
      if (offset < piece.size()) offset += next.size_bytes;
    }
    cut_at(piece.size());
  }

 private:
  // \w, as a regular expression of a tokenizer's file means it.
  static bool IsOnigurumaWord(char32_t c) {
    const bool is_latin_number = c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0xBC && c <= 0xBE);
    const bool is_joiner = c == 0x200C || c == 0x200D;
    return is_latin_number || (IsWordCharacter(c) && !is_joiner);
  }

  bool makes_pieces_;
};

class LiteralStage final : public SplitStage {
 public:
  LiteralStage(std::string literal, SplitBehavior behavior, bool invert)
      : SplitStage(behavior, invert), literal_(std::move(literal)) {}

 private:
  std::optional<ByteRange> FindNext(std::string_view text, size_t offset,
                                    PreTokenizeScratch*) const override {
    const size_t found = text.find(literal_, offset);
    if (literal_.empty() || found == std::string_view::npos) return std::nullopt;
    return ByteRange{found, found + literal_.size()};
  }

  std::string literal_;
};

class CharacterStage final : public SplitStage {
 public:
  CharacterStage(bool (*is_in_class)(char32_t), SplitBehavior behavior)
      : SplitStage(behavior, false), is_in_class_(is_in_class) {}

 private:
  std::optional<ByteRange> FindNext(std::string_view text, size_t offset,
                                    PreTokenizeScratch*) const override {
    while (offset < text.size()) {
      const Utf8Character character = DecodeUtf8(text, offset);
      if (is_in_class_(character.code_point)) {
        return ByteRange{offset, offset + character.size_bytes};
      }
      offset += character.size_bytes;
    }
    return std::nullopt;
  }

  bool (*is_in_class_)(char32_t);
};

class PrefixSpaceStage final : public PreTokenizerStage {
 public:
  void Apply(std::string_view piece, PreTokenizeScratch* scratch,
             std::vector<std::string_view>* parts) const override {
    if (piece.starts_with(' ')) {
      parts->push_back(piece);
    } else {
      parts->push_back(scratch->storage.emplace_back(" ").append(piece));
    }
  }
};

class ByteLevelSpellingStage final : public PreTokenizerStage {
 public:
  void Apply(std::string_view piece, PreTokenizeScratch* scratch,
             std::vector<std::string_view>* parts) const override {
    parts->push_back(scratch->storage.emplace_back(ToByteLevel(piece)));
  }
};

class MetaspaceStage final : public PreTokenizerStage {
 public:
  MetaspaceStage(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme), split_(split) {}

  void Apply(std::string_view piece, PreTokenizeScratch* scratch,
             std::vector<std::string_view>* parts) const override {
    std::string& text = scratch->storage.emplace_back();
    text.reserve(piece.size() + piece.size() / 2);
    const bool may_prepend = scheme_ == PrependScheme::kAlways ||
                             (scheme_ == PrependScheme::kFirst && scratch->at_text_start);
    if (may_prepend && !piece.starts_with(' ') && !piece.starts_with(replacement_)) {
      text += replacement_;
    }
    for (const char c : piece) {
      if (c == ' ') {
        text += replacement_;
      } else {
        text += c;
      }
    }
    if (!split_) {
      parts->push_back(text);
      return;
    }
    const std::string_view view = text;
    size_t begin = 0;
    while (begin < view.size()) {  // each replacement begins a piece
      const size_t end = std::min(view.find(replacement_, begin + 1), view.size());
      parts->push_back(view.substr(begin, end - begin));
      begin = end;
    }
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace

std::unique_ptr<PreTokenizerStage> MakeLiteralStage(std::string literal, SplitBehavior behavior,
                                                    bool invert) {
  return std::make_unique<LiteralStage>(std::move(literal), behavior, invert);
}

std::unique_ptr<PreTokenizerStage> MakeCharacterStage(bool (*is_in_class)(char32_t),
                                                      SplitBehavior behavior) {
  return std::make_unique<CharacterStage>(is_in_class, behavior);
}

std::unique_ptr<PreTokenizerStage> MakePrefixSpaceStage() {
  return std::make_unique<PrefixSpaceStage>();
}

std::unique_ptr<PreTokenizerStage> MakeByteLevelSpellingStage() {
  return std::make_unique<ByteLevelSpellingStage>();
}

std::unique_ptr<PreTokenizerStage> MakeMetaspaceStage(std::string replacement, PrependScheme scheme,
                                                      bool split) {
  return std::make_unique<MetaspaceStage>(std::move(replacement), scheme, split);
}

Result<void> PreTokenizer::AddRegex(std::string_view pattern, SplitBehavior behavior, bool invert) {
  if (pattern == kTrailingSpacePattern) {
    Add(std::make_unique<TrailingSpaceStage>(behavior, invert));
    return {};
  }
  const bool is_isolated = behavior == SplitBehavior::kIsolated && !invert;
  if (is_isolated && (pattern == kGroupsPattern || pattern == kGroupPiecesPattern)) {
    Add(std::make_unique<DigitGroupsStage>(pattern == kGroupPiecesPattern));
    return {};
  }
  WEFT_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(pattern));
  Add(std::make_unique<RegexStage>(std::move(regex), behavior, invert));
  return {};
}

void AddBertStages(PreTokenizer* pre_tokenizer) {
  pre_tokenizer->Add(MakeCharacterStage(IsSpace, SplitBehavior::kRemoved));
  pre_tokenizer->Add(MakeCharacterStage(IsPunctuation, SplitBehavior::kIsolated));
}

void PreTokenizer::Split(std::string_view text, bool at_text_start, PreTokenizeScratch* scratch,
                         std::vector<std::string_view>* pieces) const {
  scratch->storage.clear();
  pieces->clear();
  if (text.empty()) return;
  pieces->push_back(text);
  for (const auto& stage : stages_) {
    scratch->pieces.swap(*pieces);
    pieces->clear();
    scratch->at_text_start = at_text_start;
    for (const std::string_view piece : scratch->pieces) {
      stage->Apply(piece, scratch, pieces);
      scratch->at_text_start = false;
    }
  }
  if (!spells_bytes_) return;
  for (std::string_view& piece : *pieces) {
    piece = scratch->storage.emplace_back(FromByteLevel(piece));
  }
}

}  // namespace weft
