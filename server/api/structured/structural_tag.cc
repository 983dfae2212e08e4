#include "server/api/structured/structural_tag.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "server/api/structured/output_grammar.h"
#include "server/api/structured/tag_writer.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr int kMostTagDepth = 32;

class StructuralTagReader {
 public:
  StructuralTagReader(const OutputFormat& format, const SpecialTokenLookup& tokens)
      : format_(format), tokens_(tokens), writer_(&builder_, tokens, {}) {}

  ApiResult<RecognizerFactory> Compile() {
    const ordered_json& tag = format_.schema;
    if (!tag.is_object()) return Refuse("", "must be an object");
    ApiResult<GrammarExpr> start =
        tag.contains("format") ? Format(tag["format"], "/format", "", 0) : Structures(tag);
    if (!start) return tl::unexpected(std::move(start).error());
    return BuildGrammar(std::move(builder_), *start, format_.path);
  }

 private:
  using Members = std::initializer_list<std::string_view>;
  struct Tag {
    std::string begin;
    GrammarExpr text;
  };

  tl::unexpected<ApiError> Refuse(const std::string& pointer, std::string_view what) const {
    const std::string place = format_.path + pointer;
    ApiError refusal = InvalidField(place, fmt::format("'{}': {}", place, what));
    refusal.code = "invalid_structural_tag";
    return tl::unexpected(std::move(refusal));
  }

