// Attention over paged bf16 keys and values, over the vectors of vector_*.h; scalar_attention.cc
// defines what it computes. Included inside an unnamed namespace of each instruction set's
// translation unit.
//
// Query rows are (position, head) pairs, heads fastest. For each span of positions, blocks of
// kAttentionRows query rows share every key and value that they load: AttendSpan leaves a block's
// unmerged result for the span, Merge folds it into the rows' totals.
#pragma once

// Where the parts of AttentionTask::scratch lie, in floats; every part is whole vectors.
struct Scratch {
  float* queries;  // [query_rows][query_columns], rounded to bf16
  float* totals;   // [query_rows][value_columns]: merged output so far
  float* maxima;   // [query_rows]
  float* sums;     // [query_rows]
  float* scores;   // [kAttentionRows][kAttentionSpan], then the probabilities, rounded
  float* outputs;  // [kAttentionRows][value_columns]: of this span
  int64_t query_columns;
  int64_t value_columns;
};

WEFT_VECTOR int64_t Whole16(int64_t n) { return (n + 15) / 16 * 16; }

Scratch LayOutScratch(const KvLayout& layout, int64_t query_rows, float* memory) {
  Scratch scratch = {};
  scratch.query_columns = Whole16(layout.head_dim);
  scratch.value_columns = ValueColumns(layout.head_dim);
  scratch.queries = memory;
  scratch.totals = scratch.queries + query_rows * scratch.query_columns;
  scratch.maxima = scratch.totals + query_rows * scratch.value_columns;
  scratch.sums = scratch.maxima + Whole16(query_rows);
  scratch.scores = scratch.sums + Whole16(query_rows);
  scratch.outputs = scratch.scores + kAttentionRows * kAttentionSpan;
  return scratch;
}

int64_t AttentionScratchBytes(const KvLayout& layout, int64_t query_rows) {
  const int64_t row = Whole16(layout.head_dim) + ValueColumns(layout.head_dim);
  const int64_t block = kAttentionRows * (kAttentionSpan + ValueColumns(layout.head_dim));
  return (query_rows * row + 2 * Whole16(query_rows) + block) * static_cast<int64_t>(sizeof(float));
}

// Positions [first, end), or slots of a span.
struct Range {
  int64_t first;
  int64_t end;
};

WEFT_VECTOR Range Visible(const AttentionTask& task, int64_t row) {
  const int64_t end = task.first_position + row + 1;
  const int64_t first = end - task.sliding_window;
  return {task.sliding_window > 0 && first > 0 ? first : 0, end};
}

// The part of `range` in the span from position `base`, as slots; empty ranges have end <= first.
WEFT_VECTOR Range InSpan(Range range, int64_t base) {
  const int64_t first = range.first > base ? range.first - base : 0;
  const int64_t end = range.end - base;
  return {first, end < kAttentionSpan ? end : kAttentionSpan};
}

WEFT_VECTOR const uint16_t* PageAt(const AttentionTask& task, int64_t position) {
  const int64_t block = task.block_table[position / task.layout.block_size];
  return reinterpret_cast<const uint16_t*>(task.pages + block * task.page_stride_bytes);
}

// A pair of bf16 in each lane: the first (kHalf 0) or the second, as float32.
template <int kHalf>
WEFT_VECTOR F HalfOfPairs(const uint16_t* pairs) {
  const I both = LoadInts(pairs);
  return AsFloat(kHalf == 0 ? ShiftLeft<16>(both)
                            : And(both, SetInt(static_cast<int32_t>(0xffff0000))));
}

// chain[row] = one chain of the scores of 16 slots over the `pairs` (at most 16) of a group of
// head_dim.
template <int kRows, int kHalf>
WEFT_VECTOR void ScoreChain(const float* queries, int64_t query_stride, const uint16_t* keys,
                            int64_t key_stride, int64_t pairs, F (&chain)[kRows]) {
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) chain[row] = Zero();
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const F key = HalfOfPairs<kHalf>(keys + pair * key_stride);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      chain[row] = Fma(Set(queries[row * query_stride + 2 * pair + kHalf]), key, chain[row]);
    }
  }
  if (pairs < 16) {  // the rest of the group is zeros; adding one makes -0 into 0
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) chain[row] = Add(chain[row], Zero());
  }
}

