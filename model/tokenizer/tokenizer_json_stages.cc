// The normalizer and pre_tokenizer sections of tokenizer.json.
#include <array>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/unicode.h"

namespace weft {
namespace {

// \w+|[^\w\s]+ with the \w of Rust's regex, which joiners belong to.
constexpr std::string_view kWordsOrMarks =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+)"
    R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";

tl::unexpected<Error> Unsupported(const JsonView& section, std::string_view type) {
  return Fail(ErrorCode::kUnsupported, "{}: {} is not supported", section.where(), Quoted(type));
}

// A pattern is {"String": "..."} or {"Regex": "..."}.
struct Pattern {
  std::string_view text;
  bool is_regex = false;
};

Result<Pattern> ReadPattern(const JsonView& section) {
  const JsonView regex = section["Regex"];
  WEFT_ASSIGN_OR_RETURN(const std::string_view text,
                        regex.is_null() ? section["String"].String() : regex.String());
  return Pattern{text, !regex.is_null()};
}

Result<void> AddReplace(const JsonView& section, Normalizer* normalizer) {
  WEFT_ASSIGN_OR_RETURN(const Pattern pattern, ReadPattern(section["pattern"]));
  WEFT_ASSIGN_OR_RETURN(const std::string_view content, section["content"].String());
  if (!pattern.is_regex) {
    normalizer->Add(MakeReplaceStep(std::string(pattern.text), std::string(content)));
    return {};
  }
  Result<Regex> regex = Regex::Compile(pattern.text);
  if (!regex) return Fail(regex.error().code, "{}: {}", section.where(), regex.error().message);
  normalizer->Add(MakeReplaceStep(std::move(*regex), std::string(content)));
  return {};
}

Result<void> AddPrecompiled(const JsonView& section, Normalizer* normalizer) {
  const JsonView blob = section["precompiled_charsmap"];
  // A tokenizer without a map: "" in some files, null in others.
  WEFT_ASSIGN_OR_RETURN(const std::string_view text, blob.StringOr(""));
  if (text.empty()) return {};
  const std::optional<std::string> bytes = DecodeBase64(text);
  if (!bytes) return Fail(ErrorCode::kCorrupt, "{} is not base64", blob.where());
  Result<CharacterMap> map = CharacterMap::Parse(*bytes);
  if (!map) return Fail(map.error().code, "{}: {}", section.where(), map.error().message);
  normalizer->Add(MakePrecompiledStep(*std::move(map)));
  return {};
}

Result<void> AddBert(const JsonView& section, Normalizer* normalizer) {
  BertNormalizerOptions options;
  WEFT_ASSIGN_OR_RETURN(options.clean_text, section["clean_text"].BoolOr(true));
  WEFT_ASSIGN_OR_RETURN(options.handle_chinese_chars, section["handle_chinese_chars"].BoolOr(true));
  WEFT_ASSIGN_OR_RETURN(options.lowercase, section["lowercase"].BoolOr(true));
  WEFT_ASSIGN_OR_RETURN(options.strip_accents, section["strip_accents"].BoolOr(options.lowercase));
  normalizer->Add(MakeBertStep(options));
  return {};
}

Result<void> AddNormalizer(const JsonView& section, int nesting, Normalizer* normalizer) {
  if (normalizer->step_count() == Normalizer::kMaxSteps) {
    return Fail(ErrorCode::kUnsupported, "{}: the normalizer has more than {} steps",
                section.where(), Normalizer::kMaxSteps);
  }
  WEFT_ASSIGN_OR_RETURN(const std::string_view type, section["type"].String());
  if (type == "Sequence") {
    if (nesting == kMaxSectionNesting)
      return Unsupported(section, "Sequence nested more than 16 deep");
    const JsonView steps = section["normalizers"];
    WEFT_RETURN_IF_ERROR(steps.ExpectArray());
    for (size_t i = 0; i < steps.value().size(); ++i) {
      WEFT_RETURN_IF_ERROR(AddNormalizer(steps.Element(i), nesting + 1, normalizer));
    }
    return {};
  }
  if (type == "Replace") return AddReplace(section, normalizer);
  if (type == "Precompiled") return AddPrecompiled(section, normalizer);
  if (type == "BertNormalizer") return AddBert(section, normalizer);
  if (type == "Prepend") {
    WEFT_ASSIGN_OR_RETURN(const std::string_view prefix, section["prepend"].String());
    normalizer->Add(MakePrependStep(std::string(prefix)));
  } else if (type == "NFC") {
    normalizer->Add(MakeFormStep(NormalizationForm::kNfc));
  } else if (type == "NFD") {
    normalizer->Add(MakeFormStep(NormalizationForm::kNfd));
  } else if (type == "NFKC") {
    normalizer->Add(MakeFormStep(NormalizationForm::kNfkc));
  } else if (type == "NFKD") {
    normalizer->Add(MakeFormStep(NormalizationForm::kNfkd));
  } else if (type == "Lowercase") {
    normalizer->Add(MakeLowercaseStep());
  } else if (type == "StripAccents") {
    normalizer->Add(MakeStripAccentsStep());
  } else if (type == "Nmt") {
    normalizer->Add(MakeNmtStep());
  } else if (type == "Strip") {
    WEFT_ASSIGN_OR_RETURN(const bool left, section["strip_left"].BoolOr(true));
    WEFT_ASSIGN_OR_RETURN(const bool right, section["strip_right"].BoolOr(true));
    normalizer->Add(MakeStripStep(left, right));
  } else {
    return Unsupported(section, type);
  }
  return {};
}

Result<SplitBehavior> ReadBehavior(const JsonView& section) {
  struct Name {
    std::string_view name;
    SplitBehavior behavior;
  };
  constexpr auto kNames = std::to_array<Name>({
      {"Isolated", SplitBehavior::kIsolated},
      {"Removed", SplitBehavior::kRemoved},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  });
  WEFT_ASSIGN_OR_RETURN(const std::string_view found, section.StringOr("Isolated"));
  for (const Name& candidate : kNames) {
    if (candidate.name == found) return candidate.behavior;
  }
  return Unsupported(section, found);
}

class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(PreTokenizerSection* result) : result_(*result) {}

