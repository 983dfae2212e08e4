#include "model/checkpoint.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/json_limits.h"
#include "base/regular_file.h"
#include "model/column_order.h"
#include "model/families/families.h"
#include "model/formats/config_json.h"
#include "model/formats/gguf.h"
#include "model/formats/safetensors.h"
#include "model/formats/schemes/scheme.h"
#include "model/ranking_files.h"
#include "model/sentence_modules.h"
#include "model/tensor_binding.h"
#include "model/tokenizer/chat_template.h"

namespace weft {
namespace {

uint64_t TotalBytes(const std::vector<MappedFile>& files) {
  uint64_t total = 0;
  for (const MappedFile& file : files) total += file.bytes().size();
  return total;
}

// What is the same in both formats, once a checkpoint is described.
Result<Checkpoint> Bind(const std::string& path, ModelDescription description,
                        const TensorMap& tensors, const AssembledTensors& assembled,
                        std::vector<MappedFile> files) {
  Checkpoint checkpoint;
  checkpoint.path = path;
  WEFT_ASSIGN_OR_RETURN(checkpoint.tensors, BindTensors(tensors, description, path, assembled));
  KeepColumnOrders(description.spec, checkpoint.tensors);
  checkpoint.spec = std::move(description.spec);
  checkpoint.file_bytes = TotalBytes(files);
  checkpoint.files = std::move(files);
  return checkpoint;
}

Result<Checkpoint> LoadGguf(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(GgufFile file, GgufFile::Open(path));
  WEFT_ASSIGN_OR_RETURN(ModelDescription description, DescribeGguf(file));
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> chat_template,
                        file.metadata.GetString("tokenizer.chat_template"));
  WEFT_ASSIGN_OR_RETURN(Checkpoint checkpoint, Bind(path, std::move(description), file.tensors, {},
                                                    std::move(file.files)));
  checkpoint.format = fmt::format("GGUF v{}", file.version);
  checkpoint.chat_template = chat_template.value_or("");
  WEFT_ASSIGN_OR_RETURN(checkpoint.tokenizer,
                        Tokenizer::FromGguf(file.metadata, checkpoint.spec.vocab_size));
  WEFT_ASSIGN_OR_RETURN(checkpoint.ranking,
                        RankingOfGguf(file.metadata, checkpoint.spec, *checkpoint.tokenizer));
  return checkpoint;
}

// What the files of an encoder-decoder say of the texts that it generates.
Result<void> ReadTarget(const std::string& directory, const std::string& config, ModelSpec& spec) {
  if (spec.encoder == nullptr) return {};
  WEFT_RETURN_IF_ERROR(ReadHfTasks(config, directory + "/config.json", spec.target));
  const std::string path = directory + "/generation_config.json";
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                        ReadFileIfPresent(path, kConfigJson.max_bytes));
  return text ? ReadHfTarget(*text, path, spec.vocab_size, spec.target) : Result<void>();
}

Result<Checkpoint> LoadDirectory(const std::string& path) {
  const std::string config_path = path + "/config.json";
  WEFT_ASSIGN_OR_RETURN(const std::string config, ReadFile(config_path, kConfigJson.max_bytes));
  WEFT_ASSIGN_OR_RETURN(const ConfigValues values, ReadConfigJson(config, config_path));
  WEFT_ASSIGN_OR_RETURN(ModelDescription description, DescribeHf(values, config_path));
  WEFT_ASSIGN_OR_RETURN(SafetensorsFiles files, SafetensorsFiles::OpenDirectory(path));
  if (description.is_text_tower) {
    WEFT_ASSIGN_OR_RETURN(files.tensors, TextTowerOf(files.tensors, path));
  }
  WEFT_ASSIGN_OR_RETURN(const AssembledTensors assembled,
                        AssembleQuantized(values, files.tensors, path));
  WEFT_RETURN_IF_ERROR(AddSentenceModules(path, description, files));
  const std::vector<TokenId> ranking_tokens = description.ranking_tokens;
  WEFT_ASSIGN_OR_RETURN(Checkpoint checkpoint, Bind(path, std::move(description), files.tensors,
                                                    assembled, std::move(files.files)));
  WEFT_RETURN_IF_ERROR(ReadTarget(path, config, checkpoint.spec));
  checkpoint.format = "safetensors";
  WEFT_ASSIGN_OR_RETURN(checkpoint.tokenizer,
                        Tokenizer::FromDirectory(path, checkpoint.spec.vocab_size));
  WEFT_ASSIGN_OR_RETURN(checkpoint.chat_template, ReadHfChatTemplate(path));
  WEFT_ASSIGN_OR_RETURN(checkpoint.prompts, ReadSentencePrompts(path));
  WEFT_ASSIGN_OR_RETURN(checkpoint.ranking,
                        RankingOfDirectory(path, {.spec = checkpoint.spec,
                                                  .tokenizer = *checkpoint.tokenizer,
                                                  .chat_template = checkpoint.chat_template,
                                                  .prompts = checkpoint.prompts,
                                                  .tokens = ranking_tokens}));
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
