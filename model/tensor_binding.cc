#include "model/tensor_binding.h"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/quoted.h"

namespace weft {
namespace {

struct Shape {
  int64_t rows = 0;
  int64_t columns = 0;  // 0: a vector of `rows` elements
};

using ShapeOf = Shape (*)(const ModelConfig&);
using Needed = bool (*)(const ModelConfig&, const Architecture&);

// --- the shapes, in the letters of checkpoint.h ---
Shape HiddenVector(const ModelConfig& c) { return {c.hidden_size}; }
Shape VocabularyByHidden(const ModelConfig& c) { return {c.vocab_size, c.hidden_size}; }
Shape QueryByHidden(const ModelConfig& c) { return {c.query_size(), c.hidden_size}; }
Shape KvByHidden(const ModelConfig& c) { return {c.kv_size(), c.hidden_size}; }
Shape QueryVector(const ModelConfig& c) { return {c.query_size()}; }
Shape KvVector(const ModelConfig& c) { return {c.kv_size()}; }
Shape QueryNorm(const ModelConfig& c) {
  return {c.qk_norm == QkNorm::kPerHead ? c.head_dim : c.query_size()};
}
Shape KeyNorm(const ModelConfig& c) {
  return {c.qk_norm == QkNorm::kPerHead ? c.head_dim : c.kv_size()};
}
Shape HiddenByQuery(const ModelConfig& c) { return {c.hidden_size, c.query_size()}; }
Shape FeedForwardByHidden(const ModelConfig& c) { return {c.feed_forward_length, c.hidden_size}; }
Shape HiddenByFeedForward(const ModelConfig& c) { return {c.hidden_size, c.feed_forward_length}; }
Shape ExpertsByHidden(const ModelConfig& c) { return {c.moe.expert_count, c.hidden_size}; }
Shape ExpertByHidden(const ModelConfig& c) { return {c.moe.feed_forward_length, c.hidden_size}; }
Shape HiddenByExpert(const ModelConfig& c) { return {c.hidden_size, c.moe.feed_forward_length}; }

bool Always(const ModelConfig&, const Architecture&) { return true; }
bool IfUntied(const ModelConfig& c, const Architecture&) { return !c.tied_head; }
bool IfQkvBias(const ModelConfig&, const Architecture& a) { return a.qkv_bias; }
bool IfQkNorm(const ModelConfig& c, const Architecture&) { return c.qk_norm != QkNorm::kNone; }
bool IfDense(const ModelConfig& c, const Architecture&) { return !c.is_moe(); }
bool IfMoe(const ModelConfig& c, const Architecture&) { return c.is_moe(); }

// One tensor: its names (Hugging Face's may differ by family; {} is the layer), place and shape.
template <typename Owner>
struct TensorRow {
  std::string_view gguf;
  std::array<std::string_view, 2> hf;
  TensorView Owner::*place;
  ShapeOf shape;
  Needed needed;
};

using ModelRow = TensorRow<ModelTensors>;
using LayerRow = TensorRow<LayerTensors>;
using L = LayerTensors;

constexpr ModelRow kModelTensors[] = {
    {"token_embd.weight",
     {"model.embed_tokens.weight"},
     &ModelTensors::token_embedding,
     VocabularyByHidden,
     Always},
    {"output_norm.weight", {"model.norm.weight"}, &ModelTensors::output_norm, HiddenVector, Always},
    {"output.weight", {"lm_head.weight"}, &ModelTensors::output_head, VocabularyByHidden, IfUntied},
};

constexpr LayerRow kLayerTensors[] = {
    {"blk.{}.attn_norm.weight",
     {"model.layers.{}.input_layernorm.weight"},
     &L::attention_norm,
     HiddenVector,
     Always},
    {"blk.{}.attn_q.weight",
     {"model.layers.{}.self_attn.q_proj.weight"},
     &L::query,
     QueryByHidden,
     Always},
    {"blk.{}.attn_k.weight",
     {"model.layers.{}.self_attn.k_proj.weight"},
     &L::key,
     KvByHidden,
     Always},
    {"blk.{}.attn_v.weight",
     {"model.layers.{}.self_attn.v_proj.weight"},
     &L::value,
     KvByHidden,
     Always},
    {"blk.{}.attn_q.bias",
     {"model.layers.{}.self_attn.q_proj.bias"},
     &L::query_bias,
     QueryVector,
     IfQkvBias},
    {"blk.{}.attn_k.bias",
     {"model.layers.{}.self_attn.k_proj.bias"},
     &L::key_bias,
     KvVector,
     IfQkvBias},
    {"blk.{}.attn_v.bias",
     {"model.layers.{}.self_attn.v_proj.bias"},
     &L::value_bias,
     KvVector,
     IfQkvBias},
    {"blk.{}.attn_q_norm.weight",
     {"model.layers.{}.self_attn.q_norm.weight"},
     &L::query_norm,
     QueryNorm,
     IfQkNorm},
    {"blk.{}.attn_k_norm.weight",
     {"model.layers.{}.self_attn.k_norm.weight"},
     &L::key_norm,
     KeyNorm,
     IfQkNorm},
    {"blk.{}.attn_output.weight",
     {"model.layers.{}.self_attn.o_proj.weight"},
     &L::attention_output,
     HiddenByQuery,
     Always},
    {"blk.{}.ffn_norm.weight",
     {"model.layers.{}.post_attention_layernorm.weight"},
     &L::mlp_norm,
     HiddenVector,
     Always},
    {"blk.{}.ffn_gate.weight",
     {"model.layers.{}.mlp.gate_proj.weight"},
     &L::gate,
     FeedForwardByHidden,
     IfDense},
    {"blk.{}.ffn_up.weight",
     {"model.layers.{}.mlp.up_proj.weight"},
     &L::up,
     FeedForwardByHidden,
     IfDense},
    {"blk.{}.ffn_down.weight",
     {"model.layers.{}.mlp.down_proj.weight"},
     &L::down,
     HiddenByFeedForward,
     IfDense},
    {"blk.{}.ffn_gate_inp.weight",
     {"model.layers.{}.mlp.gate.weight", "model.layers.{}.block_sparse_moe.gate.weight"},
     &L::router,
     ExpertsByHidden,
     IfMoe},
};

// Experts come one tensor an expert, or stacked (experts, rows, columns); transformers 5 may stack
// gate and up into one.
enum class Stacking { kNone, kStacked, kFirstHalf, kSecondHalf };

struct ExpertName {
  FileFormat format;
  std::string_view pattern;  // {0}: layer, {1}: expert
  Stacking stacking;
};

struct ExpertRow {
  std::array<ExpertName, 5> names;  // the first one that the file has
  std::vector<TensorView> LayerTensors::*place;
  ShapeOf shape;
};

constexpr FileFormat kGguf = FileFormat::kGguf;
constexpr FileFormat kHf = FileFormat::kSafetensors;

constexpr ExpertRow kExpertTensors[] = {
    {{{{kGguf, "blk.{0}.ffn_gate_exps.weight", Stacking::kStacked},
       {kGguf, "blk.{0}.ffn_gate.{1}.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.mlp.experts.{1}.gate_proj.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.block_sparse_moe.experts.{1}.w1.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.mlp.experts.gate_up_proj", Stacking::kFirstHalf}}},
     &L::expert_gate,
     ExpertByHidden},
    {{{{kGguf, "blk.{0}.ffn_up_exps.weight", Stacking::kStacked},
       {kGguf, "blk.{0}.ffn_up.{1}.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.mlp.experts.{1}.up_proj.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.block_sparse_moe.experts.{1}.w3.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.mlp.experts.gate_up_proj", Stacking::kSecondHalf}}},
     &L::expert_up,
     ExpertByHidden},
    {{{{kGguf, "blk.{0}.ffn_down_exps.weight", Stacking::kStacked},
       {kGguf, "blk.{0}.ffn_down.{1}.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.mlp.experts.{1}.down_proj.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.block_sparse_moe.experts.{1}.w2.weight", Stacking::kNone},
       {kHf, "model.layers.{0}.mlp.experts.down_proj", Stacking::kStacked}}},
     &L::expert_down,
     HiddenByExpert},
};

// Tensors that repeat what the configuration says.
constexpr std::string_view kRedundant[] = {"rope_freqs.weight", ".rotary_emb.inv_freq",
                                           ".attn_rot_embd"};

class Binder {
 public:
  Binder(const TensorMap& tensors, FileFormat format, const ModelConfig& config,
         const Architecture& architecture, const std::string& path)
      : tensors_(tensors),
        format_(format),
        config_(config),
        architecture_(architecture),
        path_(path) {}

