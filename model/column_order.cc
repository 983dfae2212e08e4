#include "model/column_order.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace weft {
namespace {

class OrderKeeper {
 public:
  OrderKeeper(const ModelSpec& spec, ModelTensors& tensors) : spec_(spec), tensors_(tensors) {
    ForEachLayer([&](const LayerSpec& layer) {
      for (const std::vector<MatrixId>& readers : ReadersOf(layer)) {
        for (const MatrixId id : readers) ++uses_[id];
      }
      if (const DenseMlpSpec* mlp = DenseMlpOf(layer)) ++uses_[mlp->down.weights];
    });
  }

  void Keep() {
    ForEachLayer([&](const LayerSpec& layer) {
      for (const std::vector<MatrixId>& readers : ReadersOf(layer)) KeepTogether(readers);
      if (const DenseMlpSpec* mlp = DenseMlpOf(layer)) KeepDown(*mlp);
    });
  }

 private:
  template <typename Visit>
  void ForEachLayer(const Visit& visit) const {
    std::ranges::for_each(spec_.layers, visit);
    if (spec_.encoder) std::ranges::for_each(spec_.encoder->layers, visit);
  }

  static const DenseMlpSpec* DenseMlpOf(const LayerSpec& layer) {
    return layer.has_mlp() ? std::get_if<DenseMlpSpec>(&layer.mlp) : nullptr;
  }

  // The matrices that read the same rows, but for `down`.
  static std::vector<std::vector<MatrixId>> ReadersOf(const LayerSpec& layer) {
    std::vector<std::vector<MatrixId>> readers;
    const auto add = [&](std::initializer_list<const LinearSpec*> linears) {
      std::vector<MatrixId>& ids = readers.emplace_back();
      for (const LinearSpec* linear : linears) {
        if (*linear) ids.push_back(linear->weights);
      }
    };
    if (layer.attention && !layer.latent) {
      const AttentionSpec& attention = layer.attention;
      add({&attention.query, &attention.key, &attention.value, &attention.output_gate});
      add({&attention.output});
    }
    if (const DenseMlpSpec* mlp = DenseMlpOf(layer)) add({&mlp->gate, &mlp->up});
    return readers;
  }

  BoundMatrix& matrix(MatrixId id) const { return tensors_.matrices[static_cast<size_t>(id)]; }

  // nullptr: its columns have no order of their own, or other layers read it, too.
  std::shared_ptr<const AssembledTensor> OrderedOf(MatrixId id) const {
    if (uses_.at(id) > 1) return nullptr;
    const BoundMatrix& bound = matrix(id);
    return bound.assembled ? bound.assembled->ordered : nullptr;
  }

  // Rows of the whole are the same ones.
  void Take(MatrixId id, std::shared_ptr<const AssembledTensor> ordered) {
    BoundMatrix& bound = matrix(id);
    TensorView view = ordered->view;
    view.dims = bound.view.dims;
    bound.view = view;
    bound.assembled = std::move(ordered);
  }

  void KeepTogether(std::span<const MatrixId> readers) {
    std::vector<std::shared_ptr<const AssembledTensor>> all;
    for (const MatrixId id : readers) {
      all.push_back(OrderedOf(id));
      if (all.back() == nullptr || all.back()->column_order != all.front()->column_order) return;
    }
    for (size_t i = 0; i < all.size(); ++i) Take(readers[i], all[i]);
  }

  void KeepDown(const DenseMlpSpec& mlp) {
    const std::shared_ptr<const AssembledTensor> ordered = OrderedOf(mlp.down.weights);
    if (ordered == nullptr) return;
    std::vector<const LinearSpec*> writers = {&mlp.up};
    if (mlp.is_gated) writers.push_back(&mlp.gate);
    for (const LinearSpec* writer : writers) {
      const bool is_shared = uses_.at(writer->weights) > 1;
      if (is_shared || writer->bias != TableId::kNone || !matrix(writer->weights).assembled) return;
    }
    for (const LinearSpec* writer : writers) OrderRows(writer->weights, ordered->column_order);
    auto as_read = std::make_shared<AssembledTensor>(*ordered);
    as_read->column_order.clear();
    Take(mlp.down.weights, std::move(as_read));
  }

  void OrderRows(MatrixId id, const std::vector<int32_t>& order) {
    BoundMatrix& bound = matrix(id);
    auto ordered = std::make_shared<AssembledTensor>(*bound.assembled);
    ordered->ordered = nullptr;
    ordered->read_row = [inner = bound.assembled, rows = bound.rows, order](int64_t row,
                                                                            std::byte* out) {
      inner->read_row(rows(order[static_cast<size_t>(row)]), out);
    };
    bound.rows = {};
    bound.assembled = std::move(ordered);
  }

  const ModelSpec& spec_;
  ModelTensors& tensors_;
  std::map<MatrixId, int> uses_;  // of those that layers may read in an order
};

}  // namespace

void KeepColumnOrders(const ModelSpec& spec, ModelTensors& tensors) {
  OrderKeeper(spec, tensors).Keep();
}

}  // namespace weft
