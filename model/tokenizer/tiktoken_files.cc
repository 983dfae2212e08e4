#include "model/tokenizer/tiktoken_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/quoted.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/vocabulary.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr size_t kMaxTokenBytes = 1024;  // the longest known has some hundred

// Tokens in the order of their ranks.
class RankedTokens {
 public:
  Result<void> Add(std::string_view base64, const std::string& where) {
    const std::optional<std::string> bytes = DecodeBase64(base64);
    if (!bytes || bytes->empty() || bytes->size() > kMaxTokenBytes) {
      return Fail(ErrorCode::kCorrupt, "{} is {}, base64 of 1 to {} bytes expected", where,
                  Quoted(base64), kMaxTokenBytes);
    }
    if (!ranks_.emplace(*bytes, tokens_.size()).second) {
      return Fail(ErrorCode::kCorrupt, "{}: the token {} is there already", where, Quoted(*bytes));
    }
    tokens_.push_back(*bytes);
    return {};
  }

  size_t size() const { return tokens_.size(); }

  // tokenizer.json's "model": the token of rank r has the id first_id + r. Every way in which a
  // token is made of two others is a merge, of its rank: so tiktoken chooses what to merge next.
  json Model(size_t first_id) const {
    json vocabulary = json::object();
    json merges = json::array();
    std::vector<std::pair<size_t, size_t>> parts;  // where ranks begin
    for (size_t rank = 0; rank < tokens_.size(); ++rank) {
      const std::string& token = tokens_[rank];
      vocabulary[ToByteLevel(token)] = first_id + rank;
      parts.clear();
      for (size_t cut = 1; cut < token.size(); ++cut) {
        const auto left = ranks_.find(token.substr(0, cut));
        const auto right = ranks_.find(token.substr(cut));
        if (left != ranks_.end() && right != ranks_.end()) {
          parts.emplace_back(left->second, right->second);
        }
      }
      std::ranges::sort(parts);
      for (const auto& [left, right] : parts) {
        merges.push_back(ToByteLevel(tokens_[left]) + " " + ToByteLevel(tokens_[right]));
      }
    }
    return {{"type", "BPE"},
            {"ignore_merges", true},  // tiktoken takes a piece that is a token as it is
            {"vocab", std::move(vocabulary)},
            {"merges", std::move(merges)}};
  }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, size_t> ranks_;
};

json TokenizerOf(json model, std::string_view pattern, json added_tokens) {
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const json split = {{"type", "Split"},
                      {"pattern", {{"Regex", pattern}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  return {{"added_tokens", std::move(added_tokens)},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", json::array({split, bytes})}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", std::move(model)}};
}

json SpecialTokenOf(std::string_view text, int64_t id, bool is_special = true) {
  return {{"id", id}, {"content", text}, {"special", is_special}, {"normalized", false}};
}

// What the Python class of a published tokenizer says and its files do not.
struct TiktokenClass {
  std::string_view name;
  std::string_view pattern;
  // Special tokens from behind the last token on: these, then `filler` with a number.
  std::array<std::string_view, 5> first_specials;
  std::string_view filler;
  size_t special_count;
  size_t first_filler;  // its number; kById: its id
  std::string_view bos;
  std::string_view eos;
};
constexpr size_t kById = SIZE_MAX;

constexpr std::array<TiktokenClass, 2> kTiktokenClasses = {{
    {.name = "TikTokenTokenizer",  // Kimi K2, Moonlight
     .pattern = kKimiK2Pattern,
     .first_specials = {},
     .filler = "<|reserved_token_{}|>",
     .special_count = 256,
     .first_filler = kById,
     .bos = "[BOS]",
     .eos = "[EOS]"},
    {.name = "HYTokenizer",  // Hunyuan-A13B
     .pattern = kQwen2Pattern,
     .first_specials = {"<|endoftext|>", "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>"},
     .filler = "<|extra_{}|>",
     .special_count = 209,
     .first_filler = 0,
     .bos = "<|startoftext|>",
     .eos = "<|eos|>"},
}};

Result<RankedTokens> ReadRanks(std::string_view text, const std::string& path) {
  RankedTokens tokens;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = Trimmed(text.substr(begin, end - begin), kAsciiSpace);
    begin = end + 1;
    if (line.empty()) continue;
    const std::string where = fmt::format("{}: token {}", path, tokens.size());
    const size_t space = line.find(' ');
    size_t rank = 0;
    const char* const line_end = line.data() + line.size();
    const bool has_rank = space != std::string_view::npos &&
                          std::from_chars(line.data() + space + 1, line_end, rank).ptr == line_end;
    if (!has_rank || rank != tokens.size()) {
      return Fail(ErrorCode::kCorrupt, "{}: {} is not base64, a space and the rank {}", where,
                  Quoted(line), tokens.size());
    }
    WEFT_RETURN_IF_ERROR(tokens.Add(line.substr(0, space), where));
  }
  return tokens;
}

}  // namespace

