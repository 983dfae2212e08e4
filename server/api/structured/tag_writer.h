// Words of replies, and the text between them, as expressions of a grammar.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/cfg/grammar_builder.h"
#include "grammar/cfg/grammar_text.h"
#include "model/tokenizer/tokenizer.h"

namespace weft {

// Words that are special tokens, or have some in them, are written with these tokens. One thread;
// the builder outlives it.
class TagWriter {
 public:
  TagWriter(GrammarBuilder* builder, SpecialTokenLookup tokens, std::vector<TokenId> end_tokens)
      : builder_(*builder), tokens_(std::move(tokens)), end_tokens_(std::move(end_tokens)) {}

  GrammarBuilder& builder() { return builder_; }

  // No text where a token in it ends the reply.
  GrammarExpr Text(std::string_view text);
  // A tag behind which nothing has to come: where its token ends the reply, the empty text.
  GrammarExpr Close(std::string_view tag);
  bool EndsReply(std::string_view tag) const;

  // Texts without special tokens in which none of these stands, however it is spelled.
  RegexId Without(std::span<const std::string_view> texts);
  GrammarExpr TextWithout(std::span<const std::string_view> texts) {
    return builder_.Regex(Without(texts));
  }
  GrammarExpr TextWithout(std::initializer_list<std::string_view> texts) {
    return TextWithout(std::span(texts.begin(), texts.size()));
  }
  // White space between tags, or none. Bounded, so that a model cannot go on with it for ever.
  RegexId SpaceRegex();
  GrammarExpr Space() { return builder_.Regex(SpaceRegex()); }

  // One of the symbols of the special tokens in `text`, with the literal text in front of it.
  struct Piece {
    std::string_view text;
    std::optional<int32_t> token;  // behind the text
  };
  std::vector<Piece> PiecesOf(std::string_view text) const;

 private:
  bool IsEnd(int32_t token) const;

  GrammarBuilder& builder_;
  const SpecialTokenLookup tokens_;
  const std::vector<TokenId> end_tokens_;
};

}  // namespace weft
