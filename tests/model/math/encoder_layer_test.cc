// One encoder layer worked by hand: three tokens, four dimensions, two heads, layer norm after the
// residual, ReLU. That is the encoder of "Attention Is All You Need" (Vaswani et al., 2017,
// arXiv:1706.03762, section 3), in BERT's names:
//
//   X = LayerNorm(word + position + type)
//   Q = X Wq^T + bq,  K = X Wk^T,  V = X Wv^T + bv, the first two dimensions head 0, the others 1
//   S = Q K^T / sqrt(2),  P = softmax(S) by rows,  H = P V                            each head
//   A = H Wo^T + bo,      Y = LayerNorm(X + A)
//   U = Y W1^T + b1,      F = max(0, U) W2^T + b2,      Z = LayerNorm(Y + F)
//
// Weights are small enough for a sheet of paper, and exact in bf16. Every intermediate stands below
// as a number with nine digits behind the point. Each is held against the formula in double, from
// the one before; then our kernels compute each from the one before; then the model does all of it,
// from a checkpoint.
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/float_env.h"
#include "tests/model/kernels/tables_here.h"
#include "tests/model/model_fixture.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

// --- The sheet of paper ---

using Rows = std::vector<std::vector<double>>;

// "warp weft cloth": what each word is, and where it stands. The type's row is the same number four
// times, which is just what a layer norm takes away.
const Rows kWords = {{1, 0, -1, 0}, {1, 0, 0, -1}, {2, 1, -1, -2}};
const Rows kPositions = {{0, 1, 0, -1}, {0, -1, 1, 0}, {1, 0, 0, -1}};
const Rows kType = {{0.5, 0.5, 0.5, 0.5}};
const Rows kEmbedded = {{1.5, 1.5, -0.5, -0.5}, {1.5, -0.5, 1.5, -0.5}, {3.5, 1.5, -0.5, -2.5}};

// The means are 1/2 each. The first two rows are +-1 around it, of variance 1, and stay; the third
// is (3, 1, -1, -3), of variance (9 + 1 + 1 + 9) / 4 = 5: 3 / sqrt 5 = 1.3416, 1 / sqrt 5 = 0.4472.
const Rows kX = {
    {1, 1, -1, -1}, {1, -1, 1, -1}, {1.341640786, 0.447213595, -0.447213595, -1.341640786}};

// Head 0 asks for keys that are like its token in the first two dimensions; head 1 holds the last
// two against the first two, the other way round.
const Rows kWq = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
const Rows kBq = {{0, 0, 0.5, 0}};
const Rows kWk = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}, {1, 0, 0, 0}};
const Rows kBk = {{0, 0, 0, 0}};
const Rows kWv = {{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}};
const Rows kBv = {{0, 0, 0, 0.5}};
const Rows kQ = {
    {1, 1, -0.5, -1}, {1, -1, 1.5, -1}, {1.341640786, 0.447213595, 0.052786405, -1.341640786}};
const Rows kK = {
    {1, 1, 1, 1}, {1, -1, -1, 1}, {1.341640786, 0.447213595, 0.447213595, 1.341640786}};
const Rows kV = {
    {-1, -1, 1, 1.5}, {1, -1, 1, -0.5}, {-0.447213595, -1.341640786, 1.341640786, 0.947213595}};

// A score is a dot product over sqrt 2: of warp with itself in head 0 it is 2 / sqrt 2, with weft
// 0.
const std::array<Rows, 2> kScores = {{{{1.414213562, 0, 1.264911064},
                                       {0, 1.414213562, 0.632455532},
                                       {1.264911064, 0.632455532, 1.414213562}},
                                      {{-1.060660172, -0.353553391, -1.106797181},
                                       {0.353553391, -1.767766953, -0.474341649},
                                       {-0.911357673, -0.986008923, -1.256099679}}}};
