#include "proto/files/file_object.h"

#include <nlohmann/json.hpp>

#include "proto/json_dump.h"
#include "proto/object_list.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json FileJsonOf(const FileObject& file) {
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.size_bytes},
          {"created_at", file.created_at},
          {"expires_at", file.expires_at},
          {"filename", file.filename},
          {"purpose", file.purpose},
          {"status", "processed"}};
}

}  // namespace

std::string ToJson(const FileObject& file) { return DumpJson(FileJsonOf(file)); }

std::string DeletedFileJson(const std::string& id) {
  return DumpJson(ordered_json{{"id", id}, {"object", "file"}, {"deleted", true}});
}

std::string ToJson(const std::vector<FileObject>& files, bool has_more) {
  ordered_json data = ordered_json::array();
  for (const FileObject& file : files) data.push_back(FileJsonOf(file));
  return DumpJson(ObjectList(std::move(data), has_more));
}

}  // namespace weft
