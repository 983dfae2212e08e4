#include "model/inspect.h"

#include <array>
#include <string_view>

#include <fmt/core.h>

#include "base/format_bytes.h"
#include "base/quoted.h"
#include "model/kv_cache.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace weft {
namespace {

// Tensors of one type, or all of them. A stack of experts counts as so many matrices.
struct TensorSum {
  int64_t tensor_count = 0;
  int64_t parameter_count = 0;
  int64_t size_bytes = 0;

  void Add(const TensorView& view) {
    if (!view) return;
    ++tensor_count;
    parameter_count += view.element_count();
    size_bytes += view.size_bytes();
  }
};

template <typename Visit>
void VisitDenseTensors(const ModelTensors& tensors, const Visit& visit) {
  visit(tensors.token_embedding);
  visit(tensors.output_norm);
  visit(tensors.output_head);
  for (const LayerTensors& layer : tensors.layers) {
    for (const TensorView* view :
         {&layer.attention_norm, &layer.query, &layer.key, &layer.value, &layer.query_bias,
          &layer.key_bias, &layer.value_bias, &layer.query_norm, &layer.key_norm,
          &layer.attention_output, &layer.mlp_norm, &layer.gate, &layer.up, &layer.down,
          &layer.router}) {
      visit(*view);
    }
  }
}

template <typename Visit>
void VisitExpertTensors(const ModelTensors& tensors, const Visit& visit) {
  for (const LayerTensors& layer : tensors.layers) {
    for (const auto* experts : {&layer.expert_gate, &layer.expert_up, &layer.expert_down}) {
      for (const TensorView& view : *experts) visit(view);
    }
  }
}

// "292800", "7.24 million", "1.24 billion"
std::string FormatCount(int64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 1'000'000) return fmt::format("{}", count);
  if (count < 1'000'000'000) return fmt::format("{:.2f} million", value / 1e6);
  return fmt::format("{:.2f} billion", value / 1e9);
}

std::string FormatSignedBytes(int64_t bytes) { return FormatBytes(static_cast<uint64_t>(bytes)); }

template <typename... Args>
void Line(std::string& text, std::string_view name, fmt::format_string<Args...> format,
          Args&&... args) {
  text += fmt::format("{:<15} {}\n", name, fmt::format(format, std::forward<Args>(args)...));
}

std::string DescribeRope(const RopeConfig& rope, int64_t head_dim) {
  std::string text =
      fmt::format("base {:g}, {} of {} elements a head, {}", rope.base, rope.rotary_dim, head_dim,
                  rope.pairing == RopePairing::kNeighbours ? "neighbours paired" : "halves paired");
  switch (rope.scaling) {
    case RopeScalingKind::kNone:
      break;
    case RopeScalingKind::kLinear:
      text += fmt::format(", linear scaling by {:g}", rope.factor);
      break;
    case RopeScalingKind::kLlama3:
      text += fmt::format(", llama3 scaling by {:g} from context {}", rope.factor,
                          rope.original_context_length);
      break;
    case RopeScalingKind::kYarn:
      text += fmt::format(", yarn scaling by {:g} from context {}", rope.factor,
                          rope.original_context_length);
      break;
  }
  if (!rope.frequency_divisors.empty()) text += ", frequency divisors of its own";
  return text;
}

std::string_view DescribeQkNorm(QkNorm norm) {
  switch (norm) {
    case QkNorm::kNone:
      break;
    case QkNorm::kPerHead:
      return ", queries and keys normalised a head";
    case QkNorm::kFullWidth:
      return ", queries and keys normalised over their full width";
  }
  return "";
}

void DescribeArchitecture(const ModelConfig& config, std::string& text) {
  Line(text, "architecture", "{}{}{}", config.architecture, config.name.empty() ? "" : ", named ",
       config.name.empty() ? std::string() : Quoted(config.name));
  Line(text, "sizes", "{} layers, hidden size {}, {}", config.layer_count, config.hidden_size,
       config.is_moe() ? fmt::format("feed-forward {} an expert", config.moe.feed_forward_length)
                       : fmt::format("feed-forward {}", config.feed_forward_length));
  if (config.is_moe()) {
    Line(text, "experts", "{}, {} a token, softmax {} the choice{}", config.moe.expert_count,
         config.moe.experts_per_token, config.moe.softmax_before_choice ? "before" : "after",
         config.moe.renormalize ? ", weights renormalised" : "");
  }
  Line(text, "attention", "{} heads of {}, {} KV heads{}{}", config.head_count, config.head_dim,
       config.kv_head_count, DescribeQkNorm(config.qk_norm),
       config.sliding_window > 0 ? fmt::format(", sliding window {}", config.sliding_window)
                                 : std::string());
  Line(text, "RoPE", "{}", DescribeRope(config.rope, config.head_dim));
  Line(text, "context", "{} positions", config.context_length);
}

void DescribeTensors(const Checkpoint& checkpoint, std::string& text) {
  TensorSum dense;
  TensorSum experts;
  std::array<TensorSum, kDataTypeCount> types;
  const auto add_type = [&](const TensorView& view) {
    types[static_cast<size_t>(view.type)].Add(view);
  };
  VisitDenseTensors(checkpoint.tensors, [&](const TensorView& view) {
    dense.Add(view);
    add_type(view);
  });
  VisitExpertTensors(checkpoint.tensors, [&](const TensorView& view) {
    experts.Add(view);
    add_type(view);
  });
  const MoeConfig& moe = checkpoint.config.moe;
  std::string active;
  if (moe.expert_count > 0) {
    active =
        fmt::format(", {} of them active a token",
                    FormatCount(dense.parameter_count + experts.parameter_count / moe.expert_count *
                                                            moe.experts_per_token));
  }
  Line(text, "parameters", "{}{}; output head {}",
       FormatCount(dense.parameter_count + experts.parameter_count), active,
       checkpoint.tensors.output_head ? "of its own" : "tied to the token embedding");
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].tensor_count == 0) continue;
    Line(text, fmt::format("type {}", TraitsOf(static_cast<DataType>(i)).name),
         "{} tensors, {} parameters, {}", types[i].tensor_count,
         FormatCount(types[i].parameter_count), FormatSignedBytes(types[i].size_bytes));
  }
}

