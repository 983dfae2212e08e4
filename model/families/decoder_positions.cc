// Positions that are added to embeddings, and that no checkpoint has.
#include <utility>

#include "base/exact_math.h"
#include "model/families/decoder.h"

namespace weft {
namespace {

std::vector<float> Sinusoids(int64_t positions, int64_t size, int64_t divisor) {
  std::vector<float> table;
  table.reserve(static_cast<size_t>(positions * size));
  std::vector<double> frequencies;
  for (int64_t i = 0; i < size / 2; ++i) {
    frequencies.push_back(
        exact::Pow(10000, -static_cast<double>(i) / static_cast<double>(divisor)));
  }
  for (int64_t position = 0; position < positions; ++position) {
    const auto at = static_cast<double>(position);
    for (const double f : frequencies) table.push_back(static_cast<float>(exact::Sin(at * f)));
    for (const double f : frequencies) table.push_back(static_cast<float>(exact::Cos(at * f)));
  }
  return table;
}

}  // namespace

void SetSinusoids(Hyperparameters& h, int64_t offset, int64_t divisor, ModelSpec& spec,
                  DecoderTensors& tensors) {
  // No tensor says how many there are, so that a file must not ask for more than any such model
  // has.
  constexpr int64_t kMostElements = int64_t{1} << 25;
  spec.embedding.position_offset = offset;
  spec.embedding.position_count = spec.context_length + offset;
  if (spec.hidden_size % 2 != 0 || spec.hidden_size < 4) {
    h.Reject(ErrorCode::kUnsupported, {"", "d_model"}, "must be even and above 2");
  } else if (spec.embedding.position_count > kMostElements / spec.hidden_size) {
    h.Reject(ErrorCode::kUnsupported, {"", "max_position_embeddings"},
             "makes a table of more than 2^25 sinusoids");
  } else {
    tensors.sinusoids = [positions = spec.embedding.position_count, size = spec.hidden_size,
                         divisor] { return Sinusoids(positions, size, divisor); };
  }
}

}  // namespace weft
