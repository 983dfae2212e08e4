// Functions on rows of float32, over the vectors of vector_*.h; scalar.cc defines what they
// compute. Included inside an unnamed namespace of each instruction set's translation unit.
#pragma once

// Calls body(i, count) for each 16 elements of n, the last with what remains.
template <typename Body>
WEFT_VECTOR void ForEach16(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, 16);
  if (i < n) body(i, n - i);
}

WEFT_VECTOR F LoadSome(const float* p, int64_t count) {
  return count == 16 ? Load(p) : LoadFirst(p, count);
}

WEFT_VECTOR void StoreSome(float* p, F a, int64_t count) {
  if (count == 16) {
    Store(p, a);
  } else {
    StoreFirst(p, a, count);
  }
}

// `out` has room for whole sixteens of bf16; lanes beyond `count` become zeros.
WEFT_VECTOR void StoreOperand(uint16_t* out, F a, int64_t count) {
  StoreUint16(out, OperandBits(count == 16 ? a : SelectLanes(0, count, a, Zero())));
}

// Operand rows end on a multiple of 32: one more sixteen may be missing.
WEFT_VECTOR void PadOperand(uint16_t* out, int64_t n) {
  if ((n + 15) / 16 % 2 == 1) StoreUint16(out + (n + 15) / 16 * 16, SetInt(0));
}

WEFT_VECTOR F Exp(F x) {
  const F shift = Set(0x1.8p23F);
  const F shifted = Fma(x, Set(0x1.715476p+0F), shift);
  const F n = Subtract(shifted, shift);
  F r = Fma(n, Set(-0x1.62e4p-1F), x);
  r = Fma(n, Set(-0x1.7f7d1cp-20F), r);
  F p = Fma(Set(0x1.6a2354p-10F), r, Set(0x1.123a6cp-7F));
  p = Fma(p, r, Set(0x1.5558f4p-5F));
  p = Fma(p, r, Set(0x1.55549p-3F));
  p = Fma(p, r, Set(0x1.fffffcp-2F));
  p = Fma(p, r, Set(1.0F));
  p = Fma(p, r, Set(1.0F));
  const F power = AsFloat(AddInts(ShiftLeft<23>(AsInts(shifted)), SetInt(0x3f800000)));
  const F result = Multiply(p, power);
  const F not_low = SelectLess(x, Set(-87.3F), Zero(), result);
  return SelectLess(Set(88.3F), x, Set(__builtin_inff()), not_low);
}

template <ActivationKind kKind>
WEFT_VECTOR F Activate(F x) {
  // -x is the sign bit's change, not 0 - x.
  F argument = AsFloat(AddInts(AsInts(x), SetInt(INT32_MIN)));
  if constexpr (kKind == ActivationKind::kGelu) {
    const F cubic = Fma(Multiply(Multiply(x, x), Set(0.044715F)), x, x);
    argument = Multiply(cubic, Set(-1.5957691F));
  }
  return Divide(x, Add(Set(1.0F), Exp(argument)));
}

void ToOperand(const float* x, int64_t n, void* out) {
  auto* operand = static_cast<uint16_t*>(out);
  ForEach16(n, [=](int64_t i, int64_t count) {
    StoreOperand(operand + i, LoadSome(x + i, count), count);
  });
  PadOperand(operand, n);
}

float RmsScale(const float* x, int64_t n, float epsilon) {
  F squares = Zero();
  ForEach16(n, [&](int64_t i, int64_t count) {
    const F value = LoadSome(x + i, count);
    squares = Fma(value, value, squares);
  });
  const float mean = Fold(squares) / static_cast<float>(n);
  return 1.0F / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + epsilon)));
}

void RmsNorm(const float* x, const float* weight, int64_t n, float epsilon, float* out) {
  const F scale = Set(RmsScale(x, n, epsilon));
  ForEach16(n, [=](int64_t i, int64_t count) {
    const F scaled = Multiply(LoadSome(x + i, count), scale);
    StoreSome(out + i, Multiply(scaled, LoadSome(weight + i, count)), count);
  });
}

void RmsNormToOperand(const float* x, const float* weight, int64_t n, float epsilon, void* out) {
  const F scale = Set(RmsScale(x, n, epsilon));
  auto* operand = static_cast<uint16_t*>(out);
  ForEach16(n, [=](int64_t i, int64_t count) {
    const F scaled = Multiply(LoadSome(x + i, count), scale);
    StoreOperand(operand + i, Multiply(scaled, LoadSome(weight + i, count)), count);
  });
  PadOperand(operand, n);
}

void RopeHalves(float* head, const float* cos, const float* sin, int64_t half) {
  ForEach16(half, [=](int64_t i, int64_t count) {
    const F a = LoadSome(head + i, count);
    const F b = LoadSome(head + half + i, count);
    const F c = LoadSome(cos + i, count);
    const F s = LoadSome(sin + i, count);
    StoreSome(head + i, Subtract(Multiply(a, c), Multiply(b, s)), count);
    StoreSome(head + half + i, Add(Multiply(a, s), Multiply(b, c)), count);
  });
}

