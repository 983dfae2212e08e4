#include "model/ranking_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_limits.h"
#include "base/quoted.h"
#include "base/regular_file.h"
#include "model/checkpoint.h"
#include "model/formats/config_json.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/role_messages.h"

namespace weft {
namespace {

constexpr std::string_view kInstruction = "{instruction}";
constexpr std::array<std::string_view, 2> kTexts = {"{query}", "{document}"};

// A ranker that was trained as a decoder, and published without a word of it in its files.
struct TrainedPrompt {
  std::string_view architecture;
  std::array<std::string_view, 2> answers;  // relevant, not relevant
  RankingPrompt prompt;
};

// Qwen3-Reranker (https://arxiv.org/abs/2506.05176), from its page; mxbai-rerank v2
// (https://www.mixedbread.com/blog/mxbai-rerank-v2), from the package mxbai-rerank 0.1.6.
const std::array<TrainedPrompt, 2>& TrainedPrompts() {
  static const std::array<TrainedPrompt, 2> kPrompts = {
      {{.architecture = "qwen3",
        .answers = {"yes", "no"},
        .prompt = {.prefix = "<|im_start|>system\nJudge whether the Document meets the "
                             "requirements based on the Query and the Instruct provided. Note that "
                             "the answer can only be \"yes\" or \"no\".<|im_end|>\n"
                             "<|im_start|>user\n",
                   .body = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}",
                   .suffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
                   .instruction = "Given a web search query, retrieve relevant passages that "
                                  "answer the query"}},
       {.architecture = "qwen2",
        .answers = {"1", "0"},
        .prompt = {.prefix = "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are "
                             "a helpful assistant.<|im_end|>\n<|im_start|>user\n",
                   .lead = {"{instruction}query: {query}", "\n"},
                   .body = "document: {document}",
                   .suffix = "\nYou are a search relevance expert who evaluates how well documents "
                             "match search queries. For each query-document pair, carefully "
                             "analyze the semantic relationship between them, then provide your "
                             "binary relevance judgment (0 for not relevant, 1 for relevant).\n"
                             "Relevance:<|im_end|>\n<|im_start|>assistant\n",
                   .before_instruction = "instruction: ",
                   .after_instruction = "\n"}}}};
  return kPrompts;
}

// Where a control token's text ends that lies last in `text`, and where one begins that is its
// first; the beginning and the end of the text if there is none.
struct ControlTokens {
  size_t end_of_last = 0;
  size_t begin_of_first = 0;
};

ControlTokens FindControlTokens(std::string_view text, const Tokenizer& tokenizer) {
  ControlTokens found{.begin_of_first = text.size()};
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.IsControl(id) || tokenizer.TokenText(id).empty()) continue;
    const std::string_view token = tokenizer.TokenText(id);
    if (const size_t at = text.rfind(token); at != std::string_view::npos) {
      found.end_of_last = std::max(found.end_of_last, at + token.size());
      found.begin_of_first = std::min(found.begin_of_first, text.find(token));
    }
  }
  return found;
}

// A token of one answer, whole.
Result<TokenId> AnswerToken(const Tokenizer& tokenizer, std::string_view answer) {
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<TokenId> ids,
      tokenizer.Encode(answer, {.add_special_tokens = false, .parse_special_tokens = false}));
  if (ids.size() == 1) return ids.front();
  return Fail(ErrorCode::kInvalidArgument,
              "the vocabulary has no token {}, of whose logit a ranker's score is made",
              Quoted(answer));
}

// What the template makes of the places of both texts; empty: not both of them stand in it.
std::string RenderPlaces(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                         bool has_instruction, bool in_parts) {
  std::vector<RoleText> messages = {{"query", kTexts[0]}, {"document", kTexts[1]}};
  if (has_instruction) messages.insert(messages.begin(), {"system", kInstruction});
  auto text = RenderRoles(chat_template, tokenizer, messages, in_parts);
  const auto has = [&](std::string_view place) { return text->find(place) != std::string::npos; };
  return text && has(kTexts[0]) && has(kTexts[1]) ? *std::move(text) : std::string();
}

// What stands in `text` in the place that `with` has for an instruction.
std::optional<std::string> InstructionIn(std::string_view text, std::string_view with) {
  const size_t place = with.find(kInstruction);
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view before = with.substr(0, place);
  const std::string_view after = with.substr(place + kInstruction.size());
  if (text.size() < before.size() + after.size() || !text.starts_with(before) ||
      !text.ends_with(after)) {
    return std::nullopt;
  }
  return std::string(text.substr(place, text.size() - before.size() - after.size()));
}

// Whether a score is a probability, by the activation that files name; by default it is.
Result<bool> ReadIsProbability(const std::string& directory) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPlaces = {
      {{"config_sentence_transformers.json", "activation_fn"},
       {"config.json", "sentence_transformers.activation_fn"},
       {"config.json", "sbert_ce_default_activation_function"}}};
  for (const auto& [file, key] : kPlaces) {
    const std::string path = directory + "/" + std::string(file);
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                          ReadFileIfPresent(path, kConfigJson.max_bytes));
    if (!text) continue;
    WEFT_ASSIGN_OR_RETURN(const ConfigValues values, ReadConfigJson(*text, path));
    const auto found = values.find(key);
    if (found == values.end() || std::holds_alternative<std::monostate>(found->second)) continue;
    const auto* name = std::get_if<std::string>(&found->second);
    if (name != nullptr && name->ends_with(".Identity")) return false;
    if (name != nullptr && name->ends_with(".Sigmoid")) return true;
    return Fail(ErrorCode::kUnsupported, "{}: {} is {}, expected Identity or Sigmoid", path, key,
                name != nullptr ? Quoted(*name) : "no string");
  }
  return true;
}

}  // namespace