  Result<void> Add(const JsonView& section, int nesting, bool is_last);

 private:
  Result<void> AddSequence(const JsonView& section, int nesting, bool is_last);
  Result<void> AddSplit(const JsonView& section);
  Result<void> AddByteLevel(const JsonView& section, bool is_last);
  Result<void> AddMetaspace(const JsonView& section);

  PreTokenizerSection& result_;
};

Result<void> PreTokenizerReader::Add(const JsonView& section, int nesting, bool is_last) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view type, section["type"].String());
  PreTokenizer& pre_tokenizer = result_.pre_tokenizer;
  if (type == "Sequence") return AddSequence(section, nesting, is_last);
  if (type == "Split") return AddSplit(section);
  if (type == "ByteLevel") return AddByteLevel(section, is_last);
  if (type == "Metaspace") return AddMetaspace(section);
  if (type == "Digits") {
    WEFT_ASSIGN_OR_RETURN(const bool individual, section["individual_digits"].BoolOr(false));
    pre_tokenizer.Add(MakeCharacterStage(
        IsNumeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
  } else if (type == "Punctuation") {
    WEFT_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(section["behavior"]));
    pre_tokenizer.Add(MakeCharacterStage(IsPunctuation, behavior));
  } else if (type == "WhitespaceSplit") {
    pre_tokenizer.Add(MakeCharacterStage(IsSpace, SplitBehavior::kRemoved));
  } else if (type == "BertPreTokenizer") {
    AddBertStages(&pre_tokenizer);
  } else if (type == "Whitespace") {
    return pre_tokenizer.AddRegex(kWordsOrMarks, SplitBehavior::kRemoved, true);
  } else {
    return Unsupported(section, type);
  }
  return {};
}

