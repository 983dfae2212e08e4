#include "model/weights.h"

#include <algorithm>

#include "base/checked_math.h"
#include "model/formats/dequantize.h"

namespace weft {
namespace {

// Where a matrix's panels stand among those that one loop of the forward pass walks.
struct Stretch {
  int64_t first_panel = 0;
  int64_t loop_panels = 0;  // 0: the loop walks this matrix alone, or others side by side with it
};

int64_t PanelCount(const TensorView& view) {
  return view ? CeilDivide(view.rows(), kPanelRows) : 0;
}

// Calls visit(view, place) for every tensor of the model and the place that its weights go to: a
// PackedMatrix, or a vector of float; with its stretch for a matrix that shares a loop.
template <typename Visit>
void VisitLayer(const LayerTensors& tensors, LayerWeights& weights, Visit&& visit) {
  visit(tensors.attention_norm, weights.attention_norm);
  const int64_t before_key = PanelCount(tensors.query);
  const int64_t before_value = before_key + PanelCount(tensors.key);
  const int64_t qkv = before_value + PanelCount(tensors.value);
  visit(tensors.query, weights.query, Stretch{0, qkv});
  visit(tensors.key, weights.key, Stretch{before_key, qkv});
  visit(tensors.value, weights.value, Stretch{before_value, qkv});
  visit(tensors.query_bias, weights.query_bias);
  visit(tensors.key_bias, weights.key_bias);
  visit(tensors.value_bias, weights.value_bias);
  visit(tensors.query_norm, weights.query_norm);
  visit(tensors.key_norm, weights.key_norm);
  visit(tensors.attention_output, weights.attention_output);
  visit(tensors.mlp_norm, weights.mlp_norm);
  visit(tensors.gate, weights.gate);
  visit(tensors.up, weights.up);
  visit(tensors.down, weights.down);
  visit(tensors.router, weights.router);
  const auto visit_experts = [&](const std::vector<TensorView>& views,
                                 std::vector<PackedMatrix>& experts) {
    experts.resize(views.size());
    int64_t panels = 0;
    for (const TensorView& view : views) panels += PanelCount(view);
    int64_t first = 0;
    for (size_t i = 0; i < views.size(); ++i) {
      visit(views[i], experts[i], Stretch{first, panels});
      first += PanelCount(views[i]);
    }
  };
  visit_experts(tensors.expert_gate, weights.expert_gate);
  visit_experts(tensors.expert_up, weights.expert_up);
  visit_experts(tensors.expert_down, weights.expert_down);
}

int64_t PanelBytes(const TensorView& view, const KernelTable& kernels) {
  return kernels.panel_bytes(kernels.packed_layout(view.type), view.columns());
}

// Packs one tensor after the other.
class Packer {
 public:
  Packer(std::span<const MappedFile> files, const KernelTable& kernels, ThreadPool& threads,
         int64_t total_bytes, const PackingProgress& progress)
      : files_(files),
        kernels_(kernels),
        threads_(threads),
        total_bytes_(total_bytes),
        progress_(progress) {}

  // Pages of a large buffer lie on the node of the thread that touches them first: that is the
  // node that the forward pass gives these panels to. (mbind would do too, but containers forbid
  // it, and it cuts mappings, of which a process may have 65,530.)
  void operator()(const TensorView& view, PackedMatrix& packed, const Stretch& stretch = {}) {
    if (!view || is_torn()) return;
    packed.layout = kernels_.packed_layout(view.type);
    packed.rows = view.rows();
    packed.columns = view.columns();
    packed.panel_bytes = PanelBytes(view, kernels_);
    packed.storage = AlignedBuffer(static_cast<size_t>(packed.panel_count() * packed.panel_bytes));
    constexpr int64_t kPanelsPerTask = 8;
    const int64_t panel_count = packed.panel_count();
    const int64_t loop_panels = std::max(stretch.loop_panels, panel_count);
    const auto first_task = [&](int node) {
      const int64_t panel = threads_.FirstOfNode(node, loop_panels) - stretch.first_panel;
      return CeilDivide(std::clamp<int64_t>(panel, 0, panel_count), kPanelsPerTask);
    };
    threads_.ParallelForOnNodes(first_task, [&](int64_t task, int) {
      const int64_t first = task * kPanelsPerTask;
      kernels_.pack_panels(view, first, std::min(kPanelsPerTask, panel_count - first), packed);
    });
    Finish(view);
  }

