#include "server/hub/model_choice.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>

#include "base/ascii.h"
#include "base/format_bytes.h"
#include "base/quoted.h"

namespace weft {
namespace {

// Those that Weft loads, in the order of what serves best: what generates fastest without losing
// accuracy that anybody would notice, then what is more accurate and slower.
constexpr std::string_view kByMerit[] = {
    "Q4_K_M", "Q4_K_L", "Q4_K_XL", "UD-Q4_K_XL", "Q5_K_M", "Q5_K_L", "Q4_K_S", "Q4_0", "Q4_1",
    "IQ4_NL", "IQ4_XS", "MXFP4", "MXFP4_MOE", "Q5_K_S", "Q5_0", "Q5_1", "Q6_K", "Q6_K_L", "Q8_0",
    "BF16", "F16", "F32",
    // Below 4 bits, the more accurate ones first.
    "UD-Q3_K_XL", "Q3_K_XL", "Q3_K_L", "Q3_K_M", "IQ3_M", "IQ3_S", "Q3_K_S", "IQ3_XS", "UD-IQ3_XXS",
    "IQ3_XXS", "UD-Q2_K_XL", "Q2_K_L", "Q2_K", "Q2_K_S", "UD-IQ2_M", "IQ2_M", "IQ2_S", "IQ2_XS",
    "UD-IQ2_XXS", "IQ2_XXS", "TQ2_0", "TQ1_0", "UD-IQ1_M", "IQ1_M", "UD-IQ1_S", "IQ1_S"};

size_t MeritOf(std::string_view quantisation) {
  return static_cast<size_t>(std::ranges::find(kByMerit, quantisation) - std::begin(kByMerit));
}

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), AsciiToUpper);
  return upper;
}

std::string_view FileNameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "Q4_K_M", "IQ2_XXS", "TQ1_0", "MXFP4", "BF16": what llama.cpp calls its types of files.
bool IsQuantisation(std::string_view word) {
  if (word == "BF16" || word == "F16" || word == "F32") return true;
  if (word.starts_with("MXFP4") || word.starts_with("NVFP4")) return true;
  std::string_view rest = word;
  if (rest.starts_with('I') || rest.starts_with('T')) rest.remove_prefix(1);
  return rest.size() > 3 && rest[0] == 'Q' && IsAsciiDigit(rest[1]) && rest[2] == '_' &&
         std::ranges::all_of(rest.substr(3),
                             [](char c) { return IsAsciiUpper(c) || IsAsciiDigit(c) || c == '_'; });
}

// What goes beside models: projectors of images, statistics of activations.
bool IsBesideModels(std::string_view path) {
  const std::string name = UpperCase(FileNameOf(path));
  return name.find("MMPROJ") != std::string::npos || name.starts_with("IMATRIX");
}

std::string ListLabels(std::span<const ModelFiles> models) {
  std::string text;
  for (const ModelFiles& model : models) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ",
                        model.label.empty() ? model.main_path : model.label,
                        FormatBytes(model.bytes()));
  }
  return text;
}

Result<void> CheckRoom(const HubName& name, const ModelFiles& model, const ModelRoom& room) {
  if (room.is_forced) return {};
  if (!model.label.empty() && !IsLoadable(model.label)) {
    return Fail(ErrorCode::kUnsupported,
                "{}: {} has types of weights that Weft does not load, expected Q4_0 to Q8_0, "
                "Q2_K to Q6_K, IQ1_S to IQ4_XS, TQ1_0, TQ2_0, MXFP4, BF16, F16 or F32",
                ToString(name), model.label);
  }
  if (model.bytes() > room.weights) {
    return Fail(ErrorCode::kResourceExhausted,
                "{}: {} has {}, and {} of memory have room for weights of {}", ToString(name),
                model.label.empty() ? "the model" : model.label, FormatBytes(model.bytes()),
                FormatBytes(room.memory), FormatBytes(room.weights));
  }
  return {};
}