// Scores of kRows queries with the 16 slots from `position`, a multiple of 16.
template <int kRows>
void Score16(const AttentionTask& task, const float* queries, int64_t query_stride,
             int64_t position, float* scores) {
  const int64_t block_size = task.layout.block_size;
  const uint16_t* keys = PageAt(task, position) + position % block_size * 2;
  F sum[kRows];
  for (int row = 0; row < kRows; ++row) sum[row] = Zero();
  for (int64_t first = 0; first < task.layout.head_dim; first += kGroupColumns) {
    const int64_t left = (task.layout.head_dim - first) / 2;
    const int64_t pairs = left < 16 ? left : 16;
    const uint16_t* group = keys + first / 2 * block_size * 2;
    F even[kRows];
    F odd[kRows];
    ScoreChain<kRows, 0>(queries + first, query_stride, group, block_size * 2, pairs, even);
    ScoreChain<kRows, 1>(queries + first, query_stride, group, block_size * 2, pairs, odd);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) sum[row] = Add(sum[row], Add(even[row], odd[row]));
  }
  for (int row = 0; row < kRows; ++row) {
    Store(scores + row * kAttentionSpan, Multiply(sum[row], Set(task.scale)));
  }
}

// Scores of slots `visible` into rounded probabilities; slots up to the next multiples of 16 become
// zero.
void SoftmaxSpan(Range visible, float* scores, float& maximum, float& sum) {
  const F lowest = Set(-__builtin_inff());
  const int64_t first_chunk = visible.first / 16 * 16;
  const auto select = [=](int64_t chunk, F value, F other) {
    const int64_t first = visible.first > chunk ? visible.first - chunk : 0;
    const int64_t end = visible.end - chunk < 16 ? visible.end - chunk : 16;
    return SelectLanes(first, end, value, other);
  };
  F maxima = lowest;
  for (int64_t chunk = first_chunk; chunk < visible.end; chunk += 16) {
    maxima = Max(select(chunk, Load(scores + chunk), lowest), maxima);
  }
  maximum = LargestLane(maxima);
  const F maximum_lanes = Set(maximum);
  F sums = Zero();
  for (int64_t chunk = first_chunk; chunk < visible.end; chunk += 16) {
    const F p = select(chunk, Exp(Subtract(Load(scores + chunk), maximum_lanes)), Zero());
    sums = Add(sums, p);
    Store(scores + chunk, AsFloat(ShiftLeft<16>(OperandBits(p))));
  }
  sum = Fold(sums);
}

// Where the values of pair p (slots 2p, 2p + 1) of 32 slots begin; nullptr for pairs that nobody
// may read.
struct ValuePairs {
  const uint16_t* pair[16];
};

ValuePairs FindValues(const AttentionTask& task, int64_t position, Range readable) {
  const KvLayout& layout = task.layout;
  ValuePairs values = {};
  const int64_t key_elements = KeyBytes(layout.block_size, layout.head_dim) / 2;
  for (int64_t half = 0; half < 2; ++half) {
    if (readable.first >= 16 * half + 16 || readable.end <= 16 * half) continue;
    const int64_t first = position + 16 * half;
    const uint16_t* rows = PageAt(task, first) + key_elements;
    for (int64_t pair = 0; pair < 8; ++pair) {
      const int64_t slot = first % layout.block_size + 2 * pair;
      values.pair[8 * half + pair] = rows + slot * ValueColumns(layout.head_dim);
    }
  }
  return values;
}

template <int kRows, int kHalf>
WEFT_VECTOR void ValueChain(const float* probabilities, const ValuePairs& values, int64_t column,
                            F (&chain)[kRows]) {
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) chain[row] = Zero();
  for (int64_t pair = 0; pair < 16; ++pair) {
    const F value = HalfOfPairs<kHalf>(values.pair[pair] + 2 * column);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const float p = probabilities[row * kAttentionSpan + 2 * pair + kHalf];
      chain[row] = Fma(Set(p), value, chain[row]);
    }
  }
}

