// Cuts normalised text into the pieces that byte-pair encoding never merges across. The stages are
// those of Hugging Face's tokenizer.json, and GGUF's named pre-tokenizers are made of them too.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/regex.h"

namespace weft {

// What becomes of the spans that a Split stage matches.
enum class SplitBehavior {
  kIsolated,            // a piece each
  kRemoved,             // dropped
  kMergedWithPrevious,  // appended to the piece before
  kMergedWithNext,      // prepended to the piece after
  kContiguous,          // neighbouring matches make one piece
};

enum class PrependScheme { kNever, kFirst, kAlways };

// One call's working memory; one thread.
struct PreTokenizeScratch {
  struct Span {
    size_t begin;
    size_t end;
    bool is_match;
  };
  RegexScratch regex;
  std::string subject;  // of a regular expression, where it is not the piece itself
  std::vector<Span> spans;
  std::vector<std::string_view> pieces;
  std::deque<std::string> storage;  // of pieces that are not parts of the input
  bool at_text_start = false;       // whether the next piece begins the whole text
};

class PreTokenizerStage {
 public:
  virtual ~PreTokenizerStage() = default;
  // Appends the parts of `piece` (valid UTF-8, not empty), none of them empty. They view `piece` or
  // scratch->storage.
  virtual void Apply(std::string_view piece, PreTokenizeScratch* scratch,
                     std::vector<std::string_view>* parts) const = 0;
};

std::unique_ptr<PreTokenizerStage> MakeLiteralStage(std::string literal, SplitBehavior behavior,
                                                    bool invert);
// Each character for which `is_in_class` holds is a match of its own.
std::unique_ptr<PreTokenizerStage> MakeCharacterStage(bool (*is_in_class)(char32_t),
                                                      SplitBehavior behavior);
// Puts a space before a piece that does not begin with one.
std::unique_ptr<PreTokenizerStage> MakePrefixSpaceStage();
// Spells each byte as its byte-level character, for stages that look at that spelling.
std::unique_ptr<PreTokenizerStage> MakeByteLevelSpellingStage();
// Spaces become `replacement`, which is prepended as the scheme says; cut before each if `split`.
std::unique_ptr<PreTokenizerStage> MakeMetaspaceStage(std::string replacement, PrependScheme scheme,
                                                      bool split);

// GPT-2's pattern, which Hugging Face's ByteLevel applies.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// What tokenizers of tiktoken have no file for: Qwen's pattern, which Hunyuan's is too, and Kimi's.
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kKimiK2Pattern =
    R"([\p{Han}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Immutable after construction.
class PreTokenizer {
 public:
  PreTokenizer() = default;  // the text is one piece
  void Add(std::unique_ptr<PreTokenizerStage> stage) { stages_.push_back(std::move(stage)); }
  Result<void> AddRegex(std::string_view pattern, SplitBehavior behavior = SplitBehavior::kIsolated,
                        bool invert = false);
  // The pieces are byte-level spellings (MakeByteLevelSpellingStage) and shall come out as bytes.
  void set_spells_bytes() { spells_bytes_ = true; }

  // Replaces *pieces by the pieces of `text`, valid UTF-8. They view `text` or scratch->storage,
  // and are good until the next call. `at_text_start`: nothing comes before `text`.
  void Split(std::string_view text, bool at_text_start, PreTokenizeScratch* scratch,
             std::vector<std::string_view>* pieces) const;

 private:
  std::vector<std::unique_ptr<PreTokenizerStage>> stages_;
  bool spells_bytes_ = false;
};

// BERT's: cuts at white space, which goes, and around each punctuation mark.
void AddBertStages(PreTokenizer* pre_tokenizer);

// The pre-tokenizer that GGUF calls `name` (tokenizer.ggml.pre), byte-level.
struct NamedPreTokenizer {
  PreTokenizer pre_tokenizer;
  bool ignore_merges = false;
  bool adds_bos = false;  // unless the file says otherwise
};
Result<NamedPreTokenizer> MakeNamedPreTokenizer(std::string_view name);

}  // namespace weft
