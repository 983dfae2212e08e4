#include "proto/output_fields.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "proto/field_reader.h"
#include "proto/json_checks.h"
#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct KindField {
  std::string_view name;
  OutputKind kind;
  bool may_be_json_text = false;  // of an object: the text of one does as well
};

constexpr auto kStructuredKinds = std::to_array<KindField>({
    {"json", OutputKind::kJsonSchema, true},
    {"regex", OutputKind::kRegex},
    {"choice", OutputKind::kChoice},
    {"grammar", OutputKind::kGrammar},
    {"json_object", OutputKind::kJsonObject},
    {"structural_tag", OutputKind::kStructuralTag, true},
});

constexpr auto kPlainKinds = std::to_array<KindField>({
    {"guided_json", OutputKind::kJsonSchema, true},
    {"guided_regex", OutputKind::kRegex},
    {"guided_choice", OutputKind::kChoice},
    {"guided_grammar", OutputKind::kGrammar},
    {"guided_json_object", OutputKind::kJsonObject},
    {"structural_tag", OutputKind::kStructuralTag, true},
    {"json_schema", OutputKind::kJsonSchema},
    {"grammar", OutputKind::kGrammar},
    {"regex", OutputKind::kRegex},
    {"ebnf", OutputKind::kGrammar},
});

constexpr auto kStructuredOptions = std::to_array<std::string_view>(
    {"whitespace_pattern", "disable_any_whitespace", "disable_additional_properties",
     "disable_fallback", "any_order", "finish_by_length"});

// A field that says what the text must be.
struct OutputSource {
  std::string path;
  OutputKind kind;
  ordered_json* value;
  bool may_be_json_text = false;
};

ApiResult<void> RefuseOtherMembers(const ordered_json& object, const std::string& path,
                                   std::span<const std::string_view> known) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_null() || std::ranges::find(known, name) != known.end()) continue;
    const std::string member = fmt::format("{}.{}", path, name.substr(0, 60));
    return tl::unexpected(UnsupportedParameter(
        member, fmt::format("'{}' is nothing that this server knows and could enforce; '{}' may "
                            "have {} here",
                            member, path, fmt::join(known, ", "))));
  }
  return {};
}

bool IsEmptyText(const ordered_json& value) {
  return value.is_string() && value.get_ref<const std::string&>().empty();
}

// The fields of `table` that say something. llama.cpp's clients send an empty `grammar` for none.
ApiResult<void> FindSources(ordered_json& object, std::string_view prefix,
                            std::span<const KindField> table, std::vector<OutputSource>& sources) {
  for (const KindField& field : table) {
    ordered_json* value = FindField(object, field.name);
    if (value == nullptr) continue;
    OutputSource source{fmt::format("{}{}", prefix, field.name), field.kind, value,
                        field.may_be_json_text};
    if (field.kind == OutputKind::kJsonObject && !value->is_boolean()) {
      return RefuseValue(source.path, "true or false", *value);
    }
    const bool says_nothing = field.kind == OutputKind::kJsonObject
                                  ? *value == false
                                  : source.path == "grammar" && IsEmptyText(*value);
    if (!says_nothing) sources.push_back(std::move(source));
  }
  return {};
}

// Of {"type":"json_schema",...}: `holder` has the schema, and a name, a description and whether it
// is strict; it is enforced either way.
ApiResult<OutputSource> FindSchema(ordered_json& holder, const std::string& path) {
  WEFT_RETURN_IF_ERROR(CheckOptionalString(holder, "name", path));
  WEFT_RETURN_IF_ERROR(CheckOptionalString(holder, "description", path));
  bool is_strict = false;
  WEFT_RETURN_IF_ERROR(ReadBool(holder, "strict", is_strict, path + "."));
  ordered_json* schema = FindField(holder, "schema");
  std::string schema_path = path + ".schema";
  if (schema == nullptr) return RefuseMissing(std::move(schema_path), "it says what to write");
  return OutputSource{std::move(schema_path), OutputKind::kJsonSchema, schema};
}

ApiResult<OutputSource> FindTypedSchema(const TypedFormat& format) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"name", "description", "strict", "schema"});
  ordered_json& value = *format.value;
  ordered_json* holder = format.is_chats ? FindField(value, "json_schema") : nullptr;
  const std::string holder_path = format.path + ".json_schema";
  if (holder == nullptr) {
    if (format.is_chats && FindField(value, "schema") == nullptr) {
      return RefuseMissing(holder_path, "it has the schema");
    }
    constexpr auto kAll =
        std::to_array<std::string_view>({"type", "name", "description", "strict", "schema"});
    WEFT_RETURN_IF_ERROR(RefuseOtherMembers(value, format.path, kAll));
    return FindSchema(value, format.path);
  }
  constexpr auto kNested = std::to_array<std::string_view>({"type", "json_schema"});
  WEFT_RETURN_IF_ERROR(RefuseOtherMembers(value, format.path, kNested));
  if (!holder->is_object()) return RefuseValue(holder_path, "an object", *holder);
  WEFT_RETURN_IF_ERROR(RefuseOtherMembers(*holder, holder_path, kNames));
  return FindSchema(*holder, holder_path);
}