// outputs += probabilities * values over 32 slots that all of kRows rows see.
template <int kRows>
void AddValues(const float* probabilities, const ValuePairs& values, int64_t columns,
               float* outputs) {
  for (int64_t column = 0; column < columns; column += 16) {
    F even[kRows];
    F odd[kRows];
    ValueChain<kRows, 0>(probabilities, values, column, even);
    ValueChain<kRows, 1>(probabilities, values, column, odd);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      float* output = outputs + row * columns + column;
      Store(output, Add(Load(output), Add(even[row], odd[row])));
    }
  }
}

template <int kHalf>
WEFT_VECTOR F MaskedValueChain(const float* probabilities, const ValuePairs& values, int64_t column,
                               Range visible) {
  F chain = Zero();
  for (int64_t pair = 0; pair < 16; ++pair) {
    const int64_t slot = 2 * pair + kHalf;
    if (slot < visible.first || slot >= visible.end) {
      chain = Add(chain, Zero());  // as the definition's 0 * 0
    } else {
      const F value = HalfOfPairs<kHalf>(values.pair[pair] + 2 * column);
      chain = Fma(Set(probabilities[slot]), value, chain);
    }
  }
  return chain;
}

// The same for one row that sees only some of the 32 slots; the others are not multiplied.
void AddMaskedValues(const float* probabilities, const ValuePairs& values, int64_t columns,
                     Range visible, float* output) {
  for (int64_t column = 0; column < columns; column += 16) {
    const F even = MaskedValueChain<0>(probabilities, values, column, visible);
    const F odd = MaskedValueChain<1>(probabilities, values, column, visible);
    Store(output + column, Add(Load(output + column), Add(even, odd)));
  }
}

// Query rows [first, first + kRows) and the span from `base`.
struct RowBlock {
  int64_t first;
  int64_t base;
};

// Scores of all rows with the slots that any of them sees.
template <int kRows>
WEFT_VECTOR void ScoreSpan(const AttentionTask& task, const Scratch& scratch, RowBlock block,
                           Range any) {
  const float* queries = scratch.queries + block.first * scratch.query_columns;
  for (int64_t chunk = any.first / 16 * 16; chunk < any.end; chunk += 16) {
    Score16<kRows>(task, queries, scratch.query_columns, block.base + chunk,
                   scratch.scores + chunk);
  }
}

template <int kRows>
WEFT_VECTOR void SumValues(const AttentionTask& task, const Scratch& scratch, RowBlock block,
                           Range any, const Range (&visible)[kRows]) {
  const int64_t columns = scratch.value_columns;
  for (int64_t i = 0; i < kRows * columns; i += 16) Store(scratch.outputs + i, Zero());
  for (int64_t slot = any.first / 32 * 32; slot < any.end; slot += 32) {
    const ValuePairs values =
        FindValues(task, block.base + slot, {any.first - slot, any.end - slot});
    bool all = true;
    for (const Range& range : visible) all = all && range.first <= slot && range.end >= slot + 32;
    if (all) {
      AddValues<kRows>(scratch.scores + slot, values, columns, scratch.outputs);
      continue;
    }
    for (int row = 0; row < kRows; ++row) {
      const Range range = {visible[row].first - slot, visible[row].end - slot};
      if (range.first >= 32 || range.end <= 0 || range.end <= range.first) continue;
      AddMaskedValues(scratch.scores + row * kAttentionSpan + slot, values, columns, range,
                      scratch.outputs + row * columns);
    }
  }
}

// Folds a span's result into the total of one query row; the row's first span becomes the total.
void Merge(const Scratch& scratch, int64_t query_row, int64_t block_row, bool is_first,
           float maximum, float sum) {
  const int64_t columns = scratch.value_columns;
  const float* output = scratch.outputs + block_row * columns;
  float* total = scratch.totals + query_row * columns;
  float& total_maximum = scratch.maxima[query_row];
  float& total_sum = scratch.sums[query_row];
  if (is_first) {
    total_maximum = maximum;
    total_sum = sum;
    for (int64_t i = 0; i < columns; i += 16) Store(total + i, Add(Load(output + i), Zero()));
    return;
  }
  const float new_maximum = maximum > total_maximum ? maximum : total_maximum;
  const F keep = Exp(Set(total_maximum - new_maximum));
  const F take = Exp(Set(maximum - new_maximum));
  float sums[16];
  Store(sums, Fma(Set(sum), take, Multiply(Set(total_sum), keep)));
  total_maximum = new_maximum;
  total_sum = sums[0];
  for (int64_t i = 0; i < columns; i += 16) {
    const F value = Add(Load(output + i), Zero());
    Store(total + i, Fma(value, take, Multiply(Load(total + i), keep)));
  }
}

