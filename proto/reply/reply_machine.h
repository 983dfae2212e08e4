// The grammar of replies, as coroutines over one input. Private to proto/reply/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/reply/call_syntax.h"
#include "proto/reply/parse_task.h"
#include "proto/reply/reply_output.h"
#include "proto/reply/reply_parser.h"

namespace weft {

// Tasks that return a bool say whether the input was what they read. Where it was not, they leave
// the offending byte unread, and what they have read since Record is in the record.
class ReplyParser::Machine {
 public:
  static constexpr int kMaxValueDepth = 64;  // of values that are not JSON

  explicit Machine(ReplyOptions options);

  std::vector<ReplyDelta> Push(std::string_view text);
  std::vector<ReplyDelta> Finish();
  int32_t call_count() const { return output_.call_count(); }
  bool in_reasoning() const { return in_reasoning_; }

 private:
  // reply_machine.cc: the reply as a whole.
  ParseTask<> Read();
  ParseTask<> ReadOpening();
  ParseTask<> ReadReasoning();
  ParseTask<> ReadAnswer();
  ParseTask<bool> ReadAnswerTag();
  ParseTask<bool> SkipStrayTag();
  ParseTask<bool> At(std::string_view text);
  ParseTask<bool> SkipText(std::string_view text);
  ParseTask<> SkipSpace();
  ParseTask<bool> ReadUntil(std::string_view end, size_t max_bytes, std::string& text);

  // harmony_reader.cc: gpt-oss's messages and channels.
  ParseTask<> ReadHarmony();
  ParseTask<> ReadHarmonyBody(std::string_view header);
  ParseTask<> ReadHarmonyText(ReplyDeltaKind kind);
  ParseTask<bool> AtHarmonyHeader(bool is_first);

  // solar_reader.cc: Solar Open's messages.
  ParseTask<> ReadSolar();
  ParseTask<> ReadSolarText(ReplyDeltaKind kind);
  ParseTask<bool> AtSolarTag();
  ParseTask<bool> AtSolarCall();
  ParseTask<bool> ReadSolarCall();

  // call_readers.cc: what formats share, and tagged calls. The opening tag is unread.
  using CallReader = ParseTask<bool> (Machine::*)();
  ParseTask<bool> ReadCallList(CallReader read_call);
  ParseTask<bool> ReadStringUntil(std::string_view end, bool on_lines = false);
  ParseTask<bool> ReadCalls();
  ParseTask<bool> ReadMistralCalls();
  ParseTask<bool> ReadMistralNamedCall();
  ParseTask<> ReadName(std::string& name);
  ParseTask<bool> ReadDeepSeekCalls();
  ParseTask<bool> ReadDeepSeekCall();
  ParseTask<bool> ReadKimiCalls();
  ParseTask<bool> ReadKimiCall();
  ParseTask<bool> ReadListedCalls(std::string_view open, std::string_view close);
  ParseTask<bool> ReadUntaggedCalls();
  ParseTask<bool> ReadGlm4Calls();

  // python_call_reader.cc: f(a=1, b="x"). What has begun is not read to its end where the format's
  // opening tag stands inside: that begins another.
  ParseTask<bool> ReadPythonCalls(std::string_view open, std::string_view close);
  ParseTask<bool> ReadPythonCall();
  ParseTask<bool> ReadPythonArguments(std::string key);
  ParseTask<bool> ReadPythonValue(int depth);
  ParseTask<bool> ReadPythonItems(char close, int depth);
  ParseTask<bool> ReadPythonString();
  ParseTask<bool> ReadPythonEscape(std::string& text);

  // dict_call_reader.cc: call:f{a:1}.
  ParseTask<bool> ReadDictCall(std::string_view open, std::string_view close);
  ParseTask<bool> ReadDictMembers(int depth);
  ParseTask<bool> ReadDictKey(std::string& key);
  ParseTask<bool> ReadDictValue(int depth);
  ParseTask<bool> ReadDictItems(int depth);

  // json_call_reader.cc: {"name": ..., "arguments": ...}.
  struct JsonCall {
    std::string name;
    std::string arguments;  // JSON text that came before the name
    bool begun = false;
  };
  ParseTask<bool> ReadJsonCall();
  ParseTask<bool> ReadKeyedCalls();
  ParseTask<bool> ReadJsonMembers(JsonCall& call, bool nested);
  ParseTask<bool> ReadJsonMember(JsonCall& call, bool nested);
  ParseTask<bool> ReadJsonArguments(JsonCall& call);
  ParseTask<bool> ReadJsonString(std::string& text);
  ParseTask<bool> ReadJsonEscape(std::string& text);
  ParseTask<bool> ReadHexUnit(uint32_t& unit);
  ParseTask<uint32_t> PeekLowSurrogate();
  ParseTask<bool> ReadJsonValue(std::string* text);
  // An object, straight into the arguments of the call that has begun.
  ParseTask<bool> ReadArgumentsObject();

  // xml_call_reader.cc: calls whose parameters are written between tags, without quotes.
  ParseTask<bool> ReadXmlCalls(const XmlCallSyntax& syntax);
  ParseTask<bool> ReadXmlCall(const XmlCallSyntax& syntax);
  ParseTask<bool> ReadXmlParameters(const XmlCallSyntax& syntax);
  ParseTask<bool> ReadXmlValue(std::string_view end);
  bool IsStringParameter(std::string_view key) const;

  void Skip(size_t count = 1);
  // From here on what is read can become content, until a call begins.
  void Record();
  void RecordToContent();
  // Beside a call, tags that belong to none: what models forget to balance is not content.
  bool DropsStrayTags() const { return options_.parses_calls && output_.call_count() > 0; }
  // False: no tool of this name was offered.
  bool BeginCall(std::string_view name, std::string_view id = {});
  bool Knows(std::string_view name) const;
  bool OpensCall(char byte) const;

  const ReplyOptions options_;
  const std::vector<std::string_view> call_tags_;
  const std::string_view dict_quote_;  // of the format, if it is written so
  std::string_view python_open_;       // what begins another call, if the format is written so
  ParseInput input_;
  ReplyOutput output_;
  bool in_reasoning_ = false;
  bool in_answer_ = false;  // between the format's answer tags
  bool recording_ = false;
  std::string record_;
  std::string current_function_;
  size_t read_byte_count_ = 0;
  bool needs_known_name_ = false;
  ParseTask<> task_;
};

}  // namespace weft
