// What happens to text before it is cut into pieces: Unicode forms, SentencePiece's spaces, ...
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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
// SentencePiece's precompiled_charsmap: a double-array trie of rewritings, longest match first.
// Refused if its sizes contradict each other.
Result<std::unique_ptr<NormalizerStep>> MakeCharacterMapStep(std::string_view precompiled);

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
