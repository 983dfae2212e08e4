#include "model/weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "base/float_env.h"
#include "model/formats/block_format.h"
#include "model/formats/dequantize.h"
#include "model/formats/quantize.h"

namespace weft {
namespace {

// Where a matrix's panels stand among those that one loop of the forward pass walks.
struct Stretch {
  int64_t first_panel = 0;
  int64_t loop_panels = 0;
};

int64_t PanelCount(const TensorView& view) { return CeilDivide(view.rows(), kPanelRows); }

int64_t PanelBytes(const BoundMatrix& matrix, const KernelTable& kernels) {
  return kernels.panel_bytes(kernels.packed_layout(matrix.type()), matrix.view.columns());
}

int64_t PackedBytesOf(const BoundMatrix& matrix, const KernelTable& kernels) {
  return PanelCount(matrix.view) * PanelBytes(matrix, kernels);
}

// One row as it is in the file, where that is not one run of bytes.
void GatherRow(const BoundMatrix& matrix, int64_t row, std::byte* out) {
  const TensorView& view = matrix.view;
  const int64_t at = matrix.rows(row);
  if (matrix.assembled) return matrix.assembled->read_row(at, out);
  if (!matrix.is_transposed) {
    std::memcpy(out, view.data + at * view.strides_bytes[0],
                static_cast<size_t>(RowBytes(view.type, view.columns())));
    return;
  }
  const int64_t element_bytes = RowBytes(view.type, 1);
  const std::byte* const column = view.data + at * element_bytes;
  for (int64_t i = 0; i < view.columns(); ++i) {
    std::memcpy(out + i * element_bytes, column + i * view.strides_bytes[0],
                static_cast<size_t>(element_bytes));
  }
}

// Rows of a matrix in the type that is packed: those of the file, or copies of rows that do not lie
// in order, or lie as columns, or in several tensors, or become another type.
class RowReader {
 public:
  explicit RowReader(const BoundMatrix& matrix)
      : matrix_(matrix), row_bytes_(RowBytes(matrix.type(), matrix.view.columns())) {}

  // Valid until the next call.
  TensorView operator()(int64_t first, int64_t count) {
    TensorView rows = matrix_.view;
    rows.dims[0] = count;
    if (matrix_.is_as_stored()) {
      rows.data += first * rows.strides_bytes[0];
      return rows;
    }
    copies_.resize(static_cast<size_t>(count * row_bytes_));
    for (int64_t i = 0; i < count; ++i) {
      std::byte* const out = copies_.data() + i * row_bytes_;
      matrix_.becomes ? Convert(first + i, out) : GatherRow(matrix_, first + i, out);
    }
    return TensorView::Contiguous(copies_.data(), matrix_.type(), {count, rows.columns()});
  }

 private:
  void Convert(int64_t row, std::byte* out) {
    const int64_t columns = matrix_.view.columns();
    stored_.resize(static_cast<size_t>(RowBytes(matrix_.view.type, columns)));
    values_.resize(static_cast<size_t>(columns));
    GatherRow(matrix_, row, stored_.data());
    DequantizeRow(matrix_.view.type, stored_.data(), columns, values_.data());
    if (matrix_.becomes != DataType::kBF16) {
      return QuantizeRow(*matrix_.becomes, values_.data(), columns, out);
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      const uint16_t bits = FloatToBFloat16(values_[i]);
      std::memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
    }
  }

  const BoundMatrix& matrix_;
  const int64_t row_bytes_;
  std::vector<std::byte> copies_;
  std::vector<std::byte> stored_;
  std::vector<float> values_;
};

// Packs one tensor after the other.
class Packer {
 public:
  Packer(std::span<const MappedFile> files, const KernelTable& kernels, ThreadPool& threads,
         int64_t total_bytes, const PackingProgress& progress, const MappedMatrices* mapped)
      : files_(files),
        kernels_(kernels),
        threads_(threads),
        total_bytes_(total_bytes),
        progress_(progress),
        mapped_(mapped) {}

