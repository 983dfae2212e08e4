// The one implementation of Tokenizer: the loaders of each file format assemble its parts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/piece_model.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/special_tokens.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {

// What add_special_tokens puts around two texts.
struct PairLayout {
  std::vector<TokenId> before;
  std::vector<TokenId> between;
  std::vector<TokenId> after;
  // From which of `between` on, or, if that is its size, from the second text on, token types are
  // the second text's; nothing: all are the first one's.
  std::optional<size_t> second_type = std::nullopt;
};

// text -> cut at raw_specials -> normalizer -> cut at normalized_specials -> pre_tokenizer ->
// model.
struct TokenizerParts {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<const PieceModel> model;
  SpecialTokenMatcher raw_specials;         // found in the text as it comes
  SpecialTokenMatcher normalized_specials;  // found after normalisation
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::vector<TokenId> prefix;  // what add_special_tokens puts around a text
  std::vector<TokenId> suffix;
  // An error if the file asks for a layout that PairLayout cannot have.
  Result<PairLayout> pair;
  // Whether ">>de<<", or any text between these marks, is a token of its own where a text or what
  // is behind a raw special begins (Marian's language codes); one that the vocabulary lacks is
  // this.
  std::optional<TokenId> unknown_code;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::vector<TokenId> end_tokens;
  // How many spaces at the beginning of a decoded text are not its own: the one that the normalizer
  // has put there, or all where it leaves none.
  size_t decode_drops_spaces = 0;
  std::string description;  // without the vocabulary's size
};

std::shared_ptr<const Tokenizer> MakeTokenizer(TokenizerParts parts);

// Each of two texts with what stands around one, the second of a type of its own.
PairLayout PairOfSingles(const TokenizerParts& parts);

// Which texts end a turn or a text, as well-known models spell it. The list is conservative: texts
// that mean nothing else in any model known to us, but for those that other tokens of a vocabulary
// give another meaning. Where there are <|return|> and <|call|> (OpenAI's harmony), or <|flush|>
// and <|calls|> (Solar Open), <|end|> closes a message and not the turn; where there is <eos>
// (Gemma), </s> is HTML.
class EndOfTurnTexts {
 public:
  explicit EndOfTurnTexts(const std::vector<Token>& tokens);
  bool Contains(std::string_view text) const;

 private:
  bool has_messages_ = false;
  bool has_html_ = false;
};

// `declared` (EOS, end of turn, ... as the file names them) and the control and user-defined tokens
// with a well-known end-of-turn text, sorted and unique.
std::vector<TokenId> EndTokens(const Vocabulary& vocabulary, std::vector<TokenId> declared);

}  // namespace weft
