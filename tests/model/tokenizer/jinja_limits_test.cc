// Templates and conversations that mean harm, and what errors say.
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/chat_template.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::string Repeat(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

Result<std::string> RenderText(const std::string& source, const nlohmann::ordered_json& variables =
                                                              nlohmann::ordered_json::object()) {
  WEFT_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source));
  ChatTemplate::Options options;  // smaller limits than by default, for the sake of time
  options.limits.steps = 2'000'000;
  options.limits.memory_bytes = 64 << 20;
  options.limits.output_bytes = 16 << 20;
  return parsed.Render(variables, options);
}

void ExpectError(const std::string& source, ErrorCode code, const std::string& part) {
  const auto text = RenderText(source);
  ASSERT_FALSE(text) << source.substr(0, 200) << " gave " << text->substr(0, 200);
  EXPECT_EQ(text.error().code, code) << text.error().message;
  EXPECT_THAT(text.error().message, HasSubstr(part)) << source.substr(0, 200);
  EXPECT_EQ(text.error().message.find('\n'), std::string::npos) << text.error().message;
}

TEST(JinjaErrors, NameTheLineWhatWasFoundAndWhatWasExpected) {
  ExpectError("a\nb {{ x y }}", ErrorCode::kCorrupt, "line 2: found 'y', expected '}}'");
  ExpectError("\n\n{% for x in %}", ErrorCode::kCorrupt, "line 3: found '%}', expected an expr");
  ExpectError("{% if true %}\n\nx", ErrorCode::kCorrupt, "expected 'endif' for line 1");
  ExpectError("{{ 'a' | nope }}", ErrorCode::kCorrupt, "line 1: there is no filter named 'nope'");
  ExpectError("{% nope %}", ErrorCode::kCorrupt, "unexpected tag 'nope'");
  ExpectError("x\n{{ a.b }}", ErrorCode::kInternal, "line 2: 'a' is undefined");
  ExpectError("{% for m in [1] %}\n{{ m.x.y }}\n{% endfor %}", ErrorCode::kInternal,
              "line 2: 'int object' has no attribute 'x'");
  ExpectError("\n{{ 1 + 'a' }}", ErrorCode::kInternal,
              "line 2: unsupported operand types for +: 'int' and 'str'");
  ExpectError("{% include 'secret' %}", ErrorCode::kInternal, "needs another template");
  ExpectError("\xFF", ErrorCode::kCorrupt, "not UTF-8");
  ExpectError("{{ '\\ud83d\\ude00' }}", ErrorCode::kCorrupt, "is not a character");
}

TEST(JinjaErrors, RaiseExceptionIsTheClientsFaultAndExactlyItsMessage) {
  const auto text = RenderText("\n{{ raise_exception('roles must alternate: ' ~ 1) }}");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().message, "roles must alternate: 1");
}

TEST(JinjaErrors, IntegersBeyond64Bits) {
  for (const char* expression :
       {"9223372036854775807 + 1", "-9223372036854775807 - 2", "9223372036854775807 * 2", "2 ** 63",
        "3 ** 100", "(-9223372036854775807 - 1) // -1", "-(-9223372036854775807 - 1)",
        "(-9223372036854775807 - 1) | abs", "'9223372036854775808' | int", "1e30 | int"}) {
    ExpectError(std::string("{{ ") + expression + " }}", ErrorCode::kInternal, "64 bits");
  }
  ExpectError("{{ 9223372036854775808 }}", ErrorCode::kCorrupt, "64 bits");
  EXPECT_EQ(*RenderText("{{ (-9223372036854775807 - 1) % -1 }}"), "0");
  // A request's larger numbers pass through.
  EXPECT_EQ(*RenderText("{{ n }} {{ n | tojson }} {{ [n] }}", {{"n", 18446744073709551615ULL}}),
            "18446744073709551615 18446744073709551615 [18446744073709551615]");
  EXPECT_FALSE(RenderText("{{ n + 1 }}", {{"n", 18446744073709551615ULL}}));
}

