#include "proto/responses/response_replay.h"

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/sse.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

class ReplayWriter {
 public:
  explicit ReplayWriter(int64_t starting_after) : starting_after_(starting_after) {}

  void AddResponse(std::string_view type, const ordered_json& response) {
    Add(type, {{"response", response}});
  }
  void AddItem(size_t output_index, const ordered_json& item);
  void End() { text_ += kSseDone; }
  std::string Take() { return std::move(text_); }

 private:
  void Add(std::string_view type, const ordered_json& fields);
  void AddPart(const ordered_json& place, const ordered_json& part);
  void AddCall(const ordered_json& place, const ordered_json& item, const std::string& name);

  const int64_t starting_after_;
  int64_t next_sequence_number_ = 0;
  std::string text_;
};

void ReplayWriter::Add(std::string_view type, const ordered_json& fields) {
  const int64_t number = next_sequence_number_++;
  if (number <= starting_after_) return;
  ordered_json event = {{"type", type}, {"sequence_number", number}};
  event.update(fields);
  text_ += SseEvent(type, DumpJson(event));
}

void ReplayWriter::AddPart(const ordered_json& place, const ordered_json& part) {
  ordered_json in_place = place;
  in_place["content_index"] = 0;
  const auto with = [&](std::string_view name, const ordered_json& value) {
    ordered_json fields = in_place;
    fields[name] = value;
    if (name != "part" && part.contains("logprobs")) fields["logprobs"] = part["logprobs"];
    return fields;
  };
  ordered_json begun = part;
  begun["text"] = "";
  if (begun.contains("logprobs")) begun["logprobs"] = ordered_json::array();
  const std::string stem = "response." + part["type"].get<std::string>();
  Add("response.content_part.added", with("part", begun));
  if (part["text"] != "") Add(stem + ".delta", with("delta", part["text"]));
  Add(stem + ".done", with("text", part["text"]));
  Add("response.content_part.done", with("part", part));
}

// `name` is "arguments" or "input".
void ReplayWriter::AddCall(const ordered_json& place, const ordered_json& item,
                           const std::string& name) {
  const bool is_function = name == "arguments";
  const std::string stem =
      is_function ? "response.function_call_arguments" : "response.custom_tool_call_input";
  ordered_json delta = place;
  delta["delta"] = item[name];
  if (item[name] != "") Add(stem + ".delta", delta);
  ordered_json done = place;
  if (is_function) done["name"] = item["name"];
  done[name] = item[name];
  Add(stem + ".done", done);
}

void ReplayWriter::AddItem(size_t output_index, const ordered_json& item) {
  const ordered_json place = {{"item_id", item["id"]}, {"output_index", output_index}};
  ordered_json begun = item;
  begun["status"] = "in_progress";
  begun.erase("encrypted_content");
  if (begun.contains("content")) begun["content"] = ordered_json::array();
  for (const char* const name : {"arguments", "input"}) {
    if (begun.contains(name)) begun[name] = "";
  }
  Add("response.output_item.added", {{"output_index", output_index}, {"item", begun}});
  if (item.contains("content")) {
    for (const ordered_json& part : item["content"]) AddPart(place, part);
  }
  for (const char* const name : {"arguments", "input"}) {
    if (item.contains(name)) AddCall(place, item, name);
  }
  Add("response.output_item.done", {{"output_index", output_index}, {"item", item}});
}

}  // namespace

std::string ReplayedStream(std::string_view response, int64_t starting_after) {
  const ordered_json ended = ordered_json::parse(response);
  ordered_json begun = ended;
  begun["status"] = "in_progress";
  begun["output"] = ordered_json::array();
  for (const char* const name : {"completed_at", "usage", "error", "incomplete_details"}) {
    begun[name] = nullptr;
  }
  ReplayWriter writer(starting_after);
  writer.AddResponse("response.created", begun);
  writer.AddResponse("response.in_progress", begun);
  const ordered_json& output = ended["output"];
  for (size_t i = 0; i < output.size(); ++i) writer.AddItem(i, output[i]);
  writer.AddResponse("response." + ended["status"].get<std::string>(), ended);
  if (ended["status"] != "failed") writer.End();  // as a stream that fails
  return writer.Take();
}

}  // namespace weft