ApiResult<OutputSource> FindTypedObject(const TypedFormat& format) {
  ordered_json* schema = format.is_chats ? FindField(*format.value, "schema") : nullptr;
  constexpr auto kNames = std::to_array<std::string_view>({"type", "schema"});
  WEFT_RETURN_IF_ERROR(RefuseOtherMembers(*format.value, format.path,
                                          std::span(kNames).first(schema == nullptr ? 1 : 2)));
  if (schema == nullptr) return OutputSource{format.path, OutputKind::kJsonObject, format.value};
  return OutputSource{format.path + ".schema", OutputKind::kJsonSchema, schema};
}

// nullopt: any text will do.
ApiResult<std::optional<OutputSource>> FindTypedSource(const TypedFormat& format) {
  if (format.value == nullptr || format.value->is_null()) return std::nullopt;
  if (!format.value->is_object()) return RefuseValue(format.path, "an object", *format.value);
  const std::string type_path = format.path + ".type";
  const std::string_view types =
      format.is_chats ? "\"text\", \"json_object\", \"json_schema\" or \"structural_tag\""
                      : "\"text\", \"json_object\" or \"json_schema\"";
  const ordered_json* type = FindField(*format.value, "type");
  if (type == nullptr || !type->is_string()) {
    return RefuseValue(type_path, types, type == nullptr ? ordered_json() : *type);
  }
  if (*type == "text") {
    constexpr auto kNames = std::to_array<std::string_view>({"type"});
    WEFT_RETURN_IF_ERROR(RefuseOtherMembers(*format.value, format.path, kNames));
    return std::nullopt;
  }
  if (*type == "json_object") return FindTypedObject(format);
  if (*type == "json_schema") return FindTypedSchema(format);
  if (format.is_chats && *type == "structural_tag") {
    return OutputSource{format.path, OutputKind::kStructuralTag, format.value};
  }
  return RefuseUnsupportedValue(type_path, fmt::format("'{}' is {}, but this server knows {} only",
                                                       type_path, DescribeJson(*type), types));
}

// The same error, of a text at `path` instead of the body.
ApiError InText(const std::string& path, ApiError error) {
  constexpr std::string_view kBody = "the request body";
  std::string_view message = error.message;
  if (message.starts_with(kBody)) message.remove_prefix(kBody.size());
  error.message = fmt::format("the JSON text in '{}'{}{}", path,
                              message.size() < error.message.size() ? "" : ": ", message);
  error.param = path;
  return error;
}

// An object, which may come as text where the field allows it.
ApiResult<ordered_json> TakeObject(const OutputSource& source, std::string_view what) {
  const std::string expected =
      fmt::format("{} (an object{})", what, source.may_be_json_text ? ", or its JSON text" : "");
  ordered_json& value = *source.value;
  if (value.is_string() && source.may_be_json_text) {
    ApiResult<ordered_json> parsed = ParseOrderedJson(value.get_ref<const std::string&>());
    if (!parsed) return tl::unexpected(InText(source.path, std::move(parsed).error()));
    if (!parsed->is_object()) return RefuseValue(source.path, expected, *parsed);
    return parsed;
  }
  if (!value.is_object()) return RefuseValue(source.path, expected, value);
  return std::move(value);
}

// Of either form: {"format":{...}}, or the older {"structures":[...],"triggers":[...]}.
ApiResult<void> CheckStructuralTag(const ordered_json& tag, const std::string& path) {
  constexpr auto kNames = std::to_array<std::string_view>({"type", "format"});
  constexpr auto kOldNames = std::to_array<std::string_view>({"type", "structures", "triggers"});
  const ordered_json* type = FindField(tag, "type");
  if (type != nullptr && *type != "structural_tag") {
    return RefuseValue(path + ".type", "\"structural_tag\"", *type);
  }
  if (const ordered_json* format = FindField(tag, "format")) {
    WEFT_RETURN_IF_ERROR(RefuseOtherMembers(tag, path, kNames));
    if (format->is_object()) return {};
    return RefuseValue(path + ".format", "an object", *format);
  }
  WEFT_RETURN_IF_ERROR(RefuseOtherMembers(tag, path, kOldNames));
  for (const std::string_view name : {"structures", "triggers"}) {
    const std::string member = fmt::format("{}.{}", path, name);
    const ordered_json* list = FindField(tag, name);
    if (list == nullptr) return RefuseMissing(member, "send it, or 'format'");
    if (!list->is_array() || list->empty()) {
      return RefuseValue(member, "an array of at least one element", *list);
    }
  }
  return {};
}