TEST(JinjaLimits, Nesting) {
  ExpectError("{{ " + Repeat("(", 5000) + "1" + Repeat(")", 5000) + " }}", ErrorCode::kCorrupt,
              "nested deeper");
  ExpectError("{{ " + Repeat("[", 5000), ErrorCode::kCorrupt, "nested deeper");
  ExpectError("{{ " + Repeat("-", 5000) + "1 }}", ErrorCode::kCorrupt, "nested deeper");
  ExpectError("{{ " + Repeat("not ", 5000) + "1 }}", ErrorCode::kCorrupt, "too many 'not'");
  ExpectError("{{ 1" + Repeat(" + 1", 5000) + " }}", ErrorCode::kCorrupt, "nested deeper");
  ExpectError("{{ x" + Repeat(".a", 5000) + " }}", ErrorCode::kCorrupt, "nested deeper");
  ExpectError("{{ x" + Repeat("|e", 5000) + " }}", ErrorCode::kCorrupt, "nested deeper");
  ExpectError("{{ 1" + Repeat(" if 1 else 1", 5000) + " }}", ErrorCode::kCorrupt, "nested deeper");
  ExpectError("{{ 1" + Repeat(" if 1", 5000) + " }}", ErrorCode::kCorrupt, "nested deeper");
  ExpectError(Repeat("{% if 1 %}", 5000), ErrorCode::kCorrupt, "nested deeper");
  ExpectError(Repeat("{% for x in y %}", 5000), ErrorCode::kCorrupt, "nested deeper");
  ExpectError(std::string(2 << 20, 'x'), ErrorCode::kCorrupt, "expected at most");
}

TEST(JinjaLimits, WhatIsAllowedWorksToTheEdge) {
  EXPECT_EQ(*RenderText("{{ " + Repeat("(", 45) + "1" + Repeat(")", 45) + " }}"), "1");
  EXPECT_EQ(*RenderText("{{ 0" + Repeat(" + 1", 200) + " }}"), "200");
  EXPECT_EQ(*RenderText(Repeat("{% if 1 %}", 60) + "x" + Repeat("{% endif %}", 60)), "x");
  EXPECT_EQ(*RenderText("{{ ''" + Repeat(" ~ 'a'", 5000) + " }}"), Repeat("a", 5000));
  EXPECT_EQ(*RenderText("{% macro f(n) %}{{ f(n - 1) if n else 'end' }}{% endmacro %}{{ f(100) }}"),
            "end");
}

TEST(JinjaLimits, Recursion) {
  const auto limit = ErrorCode::kResourceExhausted;
  ExpectError("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", limit, "nested too deeply");
  ExpectError(
      "{% macro f(x) %}{% if 1 %}{% for i in [1] %}{{ [f(x + 1) | upper] }}{% endfor %}"
      "{% endif %}{% endmacro %}{{ f(1) }}",
      limit, "nested too deeply");
  ExpectError("{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}",
              limit, "nested too deeply");
  ExpectError("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", limit,
              "nested too deeply");
  ExpectError(
      "{% set n = namespace(l=[]) %}{% for i in range(90000) %}{% set n.l = [n.l] %}"
      "{% endfor %}",
      limit, "nested too deeply");
  ExpectError(
      "{% set n = namespace(l=[]) %}{% for i in range(90000) %}"
      "{% set n.l = n.l | map('upper') %}{% endfor %}{{ n.l | list }}",
      limit, "nested too deeply");
  ExpectError(
      "{% set n = namespace(l=[]) %}{% for i in range(90000) %}"
      "{% set n.l = [n.l.index] %}{% endfor %}",
      limit, "nested too deeply");
  ExpectError("{% set n = namespace() %}{% set n.n = n %}{{ n }}", limit, "nested too deeply");
}

TEST(JinjaLimits, Steps) {
  const auto limit = ErrorCode::kResourceExhausted;
  const std::string loops = "{% for a in range(100000) %}{% for b in range(100000) %}";
  ExpectError(loops + "{% endfor %}{% endfor %}", limit, "too many steps");
  ExpectError(
      "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
      "{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}",
      limit, "too many steps");
  ExpectError(
      "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
      "{{ f(60) }}",
      limit, "too many steps");
}

TEST(JinjaLimits, Memory) {
  const auto limit = ErrorCode::kResourceExhausted;
  ExpectError(
      "{% set n = namespace(s='ab') %}{% for i in range(100) %}"
      "{% set n.s = n.s ~ n.s %}{% endfor %}",
      limit, "memory");
  ExpectError("{{ 'a' * 9223372036854775807 }}", limit, "memory");
  ExpectError("{{ [1] * 9223372036854775807 }}", limit, "memory");
  ExpectError("{{ 'ab' * 9223372036854775807 }}", limit, "memory");
  ExpectError("{{ 'a'.center(9223372036854775807) }}", limit, "memory");
  ExpectError("{{ 'a'.zfill(9223372036854775807) }}", limit, "memory");
  ExpectError("{{ [1] | batch(9223372036854775807, 0) | list }}", limit, "");
  ExpectError(
      "{% set n = namespace(a=['aaaaaaaaaa']) %}{% for i in range(60) %}"
      "{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
      limit, "");
  ExpectError(
      "{% set n = namespace(a=['aaaaaaaaaa']) %}{% for i in range(60) %}"
      "{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a | tojson }}",
      limit, "");
  ExpectError("{% set s = 'a' * 1000000 %}{{ s.replace('a', s) }}", limit, "memory");
  ExpectError("{% set s = 'a' * 1000000 %}{{ s.replace('', s) }}", limit, "memory");
  ExpectError("{% set s = 'a' * 1000000 %}{{ s.join(s) }}", limit, "");
  ExpectError("{% set s = 'a' * 1000000 %}{{ s | list | join(s) }}", limit, "");
  ExpectError("{% set s = '\\t' * 10000000 %}{{ s.expandtabs(1000) }}", limit, "");
  ExpectError("{% for i in range(100000) %}{{ 'a' * 100000 }}{% endfor %}", limit, "");
  ExpectError("{{ range(100001) }}", ErrorCode::kInternal, "at most 100000");
  ExpectError("{{ '%1000000000d' % 1 }}", ErrorCode::kInternal, "too wide");
  ExpectError("{{ '{:1000000000}'.format(1) }}", ErrorCode::kInternal, "too wide");
}

