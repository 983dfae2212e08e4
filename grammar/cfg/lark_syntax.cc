#include "grammar/cfg/lark_syntax.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/quoted.h"
#include "base/utf8.h"

namespace weft {

namespace {

constexpr std::string_view kLarkEscapes = "trnfbxuU\\\"'/";

class LarkReader {
 public:
  LarkReader(GrammarText* text, const GrammarTextLimits& limits) : text_(*text), limits_(limits) {}

  Result<LarkSyntax> Read();

 private:
  using Kind = LarkNode::Kind;

  static bool IsNameStart(char c) { return IsAsciiLower(c) || IsAsciiUpper(c) || c == '_'; }
  static bool IsNameCharacter(char c) { return IsAsciiAlphanumeric(c) || c == '_' || c == '-'; }

  void SkipBlanks();
  void SkipSpace();
  bool GoesOnInNextLine();
  int32_t Add(LarkNode node);
  Result<std::string> TakeName();
  Result<void> Expect(std::string_view token);

  Result<void> ReadStatement();
  Result<void> ReadDirective();
  Result<void> ReadImport();
  Result<void> AddImport(const std::string& name);
  Result<void> ReadDefinition();
  Result<void> ReadOptions(LarkDefinition* definition);
  Result<int32_t> ReadChoice(int depth);
  Result<int32_t> ReadConjunction(int depth);
  Result<int32_t> ReadSequence(int depth);
  Result<int32_t> ReadRepetition(int depth);
  Result<int32_t> ReadCounts(int32_t body, size_t begin);
  Result<int32_t> ReadAtom(int depth);
  Result<int32_t> ReadGroup(int depth, char close);
  Result<int32_t> ReadStringOrRange();
  Result<std::string> TakeString();
  Result<int32_t> ReadPattern();
  Result<int32_t> ReadSpecial();
  Result<int32_t> ReadEmbedded();
  Result<std::string> TakeObject();