template <int kRows>
void AttendSpan(const AttentionTask& task, const Scratch& scratch, RowBlock block) {
  Range visible[kRows];
  Range any = {kAttentionSpan, 0};
  for (int row = 0; row < kRows; ++row) {
    visible[row] = InSpan(Visible(task, (block.first + row) / task.heads), block.base);
    if (visible[row].end <= visible[row].first) continue;
    if (visible[row].first < any.first) any.first = visible[row].first;
    if (visible[row].end > any.end) any.end = visible[row].end;
  }
  if (any.end <= any.first) return;
  ScoreSpan<kRows>(task, scratch, block, any);
  float maximum[kRows];
  float sum[kRows];
  for (int row = 0; row < kRows; ++row) {
    if (visible[row].end <= visible[row].first) continue;
    SoftmaxSpan(visible[row], scratch.scores + row * kAttentionSpan, maximum[row], sum[row]);
  }
  SumValues<kRows>(task, scratch, block, any, visible);
  for (int row = 0; row < kRows; ++row) {
    if (visible[row].end <= visible[row].first) continue;
    const int64_t first = Visible(task, (block.first + row) / task.heads).first;
    const bool is_first = first >= block.base;
    Merge(scratch, block.first + row, row, is_first, maximum[row], sum[row]);
  }
}

// One span for all query rows, in blocks of up to kAttentionRows.
void AttendSpanAllRows(const AttentionTask& task, const Scratch& scratch, int64_t base) {
  const int64_t rows = task.row_count * task.heads;
  int64_t row = 0;
  for (; row + kAttentionRows <= rows; row += kAttentionRows) {
    AttendSpan<kAttentionRows>(task, scratch, {row, base});
  }
  if constexpr (kAttentionRows > 4) {
    for (; row + 4 <= rows; row += 4) AttendSpan<4>(task, scratch, {row, base});
  }
  for (; row + 2 <= rows; row += 2) AttendSpan<2>(task, scratch, {row, base});
  for (; row < rows; ++row) AttendSpan<1>(task, scratch, {row, base});
}

void Attention(const AttentionTask& task) {
  const int64_t head_dim = task.layout.head_dim;
  const int64_t query_rows = task.row_count * task.heads;
  const Scratch scratch =
      LayOutScratch(task.layout, query_rows, reinterpret_cast<float*>(task.scratch));
  for (int64_t q = 0; q < query_rows; ++q) {
    const float* query =
        task.query + q / task.heads * task.query_stride + q % task.heads * head_dim;
    float* rounded = scratch.queries + q * scratch.query_columns;
    ForEach16(head_dim, [=](int64_t i, int64_t count) {
      Store(rounded + i, AsFloat(ShiftLeft<16>(OperandBits(LoadSome(query + i, count)))));
    });
  }
  const int64_t first = Visible(task, 0).first / kAttentionSpan * kAttentionSpan;
  const int64_t end = task.first_position + task.row_count;
  for (int64_t base = first; base < end; base += kAttentionSpan) {
    AttendSpanAllRows(task, scratch, base);
  }
  for (int64_t q = 0; q < query_rows; ++q) {
    const float* total = scratch.totals + q * scratch.value_columns;
    const F sum = Set(scratch.sums[q]);
    uint16_t* out = static_cast<uint16_t*>(task.out) + q / task.heads * task.out_stride +
                    q % task.heads * head_dim;
    ForEach16(head_dim, [=](int64_t i, int64_t count) {
      uint16_t bits[16];
      StoreUint16(bits, OperandBits(Divide(Load(total + i), sum)));
      __builtin_memcpy(out + i, bits, static_cast<size_t>(count) * 2);
    });
  }
}