Result<json> ReadTiktoken(std::string_view text, const std::string& path, int64_t vocab_size,
                          SpecialTokenHints& hints) {
  const auto known =
      std::ranges::find(kTiktokenClasses, hints.tokenizer_class, &TiktokenClass::name);
  if (known == kTiktokenClasses.end()) {
    return Fail(ErrorCode::kUnsupported,
                "{}: how texts are cut into pieces is in the Python code of the class {} alone, "
                "which is not known here; put a tokenizer.json beside it",
                path, Quoted(hints.tokenizer_class));
  }
  WEFT_ASSIGN_OR_RETURN(const RankedTokens tokens, ReadRanks(text, path));
  json added = json::array();
  const size_t limit =
      std::min(tokens.size() + known->special_count, static_cast<size_t>(vocab_size));
  for (size_t id = tokens.size(); id < limit; ++id) {
    const size_t index = id - tokens.size();
    const auto given =
        std::ranges::find(hints.added_tokens, static_cast<int64_t>(id), &AddedToken::id);
    std::string special;
    bool is_special = true;
    if (given != hints.added_tokens.end()) {
      special = given->text;
      is_special = given->is_special;
    } else if (index < known->first_specials.size() && !known->first_specials[index].empty()) {
      special = known->first_specials[index];
    } else {
      const size_t number = known->first_filler == kById
                                ? id
                                : index - known->first_specials.size() + known->first_filler;
      special = fmt::format(fmt::runtime(known->filler), number);
    }
    added.push_back(SpecialTokenOf(special, static_cast<int64_t>(id), is_special));
  }
  if (!hints.bos_text) hints.bos_text = known->bos;
  if (!hints.eos_text) hints.eos_text = known->eos;
  return TokenizerOf(tokens.Model(0), known->pattern, std::move(added));
}

