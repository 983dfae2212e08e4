// The flags of `weft serve` about requests, and what they come to.
#include "server/commands/request_flags.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/serve_options.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<ServeOptions> Parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "serve");
  return ParseServeOptions(static_cast<int>(arguments.size()), arguments.data());
}

RequestRules RulesFrom(std::vector<const char*> arguments) {
  const Result<ServeOptions> options = Parsed(std::move(arguments));
  EXPECT_TRUE(options) << options.error().message;
  return options ? options->server.rules : RequestRules();
}

TEST(RequestFlagsTest, WhatIsLeftOut) {
  const RequestRules usual = RulesFrom({});
  EXPECT_TRUE(usual.drops_hosted_tools);
  EXPECT_FALSE(usual.drops_images || usual.clamps_max_tokens);
  const RequestRules others =
      RulesFrom({"--hosted-tools", "refuse", "--images", "drop", "--clamp-max-tokens"});
  EXPECT_FALSE(others.drops_hosted_tools);
  EXPECT_TRUE(others.drops_images && others.clamps_max_tokens);
}

TEST(RequestFlagsTest, DefaultsAreSamplingFields) {
  const RequestRules rules =
      RulesFrom({"--default", "temperature=0.6", "--default", "top_k=20", "--default",
                 R"(stop=["a","b"])", "--default", "cache_salt=x"});
  EXPECT_EQ(rules.sampling.temperature, 0.6);
  EXPECT_EQ(rules.sampling.top_k, 20);
  EXPECT_THAT(rules.sampling.stop, ElementsAre("a", "b"));
  EXPECT_EQ(rules.sampling.cache_salt, "x");
  EXPECT_EQ(rules.sampling_fields,
            R"({"temperature":0.6,"top_k":20,"stop":["a","b"],"cache_salt":"x"})");
}

TEST(RequestFlagsTest, TemplatesAreToldWhetherToReason) {
  EXPECT_EQ(RulesFrom({}).template_variables, "{}");
  EXPECT_EQ(RulesFrom({"--reasoning", "auto"}).template_variables, "{}");
  EXPECT_EQ(RulesFrom({"--reasoning", "off"}).template_variables, R"({"enable_thinking":false})");
  EXPECT_EQ(
      RulesFrom({"--chat-template-kwargs", R"({"a":1})", "--reasoning", "on"}).template_variables,
      R"({"a":1,"enable_thinking":true})");
}

TEST(RequestFlagsTest, TheFileOfOptionsHasThemToo) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write(
      "config.json", R"({"clamp-max-tokens":true,"default":["top_p=0.5"],"reasoning":"off"})");
  const RequestRules rules = RulesFrom({"--config", path.c_str()});
  EXPECT_TRUE(rules.clamps_max_tokens);
  EXPECT_EQ(rules.sampling.top_p, 0.5);
  EXPECT_EQ(rules.template_variables, R"({"enable_thinking":false})");
}

TEST(RequestFlagsTest, MistakesNameTheFlag) {
  const auto refused = [](std::vector<const char*> arguments, std::string_view part) {
    const auto options = Parsed(std::move(arguments));
    ASSERT_FALSE(options) << part;
    EXPECT_THAT(options.error().message, HasSubstr(part));
  };
  refused({"--hosted-tools", "keep"}, "--hosted-tools");
  refused({"--images", "see"}, "--images");
  refused({"--reasoning", "some"}, "--reasoning");
  refused({"--default", "temperature"}, "--default 'temperature': expected NAME=VALUE");
  refused({"--default", "warmth=1"}, "--default 'warmth=1': expected NAME=VALUE");
  refused({"--default", "temperature=9"}, "--default: 'temperature' must be a number from 0 to 2");
  refused({"--default", "temperature=hot"}, "--default: 'temperature' must be a number");
  refused({"--default", "top_p=1", "--default", "top_p=0"}, "--default: 'top_p' is there twice");
  refused({"--chat-template-kwargs", "{"}, "--chat-template-kwargs: ");
  refused({"--chat-template-kwargs", "[]"}, "must be an object of variables");
  refused({"--chat-template-kwargs", R"({"messages":[]})"}, "is a field of the request itself");
  refused({"--chat-template-kwargs", R"({"enable_thinking":true})", "--reasoning", "off"},
          "--reasoning off and --chat-template-kwargs both set 'enable_thinking'");
}

TEST(RequestFlagsTest, AModelMayHaveSeveralNames) {
  const auto options = Parsed({"--served-model-name", "a", "--served-model-name", "b"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->served_model_names, ElementsAre("a", "b"));
  EXPECT_FALSE(options->any_model_name);
  EXPECT_TRUE(Parsed({"--any-model-name"})->any_model_name);
}

}  // namespace
}  // namespace weft
