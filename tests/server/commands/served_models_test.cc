// What the models of one server are called, and which settings are whose.
#include "server/commands/served_models.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Strings = std::vector<std::string>;

TEST(ServedModelsTest, NamesComeOfPathsOrAreGiven) {
  EXPECT_THAT(*NamesOfModels(Strings{"models/a.gguf", "models/b/", "c"}, {}),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(*NamesOfModels(Strings{"x/model.gguf", "y/model.gguf"}, Strings{"first", "second"}),
              ElementsAre("first", "second"));
  EXPECT_THAT(*NamesOfModels(Strings{"x/model.gguf", "y/other.gguf"}, Strings{"first", ""}),
              ElementsAre("first", "other"));
}

TEST(ServedModelsTest, NoTwoHaveOneName) {
  const auto by_path = NamesOfModels(Strings{"x/model.gguf", "y/model.gguf"}, {});
  ASSERT_FALSE(by_path);
  EXPECT_EQ(by_path.error().message,
            "x/model.gguf and y/model.gguf would both be called 'model'; name the models by "
            "--served-model-name, in the order of --model");
  EXPECT_FALSE(NamesOfModels(Strings{"a.gguf", "b.gguf"}, Strings{"m", "m"}));
}

std::vector<std::string> ValuesOf(const Strings& values, const Strings& names) {
  const auto settings = SettingsOfModels("--task", values, names);
  if (!settings) return {settings.error().message};
  std::vector<std::string> all;
  for (const ModelSetting& each : *settings) all.push_back((each.is_named ? "!" : "") + each.value);
  return all;
}

TEST(ServedModelsTest, SettingsAreOfAllOrOfOne) {
  const Strings names = {"one", "two", "a=b"};
  EXPECT_THAT(ValuesOf({}, names), ElementsAre("", "", ""));
  EXPECT_THAT(ValuesOf({"x"}, names), ElementsAre("x", "x", "x"));
  EXPECT_THAT(ValuesOf({"two=y", "x"}, names), ElementsAre("x", "!y", "x"));
  EXPECT_THAT(ValuesOf({"a=b=z"}, names), ElementsAre("", "", "!z"));
  EXPECT_THAT(ValuesOf({"three=y"}, names), ElementsAre("three=y", "three=y", "three=y"));
  EXPECT_THAT(ValuesOf({"x", "y"}, names),
              ElementsAre("--task is there twice for all models; NAME=VALUE says for which"));
  EXPECT_THAT(ValuesOf({"one=x", "one=y"}, names),
              ElementsAre("--task is there twice for the model 'one'; NAME=VALUE says for which"));
}

TEST(ServedModelsTest, TemplatesAreReadBeforeModels) {
  const TemporaryDirectory directory;
  ServeOptions options;
  options.chat_templates = {"one=" + directory.Write("one.jinja", "{{ 1 }}")};
  const auto settings = ReadServedSettings(options, Strings{"one", "two"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_THAT(settings->templates, ElementsAre("{{ 1 }}", ""));
  options.chat_templates = {"/nowhere.jinja"};
  const auto missing = ReadServedSettings(options, Strings{"one", "two"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere.jinja"));
}

}  // namespace
}  // namespace weft