// Each row sums to 1. In head 0 every word looks at itself most, in head 1 warp looks at weft and
// weft at warp.
const std::array<Rows, 2> kP = {{{{0.475189125, 0.115526428, 0.409284447},
                                  {0.142949505, 0.587987108, 0.269063387},
                                  {0.371428287, 0.197334504, 0.431237209}},
                                 {{0.251065390, 0.509189478, 0.239745133},
                                  {0.642326199, 0.076997729, 0.280676071},
                                  {0.379295015, 0.352011223, 0.268693762}}}};
// Means of the values, so that head 0 stays between -1.342 and 1, the ends of its columns of V.
const Rows kH = {{-0.542700266, -1.139828260, 1.081906716, 0.349093194},
                 {0.324708797, -1.091923027, 1.095890394, 1.190850625},
                 {-0.366948926, -1.147328219, 1.091796748, 0.647447296}};

// Half the sum of the heads, then half their difference.
const Rows kWo = {{0.5, 0, 0.5, 0}, {0, 0.5, 0, 0.5}, {0.5, 0, -0.5, 0}, {0, 0.5, 0, -0.5}};
const Rows kBo = {{0, 0, 0.25, 0}};
const Rows kA = {{0.269603225, -0.395367533, -0.562303491, -0.744460727},
                 {0.710299596, 0.049463799, -0.135590798, -1.141386826},
                 {0.362423911, -0.249940462, -0.479372837, -0.897387758}};
const Rows kXPlusA = {{1.269603225, 0.604632467, -1.562303491, -1.744460727},
                      {1.710299596, -0.950536201, 0.864409202, -2.141386826},
                      {1.704064698, 0.197273134, -0.926586433, -2.239028544}};

// Means -0.358132132, -0.129303557, -0.316069286; variances 1.737093425, 2.273626736, 2.103741312.
const Rows kNorm1Weight = {{1, 1, 2, 0.5}};
const Rows kNorm1Bias = {{0, 0.5, 0, 0}};
const Rows kY = {{1.235014933, 1.230480327, -1.827286732, -0.525925947},
                 {1.220013290, -0.044636346, 1.318048157, -0.667200511},
                 {1.392784763, 0.853924793, -0.841844141, -0.662893743}};

const Rows kW1 = {{1, 0, 0, -1},        {0, 1, -1, 0}, {-1, 0, 0, 1},
                  {0.5, 0.5, 0.5, 0.5}, {0, -1, 0, 0}, {1, 1, -1, -1}};
const Rows kB1 = {{0, 0, 0, -0.5, 0.5, 0}};
const Rows kU = {{1.760940880, 3.057767059, -1.760940880, -0.443858710, -0.730480327, 4.818707939},
                 {1.887213801, -1.362684502, -1.887213801, 0.413112295, 0.544636346, 0.524529298},
                 {2.055678506, 1.695768933, -2.055678506, -0.129014164, -0.353924793, 3.751447439}};
// W1's third row is its first one negated: of the two exactly one is ever above 0.
const Rows kRelu = {{1.760940880, 3.057767059, 0, 0, 0, 4.818707939},
                    {1.887213801, 0, 0, 0.413112295, 0.544636346, 0.524529298},
                    {2.055678506, 1.695768933, 0, 0, 0, 3.751447439}};
const Rows kW2 = {
    {0.5, 0, 0, 0, 0, -0.5}, {0, 0.5, 0, 1, 0, 0}, {0, 0, -0.5, 0, 1, 0}, {0, 0, 0, -1, 0, 0.25}};
const Rows kB2 = {{0, 0, 0, 0.5}};
const Rows kF = {{-1.528883530, 1.528883530, 0, 1.704676985},
                 {0.681342251, 0.413112295, 0.544636346, 0.218020030},
                 {-0.847884467, 0.847884467, 0, 1.437861860}};
const Rows kYPlusF = {{-0.293868597, 2.759363857, -1.827286732, 1.178751038},
                      {1.901355541, 0.368475949, 1.862684502, -0.449180481},
                      {0.544900296, 1.701809259, -0.841844141, 0.774968117}};

