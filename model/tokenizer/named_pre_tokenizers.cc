// GGUF's tokenizer.ggml.pre: one name for each pre-tokenizer that models were trained with.
// Sources: the pre_tokenizer sections of the models' tokenizer.json files, and llama.cpp's table of
// names (https://github.com/ggml-org/llama.cpp, src/llama-vocab.cpp).
#include <algorithm>
#include <array>

#include "base/quoted.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/unicode.h"

namespace weft {
namespace {

enum class Family {
  kDefault,
  kGpt2,
  kStarCoder,
  kFalcon,
  kLlama3,
  kQwen2,
  kQwen35,
  kSeedCoder,
  kBailing,
  kDeepSeekLlm,
  kDeepSeekCoder,
  kDeepSeekV3,
  kTekken,
  kGpt4o,
  kBloom,
  kViking,
  kMiniCpm5,
  kExaoneMoe,
  kKimiK2,
  kSuperBpe,
  kTinyAya,
  kJais2,
};

struct Row {
  std::string_view name;
  Family family;
  bool ignore_merges = false;
  bool adds_bos = false;
};

constexpr auto kRows = std::to_array<Row>({
    {"default", Family::kDefault},
    {"gpt-2", Family::kGpt2},
    {"gpt2", Family::kGpt2},
    {"phi-2", Family::kGpt2},
    {"mpt", Family::kGpt2},
    {"olmo", Family::kGpt2},
    {"dolma", Family::kGpt2},
    {"jais", Family::kGpt2},
    {"trillion", Family::kGpt2},
    {"gigachat", Family::kGpt2},
    {"mellum", Family::kGpt2},
    {"a.x-4.0", Family::kGpt2},
    {"exaone4", Family::kGpt2},
    {"granite-docling", Family::kGpt2},
    {"modern-bert", Family::kGpt2},
    {"starcoder", Family::kStarCoder},
    {"refact", Family::kStarCoder},
    {"command-r", Family::kStarCoder},
    {"smollm", Family::kStarCoder},
    {"codeshell", Family::kStarCoder},
    {"exaone", Family::kStarCoder},
    {"minerva-7b", Family::kStarCoder},
    {"mellum2", Family::kStarCoder},
    {"falcon", Family::kFalcon},
    {"llama3", Family::kLlama3, true, true},
    {"llama-v3", Family::kLlama3, true, true},
    {"llama-bpe", Family::kLlama3, true, true},
    {"falcon3", Family::kLlama3, true, true},
    {"falcon-h1", Family::kLlama3, true, true},
    {"pixtral", Family::kLlama3, true, true},
    {"midm-2.0", Family::kLlama3, true, true},
    {"lfm2", Family::kLlama3, true, true},
    {"dbrx", Family::kLlama3},
    {"smaug-bpe", Family::kLlama3},
    {"glm4", Family::kLlama3, true},
    {"chatglm-bpe", Family::kLlama3},
    {"qwen2", Family::kQwen2},
    {"deepseek-r1-qwen", Family::kQwen2},
    {"kormo", Family::kQwen2},
    {"f2llmv2", Family::kQwen2},
    {"stablelm2", Family::kQwen2},
    {"hunyuan", Family::kQwen2},
    {"megrez", Family::kQwen2},
    {"solar-open", Family::kQwen2},
    {"grok-2", Family::kQwen2},
    {"qwen35", Family::kQwen35},
    {"seed-coder", Family::kSeedCoder},
    {"bailingmoe", Family::kBailing},
    {"bailingmoe2", Family::kBailing},
    {"llada-moe", Family::kBailing},
    {"deepseek-llm", Family::kDeepSeekLlm},
    {"deepseek-coder", Family::kDeepSeekCoder},
    {"deepseek-v3", Family::kDeepSeekV3},
    {"hunyuan-dense", Family::kDeepSeekV3},
    {"joyai-llm", Family::kDeepSeekV3},
    {"tekken", Family::kTekken, true, true},
    {"gpt-4o", Family::kGpt4o},
    {"llama4", Family::kGpt4o},
    {"kanana2", Family::kGpt4o},
    {"minimax-m2", Family::kGpt4o},
    {"bloom", Family::kBloom},
    {"poro-chat", Family::kBloom},
    {"gpt3-finnish", Family::kBloom},
    {"viking", Family::kViking},
    {"minicpm5", Family::kMiniCpm5, true},
    {"exaone-moe", Family::kExaoneMoe},
    // tiktoken takes a piece that is a token as it is; llama.cpp merges it all the same.
    {"kimi-k2", Family::kKimiK2, true},
    {"superbpe", Family::kSuperBpe},
    {"tiny_aya", Family::kTinyAya},
    {"cohere2moe", Family::kTinyAya},
    {"jais-2", Family::kJais2},
});

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoderPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailingPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kMiniCpm5Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+)"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kExaoneMoePattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// White space in pieces of powers of two.
constexpr std::string_view kJais2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S))"
    R"(|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
// Digits in groups of three from the right.
constexpr std::string_view kTinyAyaDigits = R"(\d{1,3}(?=(?:\d{3})*\b))";
constexpr std::string_view kSuperBpeDigits = R"((?=(\d{3})+(?!\d)))";
constexpr std::string_view kBloomPattern = R"( ?[^(\s|.,!?…。，、।۔،)]+)";

