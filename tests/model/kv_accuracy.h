// What an 8-bit KV cache changes: next-token distributions of a model over a text, in windows,
// against those with a bf16 cache (float32 arithmetic: with a float32 cache).
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/kernels/kv_page.h"
#include "tests/model/accuracy/accuracy.h"
#include "tests/model/model_fixture.h"

namespace weft {

struct KvAccuracy {
  double mean_kl = 0;  // of bf16's distribution from q8's, nats
  double median_kl = 0;
  double largest_kl = 0;
  double equal_top = 0;  // share of positions with the same likeliest token
  double mean_nll_bf16 = 0;
  double mean_nll_q8 = 0;
  int64_t positions = 0;
};

// Blocks of `size` elements times the Hadamard matrix, over the root of `size`: its own inverse.
inline std::vector<float> Rotated(std::vector<float> x, size_t size) {
  for (size_t distance = 1; distance < size; distance *= 2) {
    for (size_t i = 0; i < x.size(); ++i) {
      if ((i & distance) != 0) continue;
      const float first = x[i];
      x[i] = first + x[i + distance];
      x[i + distance] = first - x[i + distance];
    }
  }
  for (float& element : x) element /= std::sqrt(static_cast<float>(size));
  return x;
}

// Codes up to 127 and one scale, as the q8 cache has them.
inline std::vector<float> Rounded(std::vector<float> x) {
  float largest = 0;
  for (const float element : x) largest = std::max(largest, std::abs(element));
  const float scale = largest / 127;
  if (largest == 0) return x;
  for (float& element : x) element = std::nearbyint(element / scale) * scale;
  return x;
}

// kv_write of the float32 arithmetic, of keys and values that 8 bits can hold.
inline void WriteRounded(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
                         const float* value) {
  const auto block = static_cast<size_t>(RotationBlock(layout));
  const std::vector<float> rotated = Rotated({key, key + layout.key_dim}, block);
  KernelsFor(Arithmetic::kF32, ChooseIsa().value())
      .kv_write(layout, page, slot, Rotated(Rounded(rotated), block).data(),
                Rounded({value, value + layout.value_dim}).data());
}

// `window_count` windows of `window` tokens, evenly spread over the text. The float32 arithmetic
// has no 8-bit cache: there it is what rounding keys and values alone does, all else exact.
inline KvAccuracy MeasureKvAccuracy(const std::string& model_path, const std::string& text_path,
                                    Arithmetic arithmetic, size_t window, size_t window_count) {
  RunOptions options{.arithmetic = arithmetic, .isa = ChooseIsa().value(), .thread_count = 2};
  options.max_rows = static_cast<int64_t>(window);
  options.block_count = static_cast<int64_t>(window) / options.block_size + 1;
  RunnableModel bf16(model_path, options);
  if (arithmetic == Arithmetic::kF32) {
    options.adjust_kernels = [](KernelTable& kernels) { kernels.kv_write = WriteRounded; };
  } else {
    options.kv_type = KvType::kQ8;
  }
  RunnableModel q8(model_path, options);
  std::ifstream file(text_path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::vector<TokenId> all = bf16.checkpoint().tokenizer->Encode(text, {}).value();
  KvAccuracy result;
  int64_t equal = 0;
  std::vector<double> kls;
  for (size_t w = 0; w < window_count; ++w) {
    const size_t begin = (all.size() - window) / window_count * w;
    std::vector<TokenId> tokens(all.begin() + static_cast<ptrdiff_t>(begin),
                                all.begin() + static_cast<ptrdiff_t>(begin + window));
    if (const auto bos = bf16.checkpoint().tokenizer->bos()) tokens.front() = *bos;
    const auto exact = bf16.RunSequence(tokens);
    const auto coarse = q8.RunSequence(tokens);
    for (size_t row = 0; row + 1 < window; ++row) {
      const std::vector<double> p = LogProbabilities(exact[row]);
      const std::vector<double> q = LogProbabilities(coarse[row]);
      double kl = 0;
      for (size_t i = 0; i < p.size(); ++i) kl += std::exp(p[i]) * (p[i] - q[i]);
      const auto next = static_cast<size_t>(tokens[row + 1]);
      result.mean_kl += kl;
      kls.push_back(kl);
      result.mean_nll_bf16 -= p[next];
      result.mean_nll_q8 -= q[next];
      const auto top = [](const std::vector<double>& v) {
        return std::max_element(v.begin(), v.end()) - v.begin();
      };
      if (top(p) == top(q)) ++equal;
      ++result.positions;
    }
  }
  std::sort(kls.begin(), kls.end());
  result.median_kl = kls[kls.size() / 2];
  result.largest_kl = kls.back();
  const auto n = static_cast<double>(result.positions);
  result.mean_kl /= n;
  result.mean_nll_bf16 /= n;
  result.mean_nll_q8 /= n;
  result.equal_top = static_cast<double>(equal) / n;
  return result;
}

}  // namespace weft