  // The matrices of one loop, to the end of `packed`, in one buffer: experts are smaller than a
  // huge page, and without such, a mixture of 128 took an eighth longer for a prompt (Zen 3, in a
  // virtual machine).
  void PackLoop(std::span<const BoundMatrix> matrices, std::vector<PackedMatrix>& packed) {
    constexpr auto kAlignment = static_cast<int64_t>(AlignedBuffer::kAlignment);
    int64_t size_bytes = 0;
    Stretch stretch;
    for (const BoundMatrix& matrix : matrices) {
      size_bytes += RoundUp(PackedBytesOf(matrix, kernels_), kAlignment);
      stretch.loop_panels += PanelCount(matrix.view);
    }
    AlignedBuffer buffer(mapped_ != nullptr ? 0 : static_cast<size_t>(size_bytes));
    int64_t offset = 0;
    for (const BoundMatrix& matrix : matrices) {
      const int64_t bytes = PackedBytesOf(matrix, kernels_);
      packed.push_back(mapped_ != nullptr ? Map(matrix)
                                          : Pack(matrix, stretch,
                                                 buffer.Part(static_cast<size_t>(offset),
                                                             static_cast<size_t>(bytes))));
      offset += RoundUp(bytes, kAlignment);
      stretch.first_panel += PanelCount(matrix.view);
    }
  }

  std::vector<float> operator()(const BoundTable& table) {
    if (table.values) return table.values();
    std::vector<float> values;
    for (const TensorView& entry : table.entries) {
      const std::vector<float> row =
          (*this)(BoundTable{.view = entry, .plus = table.plus, .times = table.times});
      values.insert(values.end(), row.begin(), row.end());
    }
    const TensorView& view = table.view;
    if (is_torn() || !table.entries.empty()) return values;
    values.resize(static_cast<size_t>(view.element_count()));
    // A vector's rows are its elements.
    const int64_t columns = view.rank < 2 ? 1 : view.columns();
    const int64_t stride_bytes = view.rank < 2 ? RowBytes(view.type, 1) : view.strides_bytes[0];
    std::vector<float> stored(static_cast<size_t>(table.stored_columns));
    // Of what is assembled a copy, until the next one is asked for.
    std::vector<std::byte> copy;
    const auto row_at = [&](int64_t row) -> const std::byte* {
      if (table.assembled == nullptr) return view.data + row * stride_bytes;
      const int64_t row_bytes = RowBytes(view.type, table.assembled->view.columns());
      copy.resize(static_cast<size_t>(row_bytes));
      table.assembled->read_row(row, copy.data());
      return copy.data();
    };
    for (int64_t row = 0; row < view.dims[0]; ++row) {
      const std::byte* const data = row_at(table.rows(row));
      float* const out = values.data() + row * columns;
      if (stored.empty()) {
        DequantizeRow(view.type, data, columns, out);
        continue;
      }
      DequantizeRow(view.type, data, table.stored_columns, stored.data());
      for (int64_t i = 0; i < columns; ++i) out[i] = stored[static_cast<size_t>(table.columns(i))];
    }
    if (table.plus != 0 || table.times != 1) {
      for (float& value : values) value = (value + table.plus) * table.times;
    }
    if (table.expand) values = table.expand(values);
    Finish(view, table.assembled.get());
    return values;
  }

 private:
  PackedMatrix Shaped(const BoundMatrix& matrix) const {
    PackedMatrix packed;
    packed.layout = kernels_.packed_layout(matrix.type());
    packed.rows = matrix.view.rows();
    packed.columns = matrix.view.columns();
    packed.panel_bytes = PanelBytes(matrix, kernels_);
    if (matrix.assembled) packed.column_order = matrix.assembled->column_order;
    return packed;
  }

  PackedMatrix Map(const BoundMatrix& matrix) {
    if (is_torn()) return {};
    PackedMatrix packed = Shaped(matrix);
    packed.mapped = mapped_->panels[next_matrix_++];
    Finish(matrix.view, matrix.assembled.get());
    return packed;
  }

