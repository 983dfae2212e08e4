// The definition of linear attention and of its convolution, position by position, in float32.
//
// One column of a state, at one position, i in ascending order:
//
//   memory = fma over i of S[i] * key[i], from +0                      with the delta rule alone
//   change = (value - memory * decay) * beta                           a rounding each
//   S[i] = fma(key[i], change, S[i] * decay)
//   out = fma over i of S[i] * query[i], from +0
//
// One channel of a convolution: fma over j, in ascending order, from the bias or +0.
#include "model/kernels/scalar_recurrence.h"

#include "base/check.h"
#include "model/kernels/scalar_math.h"

namespace weft::scalar {
namespace {

// The step of one column at one position; its result.
float StepColumn(const RecurrenceTask& task, int64_t position, int64_t column) {
  const float* query = task.query + position * task.query_stride;
  const float* key = task.key + position * task.key_stride;
  const float decay = task.decay[position * task.gate_stride];
  float* state = task.state + column;
  float change = task.value[position * task.value_stride + column];
  if (task.beta != nullptr) {
    float memory = 0;
    for (int64_t i = 0; i < task.key_dim; ++i) {
      memory = FusedMultiplyAdd(state[i * task.state_stride], key[i], memory);
    }
    change = (change - memory * decay) * task.beta[position * task.gate_stride];
  }
  float out = 0;
  for (int64_t i = 0; i < task.key_dim; ++i) {
    float& element = state[i * task.state_stride];
    element = FusedMultiplyAdd(key[i], change, element * decay);
    out = FusedMultiplyAdd(element, query[i], out);
  }
  return out;
}

}  // namespace

void Recurrence(const RecurrenceTask& task) {
  for (int64_t position = 0; position < task.position_count; ++position) {
    for (int64_t column = 0; column < task.value_count; ++column) {
      task.out[position * task.out_stride + column] = StepColumn(task, position, column);
    }
  }
}

void Convolution(const ConvolutionTask& task) {
  WEFT_CHECK(task.width >= 1 && task.width <= ConvolutionTask::kMostWidth);
  const int64_t before = task.width - 1;
  for (int64_t channel = 0; channel < task.channel_count; ++channel) {
    float window[ConvolutionTask::kMostWidth];
    for (int64_t j = 0; j < before; ++j) window[j] = task.state[j * task.row_stride + channel];
    for (int64_t position = 0; position < task.position_count; ++position) {
      window[before] = task.x[position * task.x_stride + channel];
      float sum = task.bias == nullptr ? 0 : task.bias[channel];
      for (int64_t j = 0; j < task.width; ++j) {
        sum = FusedMultiplyAdd(task.weight[j * task.row_stride + channel], window[j], sum);
      }
      task.out[position * task.out_stride + channel] = sum;
      for (int64_t j = 0; j < before; ++j) window[j] = window[j + 1];
    }
    for (int64_t j = 0; j < before; ++j) task.state[j * task.row_stride + channel] = window[j];
  }
}

}  // namespace weft::scalar
