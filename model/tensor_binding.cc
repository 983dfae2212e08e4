#include "model/tensor_binding.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/ranges.h>

#include "base/quoted.h"
#include "model/formats/block_format.h"

namespace weft {
namespace {

// Tensors that repeat what the hyperparameters say, or what is always so: the masks of causal
// attention that GPT-2's generation kept as buffers, xIELU's constants, the numbers of positions.
constexpr std::string_view kRedundant[] = {
    "rope_freqs.weight",    "rope_factors_long.weight", "rope_factors_short.weight",
    ".rotary_emb.inv_freq", ".attn_rot_embd",           ".attn.bias",
    ".attn.masked_bias",    ".attention.masked_bias",   ".attention.bias",
    ".mlp.act_fn.beta",     ".mlp.act_fn.eps",          "embeddings.position_ids"};
constexpr std::string_view kIndex = "{}";
constexpr std::string_view kPlainTypes = "F32, F16 or BF16";

class Binder {
 public:
  Binder(const TensorMap& tensors, const AssembledTensors& assembled,
         const ModelDescription& description, const std::string& path)
      : tensors_(tensors), assembled_(assembled), description_(description), path_(path) {}

  Result<ModelTensors> Bind() {
    ModelTensors model;
    for (const Parameter& parameter : description_.parameters.matrices) {
      WEFT_ASSIGN_OR_RETURN(BoundMatrix matrix, BindMatrix(parameter));
      matrix.continues_loop = parameter.continues_loop;
      model.matrices.push_back(matrix);
    }
    for (const Parameter& parameter : description_.parameters.stacks) {
      WEFT_ASSIGN_OR_RETURN(model.stacks.emplace_back(), BindStack(parameter));
    }
    for (const Parameter& parameter : description_.parameters.tables) {
      WEFT_ASSIGN_OR_RETURN(model.tables.emplace_back(), BindTable(parameter));
    }
    WEFT_RETURN_IF_ERROR(CheckAllUsed());
    return model;
  }

 private:
  Result<BoundMatrix> BindMatrix(const Parameter& parameter) {
    WEFT_ASSIGN_OR_RETURN(const TensorSource* source, Choose(parameter));
    return BindWhole(*source, source->name, parameter);
  }

  Result<BoundTable> BindTable(const Parameter& parameter) {
    if (parameter.values) {
      return BoundTable{.values = parameter.values, .value_count = parameter.rows};
    }
    if (parameter.is_optional && !HasSource(parameter)) return BoundTable();
    WEFT_ASSIGN_OR_RETURN(const TensorSource* source, Choose(parameter));
    if (source->name.find(kIndex) != std::string::npos) return BindEntries(*source, parameter);
    TensorView view = *Find(source->name);
    if (parameter.columns == 0) {
      if (view.rank == 2 && view.dims[0] == 1) view = view[0];  // a vector as a matrix of one row
      WEFT_RETURN_IF_ERROR(CheckShape(source->name, view, {RowsOf(*source, parameter)}));
      if (IsQuantized(view.type)) return WrongType(source->name, view, kPlainTypes);
    } else {
      const int64_t columns =
          source->tensor_columns > 0 ? source->tensor_columns : parameter.columns;
      if (view.rank == 3 && view.dims[1] == 1) {  // a convolution's channels have one input each
        view = TensorView::Contiguous(view.data, view.type, {view.dims[0], view.dims[2]});
      }
      if (view.rank == 1 && parameter.rows == 1) {  // llama.cpp writes a matrix of one row so
        view = TensorView::Contiguous(view.data, view.type, {1, view.dims[0]});
      }
      WEFT_RETURN_IF_ERROR(CheckShape(source->name, view, {RowsOf(*source, parameter), columns}));
    }
    if (!IsWeight(view.type)) return WrongType(source->name, view, kPlainTypes);
    BoundTable table{.view = view,
                     .assembled = AssembledOf(source->name),
                     .rows = source->rows,
                     .columns = source->columns,
                     .stored_columns = source->tensor_columns,
                     .plus = parameter.plus,
                     .times = parameter.times,
                     .expand = parameter.expand,
                     .value_count = parameter.expanded_count};
    table.view.dims[0] = parameter.rows;
    if (parameter.columns > 0) table.view.dims[1] = parameter.columns;
    return table;
  }

  // A table with a tensor a row.
  Result<BoundTable> BindEntries(const TensorSource& source, const Parameter& parameter) {
    BoundTable table{.plus = parameter.plus, .times = parameter.times};
    for (int64_t i = 0; i < parameter.rows; ++i) {
      const std::string name = NameOfEntry(source, i);
      const TensorView* view = Find(name);
      if (view == nullptr) return Missing(name);
      WEFT_RETURN_IF_ERROR(CheckShape(name, *view, {parameter.columns}));
      if (!IsWeight(view->type) || AssembledOf(name)) return WrongType(name, *view, kPlainTypes);
      table.entries.push_back(*view);
    }
    return table;
  }