  // Pages of a large buffer lie on the node of the thread that touches them first: that is the
  // node that the forward pass gives these panels to. (mbind would do too, but containers forbid
  // it, and it cuts mappings, of which a process may have 65,530.)
  PackedMatrix Pack(const BoundMatrix& matrix, const Stretch& stretch, AlignedBuffer storage) {
    if (is_torn()) return {};
    // Between two tensors whoever else computes has its turn, and streams between two tasks.
    const ScopedTurn turn(threads_.turns(), Turns::Urgency::kPatient);
    PackedMatrix packed = Shaped(matrix);
    packed.storage = std::move(storage);
    // A tenth of a millisecond or less: so long a stream waits for a task's end.
    constexpr int64_t kTaskBytes = 32 << 10;
    const int64_t panels_per_task = std::clamp<int64_t>(kTaskBytes / packed.panel_bytes, 1, 8);
    const int64_t panel_count = packed.panel_count();
    const auto first_task = [&](int node) {
      const int64_t panel = threads_.FirstOfNode(node, stretch.loop_panels) - stretch.first_panel;
      return CeilDivide(std::clamp<int64_t>(panel, 0, panel_count), panels_per_task);
    };
    threads_.ParallelForOnNodes(first_task, [&](int64_t task, int) {
      const int64_t first_panel = task * panels_per_task;
      const int64_t first_row = first_panel * kPanelRows;
      const int64_t row_count = std::min(panels_per_task * kPanelRows, packed.rows - first_row);
      RowReader read_rows(matrix);
      kernels_.pack_panels(read_rows(first_row, row_count), first_panel, packed);
      // The threads are one more than the cores, beside an engine's. Without this the kernel lets
      // that one wait for milliseconds between two steps, when it needs no turn but a core.
      std::this_thread::yield();
    });
    Finish(matrix.view, matrix.assembled.get());
    return packed;
  }

  // Nothing will come of these weights: the caller knows, or finds that a file has changed.
  bool is_torn() const { return is_stopped_ || std::ranges::any_of(files_, &MappedFile::is_torn); }

  // Of what is assembled, the parts.
  void Finish(const TensorView& view, const AssembledTensor* assembled) {
    if (assembled == nullptr) {
      Release(view);
    } else {
      for (const TensorView& part : assembled->parts) Release(part);
    }
    done_bytes_ += view.size_bytes();
    if (progress_ && !progress_(done_bytes_, total_bytes_)) is_stopped_ = true;
  }

  void Release(const TensorView& view) const {
    for (const MappedFile& file : files_) {
      const std::span<const std::byte> bytes = file.bytes();
      if (view.data >= bytes.data() && view.data < bytes.data() + bytes.size()) {
        file.ReleasePages(view.data, static_cast<size_t>(view.size_bytes()));
      }
    }
  }

  std::span<const MappedFile> files_;
  const KernelTable& kernels_;
  ThreadPool& threads_;
  const int64_t total_bytes_;
  const PackingProgress& progress_;
  const MappedMatrices* mapped_;
  size_t next_matrix_ = 0;  // of these
  int64_t done_bytes_ = 0;
  bool is_stopped_ = false;
};

// Adds up measure(matrix) over all matrices, those of stacks included.
template <typename Measure>
int64_t SumMatrices(const ModelTensors& tensors, const Measure& measure) {
  int64_t total = 0;
  for (const BoundMatrix& matrix : tensors.matrices) total += measure(matrix);
  for (const std::vector<BoundMatrix>& stack : tensors.stacks) {
    for (const BoundMatrix& matrix : stack) total += measure(matrix);
  }
  return total;
}

int64_t FileBytes(const ModelTensors& tensors) {
  int64_t total =
      SumMatrices(tensors, [](const BoundMatrix& matrix) { return matrix.view.size_bytes(); });
  for (const BoundTable& table : tensors.tables) {
    if (table.view) total += table.view.size_bytes();
    for (const TensorView& entry : table.entries) total += entry.size_bytes();
  }
  return total;
}

void QuantizeUnlessIntegers(BoundMatrix& matrix, DataType type) {
  if (HasIntegerCodes(matrix.view.type)) return;
  for (const DataType each : {type, DataType::kQ8_0}) {
    if (matrix.view.columns() % TraitsOf(each).block_elements != 0) continue;
    matrix.becomes = each;
    return;
  }
}

}  // namespace

void QuantizeMatrices(ModelTensors& tensors, DataType type, MatrixId head) {
  const DataType head_type = type == DataType::kQ8_0 ? type : DataType::kQ6_K;
  for (size_t i = 0; i < tensors.matrices.size(); ++i) {
    QuantizeUnlessIntegers(tensors.matrices[i],
                           static_cast<MatrixId>(i) == head ? head_type : type);
  }
  for (std::vector<BoundMatrix>& stack : tensors.stacks) {
    for (BoundMatrix& matrix : stack) QuantizeUnlessIntegers(matrix, type);
  }
}

void ChooseWeights(ModelTensors& tensors, const WeightsChoice& choice,
                   std::optional<Arithmetic> arithmetic, Isa isa, MatrixId head) {
  const bool rounds_all = choice.type == DataType::kBF16;
  if (choice.type && !rounds_all) return QuantizeMatrices(tensors, *choice.type, head);
  if (choice.keeps_file || arithmetic == Arithmetic::kF32) return;
  const bool rounds_f16 = rounds_all || (!arithmetic && MultipliesBF16(isa));
  const auto round = [&](BoundMatrix& matrix) {
    const DataType type = matrix.view.type;
    const bool is_few_bits = IsQuantized(type) && !HasIntegerCodes(type);
    if (is_few_bits || (rounds_f16 && type == DataType::kF16)) matrix.becomes = DataType::kBF16;
  };
  std::ranges::for_each(tensors.matrices, round);
  for (std::vector<BoundMatrix>& stack : tensors.stacks) std::ranges::for_each(stack, round);
}

bool HasF16(const ModelTensors& tensors) {
  return SumMatrices(tensors, [](const BoundMatrix& matrix) {
           return matrix.type() == DataType::kF16 ? 1 : 0;
         }) > 0;
}

std::string DescribeConversion(const ModelTensors& tensors) {
  std::map<DataType, int64_t> counts;
  const int64_t others = SumMatrices(tensors, [&](const BoundMatrix& matrix) {
    if (matrix.becomes) ++counts[*matrix.becomes];
    return matrix.becomes ? 0 : 1;
  });
  std::string text;
  for (const auto& [type, count] : counts) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count,
                        text.empty() ? "matrices " : "", TraitsOf(type).name);
  }
  if (!text.empty() && others > 0) text += fmt::format(", {} as in the file", others);
  return text;
}

