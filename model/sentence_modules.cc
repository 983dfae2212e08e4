#include "model/sentence_modules.h"

#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_limits.h"
#include "base/quoted.h"
#include "base/regular_file.h"
#include "model/formats/config_json.h"

namespace weft {
namespace {

// In the order in which they must come.
enum class ModuleKind { kTransformer, kPooling, kSparse, kLogitScore, kDense, kNormalize };
constexpr std::array<std::pair<std::string_view, ModuleKind>, 7> kModules = {{
    {"Transformer", ModuleKind::kTransformer},
    {"MLMTransformer", ModuleKind::kTransformer},
    {"Pooling", ModuleKind::kPooling},
    {"SpladePooling", ModuleKind::kSparse},
    {"LogitScore", ModuleKind::kLogitScore},
    {"Dense", ModuleKind::kDense},
    {"Normalize", ModuleKind::kNormalize},
}};

// Classes of torch.nn.modules.
constexpr std::array<std::pair<std::string_view, PooledActivation>, 4> kActivations = {{
    {"Identity", PooledActivation::kNone},
    {"Tanh", PooledActivation::kTanh},
    {"ReLU", PooledActivation::kRelu},
    {"GELU", PooledActivation::kGelu},
}};

// Of a Python class's whole name the class.
std::string_view ClassOf(std::string_view name) { return name.substr(name.rfind('.') + 1); }

class SentenceModules {
 public:
  SentenceModules(const std::string& directory, ModelDescription& description,
                  SafetensorsFiles& files)
      : directory_(directory),
        description_(description),
        spec_(description.spec),
        list_(description.parameters),
        files_(files) {}

  Result<void> Add() {
    const std::string path = directory_ + "/modules.json";
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                          ReadFileIfPresent(path, kConfigJson.max_bytes));
    if (!text) {
      AddMaskedHeadIfPresent();
      return AddPooling("1_Pooling");
    }
    WEFT_ASSIGN_OR_RETURN(const std::vector<HfModule> modules, ReadHfModules(*text, path));
    ModuleKind before = ModuleKind::kTransformer;
    for (const HfModule& module : modules) {
      WEFT_ASSIGN_OR_RETURN(const ModuleKind kind, KindOf(module, path));
      if (kind < before) {
        return Fail(ErrorCode::kUnsupported, "{}: {} comes too late, expected it {}", path,
                    Quoted(module.type),
                    kind == ModuleKind::kDense ? "before the normalisation" : "earlier");
      }
      before = kind;
      if (kind == ModuleKind::kPooling) WEFT_RETURN_IF_ERROR(AddPooling(module.path));
      if (kind == ModuleKind::kSparse) WEFT_RETURN_IF_ERROR(AddSparse(module.path));
      if (kind == ModuleKind::kLogitScore) WEFT_RETURN_IF_ERROR(AddLogitScore(module.path));
      if (kind == ModuleKind::kDense) WEFT_RETURN_IF_ERROR(AddDense(module.path));
    }
    return {};
  }

 private:
  static Result<ModuleKind> KindOf(const HfModule& module, const std::string& path) {
    for (const auto& [name, kind] : kModules) {
      if (ClassOf(module.type) != name) continue;
      if (kind == ModuleKind::kTransformer && !module.path.empty()) {
        return Fail(ErrorCode::kUnsupported,
                    "{}: the transformer lies in {}, expected it beside modules.json", path,
                    Quoted(module.path));
      }
      return kind;
    }
    return Fail(ErrorCode::kUnsupported, "{}: the module {} is not supported", path,
                Quoted(module.type));
  }

  // SPLADE's first models lie on the hub as nothing but an encoder with its head.
  void AddMaskedHeadIfPresent() {
    const std::optional<MaskedHead>& head = description_.masked_head;
    if (!head || spec_.classifier) return;
    if (!files_.tensors.contains(std::string(head->dense) + ".weight")) return;
    AddMaskedHead({}, description_);
  }