  // One tensor an entry, or one of three dimensions.
  Result<std::vector<BoundMatrix>> BindStack(const Parameter& parameter) {
    WEFT_ASSIGN_OR_RETURN(const TensorSource* source, Choose(parameter));
    std::vector<BoundMatrix> entries;
    if (source->name.find(kIndex) != std::string::npos) {
      for (int64_t i = 0; i < parameter.count; ++i) {
        WEFT_ASSIGN_OR_RETURN(entries.emplace_back(),
                              BindWhole(*source, NameOfEntry(*source, i), parameter));
        // Their products read the same rows, in the one form that the first of them reads.
        if (HasIntegerCodes(entries.back().view.type) !=
            HasIntegerCodes(entries.front().view.type)) {
          return Fail(
              ErrorCode::kUnsupported,
              "{}: tensor {} has type {}, and {} has {}: expected integers in both or neither",
              path_, NameOfEntry(*source, i), TraitsOf(entries.back().view.type).name,
              NameOfEntry(*source, 0), TraitsOf(entries.front().view.type).name);
        }
      }
      return entries;
    }
    const TensorView& stack = *Find(source->name);
    if (source->entry_rows > 0) return CutStack(*source, stack, parameter);
    const Dims entry = StoredDims(*source, parameter);
    WEFT_RETURN_IF_ERROR(CheckShape(source->name, stack, {parameter.count, entry[0], entry[1]}));
    const std::shared_ptr<const AssembledTensor> assembled = AssembledOf(source->name);
    for (int64_t i = 0; i < parameter.count; ++i) {
      WEFT_ASSIGN_OR_RETURN(entries.emplace_back(),
                            BindRows(*source, source->name, stack[i], parameter));
      if (assembled == nullptr) continue;
      entries.back().assembled = std::make_shared<const AssembledTensor>((*assembled)[i]);
    }
    return entries;
  }

  // Matrices that lie one below the other.
  Result<std::vector<BoundMatrix>> CutStack(const TensorSource& source, const TensorView& view,
                                            const Parameter& parameter) const {
    const int64_t columns = source.is_transposed ? parameter.rows : parameter.columns;
    if (AssembledOf(source.name)) return WrongType(source.name, view, kPlainTypes);
    WEFT_RETURN_IF_ERROR(
        CheckShape(source.name, view, {parameter.count * source.entry_rows, columns}));
    std::vector<BoundMatrix> entries;
    for (int64_t i = 0; i < parameter.count; ++i) {
      TensorView entry = view;
      entry.data += (i * source.entry_rows + source.entry_first) * view.strides_bytes[0];
      WEFT_ASSIGN_OR_RETURN(entries.emplace_back(),
                            BindRows(source, source.name, entry, parameter));
    }
    return entries;
  }

  Result<BoundMatrix> BindWhole(const TensorSource& source, const std::string& name,
                                const Parameter& parameter) {
    const TensorView* view = Find(name);
    if (view == nullptr) return Missing(name);
    const Dims stored = StoredDims(source, parameter);
    WEFT_RETURN_IF_ERROR(CheckShape(name, *view, {stored[0], stored[1]}));
    return BindRows(source, name, *view, parameter);
  }

  // `view` is of all that is stored. A plain range of its rows is a view itself.
  Result<BoundMatrix> BindRows(const TensorSource& source, const std::string& name, TensorView view,
                               const Parameter& parameter) const {
    BoundMatrix matrix{.view = view,
                       .rows = source.rows,
                       .is_transposed = source.is_transposed,
                       .assembled = AssembledOf(name)};
    matrix.view.dims = {parameter.rows, parameter.columns};
    if (source.is_transposed && (IsQuantized(view.type) || matrix.assembled)) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: tensor {} is transposed and has type {}, expected F32, F16 or BF16", path_,
                  name, TraitsOf(view.type).name);
    }
    // Codes are weights only together with their scales.
    if (!IsWeight(view.type)) return WrongType(name, view, kPlainTypes);
    if (matrix.is_as_stored()) {
      matrix.view.data += source.rows.first * view.strides_bytes[0];
      matrix.rows = {};
    }
    return matrix;
  }

  using Dims = std::array<int64_t, 2>;

  static int64_t RowsOf(const TensorSource& source, const Parameter& parameter) {
    return source.tensor_rows > 0 ? source.tensor_rows : parameter.rows;
  }

  static Dims StoredDims(const TensorSource& source, const Parameter& parameter) {
    const int64_t rows = RowsOf(source, parameter);
    return source.is_transposed ? Dims{parameter.columns, rows} : Dims{rows, parameter.columns};
  }

  static std::string NameOfEntry(const TensorSource& source, int64_t index) {
    std::string name = source.name;
    const size_t at = name.find(kIndex);
    return at == std::string::npos ? name : name.replace(at, kIndex.size(), std::to_string(index));
  }