void DescribeMemory(const Checkpoint& checkpoint, const KernelTable& kernels,
                    const InspectOptions& options, std::string& text) {
  const ModelConfig& config = checkpoint.config;
  const int64_t weight_bytes = Weights::PackedBytes(checkpoint.tensors, kernels);
  const int64_t block_bytes = KvCache::BlockBytes(config, kernels, options.block_size);
  const int64_t workspace_bytes = Workspace::Bytes(config, kernels,
                                                   {.max_rows = options.max_batch_tokens,
                                                    .block_size = options.block_size,
                                                    .thread_count = options.thread_count});
  const int64_t context_blocks =
      (config.context_length + options.block_size - 1) / options.block_size;
  Line(text, fmt::format("memory {}", NameOf(kernels.arithmetic)),
       "weights {}, KV cache {} a token ({} a full context), workspace {} (steps of {} tokens, "
       "thread count {})",
       FormatSignedBytes(weight_bytes), FormatSignedBytes(block_bytes / options.block_size),
       FormatSignedBytes(context_blocks * block_bytes), FormatSignedBytes(workspace_bytes),
       options.max_batch_tokens, options.thread_count);
}

void DescribeKvQ8(const Checkpoint& checkpoint, const InspectOptions& options, std::string& text) {
  const ModelConfig& config = checkpoint.config;
  const KernelTable& kernels = KernelsFor(kAutoArithmetic, options.isa, KvType::kQ8);
  if (const Result<void> possible = CheckKvType(config, kernels, KvType::kQ8); !possible) {
    Line(text, "--kv-type q8", "{}", possible.error().message);
    return;
  }
  const int64_t block_bytes = KvCache::BlockBytes(config, kernels, options.block_size);
  const int64_t blocks = (config.context_length + options.block_size - 1) / options.block_size;
  Line(text, "--kv-type q8", "KV cache {} a token ({} a full context)",
       FormatSignedBytes(block_bytes / options.block_size),
       FormatSignedBytes(blocks * block_bytes));
}

}  // namespace

std::string DescribeCheckpoint(const Checkpoint& checkpoint, const InspectOptions& options) {
  std::string text;
  Line(text, "file", "{} ({}, {})", checkpoint.path, checkpoint.format,
       FormatBytes(checkpoint.file_bytes));
  DescribeArchitecture(checkpoint.config, text);
  Line(text, "tokenizer", "{}", checkpoint.tokenizer->description());
  Line(text, "chat template", "{}",
       checkpoint.chat_template.empty()
           ? "none"
           : fmt::format("{} bytes of Jinja", checkpoint.chat_template.size()));
  DescribeTensors(checkpoint, text);
  for (const Arithmetic arithmetic : {Arithmetic::kInt8, Arithmetic::kBF16, Arithmetic::kF32}) {
    DescribeMemory(checkpoint, KernelsFor(arithmetic, options.isa), options, text);
  }
  DescribeKvQ8(checkpoint, options, text);
  return text;
}

}  // namespace weft