Result<void> PreTokenizerReader::AddSequence(const JsonView& section, int nesting, bool is_last) {
  if (nesting == kMaxSectionNesting)
    return Unsupported(section, "Sequence nested more than 16 deep");
  const JsonView stages = section["pretokenizers"];
  WEFT_RETURN_IF_ERROR(stages.ExpectArray());
  const size_t count = stages.value().size();
  for (size_t i = 0; i < count; ++i) {
    WEFT_RETURN_IF_ERROR(Add(stages.Element(i), nesting + 1, is_last && i + 1 == count));
  }
  return {};
}

Result<void> PreTokenizerReader::AddSplit(const JsonView& section) {
  WEFT_ASSIGN_OR_RETURN(const Pattern pattern, ReadPattern(section["pattern"]));
  WEFT_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(section["behavior"]));
  WEFT_ASSIGN_OR_RETURN(const bool invert, section["invert"].BoolOr(false));
  if (!pattern.is_regex) {
    result_.pre_tokenizer.Add(MakeLiteralStage(std::string(pattern.text), behavior, invert));
    return {};
  }
  const Result<void> added = result_.pre_tokenizer.AddRegex(pattern.text, behavior, invert);
  if (!added) return Fail(added.error().code, "{}: {}", section.where(), added.error().message);
  return {};
}

// Pieces stay bytes: their byte-level spelling only matters to stages that come after it.
Result<void> PreTokenizerReader::AddByteLevel(const JsonView& section, bool is_last) {
  if (result_.is_byte_level) return Unsupported(section, "a second ByteLevel");
  result_.is_byte_level = true;
  WEFT_ASSIGN_OR_RETURN(const bool adds_space, section["add_prefix_space"].BoolOr(true));
  WEFT_ASSIGN_OR_RETURN(const bool uses_regex, section["use_regex"].BoolOr(true));
  if (adds_space) result_.pre_tokenizer.Add(MakePrefixSpaceStage());
  if (uses_regex) WEFT_RETURN_IF_ERROR(result_.pre_tokenizer.AddRegex(kGpt2Pattern));
  if (!is_last) {
    result_.pre_tokenizer.Add(MakeByteLevelSpellingStage());
    result_.pre_tokenizer.set_spells_bytes();
  }
  return {};
}

Result<void> PreTokenizerReader::AddMetaspace(const JsonView& section) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view replacement, section["replacement"].String());
  // One character, as in the reference: it stands for every space of a text.
  if (replacement.empty() || DecodeUtf8(replacement, 0).size_bytes != replacement.size()) {
    return Unsupported(section["replacement"], replacement);
  }
  WEFT_ASSIGN_OR_RETURN(const bool adds_space, section["add_prefix_space"].BoolOr(true));
  WEFT_ASSIGN_OR_RETURN(const std::string_view scheme_name,
                        section["prepend_scheme"].StringOr(adds_space ? "always" : "never"));
  WEFT_ASSIGN_OR_RETURN(const bool split, section["split"].BoolOr(true));
  PrependScheme scheme = PrependScheme::kNever;
  if (scheme_name == "always") {
    scheme = PrependScheme::kAlways;
  } else if (scheme_name == "first") {
    scheme = PrependScheme::kFirst;
  } else if (scheme_name != "never") {
    return Unsupported(section["prepend_scheme"], scheme_name);
  }
  result_.pre_tokenizer.Add(MakeMetaspaceStage(std::string(replacement), scheme, split));
  return {};
}

}  // namespace

Result<Normalizer> ReadNormalizer(const JsonView& section) {
  Normalizer normalizer;
  if (!section.is_null()) WEFT_RETURN_IF_ERROR(AddNormalizer(section, 0, &normalizer));
  return normalizer;
}

Result<PreTokenizerSection> ReadPreTokenizer(const JsonView& section) {
  PreTokenizerSection result;
  if (!section.is_null()) {
    WEFT_RETURN_IF_ERROR(PreTokenizerReader(&result).Add(section, 0, true));
  }
  return result;
}

}  // namespace weft