  // Only what is known may be there: anything else might have a meaning.
  ApiResult<void> CheckMembers(const ordered_json& object, const std::string& pointer,
                               Members known) const {
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(known, name) == known.end())
        return Refuse(pointer + "/" + name, "is not a member that this server knows");
    }
    return {};
  }

  ApiResult<std::string> String(const ordered_json& object, const char* name,
                                const std::string& pointer) const {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string())
      return Refuse(pointer + "/" + name, "must be a string");
    return found->get<std::string>();
  }

  ApiResult<std::vector<std::string>> Strings(const ordered_json& object, const char* name,
                                              const std::string& pointer) const {
    const auto found = object.find(name);
    std::vector<std::string> strings;
    if (found != object.end() && found->is_array()) {
      for (const ordered_json& each : *found) {
        if (each.is_string() && !each.get_ref<const std::string&>().empty())
          strings.push_back(each);
      }
    }
    if (strings.empty() || strings.size() != found->size())
      return Refuse(pointer + "/" + name, "must be a list of strings, none of them empty");
    return strings;
  }

  ApiResult<bool> Flag(const ordered_json& object, const char* name,
                       const std::string& pointer) const {
    const auto found = object.find(name);
    if (found == object.end()) return false;
    if (!found->is_boolean()) return Refuse(pointer + "/" + name, "must be true or false");
    return found->get<bool>();
  }

  ApiResult<const ordered_json*> List(const ordered_json& object, const char* name,
                                      const std::string& pointer) const {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_array() || found->empty())
      return Refuse(pointer + "/" + name, "must be a list that is not empty");
    return &*found;
  }

  // A part of another kind, as a grammar of its own.
  ApiResult<GrammarExpr> Other(OutputKind kind, OutputFormat part, const std::string& pointer) {
    part.kind = kind;
    part.path = format_.path + pointer;
    part.space = format_.space;
    part.any_order = format_.any_order;
    ApiResult<RecognizerFactory> factory = CompileOutput(part, tokens_);
    if (!factory) return tl::unexpected(std::move(factory).error());
    return builder_.Terminal(*std::move(factory));
  }

  ApiResult<GrammarExpr> Schema(const ordered_json& object, const char* name,
                                const std::string& pointer) {
    const auto found = object.find(name);
    if (found == object.end()) return Refuse(pointer + "/" + name, "is missing");
    OutputFormat part;
    part.schema = *found;
    return Other(OutputKind::kJsonSchema, std::move(part), pointer + "/" + name);
  }

  ApiResult<GrammarExpr> OtherText(OutputKind kind, const ordered_json& object, const char* name,
                                   const std::string& pointer) {
    OutputFormat part;
    WEFT_ASSIGN_OR_RETURN(part.text, String(object, name, pointer));
    return Other(kind, std::move(part), pointer + "/" + name);
  }

  // {"structures", "triggers"}: text, in which what a trigger begins is one of the structures.
  ApiResult<GrammarExpr> Structures(const ordered_json& object) {
    WEFT_RETURN_IF_ERROR(CheckMembers(object, "", {"type", "structures", "triggers"}));
    WEFT_ASSIGN_OR_RETURN(const ordered_json* structures, List(object, "structures", ""));
    std::vector<Tag> tags;
    for (size_t i = 0; i < structures->size(); ++i) {
      const std::string pointer = fmt::format("/structures/{}", i);
      const ordered_json& structure = (*structures)[i];
      if (!structure.is_object()) return Refuse(pointer, "must be an object");
      WEFT_RETURN_IF_ERROR(CheckMembers(structure, pointer, {"begin", "schema", "end"}));
      WEFT_ASSIGN_OR_RETURN(const std::string begin, String(structure, "begin", pointer));
      WEFT_ASSIGN_OR_RETURN(const std::string end, String(structure, "end", pointer));
      WEFT_ASSIGN_OR_RETURN(const GrammarExpr schema, Schema(structure, "schema", pointer));
      tags.push_back({begin, builder_.Sequence({writer_.Text(begin), schema, writer_.Text(end)})});
    }
    WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> triggers, Strings(object, "triggers", ""));
    return Triggered(tags, triggers, {}, "", false, false);
  }

  // Every tag begins with a trigger, and triggers stand nowhere else.
  ApiResult<GrammarExpr> Triggered(const std::vector<Tag>& tags,
                                   const std::vector<std::string>& triggers,
                                   const std::vector<std::string>& excludes, std::string_view end,
                                   bool at_least_one, bool stop_after_first) {
    std::vector<GrammarExpr> choices;
    for (const Tag& tag : tags) {
      const bool triggered = std::ranges::any_of(
          triggers, [&](const std::string& each) { return tag.begin.starts_with(each); });
      if (!triggered) {
        return Refuse("", fmt::format("'{}' begins with none of the triggers", tag.begin));
      }
      choices.push_back(tag.text);
    }
    std::vector<std::string_view> without(triggers.begin(), triggers.end());
    without.insert(without.end(), excludes.begin(), excludes.end());
    without.push_back(end);
    const GrammarExpr text = writer_.TextWithout(without);
    const GrammarExpr tag = builder_.Choice(choices);
    if (stop_after_first) {
      const GrammarExpr one = builder_.Sequence({text, tag});
      return at_least_one ? one : builder_.Choice({one, text});
    }
    const GrammarExpr more =
        builder_.Repeat(builder_.Sequence({tag, text}), at_least_one ? 1 : 0, std::nullopt);
    return builder_.Sequence({text, more});
  }

  // `end` is what follows: the text before it ends at its first place.
  ApiResult<GrammarExpr> Format(const ordered_json& format, const std::string& pointer,
                                const std::string& end, int depth) {
    if (depth == kMostTagDepth)
      return Refuse(pointer, fmt::format("is more than {} deep", kMostTagDepth));
    if (!format.is_object()) return Refuse(pointer, "must be an object");
    WEFT_ASSIGN_OR_RETURN(const std::string type, String(format, "type", pointer));
    if (type == "const_string") {
      WEFT_RETURN_IF_ERROR(CheckMembers(format, pointer, {"type", "value"}));
      WEFT_ASSIGN_OR_RETURN(const std::string value, String(format, "value", pointer));
      return writer_.Text(value);
    }
    if (type == "json_schema") {
      WEFT_RETURN_IF_ERROR(CheckMembers(format, pointer, {"type", "json_schema"}));
      return Schema(format, "json_schema", pointer);
    }
    if (type == "regex") {
      WEFT_RETURN_IF_ERROR(CheckMembers(format, pointer, {"type", "pattern"}));
      return OtherText(OutputKind::kRegex, format, "pattern", pointer);
    }
    if (type == "grammar") {
      WEFT_RETURN_IF_ERROR(CheckMembers(format, pointer, {"type", "grammar"}));
      return OtherText(OutputKind::kGrammar, format, "grammar", pointer);
    }
    if (type == "any_text") {
      WEFT_RETURN_IF_ERROR(CheckMembers(format, pointer, {"type", "excludes"}));
      WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> excludes, Excludes(format, pointer));
      std::vector<std::string_view> without(excludes.begin(), excludes.end());
      without.push_back(end);
      return writer_.TextWithout(without);
    }
    if (type == "sequence" || type == "or") return Elements(format, type, pointer, end, depth);
    if (type == "tag") {
      WEFT_ASSIGN_OR_RETURN(const Tag tag, ReadTag(format, pointer, depth));
      return tag.text;
    }
    if (type == "triggered_tags") return TriggeredTags(format, pointer, end, depth);
    if (type == "tags_with_separator") return SeparatedTags(format, pointer, depth);
    return Refuse(pointer + "/type", fmt::format("is '{}', which this server does not know", type));
  }

  ApiResult<std::vector<std::string>> Excludes(const ordered_json& format,
                                               const std::string& pointer) const {
    const auto found = format.find("excludes");
    if (found == format.end() || (found->is_array() && found->empty()))
      return std::vector<std::string>();
    return Strings(format, "excludes", pointer);
  }

  ApiResult<GrammarExpr> Elements(const ordered_json& format, const std::string& type,
                                  const std::string& pointer, const std::string& end, int depth) {
    WEFT_RETURN_IF_ERROR(CheckMembers(format, pointer, {"type", "elements"}));
    WEFT_ASSIGN_OR_RETURN(const ordered_json* elements, List(format, "elements", pointer));
    std::vector<GrammarExpr> parts;
    for (size_t i = 0; i < elements->size(); ++i) {
      WEFT_ASSIGN_OR_RETURN(
          const GrammarExpr part,
          Format((*elements)[i], fmt::format("{}/elements/{}", pointer, i), end, depth + 1));
      parts.push_back(part);
    }
    return type == "or" ? builder_.Choice(parts) : builder_.Sequence(parts);
  }

  ApiResult<Tag> ReadTag(const ordered_json& format, const std::string& pointer, int depth) {
    if (!format.is_object()) return Refuse(pointer, "must be an object");
    WEFT_RETURN_IF_ERROR(CheckMembers(format, pointer, {"type", "begin", "content", "end"}));
    WEFT_ASSIGN_OR_RETURN(const std::string begin, String(format, "begin", pointer));
    std::vector<std::string> ends;
    const auto end = format.find("end");
    if (end != format.end() && end->is_array()) {
      WEFT_ASSIGN_OR_RETURN(ends, Strings(format, "end", pointer));
    } else {
      WEFT_ASSIGN_OR_RETURN(const std::string only, String(format, "end", pointer));
      ends.push_back(only);
    }
    const auto content = format.find("content");
    if (content == format.end()) return Refuse(pointer + "/content", "is missing");
    std::vector<GrammarExpr> choices;
    for (const std::string& each : ends) {
      WEFT_ASSIGN_OR_RETURN(const GrammarExpr text,
                            Format(*content, pointer + "/content", each, depth + 1));
      choices.push_back(builder_.Sequence({writer_.Text(begin), text, writer_.Text(each)}));
    }
    return Tag{begin, builder_.Choice(choices)};
  }

  ApiResult<std::vector<Tag>> Tags(const ordered_json& format, const std::string& pointer,
                                   int depth) {
    WEFT_ASSIGN_OR_RETURN(const ordered_json* list, List(format, "tags", pointer));
    std::vector<Tag> tags;
    for (size_t i = 0; i < list->size(); ++i) {
      WEFT_ASSIGN_OR_RETURN(Tag tag,
                            ReadTag((*list)[i], fmt::format("{}/tags/{}", pointer, i), depth + 1));
      tags.push_back(std::move(tag));
    }
    return tags;
  }

  ApiResult<GrammarExpr> TriggeredTags(const ordered_json& format, const std::string& pointer,
                                       const std::string& end, int depth) {
    WEFT_RETURN_IF_ERROR(
        CheckMembers(format, pointer,
                     {"type", "triggers", "tags", "at_least_one", "stop_after_first", "excludes"}));
    WEFT_ASSIGN_OR_RETURN(const std::vector<Tag> tags, Tags(format, pointer, depth));
    WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> triggers,
                          Strings(format, "triggers", pointer));
    WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> excludes, Excludes(format, pointer));
    WEFT_ASSIGN_OR_RETURN(const bool at_least_one, Flag(format, "at_least_one", pointer));
    WEFT_ASSIGN_OR_RETURN(const bool stop, Flag(format, "stop_after_first", pointer));
    return Triggered(tags, triggers, excludes, end, at_least_one, stop);
  }

  ApiResult<GrammarExpr> SeparatedTags(const ordered_json& format, const std::string& pointer,
                                       int depth) {
    WEFT_RETURN_IF_ERROR(CheckMembers(
        format, pointer, {"type", "tags", "separator", "at_least_one", "stop_after_first"}));
    WEFT_ASSIGN_OR_RETURN(const std::vector<Tag> tags, Tags(format, pointer, depth));
    WEFT_ASSIGN_OR_RETURN(const std::string separator, String(format, "separator", pointer));
    WEFT_ASSIGN_OR_RETURN(const bool at_least_one, Flag(format, "at_least_one", pointer));
    WEFT_ASSIGN_OR_RETURN(const bool stop, Flag(format, "stop_after_first", pointer));
    std::vector<GrammarExpr> choices;
    for (const Tag& tag : tags) choices.push_back(tag.text);
    const GrammarExpr tag = builder_.Choice(choices);
    const GrammarExpr more =
        builder_.Repeat(builder_.Sequence({writer_.Text(separator), tag}), 0, std::nullopt);
    const GrammarExpr some = stop ? tag : builder_.Sequence({tag, more});
    return at_least_one ? some : builder_.Optional(some);
  }

  const OutputFormat& format_;
  const SpecialTokenLookup& tokens_;
  GrammarBuilder builder_;
  TagWriter writer_;
};

}  // namespace

ApiResult<RecognizerFactory> CompileStructuralTag(const OutputFormat& format,
                                                  const SpecialTokenLookup& tokens) {
  return StructuralTagReader(format, tokens).Compile();
}

}  // namespace weft