Result<json> ReadTekken(std::string_view text, const std::string& path, SpecialTokenHints& hints) {
  WEFT_ASSIGN_OR_RETURN(const json root, ParseJson(text, path, kTokenizerJson));
  const JsonView view(root, path + ": ");
  const JsonView config = view["config"];
  WEFT_ASSIGN_OR_RETURN(const std::string_view pattern, config["pattern"].String());
  WEFT_ASSIGN_OR_RETURN(const int64_t size, config["default_vocab_size"].Int());
  WEFT_ASSIGN_OR_RETURN(const int64_t special_count, config["default_num_special_tokens"].Int());
  const JsonView vocabulary = view["vocab"];
  const JsonView specials = view["special_tokens"];
  WEFT_RETURN_IF_ERROR(vocabulary.ExpectArray());
  WEFT_RETURN_IF_ERROR(specials.ExpectArray());
  // The file has more tokens than the model: those of the lowest ranks count.
  const int64_t token_count = size - special_count;
  if (special_count < 0 || token_count < 0 ||
      token_count > static_cast<int64_t>(vocabulary.value().size()) ||
      specials.value().size() > static_cast<size_t>(special_count)) {
    return Fail(ErrorCode::kCorrupt,
                "{}: {} tokens, of which {} special, contradict a vocabulary of {} and {} special "
                "tokens",
                config.where(), size, special_count, vocabulary.value().size(),
                specials.value().size());
  }
  RankedTokens tokens;
  for (size_t rank = 0; rank < static_cast<size_t>(token_count); ++rank) {
    const JsonView entry = vocabulary.Element(rank);
    WEFT_ASSIGN_OR_RETURN(const int64_t given_rank, entry["rank"].Int());
    if (given_rank != static_cast<int64_t>(rank)) {
      return Fail(ErrorCode::kCorrupt, "{} is {}, {} expected", entry["rank"].where(), given_rank,
                  rank);
    }
    WEFT_ASSIGN_OR_RETURN(const std::string_view bytes, entry["token_bytes"].String());
    WEFT_RETURN_IF_ERROR(tokens.Add(bytes, entry["token_bytes"].where()));
  }
  json added = json::array();
  for (size_t i = 0; i < static_cast<size_t>(special_count); ++i) {
    std::string special = fmt::format("<SPECIAL_{}>", i);
    if (i < specials.value().size()) {
      const JsonView entry = specials.Element(i);
      WEFT_ASSIGN_OR_RETURN(const int64_t rank, entry["rank"].Int());
      if (rank != static_cast<int64_t>(i)) {
        return Fail(ErrorCode::kCorrupt, "{} is {}, {} expected", entry["rank"].where(), rank, i);
      }
      WEFT_ASSIGN_OR_RETURN(const std::string_view given, entry["token_str"].String());
      special = given;
    }
    added.push_back(SpecialTokenOf(special, static_cast<int64_t>(i)));
  }
  if (!hints.bos_text) hints.bos_text = "<s>";
  if (!hints.eos_text) hints.eos_text = "</s>";
  if (!hints.adds_bos) hints.adds_bos = true;
  return TokenizerOf(tokens.Model(static_cast<size_t>(special_count)), pattern, std::move(added));
}

Result<json> ReadGpt2Files(std::string_view vocabulary_text, const std::string& path,
                           std::string_view merges_text, const std::string& merges_path,
                           const SpecialTokenHints& hints) {
  constexpr std::array<std::string_view, 2> kClasses = {"GPT2Tokenizer", "GPT2TokenizerFast"};
  if (std::ranges::find(kClasses, hints.tokenizer_class) == kClasses.end()) {
    return Fail(ErrorCode::kUnsupported,
                "{}: read for the class GPT2Tokenizer alone, tokenizer_config.json names {}; put a "
                "tokenizer.json beside it",
                path, Quoted(hints.tokenizer_class));
  }
  WEFT_ASSIGN_OR_RETURN(json vocabulary, ParseJson(vocabulary_text, path, kTokenizerJson));
  json merges = json::array();
  for (size_t begin = 0; begin < merges_text.size();) {
    const size_t end = std::min(merges_text.find('\n', begin), merges_text.size());
    std::string_view line = merges_text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_version = begin == 0 && line.starts_with("#version");
    if (!line.empty() && !is_version) merges.push_back(line);
    begin = end + 1;
  }
  if (merges.empty()) return Fail(ErrorCode::kCorrupt, "{}: no merges", merges_path);
  json added = json::array();
  for (const std::string& special : hints.special_texts) {
    const auto found = vocabulary.is_object() ? vocabulary.find(special) : vocabulary.end();
    if (found == vocabulary.end() || !found->is_number_integer()) continue;
    added.push_back(SpecialTokenOf(special, found->get<int64_t>()));
  }
  for (const AddedToken& token : hints.added_tokens) {
    added.push_back(SpecialTokenOf(token.text, token.id, token.is_special));
  }
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", hints.adds_prefix_space}};
  return json{{"added_tokens", std::move(added)},
              {"pre_tokenizer", bytes},
              {"decoder", {{"type", "ByteLevel"}}},
              {"model",
               {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(merges)}}}};
}

}  // namespace weft
