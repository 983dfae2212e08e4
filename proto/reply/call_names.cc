#include "proto/reply/call_names.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/core.h>

#include "base/ascii.h"
#include "base/check.h"
#include "proto/reply/call_syntax.h"
#include "proto/reply/json_keys.h"
#include "proto/tool_name.h"

namespace weft {
namespace {

constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kArgumentsTag = "[ARGS]";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kFirstRecipient = " to=";  // a header may lack its tag at the beginning

// Every name between every one of `before` and of `after`.
void AddNames(const ReplyOptions& options, std::initializer_list<std::string_view> before,
              std::initializer_list<std::string_view> after, std::vector<std::string>& names) {
  for (const ToolSignature& tool : options.tools) {
    for (const std::string_view prefix : before) {
      for (const std::string_view suffix : after)
        names.push_back(fmt::format("{}{}{}", prefix, tool.name, suffix));
    }
  }
}

void AddBareNames(const ReplyOptions& options, CallNameRules& rules) {
  const auto add = [&](std::initializer_list<std::string_view> before,
                       std::initializer_list<std::string_view> after) {
    AddNames(options, before, after, rules.bare_names);
  };
  const CallFormat format = options.format.calls;
  if (const auto* xml = FindSyntax(kXmlCallSyntaxes, format)) {
    if (xml->name_close.empty()) {
      add({""}, {"\n", "<"});
    } else {
      add({""}, {xml->name_close});
    }
  } else if (FindSyntax(kDictCallSyntaxes, format) != nullptr) {
    add({kDictCallBegin}, {"{"});
  } else if (FindSyntax(kPythonCallSyntaxes, format) != nullptr) {
    add({""}, {"("});
  }
  switch (format) {
    case CallFormat::kMistral:
    case CallFormat::kMistralNamed:
      add({""}, {"[ARGS]", "[CALL_ID]", "{"});
      break;
    case CallFormat::kDeepSeekV3:
      add({"function<｜tool▁sep｜>"}, {"\n"});
      break;
    case CallFormat::kDeepSeekV31:
      add({""}, {"<｜tool▁sep｜>{"});
      break;
    case CallFormat::kKimi:
      for (const char* const begin : {":0", ":1", ":2", ":3", ":4", ":5", ":6", ":7", ":8", ":9"})
        add({"functions."}, {begin});  // other names may go on behind the colon
      break;
    case CallFormat::kHarmony:
      add({"functions.", ""}, {" ", "<"});
      rules.bare_names.insert(rules.bare_names.end(), {"user ", "user<"});
      break;
    case CallFormat::kSolar:
      add({""}, {"<|tool_call:args|>"});
      break;
    default:  // JSON alone, or of the tables
      break;
  }
}

std::vector<std::string> OpeningsOf(CallFormat format) {
  const auto one = [](std::string_view opening) { return std::vector{std::string(opening)}; };
  if (const auto* listed = FindSyntax(kJsonCallSyntaxes, format)) return one(listed->open);
  if (const auto* xml = FindSyntax(kXmlCallSyntaxes, format)) return one(xml->call_open);
  if (const auto* dict = FindSyntax(kDictCallSyntaxes, format)) return one(dict->open);
  if (const auto* python = FindSyntax(kPythonCallSyntaxes, format)) return one(python->open);
  switch (format) {
    case CallFormat::kMistral:
    case CallFormat::kMistralNamed:
      return one("[TOOL_CALLS]");
    case CallFormat::kDeepSeekV3:
    case CallFormat::kDeepSeekV31:
      return one("<｜tool▁call▁begin｜>");
    case CallFormat::kKimi:
      return one("<|tool_call_begin|>");
    case CallFormat::kHarmony:
      return {"<|start|>", "<|channel|>"};
    case CallFormat::kSolar:
      return one("<|tool_call:name|>");
    default:
      return {};
  }
}

void AddParameterTags(CallFormat format, CallNameRules& rules) {
  const XmlCallSyntax* const xml = FindSyntax(kXmlCallSyntaxes, format);
  if (xml == nullptr) return;
  rules.key_open = xml->key_open;
  rules.key_close = xml->key_close;
  rules.value_open = xml->value_open;
  rules.value_close = xml->value_close;
}

void SortOut(std::vector<std::string>& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

std::optional<CallNameRules> CallNameRulesOf(const ReplyOptions& options, std::string_view begin) {
  const CallFormat format = options.format.calls;
  const bool is_untagged = IsUntagged(format);
  if (!options.parses_calls || (is_untagged && begin.empty())) return std::nullopt;
  CallNameRules rules;
  rules.reasoning_open = options.format.reasoning_open;
  rules.reasoning_close = options.format.reasoning_close;
  rules.openings = OpeningsOf(format);
  rules.has_headers = format == CallFormat::kHarmony;
  rules.opens_at_once = is_untagged;
  rules.numbers_calls = format == CallFormat::kKimi;
  AddBareNames(options, rules);
  AddParameterTags(format, rules);
  rules.has_json_calls = rules.bare_names.empty() || format == CallFormat::kMistral ||
                         format == CallFormat::kMistralNamed;
  rules.keys_are_names = format == CallFormat::kApertus;
  rules.is_python = FindSyntax(kPythonCallSyntaxes, format) != nullptr;
  rules.skips_space = format == CallFormat::kGlm || rules.is_python || rules.has_json_calls;
  AddNames(options, {""}, {"\""}, rules.quoted_names);
  SortOut(rules.quoted_names);
  SortOut(rules.bare_names);
  return rules;
}

bool CallNameScanner::Tag::Feed(std::string_view tag, char byte) {
  if (tag.empty()) return false;
  if (byte != tag[seen_count_]) seen_count_ = 0;  // its first byte comes nowhere else in it
  if (byte == tag[seen_count_]) ++seen_count_;
  if (seen_count_ < tag.size()) return false;
  seen_count_ = 0;
  return true;
}

CallNameScanner::CallNameScanner(const CallNameRules& rules, bool begins_in_reasoning)
    : rules_(&rules), mode_(begins_in_reasoning ? Mode::kReasoning : Mode::kText) {
  WEFT_CHECK(rules.openings.size() <= openings_.size());
}

bool CallNameScanner::Feed(std::string_view text) {
  return std::ranges::all_of(text, [&](char byte) { return Feed(byte); });
}

bool CallNameScanner::Feed(char byte) {
  Step step = Take(byte);
  while (step == Step::kAgain) step = Take(byte);
  return step == Step::kTaken;
}

CallNameScanner::Step CallNameScanner::Take(char byte) {
  switch (mode_) {
    case Mode::kReasoning:
      return InReasoning(byte);
    case Mode::kText:
      return InText(byte);
    case Mode::kHeader:
      return InHeader(byte);
    case Mode::kBeforeName:
      return BeforeName(byte);
    case Mode::kName:
      return InName(byte);
    case Mode::kCallNumber:
      return InCallNumber(byte);
    case Mode::kCallId:
      return InCallId(byte);
    case Mode::kParameter:
      if (tag_.seen_count() == 0 && IsJsonSpace(byte)) return Step::kTaken;
      key_or_id_size_ = 0;
      return ExpectTag(byte, rules_->key_open, Mode::kParameterKey);
    case Mode::kParameterKey:
      return InParameterKey(byte);
    case Mode::kBeforeValue:
      if (tag_.seen_count() == 0 && IsJsonSpace(byte)) return Step::kTaken;
      return ExpectTag(byte, rules_->value_open, Mode::kParameterValue);
    case Mode::kParameterValue:
      return tag_.Feed(rules_->value_close, byte) ? Go(Mode::kParameter) : Step::kTaken;
    case Mode::kBareArguments:
      return AtBareArguments(byte);
    case Mode::kPythonArguments:
      return InPythonArguments(byte);
    case Mode::kBehindPython:
      return BehindPython(byte);
    case Mode::kCalls:
      in_list_ = byte == '[';
      if (in_list_) return Go(Mode::kObject);
      [[fallthrough]];
    case Mode::kObject:
      return byte == '{' ? BeginObject() : Expect(byte, '{', mode_);
    case Mode::kMemberOrEnd:
      if (byte == '}') return BehindMember(byte);
      [[fallthrough]];
    case Mode::kMember:
      key_size_ = 0;
      if (!rules_->keys_are_names || byte != '"') return Expect(byte, '"', Mode::kKey);
      has_name_ = true;
      return BeginName(rules_->quoted_names);
    case Mode::kKey:
      return InKey(byte);
    case Mode::kColon:
      return Expect(byte, ':', Mode::kValue);
    case Mode::kValue:
      return AtValue(byte);
    case Mode::kInsideValue:
      return InsideValue(byte);
    case Mode::kBehindMember:
      return BehindMember(byte);
    case Mode::kBehindObject:
      if (byte == ']') return NoCall();
      return Expect(byte, ',', Mode::kObject);
  }
  return Step::kTaken;
}

CallNameScanner::Step CallNameScanner::Expect(char byte, char wanted, Mode then) {
  if (IsJsonSpace(byte)) return Step::kTaken;
  return byte == wanted ? Go(then) : NoCall();
}

CallNameScanner::Step CallNameScanner::ExpectTag(char byte, std::string_view tag, Mode then) {
  const size_t seen_count = tag_.seen_count();
  if (byte != tag[seen_count]) return NoCallFrom(tag.substr(0, seen_count));
  return tag_.Feed(tag, byte) ? Go(then) : Step::kTaken;
}

void CallNameScanner::BeginText(bool at_beginning) {
  mode_ = Mode::kText;
  at_beginning_ = at_beginning;
  reasoning_.Reset();
  for (Tag& opening : openings_) opening.Reset();
}

CallNameScanner::Step CallNameScanner::NoCall() {
  BeginText(false);
  return Step::kAgain;
}

CallNameScanner::Step CallNameScanner::NoCallFrom(std::string_view tag_begin) {
  BeginText(false);
  for (const char byte : tag_begin) InText(byte);
  return Step::kAgain;
}

CallNameScanner::Step CallNameScanner::InReasoning(char byte) {
  if (reasoning_.Feed(rules_->reasoning_close, byte)) BeginText(true);
  return Step::kTaken;
}

CallNameScanner::Step CallNameScanner::InText(char byte) {
  if (at_beginning_) {
    const Mode before = mode_;
    const Step step = AtBeginning(byte);
    if (mode_ != before) return step;
  }
  for (size_t i = 0; i < rules_->openings.size(); ++i) {
    if (!openings_[i].Feed(rules_->openings[i], byte)) continue;
    recipient_.Reset();
    message_.Reset();
    in_list_ = false;
    if (rules_->has_headers) return Go(Mode::kHeader);
    if (rules_->bare_names.empty()) return Go(Mode::kCalls);
    return Go(Mode::kBeforeName);
  }
  return Step::kTaken;
}

// What may stand before the answer. Leaves kText where something else begins than an answer.
CallNameScanner::Step CallNameScanner::AtBeginning(char byte) {
  const std::string_view wanted =
      rules_->has_headers ? kFirstRecipient : std::string_view(rules_->reasoning_open);
  const bool in_tag = reasoning_.seen_count() > 0;
  if (!wanted.empty() && byte == wanted[reasoning_.seen_count()]) {
    if (!reasoning_.Feed(wanted, byte)) return Step::kTaken;
    return rules_->has_headers ? BeginName(rules_->bare_names) : Go(Mode::kReasoning);
  }
  if (!in_tag && IsJsonSpace(byte) && !rules_->has_headers) return Step::kTaken;
  at_beginning_ = false;
  if (rules_->opens_at_once && !in_tag) mode_ = Mode::kCalls;
  return Step::kAgain;
}

CallNameScanner::Step CallNameScanner::InHeader(char byte) {
  if (recipient_.Feed(kRecipient, byte)) return BeginName(rules_->bare_names);
  if (message_.Feed(kMessage, byte)) BeginText(false);
  return Step::kTaken;
}

CallNameScanner::Step CallNameScanner::BeforeName(char byte) {
  if (rules_->skips_space && IsJsonSpace(byte)) return Step::kTaken;
  if (rules_->is_python && byte == '[' && !in_list_) {
    in_list_ = true;
    return Step::kTaken;
  }
  if (rules_->has_json_calls && (byte == '[' || byte == '{')) {
    mode_ = Mode::kCalls;
  } else {
    BeginName(rules_->bare_names);
  }
  return Step::kAgain;
}

CallNameScanner::Step CallNameScanner::BeginName(const std::vector<std::string>& names) {
  names_ = &names;
  first_name_ = 0;
  last_name_ = static_cast<uint32_t>(names.size());
  name_size_ = 0;
  return Go(Mode::kName);
}

CallNameScanner::Step CallNameScanner::InName(char byte) {
  const auto begin = names_->begin();
  // None that is left ends before this byte: the shortest comes first, and ends the name.
  const auto next = [&](const std::string& name) {
    return static_cast<unsigned char>(name[name_size_]);
  };
  const auto wanted = static_cast<unsigned char>(byte);
  const auto first =
      std::partition_point(begin + first_name_, begin + last_name_,
                           [&](const std::string& name) { return next(name) < wanted; });
  const auto last = std::partition_point(
      first, begin + last_name_, [&](const std::string& name) { return next(name) == wanted; });
  if (first == last) return Step::kRefused;
  first_name_ = static_cast<uint32_t>(first - begin);
  last_name_ = static_cast<uint32_t>(last - begin);
  ++name_size_;
  if (first->size() > name_size_) return Step::kTaken;
  if (names_ != &rules_->quoted_names) return BehindBareName(byte);
  return Go(rules_->keys_are_names ? Mode::kColon : Mode::kBehindMember);
}

// Arguments are followed where they may be about calls, whose openings are none there.
CallNameScanner::Step CallNameScanner::BehindBareName(char byte) {
  tag_.Reset();
  key_or_id_size_ = 0;
  if (rules_->numbers_calls) return Go(Mode::kCallNumber);
  if (rules_->is_python) {
    bracket_count_ = 1;
    quote_ = '\0';
    is_escaped_ = false;
    openings_[0].Reset();
    return Go(Mode::kPythonArguments);
  }
  if (!rules_->key_open.empty()) {
    mode_ = Mode::kParameter;
    return byte == '<' ? Step::kAgain : Step::kTaken;  // it may begin the tag
  }
  if (!rules_->has_json_calls) return NoCall();  // the byte may begin a tag
  if (byte == '{') return AtBareArguments(byte);
  return Go((*names_)[first_name_].ends_with("[ARGS]") ? Mode::kBareArguments : Mode::kCallId);
}

// The last colon is what ends a name for the parser.
CallNameScanner::Step CallNameScanner::InCallNumber(char byte) {
  if (IsAsciiDigit(byte)) return Step::kTaken;
  return byte == '<' ? NoCall() : Step::kRefused;
}

CallNameScanner::Step CallNameScanner::InCallId(char byte) {
  const bool continues =
      tag_.seen_count() == 0 && IsToolNameCharacter(byte) && key_or_id_size_ < kMaxReplyNameBytes;
  if (!continues) return ExpectTag(byte, kArgumentsTag, Mode::kBareArguments);
  ++key_or_id_size_;
  return Step::kTaken;
}

CallNameScanner::Step CallNameScanner::InParameterKey(char byte) {
  const std::string_view close = rules_->key_close;
  const size_t seen_count = tag_.seen_count();
  // The tag may begin behind the longest name, and no later.
  const bool too_long = key_or_id_size_ > kMaxReplyNameBytes;
  if (too_long && (seen_count == 0 || byte != close[seen_count])) return NoCall();
  ++key_or_id_size_;
  if (!tag_.Feed(close, byte)) return Step::kTaken;
  return Go(rules_->value_open.empty() ? Mode::kParameterValue : Mode::kBeforeValue);
}

CallNameScanner::Step CallNameScanner::AtBareArguments(char byte) {
  if (IsJsonSpace(byte)) return Step::kTaken;
  if (byte != '{') return NoCall();
  is_bare_ = true;
  value_ = JsonScanner();
  mode_ = Mode::kInsideValue;
  return Step::kAgain;
}

// Another opening begins another call, wherever it stands.
CallNameScanner::Step CallNameScanner::InPythonArguments(char byte) {
  if (openings_[0].Feed(rules_->openings[0], byte)) {
    in_list_ = false;
    return Go(Mode::kBeforeName);
  }
  if (quote_ != '\0') {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (byte == '\\') {
      is_escaped_ = true;
    } else if (byte == quote_) {
      quote_ = '\0';
    }
    return Step::kTaken;
  }
  constexpr std::string_view kOpen = "([{";
  constexpr std::string_view kClose = ")]}";
  if (byte == '"' || byte == '\'') {
    quote_ = byte;
  } else if (kOpen.find(byte) != std::string_view::npos) {
    ++bracket_count_;
  } else if (kClose.find(byte) != std::string_view::npos && --bracket_count_ == 0) {
    return Go(Mode::kBehindPython);
  }
  return Step::kTaken;
}

CallNameScanner::Step CallNameScanner::BehindPython(char byte) {
  if (IsJsonSpace(byte)) return Step::kTaken;
  if (in_list_) return byte == ',' ? Go(Mode::kBeforeName) : NoCall();
  if (!IsToolNameCharacter(byte)) return NoCall();
  mode_ = Mode::kBeforeName;
  return Step::kAgain;
}

CallNameScanner::Step CallNameScanner::BeginObject() {
  is_bare_ = false;
  is_nested_ = false;
  has_name_ = false;
  has_begun_ = false;
  return Go(Mode::kMemberOrEnd);
}

CallNameScanner::Step CallNameScanner::InKey(char byte) {
  if (byte == '"') return Go(Mode::kColon);
  if (byte == '\\') return Step::kRefused;  // "n\u0061me" is a name too
  if (static_cast<unsigned char>(byte) < 0x20) return NoCall();
  if (key_size_ < key_.size()) key_[key_size_++] = byte;
  return Step::kTaken;
}

CallNameScanner::Step CallNameScanner::AtValue(char byte) {
  if (IsJsonSpace(byte)) return Step::kTaken;
  if (rules_->keys_are_names) {
    if (byte != '{') return NoCall();
  } else if (IsArgumentsKey(key())) {
    if (has_begun_ || (byte != '{' && byte != '"' && byte != 'n')) return NoCall();
    has_begun_ = byte == '{' && has_name_;
  } else if (key() == "function" && byte == '{' && !is_nested_) {
    is_nested_ = true;
    return Go(Mode::kMemberOrEnd);
  } else if (byte == '"' && (IsNameKey(key()) || key() == "function") && !has_begun_) {
    has_name_ = true;
    return BeginName(rules_->quoted_names);
  }
  value_ = JsonScanner();
  mode_ = Mode::kInsideValue;
  return Step::kAgain;
}

CallNameScanner::Step CallNameScanner::InsideValue(char byte) {
  switch (value_.Feed(byte)) {
    case JsonScanner::Status::kMore:
      return Step::kTaken;
    case JsonScanner::Status::kDone:
      if (!is_bare_) return Go(Mode::kBehindMember);
      BeginText(false);
      return Step::kTaken;
    case JsonScanner::Status::kOutside:
      break;
  }
  if (!value_.complete()) return NoCall();
  mode_ = Mode::kBehindMember;
  return Step::kAgain;
}

CallNameScanner::Step CallNameScanner::BehindMember(char byte) {
  if (byte != '}') return Expect(byte, ',', Mode::kMember);
  if (is_nested_) {
    is_nested_ = false;
    return Go(Mode::kBehindMember);
  }
  if (!has_name_ || !in_list_) return NoCall();
  return Go(Mode::kBehindObject);
}

}  // namespace weft