  void operator()(const TensorView& view, std::vector<float>& values) {
    if (!view || is_torn()) return;
    values.resize(static_cast<size_t>(view.element_count()));
    const int64_t row_count = view.element_count() / view.columns();
    for (int64_t row = 0; row < row_count; ++row) {
      DequantizeRow(view.type, view.data + row * view.strides_bytes[0], view.columns(),
                    values.data() + row * view.columns());
    }
    Finish(view);
  }

 private:
  // Nothing will come of these weights: the caller finds that a file has changed.
  bool is_torn() const { return std::ranges::any_of(files_, &MappedFile::is_torn); }

  void Finish(const TensorView& view) {
    const auto size_bytes = static_cast<size_t>(view.size_bytes());
    for (const MappedFile& file : files_) {
      const std::span<const std::byte> bytes = file.bytes();
      if (view.data >= bytes.data() && view.data < bytes.data() + bytes.size()) {
        file.ReleasePages(view.data, size_bytes);
      }
    }
    done_bytes_ += view.size_bytes();
    if (progress_) progress_(done_bytes_, total_bytes_);
  }

  std::span<const MappedFile> files_;
  const KernelTable& kernels_;
  ThreadPool& threads_;
  const int64_t total_bytes_;
  const PackingProgress& progress_;
  int64_t done_bytes_ = 0;
};

// Adds up over all tensors; the weights that it walks beside them stay empty.
template <typename Measure>
int64_t Sum(const ModelTensors& tensors, const Measure& measure) {
  int64_t total = 0;
  const auto add = [&](const TensorView& view, const auto& place, const Stretch& /*stretch*/ = {}) {
    if (view) total += measure(view, place);
  };
  add(tensors.token_embedding, PackedMatrix());
  add(tensors.output_head, PackedMatrix());
  add(tensors.output_norm, std::vector<float>());
  for (const LayerTensors& layer : tensors.layers) {
    LayerWeights unused;
    VisitLayer(layer, unused, add);
  }
  return total;
}

}  // namespace

Weights Weights::Pack(const ModelTensors& tensors, std::span<const MappedFile> files,
                      const KernelTable& kernels, ThreadPool& threads,
                      const PackingProgress& progress) {
  const ScopedCpuBinding bound = threads.BindCaller();
  const int64_t total_bytes =
      Sum(tensors, [](const TensorView& view, const auto&) { return view.size_bytes(); });
  Packer pack(files, kernels, threads, total_bytes, progress);
  Weights weights;
  pack(tensors.token_embedding, weights.token_embedding_);
  weights.layers_.resize(tensors.layers.size());
  for (size_t i = 0; i < tensors.layers.size(); ++i) {
    VisitLayer(tensors.layers[i], weights.layers_[i], pack);
  }
  pack(tensors.output_norm, weights.output_norm_);
  pack(tensors.output_head, weights.output_head_);
  // Pages that two tensors share were still in use when the first of them was done.
  for (const MappedFile& file : files) file.ReleasePages(file.bytes().data(), file.bytes().size());
  return weights;
}

int64_t Weights::PackedBytes(const ModelTensors& tensors, const KernelTable& kernels) {
  return Sum(tensors, [&](const TensorView& view, const auto& place) -> int64_t {
    if constexpr (std::is_same_v<std::decay_t<decltype(place)>, PackedMatrix>) {
      return PanelCount(view) * PanelBytes(view, kernels);
    } else {
      return view.element_count() * static_cast<int64_t>(sizeof(float));
    }
  });
}

}  // namespace weft