ApiResult<void> TakeChoices(const OutputSource& source, std::vector<std::string>& choices) {
  ordered_json& list = *source.value;
  if (!list.is_array() || list.empty()) {
    return RefuseValue(source.path, "an array of at least one string", list);
  }
  for (ordered_json& choice : list) {
    if (!choice.is_string()) {
      return RefuseValue(fmt::format("{}[{}]", source.path, choices.size()), "a string", choice);
    }
    choices.push_back(std::move(choice.get_ref<std::string&>()));
  }
  return {};
}

ApiResult<void> TakeText(const OutputSource& source, std::string_view what, std::string& text) {
  ordered_json& value = *source.value;
  const bool is_grammar = source.kind == OutputKind::kGrammar;
  if (!value.is_string() || (is_grammar && IsEmptyText(value))) {
    return RefuseValue(source.path, what, value);
  }
  text = std::move(value.get_ref<std::string&>());
  return {};
}

ApiResult<void> TakeSource(const OutputSource& source, OutputFormat& output) {
  output.kind = source.kind;
  output.path = source.path;
  switch (source.kind) {
    case OutputKind::kText:
    case OutputKind::kJsonObject:
      return {};
    case OutputKind::kRegex:
      return TakeText(source, "a regular expression (a string)", output.text);
    case OutputKind::kGrammar:
      return TakeText(source, "the text of a grammar", output.text);
    case OutputKind::kChoice:
      return TakeChoices(source, output.choices);
    case OutputKind::kJsonSchema:
    case OutputKind::kStructuralTag:
      break;
  }
  const bool is_schema = source.kind == OutputKind::kJsonSchema;
  ApiResult<ordered_json> object =
      TakeObject(source, is_schema ? "a JSON schema" : "a structural tag");
  if (!object) return tl::unexpected(std::move(object).error());
  output.schema = *std::move(object);
  return is_schema ? ApiResult<void>() : CheckStructuralTag(output.schema, source.path);
}

// What a pattern of white space may be built of: one space, \s or a class, then ? or *. Everything
// that comes must match it, not everything that matches must be able to come: so a pattern that
// has the space gets at least what is allowed anyway. nullopt: another pattern.
std::optional<OutputSpace> SpaceOf(std::string_view pattern) {
  if (pattern.empty()) return OutputSpace::kNone;
  const char repeat = pattern.back();
  pattern.remove_suffix(1);
  if (repeat != '?' && repeat != '*') return std::nullopt;
  if (pattern.starts_with('[') && pattern.ends_with(']') && pattern.size() > 2) {
    pattern = pattern.substr(1, pattern.size() - 2);
  } else if (pattern != " " && pattern != "\\s") {
    return std::nullopt;
  }
  bool has_space = false;
  bool has_line_feed = false;
  bool has_return = false;
  bool has_tab = false;
  while (!pattern.empty()) {
    const bool is_escape = pattern.starts_with('\\') && pattern.size() > 1;
    const char character = pattern[is_escape ? 1 : 0];
    pattern.remove_prefix(is_escape ? 2 : 1);
    const bool is_all = is_escape && character == 's';
    if (!is_all &&
        std::string_view(is_escape ? "nrt" : " \n\r\t").find(character) == std::string_view::npos) {
      return std::nullopt;
    }
    has_space |= is_all || character == ' ';
    has_line_feed |= is_all || character == 'n' || character == '\n';
    has_return |= is_all || character == 'r' || character == '\r';
    has_tab |= is_all || character == 't' || character == '\t';
  }
  if (repeat == '*' && has_space && has_line_feed && has_return && has_tab) {
    return OutputSpace::kAny;
  }
  return has_space ? OutputSpace::kAfterSeparators : OutputSpace::kNone;
}

// nullopt: the field is absent.
ApiResult<std::optional<OutputSpace>> ReadPattern(const ordered_json* value,
                                                  const std::string& path) {
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return RefuseValue(path, "a regular expression (a string)", *value);
  const std::optional<OutputSpace> space = SpaceOf(value->get_ref<const std::string&>());
  if (space) return space;
  return RefuseUnsupportedValue(
      path, fmt::format("'{}' is {}; of patterns of white space this server has \"\", and \" \", "
                        "\"\\s\" or a class of these and \"\\n\", \"\\r\", \"\\t\" with \"?\" or "
                        "\"*\" behind it",
                        path, DescribeJson(*value)));
}