TEST(JinjaLimits, NothingIsLeftBehindInCycles) {
  // Leak checkers watch this one.
  EXPECT_EQ(*RenderText(
                "{% set n = namespace() %}{% set n.n = n %}{% macro f() %}{{ n }}{% endmacro %}"
                "{% set n.f = f %}{% for i in [1] %}{% set n.l = loop %}"
                "{% if loop.changed(n) %}x{% endif %}{% endfor %}"
                "{% set n.c = cycler(n) %}{% set n.j = joiner(n) %}{% set n.g = [n] | map('e') %}"),
            "x");
  // What a loop left behind has ended.
  EXPECT_EQ(*RenderText("{% set n = namespace() %}{% macro f() %}{% for i in [1, 2] if i %}"
                        "{% set n.l = loop %}{% break %}{% endfor %}{% endmacro %}{{ f() }}"
                        "{{ n.l.nextitem is defined }}{{ n.l.index }}"),
            "False1");
}

TEST(JinjaLimits, SmallerOnesCanBeSet) {
  const auto parsed = ChatTemplate::Parse("{% for i in range(1000) %}{{ i }}{% endfor %}");
  ASSERT_TRUE(parsed);
  ChatTemplate::Options options;
  options.limits.steps = 500;
  const auto few = parsed->Render(nlohmann::ordered_json::object(), options);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(parsed->Render(nlohmann::ordered_json::object()));
}

TEST(JinjaVariables, HostileOnes) {
  nlohmann::ordered_json deep = 1;
  for (int i = 0; i < 10000; ++i) {
    nlohmann::ordered_json outer = nlohmann::ordered_json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  const auto nested = RenderText("{{ x }}", {{"x", std::move(deep)}});
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(*RenderText("{{ x }}{{ x | length }}", {{"x", "a\xFF\xE2\x82"}}),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "3");
  EXPECT_FALSE(RenderText("{{ x }}", nlohmann::ordered_json::array()));
  // Text of the conversation is never template.
  EXPECT_EQ(*RenderText("{{ x }}", {{"x", "{{ y }}{% if %}"}}), "{{ y }}{% if %}");
  nlohmann::ordered_json wide = nlohmann::ordered_json::object();
  for (int i = 0; i < 2000; ++i) wide["key" + std::to_string(i)] = i;
  EXPECT_EQ(*RenderText("{{ x.key1999 }}{{ x.key2000 is defined }}{{ x | length }}", {{"x", wide}}),
            "1999False2000");
}

TEST(JinjaThreads, OneTemplateRendersInMany) {
  const auto parsed = ChatTemplate::Parse(
      "{% macro f(a, b='é') %}{{ a ~ b | upper }}{% endmacro %}{% set n = namespace(s='') %}"
      "{% for i in range(50) %}{% set n.s = n.s + f(i) %}{% endfor %}{{ n.s }}{{ x }}");
  ASSERT_TRUE(parsed);
  const nlohmann::ordered_json variables = {{"x", "shared"}};
  const std::string expected = *parsed->Render(variables);
  std::vector<std::thread> threads;
  std::vector<int> equal(4);
  for (size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) equal[t] += *parsed->Render(variables) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 20));
}

TEST(ChatTemplateSourcesTest, AreChosenAsTransformersDoes) {
  const TemporaryDirectory directory;
  directory.Write("tokenizer_config.json", R"({"chat_template": [
      {"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}, {"name": "x"}]})");
  const auto sources = ReadHfChatTemplates(directory.path());
  ASSERT_TRUE(sources) << sources.error().message;
  EXPECT_EQ(sources->For(false), "d");
  EXPECT_EQ(sources->For(true), "t");
  EXPECT_EQ(*ReadHfChatTemplate(directory.path()), "d");
  directory.Write("chat_template.jinja", "file");
  const auto from_file = ReadHfChatTemplates(directory.path());
  ASSERT_TRUE(from_file);
  EXPECT_EQ(from_file->For(true), "file");
}

}  // namespace
}  // namespace weft
