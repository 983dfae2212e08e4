// Hugging Face's tokenizer.json (https://huggingface.co/docs/tokenizers): BPE, Unigram and
// WordPiece models. What it says is followed to the letter, or refused by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// A token that tokenizer_config.json adds ("added_tokens_decoder").
struct AddedToken {
  int64_t id = 0;
  std::string text;
  bool is_special = false;
};

// What the files beside tokenizer.json or tokenizer.model say about special tokens.
struct SpecialTokenHints {
  std::optional<std::string> bos_text;
  std::optional<std::string> eos_text;
  std::optional<int64_t> bos_id;  // if there is no text
  std::vector<int64_t> eos_ids;
  std::optional<bool> adds_bos;
  std::optional<bool> adds_eos;
  std::vector<AddedToken> added_tokens;  // tokenizer.json lists them itself
  // For files that say less than tokenizer.json.
  std::string tokenizer_class;
  std::vector<std::string> special_texts;  // BOS, EOS, padding, unknown
  bool adds_prefix_space = false;
  std::optional<std::string> unk_text, pad_text, cls_text, sep_text, mask_text;
  bool lower_case = true;                      // "do_lower_case", of BERT and ALBERT
  std::optional<bool> strip_accents;           // BERT; without it, as lower_case
  bool keep_accents = false;                   // ALBERT
  bool tokenize_chinese_chars = true;          // BERT
  int64_t extra_ids = 100;                     // T5: how many sentinels
  std::optional<std::string> source_language;  // "src_lang", of M2M100, mBART and NLLB
  std::string language_codes = "m2m100";       // M2M100
  bool separate_vocabularies = false;          // "separate_vocabs", of Marian
  bool legacy = false;                         // "legacy_behaviour", of NLLB
};

Result<std::shared_ptr<const Tokenizer>> LoadTokenizerJson(std::string_view text,
                                                           const std::string& path,
                                                           const SpecialTokenHints& hints,
                                                           int64_t vocab_size);

// The same of a value that was read, or made, already.
Result<std::shared_ptr<const Tokenizer>> LoadTokenizerValue(const nlohmann::json& root,
                                                            const std::string& path,
                                                            const SpecialTokenHints& hints,
                                                            int64_t vocab_size);

// How deep a section may put Sequences into Sequences.
inline constexpr int kMaxSectionNesting = 16;

// The "normalizer" section.
Result<Normalizer> ReadNormalizer(const JsonView& section);

struct PreTokenizerSection {
  PreTokenizer pre_tokenizer;
  bool is_byte_level = false;
};
// The "pre_tokenizer" section.
Result<PreTokenizerSection> ReadPreTokenizer(const JsonView& section);

}  // namespace weft