// Means 0.454239891, 0.920833878, 0.544958383; variances 2.900885735, 1.007635989, 0.828607418.
const Rows kNorm2Weight = {{1, 0.5, 1, 2}};
const Rows kNorm2Bias = {{0.25, 0, 0, -0.25}};
const Rows kZ = {{-0.189237359, 0.676704367, -1.339554013, 0.600765276},
                 {1.226799341, -0.275130515, 0.938275108, -2.979626837},
                 {0.249936188, 0.635437697, -1.523492129, 0.255361093}};

constexpr double kEpsilon = 1e-12;  // BERT's
const Rows kOnes = {{1, 1, 1, 1}};
const Rows kZeros = {{0, 0, 0, 0}};

// --- The formulas, in double ---

Rows Sum(const Rows& a, const Rows& b) {
  Rows sum = a;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t d = 0; d < a[i].size(); ++d) sum[i][d] += b[i % b.size()][d];
  }
  return sum;
}

// x W^T + b.
Rows Linear(const Rows& x, const Rows& weights, const Rows& bias) {
  Rows y;
  for (const auto& row : x) {
    y.push_back(bias[0]);
    for (size_t o = 0; o < weights.size(); ++o) {
      for (size_t i = 0; i < row.size(); ++i) y.back()[o] += weights[o][i] * row[i];
    }
  }
  return y;
}

Rows LayerNorm(const Rows& x, const Rows& weight, const Rows& bias) {
  Rows y = x;
  for (auto& row : y) {
    const auto n = static_cast<double>(row.size());
    double mean = 0;
    for (const double each : row) mean += each / n;
    double variance = 0;
    for (const double each : row) variance += (each - mean) * (each - mean) / n;
    for (size_t d = 0; d < row.size(); ++d) {
      row[d] = (row[d] - mean) / std::sqrt(variance + kEpsilon) * weight[0][d] + bias[0][d];
    }
  }
  return y;
}

Rows Columns(const Rows& x, size_t first, size_t count) {
  Rows part;
  for (const auto& row : x)
    part.emplace_back(row.begin() + static_cast<ptrdiff_t>(first),
                      row.begin() + static_cast<ptrdiff_t>(first + count));
  return part;
}

Rows Scores(const Rows& q, const Rows& k) {
  Rows scores = Linear(q, k, Rows{std::vector<double>(k.size())});
  for (auto& row : scores) {
    for (double& score : row) score /= std::sqrt(2.0);
  }
  return scores;
}

Rows Softmax(Rows x) {
  for (auto& row : x) {
    double sum = 0;
    for (double& each : row) sum += each = std::exp(each);
    for (double& each : row) each /= sum;
  }
  return x;
}

Rows Times(const Rows& a, const Rows& b) {
  Rows product(a.size(), std::vector<double>(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      for (size_t d = 0; d < b[j].size(); ++d) product[i][d] += a[i][j] * b[j][d];
    }
  }
  return product;
}

Rows Relu(Rows x) {
  for (auto& row : x) {
    for (double& each : row) each = std::max(0.0, each);
  }
  return x;
}

void ExpectNear(const Rows& found, const Rows& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size()) << what;
    for (size_t d = 0; d < expected[i].size(); ++d) {
      EXPECT_NEAR(found[i][d], expected[i][d], tolerance) << what << '[' << i << "][" << d << ']';
    }
  }
}

