#include "model/inspect.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/checked_math.h"
#include "base/format_bytes.h"
#include "base/quoted.h"
#include "model/kernel_choice.h"
#include "model/kv_cache.h"
#include "model/state.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace weft {
namespace {

// Tensors of one type, or all of them. A stack of experts counts as so many matrices.
struct TensorSum {
  int64_t tensor_count = 0;
  int64_t parameter_count = 0;
  int64_t size_bytes = 0;

  // Of what is assembled the view's part of the parts' bytes.
  void Add(const TensorView& view, const AssembledTensor* assembled) {
    ++tensor_count;
    parameter_count += view.element_count();
    if (assembled == nullptr) {
      size_bytes += view.size_bytes();
      return;
    }
    int64_t parts_bytes = 0;
    for (const TensorView& part : assembled->parts) parts_bytes += part.size_bytes();
    size_bytes += parts_bytes * view.rows() / assembled->view.rows();
  }
};

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

std::string DescribeRope(const RopeSpec& rope, int64_t head_dim) {
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

std::string DescribeAttention(const AttentionSpec& attention) {
  std::string text = fmt::format("{} heads of {}, {} KV heads", attention.head_count,
                                 attention.key_dim, attention.kv_head_count);
  if (attention.query_norm) {
    text += attention.head_norm == HeadNorm::kAllHeads
                ? ", queries and keys normalised over their full width"
                : ", queries and keys normalised a head";
  }
  if (attention.output_gate) text += ", gated";
  if (attention.window > 0) text += fmt::format(", sliding window {}", attention.window);
  if (attention.chunk > 0) text += fmt::format(", chunks of {}", attention.chunk);
  return text;
}

std::string DescribeLatent(const LayerSpec& layer) {
  return fmt::format("{} heads of {}, latent of {}", layer.attention.head_count,
                     layer.latent->head_query_dim(), layer.latent->rank);
}

std::string DescribeDeltaNet(const DeltaNetSpec& net) {
  return fmt::format("delta net, {} heads of {} for {} of {}, convolution over {}",
                     net.key_head_count, net.key_dim, net.value_head_count, net.value_dim,
                     net.conv_width);
}

std::string DescribeStateSpace(const StateSpaceSpec& space) {
  return fmt::format("state space of {} heads of {}, {} deep, convolution over {}",
                     space.head_count, space.head_dim, space.state_dim, space.conv_width);
}

// All that a layer reads of earlier positions with.
std::string DescribeMixers(const LayerSpec& layer) {
  std::string text;
  const auto add = [&](const std::string& mixer) { text += (text.empty() ? "" : "; ") + mixer; };
  if (layer.short_conv) add(fmt::format("convolution over {}", layer.short_conv->width));
  if (layer.delta_net) add(DescribeDeltaNet(*layer.delta_net));
  if (layer.state_space) add(DescribeStateSpace(*layer.state_space));
  if (layer.attention)
    add(layer.latent ? DescribeLatent(layer) : DescribeAttention(layer.attention));
  return text.empty() ? "none" : text;
}

std::string DescribeMlp(const LayerSpec& layer) {
  if (!layer.has_mlp()) return "no feed-forward";
  if (const MixtureSpec* mixture = layer.mixture()) {
    return fmt::format("feed-forward {} an expert", mixture->width);
  }
  return fmt::format("feed-forward {}", std::get<DenseMlpSpec>(layer.mlp).width);
}

std::string_view DescribeScore(const RouterSpec& router) {
  switch (router.score) {
    case RouterScore::kSigmoid:
      return "sigmoid";
    case RouterScore::kSparseMixer:
      return "sparse mixer";
    case RouterScore::kSoftmax:
      break;
  }
  return router.softmax_before_choice ? "softmax before the choice" : "softmax after the choice";
}

std::string DescribeExperts(const LayerSpec& layer) {
  const MixtureSpec* mixture = layer.mixture();
  if (mixture == nullptr) return "none";
  const RouterSpec& router = mixture->router;
  std::string text =
      fmt::format("{}, {} a token, {}{}", mixture->expert_count, mixture->experts_per_token,
                  DescribeScore(router), router.renormalize ? ", weights renormalised" : "");
  if (router.groups.count > 1) {
    text += fmt::format(", from {} of {} groups", router.groups.per_token, router.groups.count);
  }
  if (mixture->shared.width > 0) {
    text += fmt::format(", a shared one of width {}", mixture->shared.width);
  }
  return text;
}

// A line for all layers, or one for each kind of them.
template <typename Describe>
void LineOfLayers(const ModelSpec& spec, std::string_view name, const Describe& describe,
                  std::string& text) {
  struct Kind {
    std::string words;
    int64_t layer_count = 0;
  };
  std::vector<Kind> kinds;
  for (const LayerSpec& layer : spec.layers) {
    const std::string words = describe(layer);
    auto kind = std::ranges::find(kinds, words, &Kind::words);
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {words});
    ++kind->layer_count;
  }
  for (const Kind& kind : kinds) {
    Line(text, name, "{}{}", kind.words,
         kinds.size() == 1
             ? std::string()
             : fmt::format(" (in {} of {} layers)", kind.layer_count, spec.layer_count()));
  }
}

std::string DescribeEmbedding(const ModelSpec& spec) {
  constexpr std::string_view kOf[] = {"the last position", "the first position", "all positions",
                                      "all positions", "all positions"};
  constexpr std::string_view kHow[] = {"", "", ", their mean", ", the largest of each element",
                                       ", their weighted mean"};
  const auto pooling = static_cast<size_t>(spec.pooling);
  const size_t layer_count = spec.embedding_layers.size();
  return fmt::format("{} numbers, of {}{}{}", spec.embedding_size(), kOf[pooling], kHow[pooling],
                     layer_count == 0 ? std::string()
                                      : fmt::format(", behind {} dense layer{}", layer_count,
                                                    layer_count == 1 ? "" : "s"));
}

std::string DescribeLabels(const ClassifierSpec& classifier) {
  constexpr size_t kMostNamed = 8;
  std::string text = fmt::format("{}: ", classifier.labels.size());
  for (size_t i = 0; i < std::min(classifier.labels.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + Quoted(classifier.labels[i]);
  }
  return classifier.labels.size() > kMostNamed ? text + ", ..." : text;
}

std::string DescribePrompts(const SentencePrompts& prompts) {
  std::string text;
  for (const auto& [name, prompt] : prompts.texts) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name, Quoted(prompt),
                        name == prompts.default_name ? " (default)" : "");
  }
  return text;
}

