#include "loadtest/run/texts_answer.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "loadtest/run/completion_json.h"
#include "loadtest/run/json_member.h"

namespace weft {
namespace {

using Json = nlohmann::json;

// On one line, whatever bytes a server sends.
std::string Dumped(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::optional<int64_t> TokensOf(const Json& answer) {
  const Json& usage = Member(answer, "usage");
  for (const Json* count : {&Member(usage, "prompt_tokens"), &Member(usage, "total_tokens"),
                            &Member(Member(Member(answer, "meta"), "tokens"), "input_tokens")}) {
    if (count->is_number_integer() && *count >= 0) return count->get<int64_t>();
  }
  return std::nullopt;
}

// What an entry says of its text; null: nothing.
const Json& ValueOf(const Json& entry) {
  const Json& embedding = Member(entry, "embedding");
  const bool is_vector = embedding.is_array() || embedding.is_string();
  if (is_vector && !embedding.empty()) return embedding;
  const Json& score = Member(entry, "relevance_score");
  static const Json kNothing;
  return score.is_number() ? score : kNothing;
}

}  // namespace

Result<TextsAnswer> ReadTextsAnswer(std::string_view json, int32_t text_count) {
  const Json parsed = Json::parse(json, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    return Fail(ErrorCode::kCorrupt, "expected a JSON object, found {}", Quoted(json));
  }
  if (const auto error = ErrorOf(parsed)) return Fail(ErrorCode::kUnavailable, "{}", *error);
  const Json& data = Member(parsed, "data");
  const Json& entries = data.is_array() ? data : Member(parsed, "results");
  const size_t found_count = entries.is_array() ? entries.size() : 0;
  if (std::cmp_not_equal(found_count, text_count)) {
    return Fail(ErrorCode::kCorrupt, "expected an entry for each of {} texts, found {}", text_count,
                found_count);
  }
  std::vector<const Json*> values(found_count, nullptr);
  for (const Json& entry : entries) {
    const Json& index = Member(entry, "index");
    const bool is_known = index.is_number_unsigned() && index < found_count;
    const Json& value = ValueOf(entry);
    if (!is_known || value.is_null() || values[index.get<size_t>()] != nullptr) {
      return Fail(ErrorCode::kCorrupt, "expected the vector or score of one of {} texts, found {}",
                  text_count, Quoted(Dumped(entry)));
    }
    values[index.get<size_t>()] = &value;
  }
  TextsAnswer answer;
  const Json& id = Member(parsed, "id");
  if (id.is_string()) answer.id = id.get<std::string>();
  answer.prompt_tokens = TokensOf(parsed);
  for (const Json* value : values) answer.values += Dumped(*value) + "\n";
  return answer;
}

}  // namespace weft