// The numbers above are what the formulas say. Nine digits of one make as many of the next, but for
// what a sum of some of them loses.
TEST(EncoderLayerTest, TheSheetIsRight) {
  constexpr double kDigits = 5e-9;
  ExpectNear(Sum(Sum(kWords, kPositions), kType), kEmbedded, 0, "embedded");
  ExpectNear(LayerNorm(kEmbedded, kOnes, kZeros), kX, kDigits, "X");
  ExpectNear(Linear(kX, kWq, kBq), kQ, kDigits, "Q");
  ExpectNear(Linear(kX, kWk, kBk), kK, kDigits, "K");
  ExpectNear(Linear(kX, kWv, kBv), kV, kDigits, "V");
  for (const size_t head : {0U, 1U}) {
    const Rows scores = Scores(Columns(kQ, 2 * head, 2), Columns(kK, 2 * head, 2));
    ExpectNear(scores, kScores[head], kDigits, "S");
    ExpectNear(Softmax(kScores[head]), kP[head], kDigits, "P");
    const Rows mean = Times(kP[head], Columns(kV, 2 * head, 2));
    ExpectNear(mean, Columns(kH, 2 * head, 2), kDigits, "H");
  }
  ExpectNear(Linear(kH, kWo, kBo), kA, kDigits, "A");
  ExpectNear(Sum(kX, kA), kXPlusA, kDigits, "X + A");
  ExpectNear(LayerNorm(kXPlusA, kNorm1Weight, kNorm1Bias), kY, kDigits, "Y");
  ExpectNear(Linear(kY, kW1, kB1), kU, kDigits, "U");
  ExpectNear(Relu(kU), kRelu, 0, "max(0, U)");
  ExpectNear(Linear(kRelu, kW2, kB2), kF, kDigits, "F");
  ExpectNear(Sum(kY, kF), kYPlusF, kDigits, "Y + F");
  ExpectNear(LayerNorm(kYPlusF, kNorm2Weight, kNorm2Bias), kZ, kDigits, "Z");
}

// --- Our kernels, one at a time ---

std::vector<float> Flat(const Rows& rows) {
  std::vector<float> values;
  for (const auto& row : rows) {
    for (const double each : row) values.push_back(static_cast<float>(each));
  }
  return values;
}

Rows Unflat(const std::vector<float>& values, size_t columns) {
  Rows rows;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % columns == 0) rows.emplace_back();
    rows.back().push_back(double{values[i]});
  }
  return rows;
}

// What a function of one row makes of each.
Rows ByRows(const Rows& rows, const std::function<void(std::vector<float>&)>& function) {
  Rows result;
  for (const auto& row : rows) {
    std::vector<float> x = Flat({row});
    function(x);
    result.push_back(Unflat(x, x.size())[0]);
  }
  return result;
}

Rows KernelNorm(const KernelTable& kernels, const Rows& x, const Rows& weight, const Rows& bias) {
  return ByRows(x, [&](std::vector<float>& row) {
    kernels.layer_norm(row.data(), Flat(weight).data(), Flat(bias).data(), std::ssize(row),
                       static_cast<float>(kEpsilon), row.data());
  });
}

Rows KernelLinear(const KernelTable& kernels, const Rows& x, const Rows& weights,
                  const Rows& bias) {
  const std::vector<float> values = Flat(weights);
  const auto outputs = std::ssize(weights);
  const PackedMatrix packed =
      Pack(kernels, TensorView::Contiguous(reinterpret_cast<const std::byte*>(values.data()),
                                           DataType::kF32, {outputs, std::ssize(weights[0])}));
  const OperandMatrix operands = ToOperands(kernels, kernels.operand_type(packed.layout), Flat(x),
                                            packed.columns, /*together=*/false);
  std::vector<float> y(x.size() * weights.size());
  MatmulTask task;
  task.weights = &packed;
  task.panel_count = packed.panel_count();
  operands.Describe(task);
  task.row_count = std::ssize(x);
  task.y = y.data();
  task.y_stride = outputs;
  kernels.matmul(task);
  for (size_t row = 0; row < x.size(); ++row) {
    kernels.add(y.data() + row * weights.size(), Flat(bias).data(), outputs);
  }
  return Unflat(y, weights.size());
}

