// The text of `weft inspect`.
#include "model/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format_bytes.h"
#include "model/kv_cache.h"
#include "model/weights.h"
#include "model/workspace.h"
#include "tests/model/model_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Checkpoint Load(const std::string& path) {
  Result<Checkpoint> checkpoint = LoadCheckpoint(path);
  if (!checkpoint) throw std::runtime_error(checkpoint.error().message);
  return *std::move(checkpoint);
}

// The line that begins with this name, without the name.
std::string LineOf(const std::string& text, const std::string& name) {
  const size_t begin = ("\n" + text).find("\n" + name + " ");
  if (begin == std::string::npos) return "absent";
  const size_t fact = text.find_first_not_of(' ', begin + name.size());
  return text.substr(fact, text.find('\n', fact) - fact);
}

TEST(Inspect, TellsWhatAnEncoderIsFor) {
  const std::string text = DescribeCheckpoint(Load(ParityPath("bert_classifier", "hf")), {});
  EXPECT_EQ(LineOf(text, "embedding"), "24 numbers, of all positions, their mean");
  EXPECT_EQ(LineOf(text, "labels"), "3: 'LABEL_0', 'LABEL_1', 'LABEL_2'");
  const std::string sparse = DescribeCheckpoint(Load(ParityPath("bert_masked", "hf")), {});
  EXPECT_EQ(LineOf(sparse, "sparse vector"), "of the head for masked tokens");
  const std::string ranker = DescribeCheckpoint(Load(ParityPath("gte_classifier", "hf")), {});
  EXPECT_EQ(LineOf(ranker, "ranks"), "pairs of texts, a score is a probability");
  const std::string decoder = DescribeCheckpoint(Load(ParityPath("llama2", "hf")), {});
  EXPECT_EQ(LineOf(decoder, "embedding"), "absent");
  EXPECT_EQ(LineOf(decoder, "labels"), "absent");
}

TEST(Inspect, TellsOfDeltaNets) {
  for (const char* file : {"hf", "model.gguf"}) {
    const std::string text = DescribeCheckpoint(Load(ParityPath("qwen3_5", file)), {});
    EXPECT_THAT(text, HasSubstr("delta net, 2 heads of 6 for 4 of 6, convolution over 4 (in 3 of "
                                "4 layers)\n"));
    EXPECT_THAT(text, HasSubstr("4 heads of 8, 1 KV heads, queries and keys normalised a head, "
                                "gated (in 1 of 4 layers)\n"));
    EXPECT_EQ(LineOf(text, "not computed"), "1 layer guessing tokens further ahead");
    // (3 * 48 + 4 * 6 * 6) numbers in each of three layers.
    EXPECT_THAT(text, HasSubstr(", 3.4 KiB a state"));
  }
}

TEST(Inspect, TellsWhatAMixtureOfExpertsHolds) {
  const std::string path = ParityPath("mixtral", "model.gguf");
  const Checkpoint checkpoint = Load(path);
  const std::string text = DescribeCheckpoint(checkpoint, {});
  EXPECT_EQ(LineOf(text, "file"), path + " (GGUF v3, " + FormatBytes(checkpoint.file_bytes) + ")");
  EXPECT_EQ(LineOf(text, "architecture"), "mixtral, named 'mixtral'");
  EXPECT_EQ(LineOf(text, "sizes"), "2 layers, hidden size 48, feed-forward 40 an expert");
  EXPECT_EQ(LineOf(text, "experts"),
            "6, 2 a token, softmax before the choice, weights renormalised");
  EXPECT_EQ(LineOf(text, "attention"), "4 heads of 12, 2 KV heads");
  EXPECT_EQ(LineOf(text, "RoPE"), "base 1e+06, 12 of 12 elements a head, neighbours paired");
  EXPECT_EQ(LineOf(text, "context"), "128 positions");
  EXPECT_EQ(LineOf(text, "tokenizer"), checkpoint.tokenizer->description());
  EXPECT_EQ(LineOf(text, "chat template"), "none");
  // Experts: 2 layers x 6 experts x 3 matrices x 48 x 40 = 69120, of which 2 in 6 are active.
  EXPECT_EQ(LineOf(text, "parameters"),
            "109104, 63024 of them active a token; output head of its own");
  EXPECT_EQ(LineOf(text, "type F32"), "7 tensors, 816 parameters, 3.2 KiB");
  EXPECT_EQ(LineOf(text, "type BF16"), "46 tensors, 108288 parameters, 0.2 MiB");
  EXPECT_THAT(text, Not(HasSubstr("type Q4_0")));
}

