#include "model/checkpoint.h"

#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/config_readers.h"
#include "model/formats/gguf.h"
#include "model/formats/safetensors.h"
#include "model/tensor_binding.h"

namespace weft {
namespace {

uint64_t TotalBytes(const std::vector<MappedFile>& files) {
  uint64_t total = 0;
  for (const MappedFile& file : files) total += file.bytes().size();
  return total;
}

std::string_view TextOf(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// chat_template.jinja, or tokenizer_config.json's chat_template (a string, or a list of named ones
// of which "default" counts); empty if there is none.
Result<std::string> ReadHfChatTemplate(const std::string& directory) {
  if (const auto file = MappedFile::Open(directory + "/chat_template.jinja")) {
    return std::string(TextOf(*file));
  }
  const std::string path = directory + "/tokenizer_config.json";
  const auto file = MappedFile::Open(path);
  if (!file) return std::string();
  const auto json = nlohmann::json::parse(TextOf(*file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Fail(ErrorCode::kCorrupt, "{}: not a JSON object", path);
  const auto found = json.find("chat_template");
  if (found == json.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const auto& named : *found) {
      if (!named.is_object() || named.value("name", nlohmann::json()) != "default") continue;
      const auto text = named.value("template", nlohmann::json());
      if (text.is_string()) return text.get<std::string>();
    }
  }
  return Fail(ErrorCode::kInvalidArgument,
              "{}: chat_template is neither a string nor a list with one named \"default\"", path);
}

Result<Checkpoint> LoadGguf(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(GgufFile file, GgufFile::Open(path));
  WEFT_ASSIGN_OR_RETURN(const ConfigAndArchitecture read, ReadGgufConfig(file));
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.format = fmt::format("GGUF v{}", file.version);
  checkpoint.config = read.config;
  WEFT_ASSIGN_OR_RETURN(checkpoint.tensors, BindTensors(file.tensors, FileFormat::kGguf,
                                                        read.config, *read.architecture, path));
  WEFT_ASSIGN_OR_RETURN(checkpoint.tokenizer,
                        Tokenizer::FromGguf(file.metadata, read.config.vocab_size));
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> chat_template,
                        file.metadata.GetString("tokenizer.chat_template"));
  checkpoint.chat_template = chat_template.value_or("");
  checkpoint.file_bytes = TotalBytes(file.files);
  checkpoint.files = std::move(file.files);
  return checkpoint;
}

Result<Checkpoint> LoadDirectory(const std::string& path) {
  const std::string config_path = path + "/config.json";
  WEFT_ASSIGN_OR_RETURN(const MappedFile config_file, MappedFile::Open(config_path));
  WEFT_ASSIGN_OR_RETURN(const ConfigAndArchitecture read,
                        ReadHfConfig(TextOf(config_file), config_path));
  WEFT_ASSIGN_OR_RETURN(SafetensorsFiles files, SafetensorsFiles::OpenDirectory(path));
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.format = "safetensors";
  checkpoint.config = read.config;
  WEFT_ASSIGN_OR_RETURN(checkpoint.tensors, BindTensors(files.tensors, FileFormat::kSafetensors,
                                                        read.config, *read.architecture, path));
  WEFT_ASSIGN_OR_RETURN(checkpoint.tokenizer,
                        Tokenizer::FromDirectory(path, read.config.vocab_size));
  WEFT_ASSIGN_OR_RETURN(checkpoint.chat_template, ReadHfChatTemplate(path));
  checkpoint.file_bytes = TotalBytes(files.files);
  checkpoint.files = std::move(files.files);
  return checkpoint;
}

}  // namespace

Result<Checkpoint> LoadCheckpoint(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? LoadDirectory(path) : LoadGguf(path);
}

}  // namespace weft
