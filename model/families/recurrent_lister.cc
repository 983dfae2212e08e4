#include "model/families/recurrent_lister.h"

#include <string>
#include <string_view>

#include "base/exact_math.h"

namespace weft {

// A tensor has a channel's weights in a row, of which the kernels want one after the other for all
// channels.
TableId RecurrentLister::ConvolutionTable(std::vector<TensorSource> sources, int64_t channels,
                                          int64_t width) {
  const TableId table = Table(std::move(sources), channels, width);
  list_.tables.back().expanded_count = channels * width;
  list_.tables.back().expand = [=](const std::vector<float>& stored) {
    std::vector<float> rows(stored.size());
    for (size_t i = 0; i < stored.size(); ++i) {
      const auto channel = static_cast<int64_t>(i) / width;
      rows[static_cast<size_t>(static_cast<int64_t>(i) % width * channels + channel)] = stored[i];
    }
    return rows;
  };
  return table;
}

void RecurrentLister::FinishRates(int64_t head_count) {
  if (gguf_) return;
  list_.tables.back().expanded_count = head_count;
  list_.tables.back().expand = [](std::vector<float> logarithms) {
    for (float& x : logarithms) x = static_cast<float>(-exact::Exp(x));
    return logarithms;
  };
}

void RecurrentLister::ListShortConv(ShortConvSpec& conv) {
  const bool has_bias = names_.short_conv_bias;
  const TensorName filter = {"shortconv.conv", "conv.conv"};
  const int64_t channels = hidden_;
  conv.input = Linear({"shortconv.in_proj", "conv.in_proj"}, 3 * channels, channels, has_bias, {});
  conv.weight = ConvolutionTable(Source(filter, ".weight"), channels, conv.width);
  if (has_bias) conv.bias = Table(Source(filter, ".bias"), channels);
  conv.output = Linear({"shortconv.out_proj", "conv.out_proj"}, channels, channels, has_bias, {});
}

LinearSpec RecurrentLister::DeltaNetLinear(const DeltaNetSpec& net, TensorName by_head,
                                           int64_t head_rows, TensorName name,
                                           const DeltaNetRows& rows, bool continues_loop) {
  const RowOrder in_heads = {.first = rows.first_in_head, .run = rows.of_head, .stride = head_rows};
  std::vector<TensorSource> sources =
      Source(by_head, ".weight", in_heads, net.key_head_count * head_rows);
  for (TensorSource& source :
       Source(name, ".weight", RowOrder{.first = rows.first}, rows.tensor_rows)) {
    sources.push_back(std::move(source));
  }
  return {Matrix(std::move(sources), net.key_head_count * rows.of_head, hidden_, continues_loop)};
}

// Qwen3-Next's projections are by key head; in GGUF only the smaller one is, but for old files.
void RecurrentLister::ListDeltaNet(DeltaNetSpec& net) {
  const int64_t keys = net.key_dim;
  const int64_t sharing = net.value_head_count / net.key_head_count;
  const int64_t values = sharing * net.value_dim;
  const auto large = [&](TensorName name, const DeltaNetRows& rows) {
    return DeltaNetLinear(net, {"ssm_in", "linear_attn.in_proj_qkvz"}, 2 * (keys + values), name,
                          rows, /*continues_loop=*/rows.first_in_head > 0);
  };
  const TensorName together = {"attn_qkv", "linear_attn.in_proj_qkv"};
  const int64_t all = net.channels();
  net.query = large(together, {keys, 0, 0, all});
  net.key = large(together, {keys, keys, net.keys(), all});
  net.value = large(together, {values, 2 * keys, 2 * net.keys(), all});
  net.gate = large({"attn_gate", "linear_attn.in_proj_z"}, {values, 2 * keys + values, 0, 0});
  const auto small = [&](TensorName name, const DeltaNetRows& rows) {
    return DeltaNetLinear(net, {"ssm_ba", "linear_attn.in_proj_ba"}, 2 * sharing, name, rows,
                          /*continues_loop=*/true);
  };
  net.beta = small({"ssm_beta", "linear_attn.in_proj_b"}, {sharing, 0, 0, 0});
  net.decay = small({"ssm_alpha", "linear_attn.in_proj_a"}, {sharing, sharing, 0, 0});
  net.conv_weight = ConvolutionTable(Source({"ssm_conv1d", "linear_attn.conv1d"}, ".weight"),
                                     net.channels(), net.conv_width);
  net.decay_rate = Table(Source({"ssm_a", "linear_attn.A_log"}, ""), net.value_head_count);
  FinishRates(net.value_head_count);
  net.decay_bias = Table(Source({"ssm_dt.bias", "linear_attn.dt_bias"}, ""), net.value_head_count);
  net.norm.weight = Table(Source({"ssm_norm", "linear_attn.norm"}, ".weight"), net.value_dim);
  net.output = Linear({"ssm_out", "linear_attn.out_proj"}, hidden_, net.values(), false, {});
}

// GGUF has vectors of heads as columns, and norms a group a row.
void RecurrentLister::ListStateSpace(StateSpaceSpec& space) {
  const auto in_hf = [&](std::string_view part) {
    return std::string(names_.hf_state_space) + std::string(part);
  };
  const auto of_heads = [&](std::string_view gguf, std::string_view hf) {
    return Table(Sources({{.name = std::string(gguf)}}, {{.name = in_hf(hf)}}), space.head_count,
                 gguf_ ? 1 : 0);
  };
  const std::string input = in_hf("in_proj");
  const std::string filter = in_hf("conv1d");
  const std::string output = in_hf("out_proj");
  const bool has_bias = names_.state_space_bias;
  space.input = Linear({"ssm_in", input}, space.projected(), hidden_, has_bias, {});
  space.conv_weight = ConvolutionTable(Source({"ssm_conv1d", filter}, ".weight"), space.channels(),
                                       space.conv_width);
  if (names_.state_space_conv_bias) {
    space.conv_bias = Table(Source({"ssm_conv1d", filter}, ".bias"), space.channels());
  }
  space.rate = of_heads("ssm_a", "A_log");
  FinishRates(space.head_count);
  space.dt_bias = Table(Sources({{"ssm_dt.bias"}}, {{.name = in_hf("dt_bias")}}), space.head_count);
  space.skip = of_heads("ssm_d", "D");
  if (space.norm) {
    const int64_t groups = gguf_ ? space.norm_group_count : space.values();
    space.norm.weight = Table(Sources({{"ssm_norm.weight"}}, {{.name = in_hf("norm.weight")}}),
                              groups, gguf_ ? space.values() / space.norm_group_count : 0);
  }
  space.output = Linear({"ssm_out", output}, hidden_, space.values(), has_bias, {});
}

}  // namespace weft
