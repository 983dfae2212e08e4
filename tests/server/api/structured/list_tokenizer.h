// Vocabularies without a tokenizer's other half.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace weft {

class ListTokenizer : public Tokenizer {
 public:
  struct Entry {
    std::string bytes;
    bool is_control = false;
  };

  explicit ListTokenizer(std::vector<Entry> entries) : entries_(std::move(entries)) {}

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
    return IsControl(id) ? std::string_view() : TokenText(id);
  }
  std::string Decode(const std::vector<TokenId>&, bool) const override { return {}; }
  int64_t vocab_size() const override { return std::ssize(entries_); }
  std::string_view TokenText(TokenId id) const override {
    return entries_.at(static_cast<size_t>(id)).bytes;
  }
  bool IsControl(TokenId id) const override {
    return entries_.at(static_cast<size_t>(id)).is_control;
  }
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
  std::string_view description() const override { return "a list"; }

 private:
  const std::vector<Entry> entries_;
  const std::vector<TokenId> none_;
};

// Ids 0 to 255 are bytes; then tags that are control tokens.
class TagTokenizer : public ListTokenizer {
 public:
  static constexpr TokenId kFirstTag = 256;

  explicit TagTokenizer(const std::vector<std::string>& tags) : ListTokenizer(EntriesOf(tags)) {}

 private:
  static std::vector<Entry> EntriesOf(const std::vector<std::string>& tags) {
    std::vector<Entry> entries;
    for (int byte = 0; byte < kFirstTag; ++byte) {
      entries.push_back({std::string(1, static_cast<char>(byte)), false});
    }
    for (const std::string& tag : tags) entries.push_back({tag, true});
    return entries;
  }
};

}  // namespace weft