Result<ModelFiles> ChooseNamed(const HubName& name, std::vector<ModelFiles> models,
                               const ModelRoom& room) {
  std::vector<ModelFiles> found;
  const std::string quantisation = UpperCase(name.selector);
  for (const ModelFiles& model : models) {
    const bool has_file = std::ranges::any_of(
        model.files, [&name](const HubFile& file) { return file.path == name.selector; });
    if (has_file || model.label == quantisation) found.push_back(model);
  }
  if (found.empty()) {
    return Fail(ErrorCode::kNotFound, "{}: there is no {}; there are {}", ToString(name),
                Quoted(name.selector), ListLabels(models));
  }
  if (found.size() > 1) {
    std::string paths;
    for (const ModelFiles& model : found) {
      paths += (paths.empty() ? "" : ", ") + model.main_path;
    }
    return Fail(ErrorCode::kInvalidArgument,
                "{}: {} files are of that quantisation, name one of them: {}", ToString(name),
                found.size(), paths);
  }
  WEFT_RETURN_IF_ERROR(CheckRoom(name, found.front(), room));
  return std::move(found.front());
}

Result<ModelFiles> ChooseBest(const HubName& name, std::vector<ModelFiles> models,
                              const ModelRoom& room) {
  if (models.size() == 1) {
    WEFT_RETURN_IF_ERROR(CheckRoom(name, models.front(), room));
    return std::move(models.front());
  }
  const auto smallest = std::ranges::min_element(models, {}, &ModelFiles::bytes);
  const ModelFiles* best = nullptr;
  for (const ModelFiles& model : models) {
    if (!IsLoadable(model.label) || model.bytes() > room.weights) continue;
    if (best == nullptr || MeritOf(model.label) < MeritOf(best->label)) best = &model;
  }
  if (best == nullptr && room.is_forced) best = &*smallest;
  if (best == nullptr) {
    return Fail(ErrorCode::kResourceExhausted,
                "{}: nothing of it is both of a type that Weft loads and within {}, the room for "
                "weights in {} of memory; there are {}",
                ToString(name), FormatBytes(room.weights), FormatBytes(room.memory),
                ListLabels(models));
  }
  ModelFiles chosen = *best;
  const std::string why =
      chosen.bytes() > room.weights ? "the smallest one, though it does not fit in"
      : chosen.label == kByMerit[0]
          ? "the fastest one whose accuracy holds, and it fits in"
          : "the best one, by speed and accuracy, of those that Weft loads and that fit in";
  chosen.reason = fmt::format(
      "{} ({}) of {} quantisations: {} {}", chosen.label.empty() ? chosen.main_path : chosen.label,
      FormatBytes(chosen.bytes()), models.size(), why, FormatBytes(room.memory));
  return chosen;
}

// Whether the file belongs to a directory of safetensors: what lies at the top, modules of
// sentence-transformers ("1_Pooling/config.json"), templates. Not what repositories have besides:
// onnx/, original/, checkpoints.
bool BelongsToDirectory(std::string_view path) {
  if (!IsModelFile(path) || path.ends_with(".gguf")) return false;
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return true;
  const std::string_view folder = path.substr(0, slash);
  if (path.find('/', slash + 1) != std::string_view::npos) return false;
  return (folder.size() > 2 && IsAsciiDigit(folder[0]) && folder[1] == '_') ||
         folder == "additional_chat_templates";
}

// The parts of sets among the files, by the stems of the sets and by how many parts they have.
std::map<std::pair<std::string, int>, std::vector<HubFile>> SetsOf(std::span<const HubFile> files,
                                                                   std::string_view extension) {
  std::map<std::pair<std::string, int>, std::vector<HubFile>> sets;
  for (const HubFile& file : files) {
    if (!file.path.ends_with(extension)) continue;
    const SetPart part = PartOf(file.path);
    sets[{part.stem, part.count}].push_back(file);
  }
  for (auto& [set, parts] : sets) std::ranges::sort(parts, {}, &HubFile::path);
  return sets;
}

bool IsWhole(std::span<const HubFile> parts) {
  const SetPart first = PartOf(parts.front().path);
  return first.number == 1 && parts.size() == static_cast<size_t>(first.count) &&
         PartOf(parts.back().path).number == first.count;
}

}  // namespace

