// Lists the parameters of blocks that keep a state of fixed size.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/exact_math.h"
#include "model/families/tensor_lister.h"

namespace weft {

class RecurrentLister : protected TensorLister {
 protected:
  RecurrentLister(const Hyperparameters& h, const DecoderTensors& names, const ModelSpec& spec,
                  ParameterList list)
      : TensorLister(h, names, spec.is_encoder, std::move(list)), hidden_(spec.hidden_size) {}

  void ListShortConv(ShortConvSpec& conv) {
    const bool has_bias = names_.short_conv_bias;
    const TensorName filter = {"shortconv.conv", "conv.conv"};
    conv.input = Linear({"shortconv.in_proj", "conv.in_proj"}, 3 * hidden_, hidden_, has_bias, {});
    conv.weight = Convolution(filter, hidden_, conv.width);
    if (has_bias) conv.bias = Table(Source(filter, ".bias"), hidden_);
    conv.output = Linear({"shortconv.out_proj", "conv.out_proj"}, hidden_, hidden_, has_bias, {});
  }

  // GGUF has vectors of heads as columns, norms a group a row, and the rate itself, safetensors the
  // logarithm of its negative.
  void ListStateSpace(StateSpaceSpec& space) {
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
    space.conv_weight = Convolution({"ssm_conv1d", filter}, space.channels(), space.conv_width);
    if (names_.state_space_conv_bias) {
      space.conv_bias = Table(Source({"ssm_conv1d", filter}, ".bias"), space.channels());
    }
    space.rate = of_heads("ssm_a", "A_log");
    if (!gguf_) {
      list_.tables.back().expanded_count = space.head_count;
      list_.tables.back().expand = [](std::vector<float> logs) {
        for (float& x : logs) x = static_cast<float>(-exact::Exp(static_cast<double>(x)));
        return logs;
      };
    }
    space.dt_bias =
        Table(Sources({{"ssm_dt.bias"}}, {{.name = in_hf("dt_bias")}}), space.head_count);
    space.skip = of_heads("ssm_d", "D");
    if (space.norm) {
      const int64_t groups = gguf_ ? space.norm_group_count : space.values();
      space.norm.weight = Table(Sources({{"ssm_norm.weight"}}, {{.name = in_hf("norm.weight")}}),
                                groups, gguf_ ? space.values() / space.norm_group_count : 0);
    }
    space.output = Linear({"ssm_out", output}, hidden_, space.values(), has_bias, {});
  }

  const int64_t hidden_;

 private:
  // A tensor has a channel's weights in a row, of which the kernels want one after the other for
  // all channels.
  TableId Convolution(TensorName name, int64_t channels, int64_t width) {
    const TableId id = Table(Source(name, ".weight"), channels, width);
    list_.tables.back().expanded_count = channels * width;
    list_.tables.back().expand = [=](const std::vector<float>& stored) {
      std::vector<float> rows(stored.size());
      for (size_t i = 0; i < stored.size(); ++i) {
        const auto channel = static_cast<int64_t>(i) / width;
        rows[static_cast<size_t>(static_cast<int64_t>(i) % width * channels + channel)] = stored[i];
      }
      return rows;
    };
    return id;
  }
};

}  // namespace weft