TEST(Inspect, TellsTheMemoryThatLoadingAllocates) {
  const Checkpoint checkpoint = Load(ParityPath("qwen3", "model.gguf"));
  const InspectOptions options = {.thread_count = 3, .max_batch_tokens = 64, .block_size = 16};
  const std::string text = DescribeCheckpoint(checkpoint, options);
  for (const Arithmetic arithmetic : {Arithmetic::kBF16, Arithmetic::kF32}) {
    const KernelTable& kernels = KernelsFor(arithmetic, Isa::kScalar);
    const auto bytes = [](int64_t count) { return FormatBytes(static_cast<uint64_t>(count)); };
    const int64_t block = KvCache::BlockBytes(
        checkpoint.spec, StateGroupsOf(checkpoint.spec, 1024).front(), kernels, 16);
    const int64_t blocks = (checkpoint.spec.context_length + 15) / 16;
    EXPECT_EQ(LineOf(text, fmt::format("memory {}", NameOf(arithmetic))),
              fmt::format("weights {}, KV cache {} a token ({} a full context), workspace {} "
                          "(steps of 64 tokens, thread count 3)",
                          bytes(Weights::PackedBytes(checkpoint.tensors, kernels)),
                          bytes(block / 16), bytes(blocks * block),
                          bytes(Workspace::Bytes(checkpoint.spec, kernels, {64, 16, 3}))));
  }
  // Two scales of 4 bytes and two codes an element.
  const ModelSpec& spec = checkpoint.spec;
  const AttentionSpec& heads = spec.layers.front().attention;
  const int64_t token = spec.layer_count() * heads.kv_head_count *
                        (heads.key_dim + (heads.key_dim + 15) / 16 * 16 + 8);
  EXPECT_THAT(
      LineOf(text, "--kv-type q8"),
      HasSubstr(fmt::format("KV cache {} a token", FormatBytes(static_cast<uint64_t>(token)))));
  const std::string quantised =
      DescribeCheckpoint(Load(SourcePath("model/demo/weft-demo.gguf")), options);
  EXPECT_EQ(LineOf(quantised, "--kv-type q8"), "absent");
  EXPECT_THAT(LineOf(quantised, "--kv-type bf16"), HasSubstr("KV cache "));
}

TEST(Inspect, TellsWhatWindowsForget) {
  Checkpoint checkpoint = Load(ParityPath("gemma3", "model.gguf"));
  const InspectOptions options = {.thread_count = 1, .max_batch_tokens = 64, .block_size = 16};
  const auto kv = [&] { return LineOf(DescribeCheckpoint(checkpoint, options), "memory bf16"); };
  // 6 blocks of 16 positions at most of five layers, 8 of one: a layer takes 2 x 2 heads x 2 x 6
  // (keys) and 16 (values) bytes a token.
  EXPECT_THAT(kv(), HasSubstr(", 440 B of them for the last 96 tokens (52.2 KiB a full context)"));
  for (LayerSpec& layer : checkpoint.spec.layers) layer.attention.window = 0;
  EXPECT_THAT(kv(), HasSubstr("KV cache 528 B a token (66.0 KiB a full context)"));
}

TEST(Inspect, TellsStatesOfFixedSize) {
  const std::string hybrid = DescribeCheckpoint(Load(ParityPath("granitehybrid", "hf")), {});
  EXPECT_THAT(hybrid, HasSubstr("attention       state space of 4 heads of 8, 8 deep, convolution "
                                "over 4 (in 2 of 3 layers)\n"));
  EXPECT_THAT(hybrid, HasSubstr("attention       4 heads of 4, 2 KV heads (in 1 of 3 layers)\n"));
  EXPECT_EQ(LineOf(hybrid, "RoPE"), "none");
  const std::string beside = DescribeCheckpoint(Load(ParityPath("falcon_h1", "hf")), {});
  EXPECT_EQ(LineOf(beside, "attention"),
            "state space of 4 heads of 6, 8 deep, convolution over 4; 4 heads of 8, 2 KV heads");
  const std::string alone = DescribeCheckpoint(Load(ParityPath("mamba2", "model.gguf")), {});
  EXPECT_EQ(LineOf(alone, "sizes"), "3 layers, hidden size 16, no feed-forward");
  // 3 layers of 3 rows of 64 channels and 4 heads of 8 x 8.
  EXPECT_THAT(LineOf(alone, "memory f32"), HasSubstr("KV cache 0 B a token, 5.2 KiB a state"));
  const std::string blocks = DescribeCheckpoint(Load(ParityPath("nemotron_h", "model.gguf")), {});
  EXPECT_THAT(blocks, HasSubstr("attention       none (in 2 of 5 layers)\n"));
  EXPECT_THAT(blocks, HasSubstr("hidden size 16, no feed-forward (in 3 of 5 layers)\n"));
}

TEST(Inspect, TellsRopeScalingWindowAndNorms) {
  const auto line = [](const std::string& fixture, const std::string& name) {
    return LineOf(DescribeCheckpoint(Load(ParityPath(fixture, "model.gguf")), {}), name);
  };
  EXPECT_THAT(line("llama_yarn", "RoPE"), HasSubstr(", yarn scaling by "));
  EXPECT_THAT(line("llama_linear", "RoPE"), HasSubstr(", linear scaling by "));
  EXPECT_THAT(line("mistral", "attention"), HasSubstr(", sliding window "));
  EXPECT_THAT(line("qwen3", "attention"), HasSubstr(", queries and keys normalised a head"));
  EXPECT_THAT(line("olmoe", "attention"),
              HasSubstr(", queries and keys normalised over their full width"));
}

TEST(Inspect, ReadsADirectoryAndEscapesNames) {
  Checkpoint checkpoint = Load(ParityPath("llama3", "hf"));
  checkpoint.spec.name = "evil\n\x1b[2J";
  checkpoint.chat_template = "{{ messages }}";
  const std::string text = DescribeCheckpoint(checkpoint, {});
  EXPECT_THAT(LineOf(text, "file"), HasSubstr("(safetensors, "));
  EXPECT_EQ(LineOf(text, "architecture"), "llama, named 'evil\\x0a\\x1b[2J'");
  EXPECT_EQ(LineOf(text, "chat template"), "14 bytes of Jinja");
}

}  // namespace
}  // namespace weft