ApiResult<void> ReadSpace(const ordered_json& fields, const ordered_json* structured,
                          OutputFormat& output) {
  const std::string path = "structured_outputs.whitespace_pattern";
  const std::string old_path = "guided_whitespace_pattern";
  const ordered_json* pattern =
      structured == nullptr ? nullptr : FindField(*structured, "whitespace_pattern");
  const ApiResult<std::optional<OutputSpace>> space = ReadPattern(pattern, path);
  if (!space) return tl::unexpected(space.error());
  const ApiResult<std::optional<OutputSpace>> old_space =
      ReadPattern(FindField(fields, old_path), old_path);
  if (!old_space) return tl::unexpected(old_space.error());
  if (*space && *old_space && *space != *old_space) {
    return tl::unexpected(InvalidField(
        old_path, fmt::format("'{}' and '{}' differ; send one of them", old_path, path)));
  }
  output.space = space->value_or(old_space->value_or(output.space));
  return {};
}

ApiResult<void> ReadOptions(const ordered_json& structured, OutputFormat& output) {
  constexpr std::string_view kPrefix = "structured_outputs.";
  bool is_compact = false;
  WEFT_RETURN_IF_ERROR(ReadBool(structured, "disable_any_whitespace", is_compact, kPrefix));
  if (is_compact) output.space = OutputSpace::kNone;  // which every pattern allows
  WEFT_RETURN_IF_ERROR(ReadBool(structured, "any_order", output.any_order, kPrefix));
  bool falls_back_not = false;  // nothing here ever falls back
  WEFT_RETURN_IF_ERROR(ReadBool(structured, "disable_fallback", falls_back_not, kPrefix));
  bool closes_objects = false;
  WEFT_RETURN_IF_ERROR(
      ReadBool(structured, "disable_additional_properties", closes_objects, kPrefix));
  if (!closes_objects) return {};
  return tl::unexpected(UnsupportedParameter(
      "structured_outputs.disable_additional_properties",
      "'structured_outputs.disable_additional_properties' is not supported: a schema means what it "
      "says; write \"additionalProperties\": false where there are to be none"));
}

ApiResult<ordered_json*> FindStructured(ordered_json& fields) {
  constexpr auto kMembers = [] {
    std::array<std::string_view, kStructuredKinds.size() + kStructuredOptions.size()> names;
    const auto end = std::ranges::transform(kStructuredKinds, names.begin(), &KindField::name).out;
    std::ranges::copy(kStructuredOptions, end);
    return names;
  }();
  ordered_json* structured = FindField(fields, "structured_outputs");
  if (structured == nullptr) return nullptr;
  if (!structured->is_object()) return RefuseValue("structured_outputs", "an object", *structured);
  WEFT_RETURN_IF_ERROR(RefuseOtherMembers(*structured, "structured_outputs", kMembers));
  return structured;
}

}  // namespace

ApiResult<void> ReadOutputFields(ordered_json& fields, const TypedFormat& format,
                                 GenerationRequest& request) {
  OutputFormat& output = request.output;
  WEFT_RETURN_IF_ERROR(ReadBool(fields, "finish_by_length", request.finish_by_length));
  const ApiResult<ordered_json*> structured = FindStructured(fields);
  if (!structured) return tl::unexpected(structured.error());
  WEFT_RETURN_IF_ERROR(ReadSpace(fields, *structured, output));
  if (*structured != nullptr) {
    WEFT_RETURN_IF_ERROR(ReadOptions(**structured, output));
    WEFT_RETURN_IF_ERROR(ReadBool(**structured, "finish_by_length", request.finish_by_length,
                                  "structured_outputs."));
  }
  if (const ordered_json* backend = FindField(fields, "guided_decoding_backend")) {
    if (!backend->is_string()) return RefuseValue("guided_decoding_backend", "a string", *backend);
  }

  std::vector<OutputSource> sources;
  ApiResult<std::optional<OutputSource>> typed = FindTypedSource(format);
  if (!typed) return tl::unexpected(std::move(typed).error());
  if (*typed) sources.push_back(**std::move(typed));
  if (*structured != nullptr) {
    WEFT_RETURN_IF_ERROR(
        FindSources(**structured, "structured_outputs.", kStructuredKinds, sources));
  }
  WEFT_RETURN_IF_ERROR(FindSources(fields, "", kPlainKinds, sources));
  if (sources.empty()) return {};
  if (sources.size() > 1) {
    return tl::unexpected(InvalidField(
        sources[1].path, fmt::format("'{}' and '{}' both say what the text must be; send one",
                                     sources[1].path, sources[0].path)));
  }
  return TakeSource(sources.front(), output);
}

}  // namespace weft