  // The config.json of a module's folder.
  Result<Hyperparameters> ReadModule(const std::string& folder) const {
    static const TensorMap kUnread;
    const std::string path = directory_ + "/" + folder + "/config.json";
    WEFT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigJson.max_bytes));
    WEFT_ASSIGN_OR_RETURN(ConfigValues values, ReadConfigJson(text, path));
    return Hyperparameters(FileFormat::kSafetensors, path, "", std::move(values), kUnread);
  }

  Result<void> AddSparse(const std::string& folder) {
    constexpr Field kActivation = {"", "activation_function"};
    WEFT_ASSIGN_OR_RETURN(Hyperparameters h, ReadModule(folder));
    h.RefuseUnless({"", "pooling_strategy"}, std::string("max"));
    const std::string activation = h.String(kActivation, "relu");
    if (activation != "relu" && activation != "log1p_relu") {
      h.Reject(ErrorCode::kUnsupported, kActivation,
               "is " + Quoted(activation) + ", expected relu or log1p_relu");
    }
    WEFT_RETURN_IF_ERROR(h.Finish());
    if (!description_.masked_head) {
      return Fail(ErrorCode::kUnsupported, "{}: {} has no head for masked tokens here", h.path(),
                  spec_.architecture);
    }
    AddMaskedHead({.log_count = activation == "relu" ? 1 : 2}, description_);
    return {};
  }

  // The logits of one token, or of two, at the end of a prompt.
  Result<void> AddLogitScore(const std::string& folder) {
    constexpr Field kFalse = {"", "false_token_id"};
    WEFT_ASSIGN_OR_RETURN(Hyperparameters h, ReadModule(folder));
    const Range ids = {0, spec_.vocab_size - 1};
    const auto read = [&](Field field) {
      description_.ranking_tokens.push_back(static_cast<TokenId>(h.Int(field, ids)));
    };
    read({"", "true_token_id"});
    if (h.Has(kFalse)) read(kFalse);
    h.RefuseUnless({"", "module_input_name"}, std::string("causal_logits"));
    WEFT_RETURN_IF_ERROR(h.Finish());
    if (spec_.makes(PooledOutput::kTokenLogits)) return {};
    return Fail(ErrorCode::kUnsupported, "{}: {} has no logits of a next token", h.path(),
                spec_.architecture);
  }

  Result<void> AddPooling(const std::string& folder) {
    const std::string path = directory_ + "/" + folder + "/config.json";
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                          ReadFileIfPresent(path, kConfigJson.max_bytes));
    if (!text) return {};
    WEFT_ASSIGN_OR_RETURN(const std::optional<Pooling> mode, ReadHfPooling(*text, path));
    spec_.pooling = mode.value_or(spec_.pooling);
    return {};
  }

  Result<void> AddDense(const std::string& folder) {
    WEFT_ASSIGN_OR_RETURN(Hyperparameters h, ReadModule(folder));
    PooledLayerSpec layer;
    layer.input_size = spec_.embedding_size();
    h.RefuseUnless({"", "in_features"}, layer.input_size);
    layer.output_size = h.Int({"", "out_features"}, {1, ConfigLimits::kWidth});
    layer.activation = ReadActivation(h);
    const std::string prefix = folder + "/linear.";
    layer.weight = AddTable(prefix + "weight", layer.output_size, layer.input_size);
    if (h.Bool({"", "bias"}, true)) layer.bias = AddTable(prefix + "bias", layer.output_size, 0);
    WEFT_RETURN_IF_ERROR(h.Finish());
    spec_.embedding_layers.push_back(layer);
    return AddTensors(folder);
  }

  static PooledActivation ReadActivation(Hyperparameters& h) {
    constexpr Field kField = {"", "activation_function"};
    const std::string name = h.String(kField, "torch.nn.modules.activation.Tanh");
    for (const auto& [known, activation] : kActivations) {
      if (ClassOf(name) == known) return activation;
    }
    h.Reject(ErrorCode::kUnsupported, kField,
             "is " + Quoted(name) + ", expected Identity, Tanh, ReLU or GELU");
    return PooledActivation::kNone;
  }

  TableId AddTable(std::string name, int64_t rows, int64_t columns) {
    list_.tables.push_back(
        {.sources = {{.name = std::move(name)}}, .rows = rows, .columns = columns});
    return static_cast<TableId>(list_.tables.size() - 1);
  }

  Result<void> AddTensors(const std::string& folder) {
    WEFT_ASSIGN_OR_RETURN(SafetensorsFiles dense,
                          SafetensorsFiles::OpenDirectory(directory_ + "/" + folder));
    const std::string prefix = folder + "/";
    for (const auto& [name, view] : dense.tensors) {
      files_.tensors[std::string(prefix).append(name)] = view;
    }
    files_.files.insert(files_.files.end(), std::make_move_iterator(dense.files.begin()),
                        std::make_move_iterator(dense.files.end()));
    return {};
  }

  const std::string& directory_;
  ModelDescription& description_;
  ModelSpec& spec_;
  ParameterList& list_;
  SafetensorsFiles& files_;
};

}  // namespace

Result<void> AddSentenceModules(const std::string& directory, ModelDescription& description,
                                SafetensorsFiles& files) {
  return SentenceModules(directory, description, files).Add();
}

}  // namespace weft
