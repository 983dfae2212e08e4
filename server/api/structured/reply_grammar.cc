#include "server/api/structured/reply_grammar.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "grammar/avoiding_recognizer.h"
#include "grammar/cfg/grammar_builder.h"
#include "grammar/regex/pattern.h"
#include "server/api/structured/output_grammar.h"
#include "server/api/structured/tag_writer.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// Of messages in formats that have them, wherever they stand.
constexpr std::string_view kHarmonyEnds[] = {"<|end|>", "<|call|>", "<|return|>", "<|start|>"};
constexpr std::string_view kSolarEnds[] = {"<|end|>",        "<|flush|>",          "<|calls|>",
                                           "<|begin|>",      "<|think|>",          "<|content|>",
                                           "<|tool_calls|>", "<|tool_call:begin|>"};

bool IsJson(OutputKind kind) {
  return kind == OutputKind::kJsonObject || kind == OutputKind::kJsonSchema;
}

class ReplyWriter {
 public:
  ReplyWriter(const ReplyGrammarRequest& request, const Tokenizer& tokenizer,
              const std::vector<TokenId>& end_tokens)
      : request_(request),
        format_(request.reply.format),
        tokens_(SpecialTokensOf(tokenizer)),
        tags_(&builder_, tokens_, end_tokens) {}

  ApiResult<CompiledOutput> Compile();

 private:
  bool answers_freely() const { return request_.output.kind == OutputKind::kText; }
  // Anything may be said.
  bool is_free() const { return answers_freely() && request_.calls != CallUse::kMust; }
  GrammarExpr Nothing() { return builder_.Choice({}); }
  GrammarExpr Empty() { return builder_.Literal(""); }

  ApiResult<void> AddCalls();
  // An answer in the format that is asked for; no text if it may be any.
  ApiResult<GrammarExpr> Answer();
  GrammarExpr Wrapped(GrammarExpr answer);
  // Any text that ReplyParser does not take for anything else, with calls in it if they may be.
  GrammarExpr FreeReply();
  GrammarExpr WithReasoning(GrammarExpr reply);
  RegexId UntaggedText();
  ApiResult<GrammarExpr> Body();
  ApiResult<GrammarExpr> Harmony();
  ApiResult<GrammarExpr> Solar();
  bool calls_once() const { return request_.reply.max_calls == 1; }

  const ReplyGrammarRequest& request_;
  const ReplyFormat& format_;
  const SpecialTokenLookup tokens_;
  GrammarBuilder builder_;
  TagWriter tags_;
  std::optional<CallGrammar> calls_;
};

ApiResult<void> ReplyWriter::AddCalls() {
  if (request_.calls == CallUse::kNone) return {};
  ApiResult<CallGrammar> calls = WriteCalls(&tags_, format_.calls, request_.tools);
  if (!calls) return tl::unexpected(std::move(calls).error());
  calls_ = *std::move(calls);
  return {};
}

ApiResult<GrammarExpr> ReplyWriter::Answer() {
  if (answers_freely()) return Nothing();
  ApiResult<RecognizerFactory> factory = CompileOutput(request_.output, tokens_);
  if (!factory) return tl::unexpected(std::move(factory).error());
  if (!IsJson(request_.output.kind)) return builder_.Terminal(*std::move(factory));
  // In strings it can be spelled so that it is no tag.
  std::vector<std::string_view> tags;
  if (calls_) tags = calls_->openings;
  if (format_.calls == CallFormat::kHarmony)
    tags.insert(tags.end(), std::begin(kHarmonyEnds), std::end(kHarmonyEnds));
  if (format_.calls == CallFormat::kSolar)
    tags.insert(tags.end(), std::begin(kSolarEnds), std::end(kSolarEnds));
  if (!format_.answer_close.empty()) tags.push_back(format_.answer_close);
  if (tags.empty()) return builder_.Terminal(*std::move(factory));
  std::vector<std::string> words(tags.begin(), tags.end());
  return builder_.Terminal(
      [make = *std::move(factory), words = std::move(words)]() -> std::unique_ptr<Recognizer> {
        const std::vector<std::string_view> views(words.begin(), words.end());
        return std::make_unique<AvoidingRecognizer>(make(), views);
      });
}

GrammarExpr ReplyWriter::Wrapped(GrammarExpr answer) {
  if (format_.answer_open.empty() || request_.is_continued) return answer;
  const GrammarExpr wrapped =
      builder_.Sequence({tags_.Text(format_.answer_open), tags_.Space(), answer, tags_.Space(),
                         tags_.Close(format_.answer_close)});
  return builder_.Choice({answer, wrapped});
}