  bool HasSource(const Parameter& parameter) const {
    return std::ranges::any_of(parameter.sources, [&](const TensorSource& source) {
      return Contains(NameOfEntry(source, 0));
    });
  }

  // The source that the checkpoint has.
  Result<const TensorSource*> Choose(const Parameter& parameter) const {
    for (const TensorSource& source : parameter.sources) {
      if (Contains(NameOfEntry(source, 0))) return &source;
    }
    return Missing(NameOfEntry(parameter.sources.front(), 0));
  }

  bool Contains(const std::string& name) const {
    return tensors_.contains(name) || assembled_.contains(name);
  }

  const TensorView* Find(const std::string& name) {
    const auto assembled = assembled_.find(name);
    if (assembled != assembled_.end()) {
      used_.insert(assembled->first);
      return &assembled->second->view;
    }
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return nullptr;
    used_.insert(found->first);
    return &found->second;
  }

  // nullptr: the tensor lies in the file as it is.
  std::shared_ptr<const AssembledTensor> AssembledOf(const std::string& name) const {
    const auto found = assembled_.find(name);
    return found == assembled_.end() ? nullptr : found->second;
  }

  Result<void> CheckShape(const std::string& name, const TensorView& view,
                          const std::vector<int64_t>& expected) const {
    const auto rank = static_cast<ptrdiff_t>(view.rank);
    if (std::equal(expected.begin(), expected.end(), view.dims.begin(), view.dims.begin() + rank)) {
      return {};
    }
    return Fail(ErrorCode::kInvalidArgument, "{}: tensor {} has shape ({}), expected ({})", path_,
                name, fmt::join(view.dims.begin(), view.dims.begin() + rank, ", "),
                fmt::join(expected, ", "));
  }

  tl::unexpected<Error> WrongType(const std::string& name, const TensorView& view,
                                  std::string_view expected) const {
    return Fail(ErrorCode::kUnsupported, "{}: tensor {} has type {}, expected {}", path_, name,
                TraitsOf(view.type).name, expected);
  }

  tl::unexpected<Error> Missing(const std::string& name) const {
    return Fail(ErrorCode::kInvalidArgument, "{}: tensor {} is missing, which {} needs", path_,
                name, description_.spec.architecture);
  }

  Result<void> CheckAllUsed() const {
    for (const auto& entry : tensors_) WEFT_RETURN_IF_ERROR(CheckUsed(entry.first));
    for (const auto& entry : assembled_) WEFT_RETURN_IF_ERROR(CheckUsed(entry.first));
    return {};
  }

  Result<void> CheckUsed(const std::string& name) const {
    if (used_.contains(name)) return {};
    // The embedding, once more.
    if (description_.spec.has_tied_head() && name == "lm_head.weight") return {};
    const auto is_part = [&](std::string_view part) {
      return name.find(part) != std::string::npos;
    };
    if (std::ranges::any_of(kRedundant, is_part)) return {};
    const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
    if (std::ranges::any_of(description_.parameters.unused_prefixes, begins)) return {};
    return Fail(ErrorCode::kUnsupported, "{}: tensor {} has no place in architecture {}", path_,
                Quoted(name), description_.spec.architecture);
  }

  const TensorMap& tensors_;
  const AssembledTensors& assembled_;
  const ModelDescription& description_;
  const std::string& path_;
  std::set<std::string_view> used_;
};

}  // namespace

Result<TensorMap> TextTowerOf(const TensorMap& tensors, const std::string& path) {
  // Files of transformers 4 and of 5, and what the latter has beside the text.
  constexpr std::string_view kOldPrefix = "language_model.";
  constexpr std::string_view kPrefix = "model.language_model.";
  constexpr std::string_view kOtherTowers[] = {"vision_tower.",
                                               "vision_model.",
                                               "multi_modal_projector.",
                                               "visual.",
                                               "model.visual.",
                                               "model.vision_tower.",
                                               "model.multi_modal_projector.",
                                               "model.audio_tower.",
                                               "model.embed_vision.",
                                               "model.embed_audio."};
  TensorMap text;
  for (const auto& entry : tensors) {
    const std::string& name = entry.first;
    const auto begins_name = [&](std::string_view tower) { return name.starts_with(tower); };
    if (std::ranges::any_of(kOtherTowers, begins_name)) continue;
    std::string text_name = name;
    if (name.starts_with(kOldPrefix)) text_name = name.substr(kOldPrefix.size());
    if (name.starts_with(kPrefix)) text_name = "model." + name.substr(kPrefix.size());
    if (text.emplace(text_name, entry.second).second) continue;
    return Fail(ErrorCode::kInvalidArgument, "{}: two tensors are {} of the text", path,
                Quoted(text_name));
  }
  return text;
}

Result<ModelTensors> BindTensors(const TensorMap& tensors, const ModelDescription& description,
                                 const std::string& path, const AssembledTensors& assembled) {
  return Binder(tensors, assembled, description, path).Bind();
}

}  // namespace weft