constexpr std::string_view kCjkAndHangul = R"([一-龥ࠀ-一가-퟿]+)";
// Spelled by number: characters like U+2126 do not survive every editor.
constexpr std::string_view kDeepSeekLlmLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
    R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})"
    R"(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
    R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
    R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepSeekLlmPunctuation = R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)";
constexpr std::string_view kDeepSeekV3Pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Result<void> AddPatterns(std::initializer_list<std::string_view> patterns,
                         PreTokenizer* pre_tokenizer) {
  for (const std::string_view pattern : patterns) {
    WEFT_RETURN_IF_ERROR(pre_tokenizer->AddRegex(pattern));
  }
  return {};
}

// Falcon looks for digits in the byte-level spelling, where the bytes B2, B3, B9 and BC to BE look
// like superscripts and fractions.
Result<void> AddFalcon(PreTokenizer* pre_tokenizer) {
  pre_tokenizer->Add(MakeCharacterStage(IsPunctuation, SplitBehavior::kContiguous));
  WEFT_RETURN_IF_ERROR(pre_tokenizer->AddRegex(kGpt2Pattern));
  pre_tokenizer->Add(MakeByteLevelSpellingStage());
  pre_tokenizer->set_spells_bytes();
  pre_tokenizer->Add(MakeCharacterStage(IsNumeric, SplitBehavior::kContiguous));
  return pre_tokenizer->AddRegex("[0-9][0-9][0-9]");
}

Result<void> AddFamily(Family family, PreTokenizer* pre_tokenizer) {
  switch (family) {
    case Family::kDefault:
      return AddPatterns({R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"},
                         pre_tokenizer);
    case Family::kGpt2:
      return AddPatterns({kGpt2Pattern}, pre_tokenizer);
    case Family::kStarCoder:
      return AddPatterns({R"(\p{N})", kGpt2Pattern}, pre_tokenizer);
    case Family::kFalcon:
      return AddFalcon(pre_tokenizer);
    case Family::kLlama3:
      return AddPatterns({kLlama3Pattern}, pre_tokenizer);
    case Family::kQwen2:
      return AddPatterns({kQwen2Pattern}, pre_tokenizer);
    case Family::kQwen35:
      return AddPatterns({kQwen35Pattern}, pre_tokenizer);
    case Family::kSeedCoder:
      return AddPatterns({kSeedCoderPattern}, pre_tokenizer);
    case Family::kBailing:
      return AddPatterns({kBailingPattern}, pre_tokenizer);
    case Family::kDeepSeekLlm:
      return AddPatterns({R"([\r\n])", kDeepSeekLlmLetters, kDeepSeekLlmPunctuation, R"(\s+$)",
                          kCjkAndHangul, R"(\p{N}+)"},
                         pre_tokenizer);
    case Family::kDeepSeekCoder:
      return AddPatterns({R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCjkAndHangul, R"(\p{N})"},
                         pre_tokenizer);
    case Family::kDeepSeekV3:
      return AddPatterns({R"(\p{N}{1,3})", R"([一-龥぀-ゟ゠-ヿ]+)", kDeepSeekV3Pattern},
                         pre_tokenizer);
    case Family::kTekken:
      return AddPatterns({kTekkenPattern}, pre_tokenizer);
    case Family::kGpt4o:
      return AddPatterns({kGpt4oPattern}, pre_tokenizer);
    case Family::kBloom:
      return AddPatterns({kBloomPattern}, pre_tokenizer);
    case Family::kViking:
      return AddPatterns({kBloomPattern, R"(\p{N})"}, pre_tokenizer);
    case Family::kMiniCpm5:
      return AddPatterns({R"(\p{N}{1,3})", kMiniCpm5Pattern}, pre_tokenizer);
    case Family::kExaoneMoe:
      return AddPatterns({kExaoneMoePattern}, pre_tokenizer);
    case Family::kKimiK2:
      return AddPatterns({kKimiK2Pattern}, pre_tokenizer);
    case Family::kSuperBpe:
      return AddPatterns({R"(\p{N}+)", kSuperBpeDigits}, pre_tokenizer);
    case Family::kTinyAya:
      return AddPatterns({kTinyAyaDigits, kGpt4oPattern}, pre_tokenizer);
    case Family::kJais2:
      return AddPatterns({kJais2Pattern}, pre_tokenizer);
  }
  return Fail(ErrorCode::kInternal, "pre-tokenizer family {} has no stages",
              static_cast<int>(family));
}

}  // namespace

Result<NamedPreTokenizer> MakeNamedPreTokenizer(std::string_view name) {
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const Row& candidate) { return candidate.name == name; });
  if (row == kRows.end()) {
    return Fail(ErrorCode::kUnsupported, "pre-tokenizer {} is not supported", Quoted(name));
  }
  NamedPreTokenizer named;
  named.ignore_merges = row->ignore_merges;
  named.adds_bos = row->adds_bos;
  WEFT_RETURN_IF_ERROR(AddFamily(row->family, &named.pre_tokenizer));
  return named;
}

}  // namespace weft
