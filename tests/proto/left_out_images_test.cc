// Images give way to a line of text, whatever a conversation's shape.
#include "proto/left_out_images.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json LeftOut(std::string_view list) {
  ordered_json value = ordered_json::parse(list);
  LeaveOutImages(value);
  return value;
}

TEST(LeftOutImagesTest, PartsOfMessagesItemsAndResults) {
  EXPECT_EQ(LeftOut(R"([
    {"role":"user","content":[{"type":"text","text":"a"},
                              {"type":"image_url","image_url":{"url":"data:x"}}]},
    {"role":"user","content":[{"type":"image","source":{}},
      {"type":"tool_result","content":[{"type":"image","source":{}}]}]},
    {"type":"message","content":[{"type":"input_image","image_url":"x"}]},
    {"type":"function_call_output","output":[{"type":"input_image","file_id":"x"}]}])"),
            ordered_json::parse(R"([
    {"role":"user","content":[{"type":"text","text":"a"},
                              {"type":"text","text":"[image left out]"}]},
    {"role":"user","content":[{"type":"text","text":"[image left out]"},
      {"type":"tool_result","content":[{"type":"text","text":"[image left out]"}]}]},
    {"type":"message","content":[{"type":"text","text":"[image left out]"}]},
    {"type":"function_call_output","output":[{"type":"text","text":"[image left out]"}]}])"));
}

TEST(LeftOutImagesTest, WhateverElseStays) {
  for (const std::string_view list :
       {"3", "\"a\"", "{}", "null", R"([3,null,"a",[{"type":"image"}]])",
        R"([{"content":"image"},{"content":{"type":"image"}},{"content":null}])",
        R"([{"role":"user","content":[{"type":"document"},{"type":3},3]}])",
        R"([{"type":"tool_use","input":[{"type":"image"}]}])"}) {
    EXPECT_EQ(LeftOut(list), ordered_json::parse(list));
  }
}

}  // namespace
}  // namespace weft
