#include "model/checkpoint.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/json_limits.h"
#include "base/regular_file.h"
#include "model/formats/config_readers.h"
#include "model/formats/gguf.h"
#include "model/formats/safetensors.h"
#include "model/tensor_binding.h"
#include "model/tokenizer/chat_template.h"

namespace weft {
namespace {

uint64_t TotalBytes(const std::vector<MappedFile>& files) {
  uint64_t total = 0;
  for (const MappedFile& file : files) total += file.bytes().size();
  return total;
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
  WEFT_ASSIGN_OR_RETURN(const std::string config, ReadFile(config_path, kConfigJson.max_bytes));
  WEFT_ASSIGN_OR_RETURN(const ConfigAndArchitecture read, ReadHfConfig(config, config_path));
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
  const std::string pooling_path = path + "/1_Pooling/config.json";
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> pooling,
                        ReadFileIfPresent(pooling_path, kConfigJson.max_bytes));
  if (pooling) {
    WEFT_ASSIGN_OR_RETURN(checkpoint.config.pooling, ReadHfPooling(*pooling, pooling_path));
  }
  checkpoint.file_bytes = TotalBytes(files.files);
  checkpoint.files = std::move(files.files);
  return checkpoint;
}

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace

Result<Checkpoint> LoadCheckpoint(const std::string& path) {
  return IsDirectory(path) ? LoadDirectory(path) : LoadGguf(path);
}

Result<std::shared_ptr<const Tokenizer>> LoadTokenizer(const std::string& path) {
  // No embedding says how many tokens there are.
  if (IsDirectory(path)) return Tokenizer::FromDirectory(path, ConfigLimits::kVocabulary);
  WEFT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  auto tokenizer = Tokenizer::FromGguf(file.metadata, ConfigLimits::kVocabulary);
  for (const MappedFile& part : file.files) WEFT_RETURN_IF_ERROR(part.CheckUnchanged());
  return tokenizer;
}

}  // namespace weft