  Result<ModelTensors> Bind() {
    ModelTensors model;
    for (const ModelRow& row : kModelTensors) WEFT_RETURN_IF_ERROR(BindRow(row, 0, model));
    model.layers.resize(static_cast<size_t>(config_.layer_count));
    for (int64_t layer = 0; layer < config_.layer_count; ++layer) {
      LayerTensors& place = model.layers[static_cast<size_t>(layer)];
      for (const LayerRow& row : kLayerTensors) WEFT_RETURN_IF_ERROR(BindRow(row, layer, place));
      if (!config_.is_moe()) continue;
      for (const ExpertRow& row : kExpertTensors) {
        WEFT_RETURN_IF_ERROR(BindExperts(row, layer, place));
      }
    }
    WEFT_RETURN_IF_ERROR(CheckAllUsed());
    return model;
  }

 private:
  template <typename Owner>
  Result<void> BindRow(const TensorRow<Owner>& row, int64_t layer, Owner& owner) {
    if (!row.needed(config_, architecture_)) return {};
    std::string name = fmt::format(fmt::runtime(format_ == kGguf ? row.gguf : row.hf[0]), layer);
    if (format_ == kHf && !row.hf[1].empty() && !tensors_.contains(name)) {
      name = fmt::format(fmt::runtime(row.hf[1]), layer);
    }
    const TensorView* view = Find(name);
    if (view == nullptr) return Missing(name);
    const Shape shape = row.shape(config_);
    const bool fits = shape.columns == 0 ? Matches(*view, {shape.rows})
                                         : Matches(*view, {shape.rows, shape.columns});
    if (!fits) return WrongShape(name, *view, shape);
    if (shape.columns == 0 && IsQuantized(view->type)) {
      return Fail(ErrorCode::kUnsupported, "{}: tensor {} has type {}, expected F32, F16 or BF16",
                  path_, name, TraitsOf(view->type).name);
    }
    owner.*row.place = *view;
    return {};
  }

