// Text to token ids and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/formats/gguf.h"
#include "model/forward_batch.h"
#include "model/tensor.h"
#include "model/tokenizer/truncation.h"

namespace weft {

struct EncodeOptions {
  bool add_special_tokens = true;  // BOS (and EOS) as the model's rules say
  bool parse_special_tokens =
      true;  // whether the text of a control token becomes that token; false for untrusted text
};

// One or two texts, as a model that reads them whole gets them.
struct EncodedText {
  std::vector<TokenId> ids;
  int32_t second_text = kNoSecondText;  // where the second text's token type begins, if it has one
  int64_t dropped_count = 0;            // tokens of the texts for which there was no room
};

// The spaces that a text may begin with and that are not its own, but were put there when it was
// encoded. Takes them from one text, which comes in pieces.
class LeadingSpaces {
 public:
  LeadingSpaces() = default;  // there are none
  explicit LeadingSpaces(size_t most) : left_(most) {}

  // What is left of the next bytes.
  std::string_view Strip(std::string_view bytes);

 private:
  size_t left_ = 0;
};

// Immutable after construction; every method may be called from any thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Any bytes are accepted; what is not UTF-8 is encoded by the model's byte tokens or its unknown
  // token. The one error, kResourceExhausted: the model's normalizer makes too much of the text.
  virtual Result<std::vector<TokenId>> Encode(std::string_view text,
                                              const EncodeOptions& options) const = 0;
  // The same of what `truncation` leaves of the text; the special tokens stay. Errors: those of
  // Encode and of Truncate.
  virtual Result<EncodedText> EncodeTruncated(std::string_view text, const EncodeOptions& options,
                                              const Truncation& truncation) const = 0;
  // Two texts, a query and a document for instance, with the special tokens that the model's files
  // ask for around two; without these one stands behind the other. Errors: as above, and
  // kUnsupported if the files ask for what `second_text` cannot say.
  virtual Result<EncodedText> EncodePair(std::string_view first, std::string_view second,
                                         const EncodeOptions& options,
                                         const Truncation& truncation) const = 0;

  // The exact bytes that a token adds to the output in the middle of a text; empty for control
  // tokens and for ids without text.
  virtual std::string_view TokenBytes(TokenId id) const = 0;
  // The bytes of a whole sequence, with the model's rule for its beginning (SentencePiece drops the
  // dummy space).
  virtual std::string Decode(const std::vector<TokenId>& ids,
                             bool keep_special_tokens = false) const = 0;
  // That rule, for a text that is decoded token by token.
  virtual LeadingSpaces leading_spaces() const { return {}; }

  virtual int64_t vocab_size() const = 0;
  virtual std::string_view TokenText(
      TokenId id) const = 0;  // as the vocabulary spells it, for people: "Ġthe", "<|im_end|>"
  virtual bool IsControl(
      TokenId id) const = 0;  // BOS, EOS, <|im_start|>, ...: not part of the text
  virtual std::optional<TokenId> TokenOf(std::string_view vocabulary_text) const = 0;

  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;  // the one that templates call eos_token
  // Tokens that end a generation: EOS, end of turn, ... (never empty ids; a file's 0xFFFFFFFF means
  // absent).
  virtual const std::vector<TokenId>& end_tokens() const = 0;
  virtual bool adds_bos() const = 0;
  virtual bool adds_eos() const = 0;
  virtual std::string_view description() const = 0;  // "byte-level BPE (gpt-2), 50257 tokens"

  static Result<std::shared_ptr<const Tokenizer>> FromGguf(const GgufMetadata& metadata,
                                                           int64_t vocab_size);
  // tokenizer.json, or else tekken.json, tiktoken.model, hy.tiktoken, vocab.txt, vocab.json with
  // merges.txt, with source.spm (Marian) or with sentencepiece.bpe.model (M2M100), tokenizer.model,
  // spiece.model or sentencepiece.bpe.model; with tokenizer_config.json and generation_config.json
  // where present.
  static Result<std::shared_ptr<const Tokenizer>> FromDirectory(const std::string& directory,
                                                                int64_t vocab_size);
};

// Turns a stream of tokens into a stream of text that never ends in half a UTF-8 character. Bytes
// that can no longer become valid are replaced by U+FFFD as the WHATWG decoder does. One stream,
// one thread.
class IncrementalDecoder {
 public:
  IncrementalDecoder() = default;  // of a text that goes on where another ends
  // Of a whole text, of which Tokenizer::leading_spaces are no part.
  explicit IncrementalDecoder(LeadingSpaces leading_spaces) : leading_spaces_(leading_spaces) {}

  // The text that these bytes complete.
  std::string Append(std::string_view bytes);
  // What is left at the end: U+FFFD for an unfinished character, otherwise nothing.
  std::string Finish();

 private:
  LeadingSpaces leading_spaces_;
  std::string pending_;  // an unfinished character: at most 3 bytes
};

}  // namespace weft
