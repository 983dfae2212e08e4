// What happens to text before it is cut into pieces: Unicode forms, SentencePiece's spaces, ...
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/character_map.h"
#include "model/tokenizer/regex.h"
#include "model/tokenizer/unicode.h"

namespace weft {

class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  // `text` is valid UTF-8 and so is the result. `begins_segment` is false where the text continues
  // a segment that was cut at bytes that are not UTF-8. A step that may multiply the text stops
  // where it would be longer than `max_bytes`: nothing.
  virtual std::optional<std::string> Apply(std::string text, bool begins_segment,
                                           size_t max_bytes) const = 0;
};

std::unique_ptr<NormalizerStep> MakePrependStep(std::string prefix);  // to text that is not empty
std::unique_ptr<NormalizerStep> MakeReplaceStep(std::string literal, std::string replacement);
std::unique_ptr<NormalizerStep> MakeReplaceStep(Regex pattern, std::string replacement);
std::unique_ptr<NormalizerStep> MakeFormStep(NormalizationForm form);
std::unique_ptr<NormalizerStep> MakeLowercaseStep();
std::unique_ptr<NormalizerStep> MakeStripStep(bool left, bool right);  // white space
// SentencePiece's remove_extra_whitespaces: no space at the ends, one between words (U+0020 only).
std::unique_ptr<NormalizerStep> MakeCollapseSpacesStep();
std::unique_ptr<NormalizerStep> MakeStripAccentsStep();  // marks go; for decomposed text
std::unique_ptr<NormalizerStep> MakeNmtStep();  // SentencePiece's rules for control characters

// The whole of SentencePiece's normalizer, NormalizerSpec in its files.
struct SentencePieceSpec {
  CharacterMap character_map;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  std::vector<std::string> user_defined = {};  // spellings that stay as they are; none empty
};
// Its result has U+2581 for spaces.
std::unique_ptr<NormalizerStep> MakeSentencePieceStep(SentencePieceSpec spec);
// tokenizer.json's Precompiled, which differs: the map sees a grapheme of less than six bytes, or
// else one character, at a time, and all of it becomes what the shortest rule makes of its
// beginning.
std::unique_ptr<NormalizerStep> MakePrecompiledStep(CharacterMap map);

// tokenizer.json's BertNormalizer.
struct BertNormalizerOptions {
  bool clean_text = true;            // control characters go, white space becomes U+0020
  bool handle_chinese_chars = true;  // spaces around each character of the CJK blocks
  bool strip_accents = true;         // decomposes (NFD) and drops non-spacing marks
  bool lowercase = true;
};
std::unique_ptr<NormalizerStep> MakeBertStep(const BertNormalizerOptions& options);

// Immutable after construction. The steps come from an untrusted file.
class Normalizer {
 public:
  static constexpr size_t kMaxSteps = 64;  // no known model has ten

  void Add(std::unique_ptr<NormalizerStep> step) { steps_.push_back(std::move(step)); }
  bool empty() const { return steps_.empty(); }
  size_t step_count() const { return steps_.size(); }
  // Nothing if a step makes more than `max_bytes` of the text.
  std::optional<std::string> Apply(std::string_view text, bool begins_segment,
                                   size_t max_bytes) const;

 private:
  std::vector<std::unique_ptr<NormalizerStep>> steps_;
};

}  // namespace weft