// One head over one page, in which an encoder's rows see all positions.
Rows KernelAttention(const KernelTable& kernels, const Rows& q, const Rows& k, const Rows& v) {
  KvLayout layout = {.block_size = 16, .key_dim = 2, .value_dim = 2};
  layout.page_bytes = kernels.kv_page_bytes(layout);
  AlignedBuffer page(static_cast<size_t>(layout.page_bytes));
  for (size_t i = 0; i < k.size(); ++i) {
    kernels.kv_write(layout, page.data(), static_cast<int64_t>(i), Flat({k[i]}).data(),
                     Flat({v[i]}).data());
  }
  const int32_t block = 0;
  const std::vector<float> queries = Flat(q);
  std::vector<float> out(queries.size());
  AttentionTask task;
  task.layout = layout;
  task.pages = page.data();
  task.page_stride_bytes = layout.page_bytes;
  task.block_table = &block;
  task.row_count = std::ssize(q);
  task.lookahead = 1 << 30;
  task.length = std::ssize(k);
  task.heads = 1;
  task.scale = 1 / std::sqrt(2.0F);
  task.query = queries.data();
  task.query_stride = 2;
  task.out = out.data();
  task.out_stride = 2;
  AlignedBuffer scratch(
      static_cast<size_t>(kernels.attention_scratch_bytes(layout, task.row_count)) + 64);
  task.scratch = scratch.data();
  kernels.attention(task);
  return Unflat(out, 2);
}

// Each from the sheet's number before it. Products and attention round their operands to bf16, to
// one part in 512; the rest is float32 everywhere.
void ExpectKernelsGiveTheSheet(const KernelTable& kernels) {
  const ScopedFlushDenormals flush;
  const std::string name(kernels.name);
  const double float32 = 1e-6;
  const double operands = kernels.arithmetic == Arithmetic::kF32 ? 1e-6 : 0.03;
  ExpectNear(KernelNorm(kernels, kEmbedded, kOnes, kZeros), kX, float32, name + " X");
  ExpectNear(KernelLinear(kernels, kX, kWq, kBq), kQ, operands, name + " Q");
  ExpectNear(KernelLinear(kernels, kX, kWk, kBk), kK, operands, name + " K");
  ExpectNear(KernelLinear(kernels, kX, kWv, kBv), kV, operands, name + " V");
  for (const size_t head : {0U, 1U}) {
    const Rows p = ByRows(kScores[head], [&](std::vector<float>& row) {
      kernels.softmax(row.data(), std::ssize(row));
    });
    ExpectNear(p, kP[head], float32, name + " P");
    const auto of_head = [head](const Rows& rows) { return Columns(rows, 2 * head, 2); };
    ExpectNear(KernelAttention(kernels, of_head(kQ), of_head(kK), of_head(kV)), of_head(kH),
               operands, name + " H");
  }
  ExpectNear(KernelLinear(kernels, kH, kWo, kBo), kA, operands, name + " A");
  ExpectNear(KernelNorm(kernels, kXPlusA, kNorm1Weight, kNorm1Bias), kY, float32, name + " Y");
  ExpectNear(KernelLinear(kernels, kY, kW1, kB1), kU, operands, name + " U");
  const Rows relu = ByRows(kU, [&](std::vector<float>& row) {
    kernels.activate(row.data(), std::ssize(row), ActivationKind::kRelu, row.data());
  });
  ExpectNear(relu, kRelu, float32, name + " max(0, U)");
  ExpectNear(KernelLinear(kernels, kRelu, kW2, kB2), kF, operands, name + " F");
  ExpectNear(KernelNorm(kernels, kYPlusF, kNorm2Weight, kNorm2Bias), kZ, float32, name + " Z");
}

TEST(EncoderLayerTest, EachKernelGivesTheSheet) {
  ExpectKernelsGiveTheSheet(BlasTable());
  for (const KernelTable& kernels : TablesHere(Arithmetic::kBF16)) {
    ExpectKernelsGiveTheSheet(kernels);
  }
}

// --- The model ---