void DescribeArchitecture(const ModelSpec& spec, std::string& text) {
  Line(text, "architecture", "{}{}{}", spec.architecture, spec.name.empty() ? "" : ", named ",
       spec.name.empty() ? std::string() : Quoted(spec.name));
  const auto sizes = [&](const LayerSpec& layer) {
    return fmt::format("{} layers, hidden size {}, {}", spec.layer_count(), spec.hidden_size,
                       DescribeMlp(layer));
  };
  LineOfLayers(spec, "sizes", sizes, text);
  if (spec.expert_count() > 0) LineOfLayers(spec, "experts", DescribeExperts, text);
  LineOfLayers(spec, "attention", DescribeMixers, text);
  const auto rope = [&](const LayerSpec& layer) -> std::string {
    if (layer.attention.rope == AttentionSpec::kNoRope) return "none";
    return DescribeRope(spec.ropes[static_cast<size_t>(layer.attention.rope)],
                        layer.attention.key_dim);
  };
  LineOfLayers(spec, "RoPE", rope, text);
  if (spec.encoder != nullptr) {
    const auto of_encoder = [&](const LayerSpec& layer) {
      return fmt::format("{} layers, {}, {}", spec.encoder->layer_count(), DescribeMlp(layer),
                         DescribeAttention(layer.attention));
    };
    LineOfLayers(*spec.encoder, "encoder", of_encoder, text);
  }
  if (const int64_t count = spec.prediction_layer_count; count > 0) {
    Line(text, "not computed", "{} layer{} guessing tokens further ahead", count,
         count == 1 ? "" : "s");
  }
  Line(text, "context", "{} positions", spec.context_length);
  if (spec.is_encoder) Line(text, "embedding", "{}", DescribeEmbedding(spec));
  if (spec.sparse) Line(text, "sparse vector", "of the head for masked tokens");
  if (spec.classifier) Line(text, "labels", "{}", DescribeLabels(*spec.classifier));
}

