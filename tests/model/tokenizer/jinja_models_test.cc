// Real models' templates: what Python's Jinja2 makes of eight conversations each.
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/tokenizer/chat_template.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The moment that the expected texts were made at.
std::tm FixtureTime() {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mon = 10;
  time.tm_mday = 21;
  time.tm_hour = 12;
  time.tm_wday = 6;
  time.tm_yday = 324;
  return time;
}

TEST(JinjaModels, RenderAsJinja2Does) {
  const std::string directory = SharedDataPath("chat_templates/");
  const std::string text = ReadFile(directory + "cases.json");
  if (text.empty()) GTEST_SKIP() << directory << "cases.json is not there";
  const auto cases = nlohmann::ordered_json::parse(text);
  std::map<std::string, ChatTemplate> templates;
  for (const auto& test_case : cases) {
    const std::string name = test_case.at("template");
    SCOPED_TRACE(name + ": " + test_case.at("conversation").get<std::string>());
    if (!templates.contains(name)) {
      auto parsed = ChatTemplate::Parse(ReadFile(directory + name));
      ASSERT_TRUE(parsed) << parsed.error().message;
      templates.emplace(name, *std::move(parsed));
    }
    nlohmann::ordered_json variables = test_case.at("input");
    variables["bos_token"] = "<s>";
    variables["eos_token"] = "</s>";
    variables["unk_token"] = "<unk>";
    variables["pad_token"] = "<pad>";
    variables["add_generation_prompt"] = test_case.at("add_generation_prompt");
    ChatTemplate::Options options;
    options.now = FixtureTime();
    const auto rendered = templates.at(name).Render(variables, options);
    if (test_case.contains("error")) {
      ASSERT_FALSE(rendered);
      EXPECT_EQ(rendered.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(rendered.error().message, test_case.at("error"));
    } else {
      ASSERT_TRUE(rendered) << rendered.error().message;
      EXPECT_EQ(*rendered, test_case.at("expected"));
    }
  }
}

}  // namespace
}  // namespace weft