RankingPrompt PromptOfText(std::string_view text, const Tokenizer& tokenizer) {
  size_t first = text.size();
  size_t end = 0;
  for (const std::string_view place : {kTexts[0], kTexts[1], kInstruction}) {
    if (const size_t at = text.find(place); at != std::string_view::npos) {
      first = std::min(first, at);
      end = std::max(end, text.rfind(place) + place.size());
    }
  }
  const size_t begin = FindControlTokens(text.substr(0, first), tokenizer).end_of_last;
  end += FindControlTokens(text.substr(end), tokenizer).begin_of_first;
  return {.prefix = std::string(text.substr(0, begin)),
          .body = std::string(text.substr(begin, end - begin)),
          .suffix = std::string(text.substr(end))};
}

Result<std::optional<RankingPrompt>> PromptOfChatTemplate(const std::string& source,
                                                          const Tokenizer& tokenizer,
                                                          const std::string& instruction) {
  if (source.empty()) return std::nullopt;
  WEFT_ASSIGN_OR_RETURN(const ChatTemplate chat_template, ChatTemplate::Parse(source));
  for (const bool in_parts : {false, true}) {
    const auto render = [&](bool has_instruction) {
      return RenderPlaces(chat_template, tokenizer, has_instruction, in_parts);
    };
    const std::string with = render(true);
    const std::string without = render(false);
    if (const auto own = InstructionIn(without, with); own && !without.empty()) {
      RankingPrompt prompt = PromptOfText(with, tokenizer);
      prompt.instruction = instruction.empty() ? *own : instruction;
      return prompt;
    }
    const std::string& text = with.find(kInstruction) != std::string::npos ? with : without;
    if (text.empty()) continue;
    RankingPrompt prompt = PromptOfText(text, tokenizer);
    prompt.instruction = instruction;
    return prompt;
  }
  return std::nullopt;
}

Result<Ranking> TrainedRanking(const ModelSpec& spec, const Tokenizer& tokenizer) {
  for (const TrainedPrompt& trained : TrainedPrompts()) {
    if (trained.architecture != spec.architecture) continue;
    Ranking ranking{.prompt = trained.prompt};
    if (spec.classifier) return ranking;
    ranking.output = PooledOutput::kTokenLogits;
    for (const std::string_view answer : trained.answers) {
      WEFT_ASSIGN_OR_RETURN(const TokenId token, AnswerToken(tokenizer, answer));
      ranking.tokens.push_back(token);
    }
    return ranking;
  }
  return Fail(ErrorCode::kUnsupported,
              "{} is not known to rank: qwen3 (Qwen3-Reranker) and qwen2 (mxbai-rerank v2) are",
              spec.architecture);
}

Result<std::optional<Ranking>> RankingFor(const Checkpoint& checkpoint, std::string_view task) {
  const ModelSpec& spec = checkpoint.spec;
  const std::optional<Ranking>& own = checkpoint.ranking;
  const bool is_told = own && (own->prompt || spec.is_encoder);
  if (task != kRankTask || is_told || spec.encoder != nullptr) return own;
  auto ranking = TrainedRanking(spec, *checkpoint.tokenizer);
  if (ranking && own) ranking->is_probability = own->is_probability;
  if (ranking) return *std::move(ranking);
  return Fail(ranking.error().code, "--task {}: {}", task, ranking.error().message);
}

Result<std::optional<Ranking>> RankingOfGguf(const GgufMetadata& metadata, const ModelSpec& spec,
                                             const Tokenizer& tokenizer) {
  if (!spec.classifier || spec.classifier->labels.size() > 2) return std::nullopt;
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> text,
                        metadata.GetString("tokenizer.chat_template.rerank"));
  if (!text) {
    return spec.classifier->labels.size() == 1 ? std::optional(Ranking()) : std::nullopt;
  }
  RankingPrompt prompt = PromptOfText(*text, tokenizer);
  // Qwen3-Reranker's stands in the template as a fixed text.
  const std::string& instruction = TrainedPrompts().front().prompt.instruction;
  if (const size_t at = prompt.body.find(instruction); at != std::string::npos) {
    prompt.body.replace(at, instruction.size(), kInstruction);
    prompt.instruction = instruction;
  }
  return Ranking{.prompt = std::move(prompt)};
}

Result<std::optional<Ranking>> RankingOfDirectory(const std::string& directory,
                                                  const DirectoryRanking& read) {
  const ModelSpec& spec = read.spec;
  const bool is_classifier = spec.classifier && spec.classifier->labels.size() == 1;
  if (read.tokens.empty() && !is_classifier) return std::nullopt;
  Ranking ranking{.tokens = read.tokens};
  if (!read.tokens.empty()) ranking.output = PooledOutput::kTokenLogits;
  if (!spec.is_encoder) {
    WEFT_ASSIGN_OR_RETURN(const std::string_view instruction, read.prompts.Find(""));
    WEFT_ASSIGN_OR_RETURN(ranking.prompt, PromptOfChatTemplate(read.chat_template, read.tokenizer,
                                                               std::string(instruction)));
  }
  if (!read.tokens.empty() && !ranking.prompt) {
    return Fail(ErrorCode::kUnsupported,
                "{}: its LogitScore module needs a chat template of the roles query and document, "
                "which is not there",
                directory);
  }
  WEFT_ASSIGN_OR_RETURN(ranking.is_probability, ReadIsProbability(directory));
  return ranking;
}

}  // namespace weft