Weights Weights::Pack(const ModelTensors& tensors, std::span<const MappedFile> files,
                      const KernelTable& kernels, ThreadPool& threads,
                      const PackingProgress& progress,
                      std::shared_ptr<const MappedMatrices> mapped) {
  const ScopedCpuBinding bound = threads.BindCaller();
  // As the pool's threads have it: a weight must not depend on who unpacks it.
  const ScopedFlushDenormals flush_denormals;
  Packer pack(files, kernels, threads, FileBytes(tensors), progress, mapped.get());
  Weights weights;
  weights.mapped_ = std::move(mapped);
  const std::span<const BoundMatrix> matrices = tensors.matrices;
  for (size_t first = 0, end = 0; first < matrices.size(); first = end) {
    for (end = first + 1; end < matrices.size() && matrices[end].continues_loop;) ++end;
    pack.PackLoop(matrices.subspan(first, end - first), weights.matrices_);
  }
  for (const std::vector<BoundMatrix>& stack : tensors.stacks) {
    pack.PackLoop(stack, weights.stacks_.emplace_back());
  }
  for (const BoundTable& table : tensors.tables) weights.tables_.push_back(pack(table));
  // Pages that two tensors share were still in use when the first of them was done.
  for (const MappedFile& file : files) file.ReleasePages(file.bytes().data(), file.bytes().size());
  return weights;
}

std::vector<const PackedMatrix*> Weights::all_matrices() const {
  std::vector<const PackedMatrix*> all;
  for (const PackedMatrix& matrix : matrices_) all.push_back(&matrix);
  for (const std::vector<PackedMatrix>& stack : stacks_) {
    for (const PackedMatrix& matrix : stack) all.push_back(&matrix);
  }
  return all;
}

int64_t Weights::PackedBytes(const ModelTensors& tensors, const KernelTable& kernels) {
  int64_t total = SumMatrices(
      tensors, [&](const BoundMatrix& matrix) { return PackedBytesOf(matrix, kernels); });
  for (const BoundTable& table : tensors.tables) {
    int64_t elements = table.value_count;
    for (const TensorView& entry : table.entries) elements += entry.element_count();
    if (elements == 0) elements = table.view.element_count();
    total += elements * static_cast<int64_t>(sizeof(float));
  }
  return total;
}

}  // namespace weft