  Result<void> BindExperts(const ExpertRow& row, int64_t layer, LayerTensors& owner) {
    std::vector<TensorView>& experts = owner.*row.place;
    std::string first_name;
    for (const ExpertName& alternative : row.names) {
      if (alternative.format != format_) continue;
      const std::string name = ExpertTensorName(alternative, layer, 0);
      if (first_name.empty()) first_name = name;
      if (!tensors_.contains(name)) continue;
      return alternative.stacking == Stacking::kNone
                 ? BindSingleExperts(alternative, layer, row.shape(config_), experts)
                 : BindStackedExperts(name, alternative.stacking, row.shape(config_), experts);
    }
    return Missing(first_name);
  }

  Result<void> BindSingleExperts(const ExpertName& alternative, int64_t layer, Shape shape,
                                 std::vector<TensorView>& experts) {
    for (int64_t expert = 0; expert < config_.moe.expert_count; ++expert) {
      const std::string name = ExpertTensorName(alternative, layer, expert);
      const TensorView* view = Find(name);
      if (view == nullptr) return Missing(name);
      if (!Matches(*view, {shape.rows, shape.columns})) return WrongShape(name, *view, shape);
      experts.push_back(*view);
    }
    return {};
  }

  Result<void> BindStackedExperts(const std::string& name, Stacking stacking, Shape shape,
                                  std::vector<TensorView>& experts) {
    const TensorView& stack = *Find(name);
    const bool halves = stacking != Stacking::kStacked;
    const int64_t stacked_rows = halves ? 2 * shape.rows : shape.rows;
    if (!Matches(stack, {config_.moe.expert_count, stacked_rows, shape.columns})) {
      return Fail(ErrorCode::kInvalidArgument, "{}: tensor {} has shape {}, expected ({}, {}, {})",
                  path_, name, ShapeText(stack), config_.moe.expert_count, stacked_rows,
                  shape.columns);
    }
    for (int64_t expert = 0; expert < config_.moe.expert_count; ++expert) {
      TensorView view = stack[expert];
      if (stacking == Stacking::kSecondHalf) view.data += shape.rows * view.strides_bytes[0];
      view.dims[0] = shape.rows;
      experts.push_back(view);
    }
    return {};
  }

  static std::string ExpertTensorName(const ExpertName& alternative, int64_t layer,
                                      int64_t expert) {
    return fmt::format(fmt::runtime(alternative.pattern), layer, expert);
  }

  const TensorView* Find(const std::string& name) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return nullptr;
    used_.insert(found->first);
    return &found->second;
  }

  static bool Matches(const TensorView& view, std::initializer_list<int64_t> dims) {
    return view.rank == static_cast<int>(dims.size()) &&
           std::equal(dims.begin(), dims.end(), view.dims.begin());
  }

  static std::string ShapeText(const TensorView& view) {
    std::string text;
    for (int i = 0; i < view.rank; ++i) {
      text += fmt::format("{}{}", i == 0 ? "(" : ", ", view.dims[static_cast<size_t>(i)]);
    }
    return text + ")";
  }

  tl::unexpected<Error> Missing(const std::string& name) const {
    return Fail(ErrorCode::kInvalidArgument, "{}: tensor {} is missing, which {} needs", path_,
                name, architecture_.name);
  }

  tl::unexpected<Error> WrongShape(const std::string& name, const TensorView& view,
                                   Shape expected) const {
    const std::string columns = expected.columns == 0 ? "" : fmt::format(", {}", expected.columns);
    return Fail(ErrorCode::kInvalidArgument, "{}: tensor {} has shape {}, expected ({}{})", path_,
                name, ShapeText(view), expected.rows, columns);
  }

  Result<void> CheckAllUsed() const {
    for (const auto& [name, view] : tensors_) {
      if (used_.contains(name)) continue;
      if (config_.tied_head && name == "lm_head.weight") continue;  // the embedding, once more
      bool redundant = false;
      for (const std::string_view part : kRedundant)
        redundant |= name.find(part) != std::string::npos;
      if (redundant) continue;
      return Fail(ErrorCode::kUnsupported, "{}: tensor {} has no place in architecture {}", path_,
                  Quoted(name), architecture_.name);
    }
    return {};
  }

  const TensorMap& tensors_;
  const FileFormat format_;
  const ModelConfig& config_;
  const Architecture& architecture_;
  const std::string& path_;
  std::set<std::string_view> used_;
};

}  // namespace

Result<ModelTensors> BindTensors(const TensorMap& tensors, FileFormat format,
                                 const ModelConfig& config, const Architecture& architecture,
                                 const std::string& path) {
  return Binder(tensors, format, config, architecture, path).Bind();
}

}  // namespace weft
