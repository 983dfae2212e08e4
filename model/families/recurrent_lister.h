// The tensors of layers that keep a state of fixed size.
#pragma once

#include <utility>
#include <vector>

#include "model/families/tensor_lister.h"

namespace weft {

class RecurrentLister : protected TensorLister {
 protected:
  RecurrentLister(const Hyperparameters& h, const DecoderTensors& names, const ModelSpec& spec,
                  ParameterList list)
      : TensorLister(h, names, spec.is_encoder, std::move(list)), hidden_(spec.hidden_size) {}

  void ListShortConv(ShortConvSpec& conv);
  void ListDeltaNet(DeltaNetSpec& net);
  void ListStateSpace(StateSpaceSpec& space);

  const int64_t hidden_;

 private:
  // Of each channel by itself.
  TableId ConvolutionTable(std::vector<TensorSource> sources, int64_t channels, int64_t width);

  // Of heads: how fast they forget. Safetensors have the logarithm of its negative.
  void FinishRates(int64_t head_count);

  // Which rows of a delta net's tensors a matrix takes.
  struct DeltaNetRows {
    int64_t of_head = 0;        // a key head's of this matrix
    int64_t first_in_head = 0;  // where they begin among all of a key head
    int64_t first = 0;          // where the matrix begins in a tensor that has one after the other,
    int64_t tensor_rows = 0;    // and the rows of that; 0: it has no other
  };
  // `by_head` has all that belongs to a key head, `head_rows` of it, then to the next.
  LinearSpec DeltaNetLinear(const DeltaNetSpec& net, TensorName by_head, int64_t head_rows,
                            TensorName name, const DeltaNetRows& rows, bool continues_loop);
};

}  // namespace weft
