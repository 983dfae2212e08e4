// A vocabulary of bytes, and of tags that are control tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace weft {

// Ids 0 to 255 are bytes; then the tags.
class TagTokenizer : public Tokenizer {
 public:
  static constexpr TokenId kFirstTag = 256;

  explicit TagTokenizer(std::vector<std::string> tags) : tags_(std::move(tags)) {
    for (int byte = 0; byte < 256; ++byte) bytes_ += static_cast<char>(byte);
  }
  Result<std::vector<TokenId>> Encode(std::string_view, const EncodeOptions&) const override {
    return std::vector<TokenId>();
  }
  Result<EncodedText> EncodeTruncated(std::string_view, const EncodeOptions&,
                                      const Truncation&) const override {
    return EncodedText();
  }
  Result<EncodedText> EncodePair(std::string_view, std::string_view, const EncodeOptions&,
                                 const Truncation&) const override {
    return EncodedText();
  }
  std::string_view TokenBytes(TokenId id) const override {
    if (id >= kFirstTag) return {};
    return std::string_view(bytes_).substr(static_cast<size_t>(id), 1);
  }
  std::string Decode(const std::vector<TokenId>&, bool) const override { return {}; }
  int64_t vocab_size() const override { return kFirstTag + std::ssize(tags_); }
  std::string_view TokenText(TokenId id) const override {
    return id >= kFirstTag ? tags_[static_cast<size_t>(id - kFirstTag)] : TokenBytes(id);
  }
  bool IsControl(TokenId id) const override { return id >= kFirstTag; }
  std::optional<TokenId> TokenOf(std::string_view text) const override {
    for (TokenId id = 0; id < vocab_size(); ++id) {
      if (TokenText(id) == text) return id;
    }
    return std::nullopt;
  }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return std::nullopt; }
  const std::vector<TokenId>& end_tokens() const override { return none_; }
  bool adds_bos() const override { return false; }
  bool adds_eos() const override { return false; }
  std::string_view description() const override { return "bytes and tags"; }

 private:
  const std::vector<std::string> tags_;
  std::string bytes_;
  const std::vector<TokenId> none_;
};

}  // namespace weft