// The layer as a checkpoint of BERT: the sheet's matrices under transformers' names, a vocabulary
// of three words behind the five that BERT needs.
class Sheet {
 public:
  Sheet() {
    directory_.Write("config.json", R"({"architectures": ["BertModel"], "model_type": "bert",
      "hidden_act": "relu", "hidden_size": 4, "intermediate_size": 6, "layer_norm_eps": 1e-12,
      "max_position_embeddings": 3, "num_attention_heads": 2, "num_hidden_layers": 1,
      "type_vocab_size": 1, "vocab_size": 8})");
    directory_.Write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
    directory_.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwarp\nweft\ncloth\n");
    Rows words(5, std::vector<double>(4));
    words.insert(words.end(), kWords.begin(), kWords.end());
    Add("embeddings.word_embeddings.weight", words);
    Add("embeddings.position_embeddings.weight", kPositions);
    Add("embeddings.token_type_embeddings.weight", kType);
    AddVector("embeddings.LayerNorm.weight", kOnes);
    AddVector("embeddings.LayerNorm.bias", kZeros);
    AddLinear("attention.self.query", kWq, kBq);
    AddLinear("attention.self.key", kWk, kBk);
    AddLinear("attention.self.value", kWv, kBv);
    AddLinear("attention.output.dense", kWo, kBo);
    AddVector("encoder.layer.0.attention.output.LayerNorm.weight", kNorm1Weight);
    AddVector("encoder.layer.0.attention.output.LayerNorm.bias", kNorm1Bias);
    AddLinear("intermediate.dense", kW1, kB1);
    AddLinear("output.dense", kW2, kB2);
    AddVector("encoder.layer.0.output.LayerNorm.weight", kNorm2Weight);
    AddVector("encoder.layer.0.output.LayerNorm.bias", kNorm2Bias);
    const std::string header = "{" + entries_ + "}";
    const auto length = static_cast<uint64_t>(header.size());
    const std::string size(reinterpret_cast<const char*>(&length), sizeof(length));
    directory_.Write("model.safetensors", size + header + data_);
  }

  std::string path() const { return directory_.path(); }

 private:
  void AddLinear(const std::string& name, const Rows& weights, const Rows& bias) {
    Add("encoder.layer.0." + name + ".weight", weights);
    AddVector("encoder.layer.0." + name + ".bias", bias);
  }
  void AddVector(const std::string& name, const Rows& one) {
    Append(name, fmt::format("{}", one[0].size()), one);
  }
  void Add(const std::string& name, const Rows& rows) {
    Append(name, fmt::format("{}, {}", rows.size(), rows[0].size()), rows);
  }
  void Append(const std::string& name, const std::string& shape, const Rows& rows) {
    const std::vector<float> values = Flat(rows);
    const size_t begin = data_.size();
    data_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    entries_ +=
        fmt::format(R"({}"{}": {{"dtype": "F32", "shape": [{}], "data_offsets": [{}, {}]}})",
                    entries_.empty() ? "" : ", ", name, shape, begin, data_.size());
  }

  std::string entries_;
  std::string data_;
  const TemporaryDirectory directory_;
};

Rows Encoded(const Sheet& sheet, const KernelTable& kernels) {
  RunnableModel model(sheet.path(),
                      {.arithmetic = kernels.arithmetic,
                       .adjust_kernels = [&](KernelTable& table) { table = kernels; }});
  const Chunk chunk{.tokens = {5, 6, 7}, .block_table = model.Blocks(0, 3)};
  Rows rows;
  for (const std::vector<float>& row : model.HiddenStates(std::span(&chunk, 1))) {
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

TEST(EncoderLayerTest, TheModelGivesTheSheet) {
  const Sheet sheet;
  ExpectNear(Encoded(sheet, BlasTable()), kZ, 3e-6, "float32");
  Rows scalar;
  for (const KernelTable& kernels : TablesHere(Arithmetic::kBF16)) {
    const Rows found = Encoded(sheet, kernels);
    ExpectNear(found, kZ, 0.03, std::string(kernels.name));
    if (scalar.empty()) scalar = found;
    EXPECT_EQ(found, scalar) << kernels.name;
  }
}

// Text becomes the sheet's tokens, too.
TEST(EncoderLayerTest, TheTokenizerReadsItsWords) {
  const Sheet sheet;
  const auto tokenizer = LoadTokenizer(sheet.path());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto tokens = (*tokenizer)->Encode("Warp weft cloth", {.add_special_tokens = false});
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (std::vector<TokenId>{5, 6, 7}));
}

}  // namespace
}  // namespace weft