void Rope(float* head, const float* cos, const float* sin, int64_t rotary_dim,
          RopePairing pairing) {
  const int64_t half = rotary_dim / 2;
  if (pairing == RopePairing::kHalves) {
    RopeHalves(head, cos, sin, half);
    return;
  }
  for (int64_t i = 0; i < half; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cos[i] - b * sin[i];
    head[2 * i + 1] = a * sin[i] + b * cos[i];
  }
}

// Calls store(i, value, count) with activation(gate) * up.
template <typename StoreValue>
WEFT_VECTOR void ForEachGated(const float* gate, const float* up, int64_t n,
                              ActivationKind activation, const StoreValue& store) {
  if (activation == ActivationKind::kSilu) {
    ForEach16(n, [&](int64_t i, int64_t count) {
      const F active = Activate<ActivationKind::kSilu>(LoadSome(gate + i, count));
      store(i, Multiply(active, LoadSome(up + i, count)), count);
    });
  } else {
    ForEach16(n, [&](int64_t i, int64_t count) {
      const F active = Activate<ActivationKind::kGelu>(LoadSome(gate + i, count));
      store(i, Multiply(active, LoadSome(up + i, count)), count);
    });
  }
}

void GatedActivation(const float* gate, const float* up, int64_t n, ActivationKind activation,
                     float* out) {
  ForEachGated(gate, up, n, activation,
               [=](int64_t i, F value, int64_t count) { StoreSome(out + i, value, count); });
}

void GatedActivationToOperand(const float* gate, const float* up, int64_t n,
                              ActivationKind activation, void* out) {
  auto* operand = static_cast<uint16_t*>(out);
  ForEachGated(gate, up, n, activation,
               [=](int64_t i, F value, int64_t count) { StoreOperand(operand + i, value, count); });
  PadOperand(operand, n);
}

void AddRow(float* x, const float* y, int64_t n) {
  ForEach16(n, [=](int64_t i, int64_t count) {
    StoreSome(x + i, Add(LoadSome(x + i, count), LoadSome(y + i, count)), count);
  });
}

void MultiplyAddRow(float* x, const float* y, float factor, int64_t n) {
  const F factors = Set(factor);
  ForEach16(n, [=](int64_t i, int64_t count) {
    StoreSome(x + i, Fma(LoadSome(y + i, count), factors, LoadSome(x + i, count)), count);
  });
}

// The largest lane. NaN never gets into a maximum, so the order does not matter.
WEFT_VECTOR float LargestLane(F a) {
  float lanes[16];
  Store(lanes, a);
  float maximum = lanes[0];
  for (int i = 1; i < 16; ++i) maximum = lanes[i] > maximum ? lanes[i] : maximum;
  return maximum;
}

void Softmax(float* x, int64_t n) {
  const F lowest = Set(-__builtin_inff());
  F maxima = lowest;
  ForEach16(n, [&](int64_t i, int64_t count) {
    maxima = Max(SelectLanes(0, count, LoadSome(x + i, count), lowest), maxima);
  });
  const F maximum = Set(LargestLane(maxima));
  F sums = Zero();
  ForEach16(n, [&](int64_t i, int64_t count) {
    const F p = Exp(Subtract(LoadSome(x + i, count), maximum));
    StoreSome(x + i, p, count);
    sums = Add(sums, SelectLanes(0, count, p, Zero()));
  });
  const F sum = Set(Fold(sums));
  ForEach16(n, [=](int64_t i, int64_t count) {
    StoreSome(x + i, Divide(LoadSome(x + i, count), sum), count);
  });
}

void DenseDot(const float* x, const float* w, int64_t rows, int64_t columns, float* y) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* w_row = w + row * columns;
    F lanes = Zero();
    ForEach16(columns, [&](int64_t i, int64_t count) {
      lanes = Fma(LoadSome(x + i, count), LoadSome(w_row + i, count), lanes);
    });
    y[row] = Fold(lanes);
  }
}

void KvWrite(const KvLayout& layout, std::byte* page, int64_t slot, const float* key,
             const float* value) {
  auto* keys = reinterpret_cast<uint16_t*>(page);
  auto* values = reinterpret_cast<uint16_t*>(page + KeyBytes(layout.block_size, layout.head_dim));
  uint16_t* value_row = values + slot / 2 * ValueColumns(layout.head_dim) * 2 + slot % 2;
  ForEach16(layout.head_dim, [=](int64_t i, int64_t count) {
    uint16_t bits[16];
    StoreOperand(bits, LoadSome(key + i, count), count);
    for (int64_t j = 0; j < count; ++j) {
      keys[((i + j) / 2 * layout.block_size + slot) * 2 + j % 2] = bits[j];
    }
    StoreOperand(bits, LoadSome(value + i, count), count);
    for (int64_t j = 0; j < count; ++j) value_row[(i + j) * 2] = bits[j];
  });
}
