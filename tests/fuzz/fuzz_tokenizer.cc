// Any bytes as a tokenizer's file, and any text through what loads. The first byte chooses: a
// tokenizer.json, a tokenizer.model or GGUF metadata; the last 0xFF byte parts the file from the
// text.
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "model/formats/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/tokenizer_model.h"
#include "tests/fuzz/use_tensors.h"

namespace {

constexpr int64_t kVocabSize = 4096;

weft::Result<std::shared_ptr<const weft::Tokenizer>> Load(uint8_t kind, std::string_view file) {
  weft::SpecialTokenHints hints;
  hints.adds_bos = (kind & 4) != 0;
  hints.added_tokens = {{4000, "<|added|>", true}};
  if ((kind & 8) != 0) hints.tokenizer_class = (kind & 16) != 0 ? "XGLMTokenizer" : "T5Tokenizer";
  if (kind % 3 == 0) return weft::LoadTokenizerJson(file, "f", hints, kVocabSize);
  if (kind % 3 == 1 && (kind & 32) != 0) {  // Marian's
    auto ids = weft::ReadMarianIds(R"({"</s>": 3, "<unk>": 0, "a": 4, "<0x41>": 7})", "v", hints,
                                   kVocabSize);
    return weft::LoadTokenizerModel(file, "f", hints, kVocabSize, *std::move(ids));
  }
  if (kind % 3 == 1) return weft::LoadTokenizerModel(file, "f", hints, kVocabSize);
  auto gguf = weft::ParseGguf(std::as_bytes(std::span(file)), "f");
  if (!gguf) return tl::unexpected(gguf.error());
  return weft::Tokenizer::FromGguf(gguf->metadata, kVocabSize);
}

void Use(const weft::Tokenizer& tokenizer, std::string_view text) {
  for (const bool parses_special : {false, true}) {
    const auto encoded = tokenizer.Encode(text, {true, parses_special});
    if (!encoded) continue;
    const std::vector<weft::TokenId>& ids = *encoded;
    weft::IncrementalDecoder decoder;
    for (const weft::TokenId id : ids) {
      if (id < 0 || id >= kVocabSize) std::abort();
      const std::string decoded = decoder.Append(tokenizer.TokenBytes(id));
      if (weft::ValidUtf8Prefix(decoded) != decoded.size()) std::abort();
    }
    decoder.Finish();
    tokenizer.Decode(ids, parses_special);
  }
  for (const weft::TokenId id : tokenizer.end_tokens()) {
    if (id < 0 || id >= kVocabSize) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size_bytes - 1);
  const size_t separator = input.rfind('\xFF');
  const std::string_view file = input.substr(0, separator);
  const std::string_view text =
      separator == std::string_view::npos ? file : input.substr(separator + 1);
  const auto tokenizer = Load(data[0], file);
  if (tokenizer) {
    Use(**tokenizer, text);
  } else {
    weft::CheckMessage(tokenizer.error().message);
  }
  return 0;
}