// Of the parameters of experts, those that a token passes.
int64_t ActiveExpertParameters(const Checkpoint& checkpoint) {
  int64_t active = 0;
  for (const LayerSpec& layer : checkpoint.spec.layers) {
    const MixtureSpec* mixture = layer.mixture();
    if (mixture == nullptr) continue;
    for (const StackId id : {mixture->gate, mixture->up, mixture->down}) {
      if (id == StackId::kNone) continue;
      const TensorView& expert = checkpoint.tensors.stacks[static_cast<size_t>(id)].front().view;
      active += expert.element_count() * mixture->experts_per_token;
    }
  }
  return active;
}

// Calls visit(tensor, what it is assembled of or nullptr, the stack that it is of).
void VisitTensors(const ModelTensors& tensors, auto visit) {
  for (const BoundMatrix& matrix : tensors.matrices) {
    visit(matrix.view, matrix.assembled.get(), StackId::kNone);
  }
  for (const BoundTable& table : tensors.tables) {
    if (table.view) visit(table.view, table.assembled.get(), StackId::kNone);
    for (const TensorView& entry : table.entries) visit(entry, nullptr, StackId::kNone);
  }
  for (size_t i = 0; i < tensors.stacks.size(); ++i) {
    for (const BoundMatrix& matrix : tensors.stacks[i]) {
      visit(matrix.view, matrix.assembled.get(), static_cast<StackId>(i));
    }
  }
}

// "Q4_0", or "F32 of F8_E4M3": what rows are put together to, and what lies in the file.
std::string TypeOf(const TensorView& view, const AssembledTensor* assembled) {
  const std::string_view name = TraitsOf(view.type).name;
  if (assembled == nullptr) return std::string(name);
  return fmt::format("{} of {}", name, TraitsOf(assembled->parts.front().type).name);
}

void DescribeTensors(const Checkpoint& checkpoint, std::string& text) {
  const ModelTensors& tensors = checkpoint.tensors;
  TensorSum dense;
  TensorSum experts;
  std::map<std::pair<DataType, std::string>, TensorSum> types;  // in the order of types
  VisitTensors(
      tensors, [&](const TensorView& view, const AssembledTensor* assembled, StackId stack) {
        const bool is_chosen = stack != StackId::kNone && checkpoint.spec.holds_experts(stack);
        (is_chosen ? experts : dense).Add(view, assembled);
        types[{view.type, TypeOf(view, assembled)}].Add(view, assembled);
      });
  std::string active;
  if (experts.tensor_count > 0) {
    active = fmt::format(", {} of them active a token",
                         FormatCount(dense.parameter_count + ActiveExpertParameters(checkpoint)));
  }
  Line(text, "parameters", "{}{}; output head {}",
       FormatCount(dense.parameter_count + experts.parameter_count), active,
       !checkpoint.spec.has_head()       ? "none"
       : checkpoint.spec.has_tied_head() ? "tied to the token embedding"
                                         : "of its own");
  for (const auto& [type, sum] : types) {
    Line(text, fmt::format("type {}", type.second), "{} tensors, {} parameters, {}",
         sum.tensor_count, FormatCount(sum.parameter_count), FormatSignedBytes(sum.size_bytes));
  }
}

// "26.0 KiB a token, 22.0 KiB of them for the last 1056 tokens (150.7 MiB a full context)"
std::string DescribeKv(const ModelSpec& spec, const KernelTable& kernels,
                       const InspectOptions& options) {
  if (spec.is_encoder) return "none kept";
  std::string others;
  int64_t kept_bytes = 0;  // a block of positions
  int64_t context_bytes = 0;
  const int64_t context_blocks = CeilDivide(spec.context_length, options.block_size);
  for (const StateGroup& group : StateGroupsOf(spec, spec.context_length)) {
    const int64_t block_bytes = KvCache::BlockBytes(spec, group, kernels, options.block_size);
    const std::string of_token = FormatSignedBytes(block_bytes / options.block_size);
    if (group.is_recurrent) {
      others += fmt::format(", {} a state", FormatSignedBytes(block_bytes));
      context_bytes += block_bytes;
      continue;
    }
    const int64_t most =
        group.MostBlocks(spec.context_length, options.max_batch_tokens, options.block_size);
    context_bytes += most * block_bytes;
    if (group.is_source) {
      others += fmt::format(", {} a token of its source", of_token);
      continue;
    }
    kept_bytes += block_bytes;
    if (most == context_blocks) continue;
    others +=
        fmt::format(", {} of them for the last {} tokens", of_token, most * options.block_size);
  }
  return fmt::format("{} a token{} ({} a full context)",
                     FormatSignedBytes(kept_bytes / options.block_size), others,
                     FormatSignedBytes(context_bytes));
}