uint64_t ModelFiles::bytes() const {
  uint64_t sum = 0;
  for (const HubFile& file : files) sum += file.size;
  return sum;
}

std::optional<std::string> QuantisationOf(std::string_view path) {
  const std::string stem = UpperCase(FileNameOf(PartOf(path).stem));
  // The last word that is one; words are cut at '-' and '.'.
  for (size_t end = stem.size(); end > 0;) {
    const size_t cut = stem.find_last_of("-.", end - 1);
    const size_t begin = cut == std::string::npos ? 0 : cut + 1;
    std::string word = stem.substr(begin, end - begin);
    if (word == "FP16" || word == "FP32") word.erase(1, 1);
    if (IsQuantisation(word)) {
      const bool is_dynamic = begin >= 4 && stem.compare(begin - 4, 4, "-UD-") == 0;
      return is_dynamic ? "UD-" + word : word;
    }
    // "llama_q4_k_m": where words are cut at '_' too.
    const size_t mark = word.find("_Q");
    if (mark != std::string::npos && IsQuantisation(word.substr(mark + 1))) {
      return word.substr(mark + 1);
    }
    if (cut == std::string::npos) break;
    end = cut;
  }
  return std::nullopt;
}

bool IsLoadable(std::string_view quantisation) {
  return quantisation.empty() || MeritOf(quantisation) < std::size(kByMerit);
}

std::vector<ModelFiles> GgufModelsOf(std::span<const HubFile> files) {
  std::vector<ModelFiles> models;
  for (auto& [set, parts] : SetsOf(files, ".gguf")) {
    if (IsBesideModels(parts.front().path) || !IsWhole(parts)) continue;
    ModelFiles& model = models.emplace_back();
    model.is_gguf = true;
    model.main_path = parts.front().path;
    model.label = QuantisationOf(model.main_path).value_or("");
    model.files = std::move(parts);
  }
  return models;
}

std::optional<ModelFiles> SafetensorsModelOf(std::span<const HubFile> files) {
  ModelFiles model;
  std::vector<HubFile> weights;
  bool has_config = false;
  for (const HubFile& file : files) {
    if (!BelongsToDirectory(file.path)) continue;
    has_config = has_config || file.path == "config.json";
    const bool is_weight =
        file.path.ends_with(".safetensors") && file.path.find('/') == std::string::npos;
    (is_weight ? weights : model.files).push_back(file);
  }
  // Some have the same weights a second time, as consolidated.safetensors.
  const auto is_usual = [](const HubFile& file) { return file.path.starts_with("model"); };
  if (std::ranges::any_of(weights, is_usual)) {
    std::erase_if(weights, [&](const HubFile& file) { return !is_usual(file); });
  }
  if (!has_config || weights.empty()) return std::nullopt;
  for (const auto& [set, parts] : SetsOf(weights, ".safetensors")) {
    if (!IsWhole(parts)) return std::nullopt;
  }
  model.files.insert(model.files.end(), weights.begin(), weights.end());
  std::ranges::sort(model.files, {}, &HubFile::path);
  return model;
}

Result<ModelFiles> ChooseModel(const HubName& name, std::span<const HubFile> files,
                               const ModelRoom& room) {
  std::vector<ModelFiles> ggufs = GgufModelsOf(files);
  std::optional<ModelFiles> directory = SafetensorsModelOf(files);
  if (!name.selector.empty()) {
    if (!ggufs.empty()) return ChooseNamed(name, std::move(ggufs), room);
    return Fail(ErrorCode::kNotFound, "{}: there is no GGUF file, and so no {}{}", ToString(name),
                Quoted(name.selector),
                directory ? "; without it the name means the safetensors" : "");
  }
  if (directory) {
    WEFT_RETURN_IF_ERROR(CheckRoom(name, *directory, room));
    return *std::move(directory);
  }
  if (!ggufs.empty()) return ChooseBest(name, std::move(ggufs), room);
  return Fail(ErrorCode::kNotFound,
              "{}: there is no model: neither a GGUF file nor config.json with safetensors",
              ToString(name));
}

}  // namespace weft
