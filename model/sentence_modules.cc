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
enum class ModuleKind { kTransformer, kPooling, kDense, kNormalize };
constexpr std::array<std::pair<std::string_view, ModuleKind>, 4> kModules = {{
    {"Transformer", ModuleKind::kTransformer},
    {"Pooling", ModuleKind::kPooling},
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
        spec_(description.spec),
        list_(description.parameters),
        files_(files) {}

  Result<void> Add() {
    const std::string path = directory_ + "/modules.json";
    WEFT_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                          ReadFileIfPresent(path, kConfigJson.max_bytes));
    if (!text) return AddPooling("1_Pooling");
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
    static const TensorMap kUnread;
    const std::string path = directory_ + "/" + folder + "/config.json";
    WEFT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigJson.max_bytes));
    WEFT_ASSIGN_OR_RETURN(ConfigValues values, ReadConfigJson(text, path));
    Hyperparameters h(FileFormat::kSafetensors, path, "", std::move(values), kUnread);
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