// Calls that must fit are worth that some texts cannot be written.
bool AnyIsStrict(const std::vector<CallableTool>& tools) {
  return std::ranges::any_of(
      tools, [](const CallableTool& tool) { return tool.strict || tool.input != nullptr; });
}

// Text that does not begin as calls without tags do: with the names of tools, or with an object
// whose first member is a call's name; where tools are strict, may be any member of a call.
RegexId ReplyWriter::UntaggedText() {
  RegexArena& arena = builder_.regexes();
  std::vector<std::string> names;
  for (const CallableTool& tool : request_.tools) names.push_back(tool.name);
  const RegexId name = arena.Words(names);
  const auto pattern = [&](std::string_view text) {
    return ParsePattern(&arena, text, PatternDialect::kRe2).value_or(RegexArena::Nothing());
  };
  const RegexId space = pattern("[ \\t\\r\\n]*");
  const RegexId object =
      pattern("[ \\t\\r\\n]*(```(json)?)?[ \\t\\r\\n]*(\\[[ \\t\\r\\n]*)?\\{[ \\t\\r\\n]*\"");
  std::vector<RegexId> begins;
  if (AnyIsStrict(request_.tools)) {
    begins.push_back(arena.Concat(
        object,
        pattern("(name|tool_name|arguments|parameters|function|type|id)\"|[^\"\\\\]*\\\\")));
  } else {
    const RegexId named[] = {object, pattern("(tool_)?name\"[ \\t\\r\\n]*:[ \\t\\r\\n]*\""), name,
                             arena.Literal("\"")};
    begins.push_back(arena.Concat(named));
  }
  if (format_.calls == CallFormat::kLlama) {
    const RegexId list[] = {space, arena.Literal("["), space, name};
    begins.push_back(arena.Concat(list));
  }
  if (format_.calls == CallFormat::kGlm4) {
    const RegexId call[] = {space, name, space, arena.Literal("{")};
    begins.push_back(arena.Concat(call));
  }
  return arena.Not(arena.Concat(arena.Or(begins), arena.AnyText()));
}

GrammarExpr ReplyWriter::FreeReply() {
  RegexArena& arena = builder_.regexes();
  RegexId other = tags_.Without(calls_->openings);
  if (IsUntagged(format_.calls)) other = arena.And(other, UntaggedText());
  RegexId first = other;
  if (!format_.reasoning_open.empty() && !request_.is_continued) {
    const RegexId reasons[] = {tags_.SpaceRegex(), arena.Literal(format_.reasoning_open),
                               arena.AnyText()};
    first = arena.And(other, arena.Not(arena.Concat(reasons)));
  }
  const GrammarExpr text = Wrapped(builder_.Regex(first));
  if (IsUntagged(format_.calls)) {
    const GrammarExpr calls = calls_once() ? calls_->one : calls_->some;
    return request_.is_continued
               ? text
               : builder_.Choice({text, builder_.Sequence({tags_.Space(), calls, tags_.Space()})});
  }
  if (calls_once()) {
    return builder_.Sequence({text, builder_.Optional(calls_->one), tags_.Space()});
  }
  if (calls_->ends) return builder_.Sequence({text, builder_.Optional(calls_->some)});
  return builder_.Sequence(
      {text,
       builder_.Repeat(builder_.Sequence({calls_->some, builder_.Regex(other)}), 0, std::nullopt)});
}

// Reasoning that has begun must end; other reasoning may come where the model's template knows it.
GrammarExpr ReplyWriter::WithReasoning(GrammarExpr reply) {
  if (format_.reasoning_close.empty()) return reply;
  const GrammarExpr thoughts = tags_.TextWithout({format_.reasoning_close});
  const GrammarExpr rest =
      builder_.Sequence({thoughts, tags_.Text(format_.reasoning_close), tags_.Space(), reply});
  if (request_.reply.begins_in_reasoning) {
    // Where nothing has to follow, it may also break off.
    return is_free() ? builder_.Choice({rest, thoughts}) : rest;
  }
  if (request_.is_continued || (!format_.reasons && !is_free())) return reply;
  return builder_.Choice(
      {reply, builder_.Sequence({tags_.Space(), tags_.Text(format_.reasoning_open), rest})});
}

ApiResult<GrammarExpr> ReplyWriter::Body() {
  WEFT_ASSIGN_OR_RETURN(const GrammarExpr answer, Answer());
  if (!calls_) return WithReasoning(Wrapped(answer));
  const GrammarExpr calls =
      builder_.Sequence({tags_.Space(), calls_once() ? calls_->one : calls_->some, tags_.Space()});
  if (request_.calls == CallUse::kMust) return WithReasoning(calls);
  if (answers_freely()) return WithReasoning(FreeReply());
  return WithReasoning(builder_.Choice({calls, Wrapped(answer)}));
}