void DescribeMemory(const Checkpoint& checkpoint, const KernelTable& kernels,
                    const InspectOptions& options, std::string& text) {
  const ModelSpec& spec = checkpoint.spec;
  const int64_t weight_bytes = Weights::PackedBytes(checkpoint.tensors, kernels);
  const int64_t workspace_bytes = Workspace::Bytes(spec, kernels,
                                                   {.max_rows = options.max_batch_tokens,
                                                    .block_size = options.block_size,
                                                    .thread_count = options.thread_count,
                                                    .has_f16 = HasF16(checkpoint.tensors)});
  Line(text, fmt::format("memory {}", NameOf(kernels.arithmetic)),
       "weights {}, KV cache {}, workspace {} (steps of {} tokens, thread count {})",
       FormatSignedBytes(weight_bytes), DescribeKv(spec, kernels, options),
       FormatSignedBytes(workspace_bytes), options.max_batch_tokens, options.thread_count);
}

// The type of KV cache that int8 does not have by itself.
void DescribeOtherKv(const Checkpoint& checkpoint, KvType own, const InspectOptions& options,
                     std::string& text) {
  const KvType other = own == KvType::kQ8 ? KvType::kBF16 : KvType::kQ8;
  const std::string flag = fmt::format("--kv-type {}", NameOf(other));
  const Result<const KernelTable*> kernels = KernelsForModel(
      checkpoint, {.isa = options.isa, .arithmetic = Arithmetic::kInt8, .kv_type = other});
  if (!kernels) {
    Line(text, flag, "{}", kernels.error().message);
    return;
  }
  Line(text, flag, "KV cache {}", DescribeKv(checkpoint.spec, **kernels, options));
}

}  // namespace

TensorTotals TotalsOf(const ModelTensors& tensors) {
  TensorTotals totals;
  std::array<int64_t, kDataTypeCount> counts{};
  VisitTensors(tensors, [&](const TensorView& view, const AssembledTensor*, StackId) {
    totals.parameter_count += view.element_count();
    counts[static_cast<size_t>(view.type)] += view.element_count();
  });
  totals.main_type = static_cast<DataType>(std::ranges::max_element(counts) - counts.begin());
  return totals;
}

std::string DescribeCheckpoint(const Checkpoint& checkpoint, const InspectOptions& options) {
  std::string text;
  Line(text, "file", "{} ({}, {})", checkpoint.path, checkpoint.format,
       FormatBytes(checkpoint.file_bytes));
  DescribeArchitecture(checkpoint.spec, text);
  if (checkpoint.ranking) {
    Line(text, "ranks", "{}, a score is {}",
         checkpoint.ranking->prompt ? "texts in a prompt" : "pairs of texts",
         checkpoint.ranking->is_probability ? "a probability" : "a logit");
  }
  if (!checkpoint.prompts.texts.empty()) {
    Line(text, "prompts", "{}", DescribePrompts(checkpoint.prompts));
  }
  Line(text, "tokenizer", "{}", checkpoint.tokenizer->description());
  Line(text, "chat template", "{}",
       checkpoint.chat_template.empty()
           ? "none"
           : fmt::format("{} bytes of Jinja", checkpoint.chat_template.size()));
  DescribeTensors(checkpoint, text);
  KvType kv_of_int8 = KvType::kBF16;
  for (const Arithmetic arithmetic : {Arithmetic::kInt8, Arithmetic::kBF16, Arithmetic::kF32}) {
    const KernelTable& kernels =
        **KernelsForModel(checkpoint, {.isa = options.isa, .arithmetic = arithmetic});
    if (arithmetic == Arithmetic::kInt8) kv_of_int8 = kernels.kv_type;
    DescribeMemory(checkpoint, kernels, options, text);
  }
  DescribeOtherKv(checkpoint, kv_of_int8, options, text);
  return text;
}

}  // namespace weft
