#include "proto/left_out_images.h"

#include "proto/field_reader.h"

namespace weft {

using nlohmann::ordered_json;

namespace {

// As chats, Anthropic's messages and responses call them.
bool IsImage(const ordered_json& part) {
  const ordered_json* type = FindField(part, "type");
  return type != nullptr && (*type == "image_url" || *type == "image" || *type == "input_image");
}

}  // namespace

void LeaveOutImages(ordered_json& list) {
  if (!list.is_array()) return;
  for (ordered_json& each : list) {
    if (!each.is_object()) continue;
    if (IsImage(each)) {
      each = {{"type", "text"}, {"text", kLeftOutImage}};
      continue;
    }
    for (const char* const parts : {"content", "output"}) {
      if (ordered_json* inner = FindField(each, parts)) LeaveOutImages(*inner);
    }
  }
}

}  // namespace weft