// Messages of analysis, and of what else is said besides calls, come first.
ApiResult<GrammarExpr> ReplyWriter::Harmony() {
  WEFT_ASSIGN_OR_RETURN(const GrammarExpr answer, Answer());
  const GrammarExpr text = tags_.TextWithout(kHarmonyEnds);
  if (request_.is_continued) return answers_freely() ? text : answer;
  const GrammarExpr next = tags_.Text("<|end|><|start|>assistant");
  const auto message = [&](std::string_view channel, GrammarExpr body) {
    return builder_.Sequence({tags_.Text(channel), tags_.Text("<|message|>"), body});
  };
  const GrammarExpr final_text = answers_freely() ? text : answer;
  const GrammarExpr type =
      builder_.Sequence({builder_.Literal(" "), builder_.Optional(tags_.Text("<|constrain|>")),
                         builder_.Literal("json")});
  const GrammarExpr channel =
      builder_.Sequence({tags_.Text("<|channel|>final"),
                         IsJson(request_.output.kind) ? builder_.Optional(type) : Empty()});
  const GrammarExpr final_message =
      builder_.Sequence({channel, tags_.Text("<|message|>"), final_text,
                         builder_.Optional(tags_.Close("<|return|>"))});
  std::vector<GrammarExpr> first = {message("<|channel|>analysis", text)};
  std::vector<GrammarExpr> last;
  if (request_.calls != CallUse::kMust) last.push_back(final_message);
  if (calls_) {
    last.push_back(calls_->one);
    if (is_free()) first.push_back(message("<|channel|>commentary", text));
  }
  const GrammarExpr before =
      builder_.Repeat(builder_.Sequence({builder_.Choice(first), next}), 0, std::nullopt);
  return builder_.Sequence({before, builder_.Choice(last)});
}

ApiResult<GrammarExpr> ReplyWriter::Solar() {
  WEFT_ASSIGN_OR_RETURN(const GrammarExpr answer, Answer());
  const GrammarExpr text = tags_.TextWithout(kSolarEnds);
  if (request_.is_continued) return answers_freely() ? text : answer;
  const GrammarExpr next = tags_.Text("<|end|><|begin|>assistant");
  const GrammarExpr thoughts = builder_.Sequence({tags_.Text("<|think|>"), text, next});
  const GrammarExpr said =
      builder_.Sequence({tags_.Text("<|content|>"), answers_freely() ? text : answer});
  std::vector<GrammarExpr> last;
  if (request_.calls != CallUse::kMust)
    last.push_back(builder_.Sequence({said, builder_.Optional(tags_.Close("<|end|>"))}));
  if (calls_) {
    const GrammarExpr calls = calls_once() ? calls_->one : calls_->some;
    last.push_back(calls);
    if (is_free()) last.push_back(builder_.Sequence({said, next, calls}));
  }
  return builder_.Sequence({builder_.Repeat(thoughts, 0, std::nullopt), builder_.Choice(last)});
}

ApiResult<CompiledOutput> ReplyWriter::Compile() {
  // The answer's own errors first: they name what the client has asked for.
  WEFT_RETURN_IF_ERROR(AddCalls());
  ApiResult<GrammarExpr> reply = format_.calls == CallFormat::kHarmony ? Harmony()
                                 : format_.calls == CallFormat::kSolar ? Solar()
                                                                       : Body();
  if (!reply) return tl::unexpected(std::move(reply).error());
  const std::string& path = calls_ ? request_.tools_path : request_.output.path;
  ApiResult<RecognizerFactory> make = BuildGrammar(std::move(builder_), *reply, path);
  if (!make) return tl::unexpected(std::move(make).error());
  return CompiledOutput{.make = *std::move(make),
                        .loose_tool_count = calls_ ? calls_->loose_tool_count : 0};
}

}  // namespace

bool NeedsGrammar(const ReplyGrammarRequest& request) {
  if (request.output.kind != OutputKind::kText) return true;
  return !request.tools.empty() && request.calls != CallUse::kNone;
}

ApiResult<CompiledOutput> CompileReply(const ReplyGrammarRequest& request,
                                       const Tokenizer& tokenizer,
                                       const std::vector<TokenId>& end_tokens) {
  return ReplyWriter(request, tokenizer, end_tokens).Compile();
}

}  // namespace weft