  GrammarText& text_;
  const GrammarTextLimits& limits_;
  LarkSyntax syntax_;
  int depth_ = 0;  // of groups: newlines mean nothing in them
};

Result<LarkSyntax> LarkReader::Read() {
  if (text_.rest().size() > limits_.max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, "lark: {} bytes, expected at most {}",
                text_.rest().size(), limits_.max_bytes);
  }
  for (SkipSpace(); !text_.AtEnd(); SkipSpace()) WEFT_RETURN_IF_ERROR(ReadStatement());
  return std::move(syntax_);
}

// Within a line.
void LarkReader::SkipBlanks() {
  for (;; text_.Skip(1)) {
    const char c = text_.Peek();
    if (c == '#' || (c == '/' && text_.Peek(1) == '/')) {
      while (!text_.AtEnd() && text_.Peek() != '\n') text_.Skip(1);
      return;
    }
    if (c != ' ' && c != '\t' && c != '\r') return;
  }
}

void LarkReader::SkipSpace() {
  for (SkipBlanks(); text_.Peek() == '\n'; SkipBlanks()) text_.Skip(1);
}

// A definition ends with its line, unless a group is open or the next line begins with a bar.
bool LarkReader::GoesOnInNextLine() {
  if (depth_ > 0) {
    SkipSpace();
    return true;
  }
  SkipBlanks();
  const size_t line_end = text_.offset();
  SkipSpace();
  if (text_.Peek() == '|') return true;
  text_.Seek(line_end);
  return false;
}

int32_t LarkReader::Add(LarkNode node) {
  syntax_.nodes.push_back(std::move(node));
  return static_cast<int32_t>(syntax_.nodes.size() - 1);
}

Result<std::string> LarkReader::TakeName() {
  const size_t begin = text_.offset();
  if (!IsNameStart(text_.Peek())) {
    return text_.Wrong(fmt::format("found {}, expected a name", text_.Found()));
  }
  // The arrow of an alias may follow without a space.
  while (IsNameCharacter(text_.Peek()) && !text_.rest().starts_with("->")) text_.Skip(1);
  return std::string(text_.Since(begin));
}

Result<void> LarkReader::Expect(std::string_view token) {
  if (text_.Take(token)) return {};
  return text_.Wrong(fmt::format("found {}, expected {}", text_.Found(), token));
}

Result<void> LarkReader::ReadStatement() {
  if (text_.Peek() == '%') {
    WEFT_RETURN_IF_ERROR(ReadDirective());
  } else {
    WEFT_RETURN_IF_ERROR(ReadDefinition());
  }
  SkipBlanks();
  if (text_.AtEnd() || text_.Peek() == '\n') return {};
  return text_.Wrong(fmt::format("found {}, expected an end of line", text_.Found()));
}

Result<void> LarkReader::ReadDirective() {
  const size_t begin = text_.offset();
  text_.Skip(1);
  WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
  SkipBlanks();
  if (name == "import") return ReadImport();
  if (name == "ignore") {
    WEFT_ASSIGN_OR_RETURN(syntax_.ignored.emplace_back(), ReadChoice(0));
    return {};
  }
  if (name == "llguidance") {
    WEFT_ASSIGN_OR_RETURN(const std::string options, TakeObject());
    const bool is_empty =
        std::ranges::all_of(std::string_view(options).substr(1, options.size() - 2), IsJsonSpace);
    if (is_empty) return {};
  }
  return text_.WrongAt(begin, fmt::format("%{} is not supported", name));
}

// %import common.WS, %import common.WS -> SPACE, %import common (WS, INT)
Result<void> LarkReader::ReadImport() {
  const size_t begin = text_.offset();
  WEFT_ASSIGN_OR_RETURN(const std::string module, TakeName());
  if (module != "common") {
    return text_.WrongAt(
        begin,
        fmt::format("found {}, expected common, which alone can be imported", Quoted(module)));
  }
  if (text_.Take(".")) {
    WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
    std::string alias = name;
    SkipBlanks();
    if (text_.Take("->")) {
      SkipBlanks();
      WEFT_ASSIGN_OR_RETURN(alias, TakeName());
    }
    syntax_.imports[alias] = name;
    return {};
  }
  SkipBlanks();
  WEFT_RETURN_IF_ERROR(Expect("("));
  do {
    SkipSpace();
    WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
    syntax_.imports[name] = name;
    SkipSpace();
  } while (text_.Take(","));
  return Expect(")");
}

Result<void> LarkReader::ReadDefinition() {
  while (text_.Peek() == '?' || text_.Peek() == '!') text_.Skip(1);
  LarkDefinition definition = {.offset = text_.offset()};
  WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
  if (text_.Peek() == '{') return text_.Wrong("templates are not supported");
  if (text_.Peek() == '[') {
    if (IsLarkTerminal(name)) return text_.Wrong("options are for rules, not for terminals");
    WEFT_RETURN_IF_ERROR(ReadOptions(&definition));
  }
  // A priority chooses among derivations of one text.
  if (text_.Take(".")) {
    text_.Take("-");
    WEFT_RETURN_IF_ERROR(text_.TakeNumber(INT32_MAX));
  }
  SkipBlanks();
  WEFT_RETURN_IF_ERROR(Expect(":"));
  WEFT_ASSIGN_OR_RETURN(definition.body, ReadChoice(0));
  if (syntax_.definitions.contains(name)) {
    return text_.WrongAt(definition.offset, fmt::format("{} is defined a second time", name));
  }
  syntax_.definitions[name] = std::move(definition);
  return {};
}

// [capture="x", lazy, suffix="y"]
Result<void> LarkReader::ReadOptions(LarkDefinition* definition) {
  do {
    text_.Skip(text_.Peek() == '[' ? 1 : 0);
    SkipSpace();
    const size_t begin = text_.offset();
    WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
    std::optional<std::string> value;
    SkipSpace();
    if (text_.Take("=")) {
      SkipSpace();
      WEFT_ASSIGN_OR_RETURN(value, TakeString());
      SkipSpace();
    }
    if (name == "lazy" && !value) {
      definition->is_lazy = true;
    } else if (name == "suffix" && value && !value->empty()) {
      definition->is_lazy = true;
      definition->suffix = *value;
    } else if (name != "capture") {
      return text_.WrongAt(begin, fmt::format("option {} is not supported", name));
    }
  } while (text_.Take(","));
  return Expect("]");
}

Result<int32_t> LarkReader::ReadChoice(int depth) {
  LarkNode choice = {.kind = Kind::kChoice, .offset = text_.offset()};
  do {
    WEFT_ASSIGN_OR_RETURN(choice.children.emplace_back(), ReadConjunction(depth));
  } while (GoesOnInNextLine() && text_.Take("|"));
  return choice.children.size() == 1 ? choice.children.front() : Add(std::move(choice));
}

Result<int32_t> LarkReader::ReadConjunction(int depth) {
  LarkNode all = {.kind = Kind::kAnd, .offset = text_.offset()};
  do {
    WEFT_ASSIGN_OR_RETURN(all.children.emplace_back(), ReadSequence(depth));
  } while (text_.Take("&"));
  if (text_.Take("->")) {
    SkipBlanks();
    WEFT_RETURN_IF_ERROR(TakeName());
  }
  return all.children.size() == 1 ? all.children.front() : Add(std::move(all));
}

Result<int32_t> LarkReader::ReadSequence(int depth) {
  LarkNode sequence = {.kind = Kind::kSequence, .offset = text_.offset()};
  for (;;) {
    if (depth_ > 0) {
      SkipSpace();
    } else {
      SkipBlanks();
    }
    const char c = text_.Peek();
    const bool ends = text_.AtEnd() || c == '\n' || c == '|' || c == '&' || c == ')' || c == ']' ||
                      text_.rest().starts_with("->");
    if (ends) break;
    WEFT_ASSIGN_OR_RETURN(sequence.children.emplace_back(), ReadRepetition(depth));
  }
  return sequence.children.size() == 1 ? sequence.children.front() : Add(std::move(sequence));
}

Result<int32_t> LarkReader::ReadRepetition(int depth) {
  const size_t begin = text_.offset();
  WEFT_ASSIGN_OR_RETURN(int32_t node, ReadAtom(depth));
  for (;;) {
    const auto repeat = [&](int32_t min, int32_t max) {
      text_.Skip(1);
      node = Add(
          {.kind = Kind::kRepeat, .offset = begin, .children = {node}, .first = min, .last = max});
    };
    SkipBlanks();
    switch (text_.Peek()) {
      case '*':
        repeat(0, -1);
        continue;
      case '+':
        repeat(1, -1);
        continue;
      case '?':
        repeat(0, 1);
        continue;
      case '{': {
        WEFT_ASSIGN_OR_RETURN(node, ReadCounts(node, begin));
        continue;
      }
      case '~': {
        const size_t tilde = text_.offset();
        text_.Skip(1);
        SkipBlanks();
        if (!IsAsciiDigit(text_.Peek())) {
          text_.Seek(tilde);  // of what comes next
          return node;
        }
        text_.Seek(tilde);
        WEFT_ASSIGN_OR_RETURN(node, ReadCounts(node, begin));
        continue;
      }
      default:
        return node;
    }
  }
}

// {n}, {n,}, {,m}, {n,m}, ~n, ~n..m
Result<int32_t> LarkReader::ReadCounts(int32_t body, size_t begin) {
  const bool is_braced = text_.Take("{");
  if (!is_braced) text_.Skip(1);
  LarkNode repeat = {.kind = Kind::kRepeat, .offset = begin, .children = {body}};
  const auto take_number = [&]() -> Result<int32_t> {
    SkipBlanks();
    WEFT_ASSIGN_OR_RETURN(const int64_t number, text_.TakeNumber(limits_.max_count));
    SkipBlanks();
    return static_cast<int32_t>(number);
  };
  SkipBlanks();
  if (text_.Peek() != ',') {
    WEFT_ASSIGN_OR_RETURN(repeat.first, take_number());
  }
  repeat.last = repeat.first;
  if (text_.Take(is_braced ? "," : "..")) {
    SkipBlanks();
    repeat.last = -1;
    if (!is_braced || text_.Peek() != '}') {
      WEFT_ASSIGN_OR_RETURN(repeat.last, take_number());
      if (repeat.last < repeat.first) {
        return text_.WrongAt(begin,
                             fmt::format("at least {}, but at most {}", repeat.first, repeat.last));
      }
    }
  }
  if (is_braced) WEFT_RETURN_IF_ERROR(Expect("}"));
  return Add(std::move(repeat));
}

Result<int32_t> LarkReader::ReadAtom(int depth) {
  const char c = text_.Peek();
  const size_t begin = text_.offset();
  if (c == '(') return ReadGroup(depth, ')');
  if (c == '[') return ReadGroup(depth, ']');
  if (c == '"') return ReadStringOrRange();
  if (c == '/') return ReadPattern();
  if (c == '<') return ReadSpecial();
  if (c == '%') return ReadEmbedded();
  if (c == '@') return text_.Wrong("grammars of other names are not supported");
  if (c == '~') {
    if (depth == limits_.max_depth) {
      return text_.Wrong(fmt::format("more than {} expressions in one another", limits_.max_depth));
    }
    text_.Skip(1);
    SkipBlanks();
    WEFT_ASSIGN_OR_RETURN(const int32_t negated, ReadAtom(depth + 1));
    return Add({.kind = Kind::kNot, .offset = begin, .children = {negated}});
  }
  WEFT_ASSIGN_OR_RETURN(std::string name, TakeName());
  if (text_.Peek() == ':') return text_.Wrong("parameters are not supported");
  return Add({.kind = Kind::kName, .offset = begin, .text = std::move(name)});
}

Result<int32_t> LarkReader::ReadGroup(int depth, char close) {
  const size_t begin = text_.offset();
  if (depth == limits_.max_depth) {
    return text_.Wrong(fmt::format("more than {} expressions in one another", limits_.max_depth));
  }
  text_.Skip(1);
  ++depth_;
  WEFT_ASSIGN_OR_RETURN(const int32_t body, ReadChoice(depth + 1));
  --depth_;
  WEFT_RETURN_IF_ERROR(Expect(std::string_view(&close, 1)));
  if (close == ')') return body;
  return Add({.kind = Kind::kRepeat, .offset = begin, .children = {body}, .first = 0, .last = 1});
}

Result<int32_t> LarkReader::ReadStringOrRange() {
  LarkNode node = {.kind = Kind::kString, .offset = text_.offset()};
  WEFT_ASSIGN_OR_RETURN(node.text, TakeString());
  if (text_.Peek() == 'i' && !IsNameCharacter(text_.Peek(1))) {
    text_.Skip(1);
    node.flags = "i";
  }
  const size_t behind = text_.offset();
  SkipBlanks();
  if (!text_.Take("..")) {
    text_.Seek(behind);
    return Add(std::move(node));
  }
  SkipBlanks();
  WEFT_ASSIGN_OR_RETURN(const std::string last, TakeString());
  const auto only_character = [](std::string_view text) -> std::optional<int32_t> {
    if (text.empty()) return std::nullopt;
    const Utf8Character character = DecodeUtf8(text, 0);
    if (character.size_bytes != text.size()) return std::nullopt;
    return static_cast<int32_t>(character.code_point);
  };
  const std::optional<int32_t> from = only_character(node.text);
  const std::optional<int32_t> to = only_character(last);
  if (!from || !to || *to < *from || !node.flags.empty()) {
    return text_.WrongAt(node.offset, fmt::format("{}..{} is no range of characters",
                                                  Quoted(node.text), Quoted(last)));
  }
  return Add({.kind = Kind::kRange, .offset = node.offset, .first = *from, .last = *to});
}

Result<std::string> LarkReader::TakeString() {
  WEFT_RETURN_IF_ERROR(Expect("\""));
  std::string value;
  while (!text_.Take("\"")) {
    if (text_.Peek() == '\n') return text_.Wrong("found the end of the line, expected \"");
    WEFT_ASSIGN_OR_RETURN(const Symbol character, text_.Peek() == '\\'
                                                      ? text_.TakeEscape(kLarkEscapes)
                                                      : text_.TakeCharacter());
    AppendUtf8(character, &value);
  }
  return value;
}

Result<int32_t> LarkReader::ReadPattern() {
  LarkNode node = {.kind = Kind::kPattern, .offset = text_.offset()};
  text_.Skip(1);
  const size_t begin = text_.offset();
  while (text_.Peek() != '/') {
    if (text_.AtEnd() || text_.Peek() == '\n') {
      return text_.Wrong("found the end of the line, expected /");
    }
    text_.Skip(text_.Peek() == '\\' && text_.rest().size() > 1 ? 2 : 1);
  }
  node.text = text_.Since(begin);
  text_.Skip(1);
  const size_t flags = text_.offset();
  while (IsAsciiLower(text_.Peek())) text_.Skip(1);
  node.flags = text_.Since(flags);
  return Add(std::move(node));
}

Result<int32_t> LarkReader::ReadSpecial() {
  LarkNode node = {.kind = Kind::kSpecial, .offset = text_.offset()};
  while (!text_.AtEnd() && text_.Peek() != '>' && text_.Peek() != '\n') text_.Skip(1);
  WEFT_RETURN_IF_ERROR(Expect(">"));
  node.text = text_.Since(node.offset);
  return Add(std::move(node));
}

Result<int32_t> LarkReader::ReadEmbedded() {
  LarkNode node = {.kind = Kind::kJson, .offset = text_.offset()};
  text_.Skip(1);
  WEFT_ASSIGN_OR_RETURN(const std::string name, TakeName());
  if (name != "json") return text_.WrongAt(node.offset, fmt::format("%{} is not supported", name));
  SkipSpace();
  WEFT_ASSIGN_OR_RETURN(node.text, TakeObject());
  return Add(std::move(node));
}

// Up to its last brace; whether it is JSON is for others to say.
Result<std::string> LarkReader::TakeObject() {
  const size_t begin = text_.offset();
  if (text_.Peek() != '{') return text_.Wrong(fmt::format("found {}, expected {{", text_.Found()));
  int64_t open = 0;
  bool in_string = false;
  do {
    if (text_.AtEnd()) return text_.Wrong("found the end, expected }");
    const char c = text_.Peek();
    if (in_string && c == '\\' && text_.rest().size() > 1) text_.Skip(1);
    if (c == '"') in_string = !in_string;
    if (!in_string && c == '{') ++open;
    if (!in_string && c == '}') --open;
    text_.Skip(1);
  } while (open > 0);
  return std::string(text_.Since(begin));
}

}  // namespace

bool IsLarkTerminal(std::string_view name) {
  const size_t letter = name.find_first_not_of('_');
  return letter != std::string_view::npos && IsAsciiUpper(name[letter]);
}

Result<LarkSyntax> ReadLarkSyntax(GrammarText* text, const GrammarTextLimits& limits) {
  return LarkReader(text, limits).Read();
}

}  // namespace weft
