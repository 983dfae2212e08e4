// Law 2 on real models: what a request gets depends on that request alone. Every request is run
// alone, then in random company under other chunk sizes, block sizes, thread counts and instruction
// sets, with blocks so few that sequences are preempted; tokens, text and log probabilities are
// compared with ==. Alone everything is computed; in company, prompts that begin alike share
// blocks, and with the kernels that people run the same requests come a second time. Masks of
// constrained texts are made beside the steps, and are late now and then.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/float_env.h"
#include "engine/engine_core.h"
#include "engine/transformer_runner.h"
#include "model/load.h"
#include "tests/data_paths.h"
#include "tests/engine/letter_constraint.h"
#include "tests/engine/recording_sink.h"
#include "tests/engine/requests.h"
#include "tests/model/kernels/isas_here.h"

namespace weft {
namespace {

constexpr int32_t kMaxContext = 320;  // beyond kAttentionSpan, the windows and the RoPE lengths

struct Setting {
  Arithmetic arithmetic = Arithmetic::kBF16;
  Isa isa = Isa::kScalar;
  KvType kv_type = KvType::kBF16;
  int thread_count = 1;
  int64_t block_size = 32;
  int64_t block_count = 64;
  int32_t max_batch_tokens = 512;
  int32_t max_sequences = 8;
  bool prefix_cache = true;
  bool is_alone = false;

  std::string ToString() const {
    return fmt::format("{}/{}, KV in {}, {} threads, {} blocks of {}, {} rows a step, {} sequences",
                       NameOf(arithmetic), NameOf(isa), NameOf(kv_type), thread_count, block_count,
                       block_size, max_batch_tokens, max_sequences);
  }
};

// Printable text from any vocabulary, so that stop strings happen, and constraints bind.
std::string_view TextOf(TokenId token) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  return kLetters.substr(static_cast<size_t>(token % 23), static_cast<size_t>(1 + token % 3));
}

// A model behind an engine without a thread, so that a test decides who arrives when.
class Bench {
 public:
  Bench(const std::string& path, const Setting& setting) : threads_(setting.thread_count) {
    Result<Checkpoint> checkpoint = LoadCheckpoint(path);
    if (!checkpoint) throw std::runtime_error(checkpoint.error().message);
    Result<Transformer> transformer = LoadTransformer(
        *checkpoint, KernelsFor(setting.arithmetic, setting.isa, setting.kv_type), threads_);
    if (!transformer) throw std::runtime_error(transformer.error().message);
    std::vector<StateGroup> groups = StateGroupsOf(transformer->spec(), kMaxContext);
    options_.is_encoder = transformer->spec().is_encoder;
    for (StateGroup& group : groups) {
      group.block_count = setting.block_count;
      // Of windows what a few hold, so that they run out, too.
      if (group.forgets() && !setting.is_alone) {
        group.block_count =
            1 + group.MostBlocks(kMaxContext, setting.max_batch_tokens, setting.block_size);
      }
    }
    runner_ = std::make_unique<TransformerRunner>(
        *std::move(transformer),
        TransformerRunnerOptions{
            .block_size = setting.block_size,
            .groups = std::move(groups),
            // An encoder's text is not cut.
            .max_batch_tokens = options_.is_encoder ? kMaxContext : setting.max_batch_tokens,
            .thread_count = setting.thread_count});
    options_.max_context = kMaxContext;
    options_.max_batch_tokens = setting.max_batch_tokens;
    options_.max_sequences = setting.max_sequences;
    options_.prefix_cache = setting.prefix_cache;
    options_.token_bytes = TextOf;
    options_.run_beside = [this](std::function<void()> task) { threads_.Post(std::move(task)); };
    core_ = std::make_unique<EngineCore>(options_, *runner_);
  }

  int64_t vocab_size() const { return runner_->vocab_size(); }

  // Adds the requests in this order, up to `max_pause` steps apart, and runs all to their ends.
  std::vector<std::shared_ptr<RecordingSink>> Run(const std::vector<Request>& requests,
                                                  std::mt19937_64& random, int max_pause) {
    const ScopedFlushDenormals flush_denormals;
    std::vector<std::shared_ptr<RecordingSink>> sinks;
    for (const Request& request : requests) {
      sinks.push_back(AddRecorded(*core_, request));
      auto pause = max_pause > 0 ? random() % static_cast<uint64_t>(max_pause + 1) : 0;
      for (; pause > 0 && core_->has_work(); --pause) core_->Step();
    }
    while (core_->has_work()) core_->Step();
    EXPECT_EQ(core_->pools().used_count(), 0);
    return sinks;
  }

  int32_t TakePreemptionCount() { return core_->TakeReport().preemptions; }

 private:
  ThreadPool threads_;
  std::unique_ptr<TransformerRunner> runner_;
  EngineOptions options_;
  std::unique_ptr<EngineCore> core_;
};

std::vector<Request> RandomRequests(std::mt19937_64& random, int64_t vocab_size) {
  std::vector<Request> requests;
  for (RequestId id = 1; id <= 7; ++id) {
    Request request;
    request.id = id;
    // One long, one of a single token, the rest between.
    const size_t prompt_count = id == 1 ? 270 : id == 2 ? 1 : 2 + random() % 60;
    for (size_t i = 0; i < prompt_count; ++i)
      request.prompt.push_back(static_cast<TokenId>(random() % static_cast<uint64_t>(vocab_size)));
    // Three begin as the long one does.
    if (id >= 5) {
      const auto& shared = requests[0].prompt;
      request.prompt.insert(request.prompt.begin(), shared.begin(),
                            shared.begin() + static_cast<int64_t>(30 * id - 10));
    }
    SamplingParams& params = request.sampling;
    params.max_tokens = static_cast<int32_t>(20 + random() % 28);
    params.temperature = id % 2 == 0 ? 0 : 0.9;
    params.top_k = id == 3 ? 20 : 0;
    params.top_p = id == 5 ? 0.9 : 1;
    params.seed = random();
    params.logprobs = 3;
    params.prompt_logprobs = id == 1 || id == 4;
    if (id == 6) params.stop = {"ab", "cde", "x"};
    request.choice_count = id == 3 ? 3 : 1;
    if (id == 3 || id == 6 || id == 7) {
      request.constraint = std::make_shared<const LetterConstraint>(
          TextOf, static_cast<TokenId>(vocab_size), id == 7 ? 30 : LetterConstraint::kAnyLength);
    }
    requests.push_back(std::move(request));
  }
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    Request request;
    request.id = requests.size() + 1;
    request.pooling = {.pooling = pooling};
    request.prompt.assign(requests[0].prompt.begin(), requests[0].prompt.begin() + 150);
    request.sampling.max_tokens = 0;
    requests.push_back(std::move(request));
  }
  return requests;
}

void ExpectSameLogprobs(const std::vector<TokenLogprob>& a, const std::vector<TokenLogprob>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].token, b[i].token) << "at " << i;
    ASSERT_EQ(a[i].logprob, b[i].logprob) << "at " << i;
    ASSERT_EQ(a[i].top, b[i].top) << "at " << i;
  }
}

void ExpectSame(const RecordingSink& got, const RecordingSink& want) {
  ASSERT_EQ(got.complaint(), "");
  ASSERT_EQ(got.pooled(), want.pooled());
  ASSERT_NO_FATAL_FAILURE(ExpectSameLogprobs(got.prompt_logprobs(), want.prompt_logprobs()));
  for (size_t i = 0; i < want.choice_count(); ++i) {
    SCOPED_TRACE(fmt::format("choice {}", i));
    ASSERT_EQ(got.choice(i).tokens, want.choice(i).tokens);
    ASSERT_NO_FATAL_FAILURE(ExpectSameLogprobs(got.choice(i).logprobs, want.choice(i).logprobs));
    ASSERT_EQ(got.choice(i).text, want.choice(i).text);
    ASSERT_EQ(got.choice(i).finishes.at(0).reason, want.choice(i).finishes.at(0).reason);
  }
}

// 320 positions take 20 blocks of 16, 7 of 48, 10 of 32: so few force preemption.
std::vector<Setting> CrowdedSettings(Arithmetic arithmetic, KvType kv_type) {
  std::vector<Setting> settings = {
      {.thread_count = 2, .block_size = 16, .block_count = 20, .max_batch_tokens = 13},
      {.thread_count = 3, .block_size = 48, .block_count = 8, .max_batch_tokens = 64},
      {.thread_count = 1, .block_size = 64, .block_count = 64, .max_batch_tokens = 512},
      {.thread_count = 2, .block_size = 32, .block_count = 11, .max_batch_tokens = 101},
  };
  std::vector<Setting> all;
  for (const Isa isa : IsasHere()) {
    // All with the kernels that people run, two with the others.
    for (size_t i = 0; i < (isa == IsasHere().back() ? settings.size() : 2); ++i) {
      all.push_back(settings[i]);
      all.back().arithmetic = arithmetic;
      all.back().isa = isa;
      all.back().kv_type = kv_type;
    }
  }
  return all;
}

void ExpectLaw2(const std::string& path, Arithmetic arithmetic, KvType kv_type = KvType::kBF16) {
  std::mt19937_64 random(11);
  const Setting alone{.arithmetic = arithmetic,
                      .isa = IsasHere().back(),
                      .kv_type = kv_type,
                      .prefix_cache = false,
                      .is_alone = true};
  Bench quiet(path, alone);
  const std::vector<Request> requests = RandomRequests(random, quiet.vocab_size());
  std::vector<std::shared_ptr<RecordingSink>> expected;
  for (const Request& request : requests) expected.push_back(quiet.Run({request}, random, 0)[0]);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(expected[i]->embedding().empty(), !requests[i].pooling);
  }
  int32_t preemptions = 0;
  int32_t cached_tokens = 0;
  for (const Setting& setting : CrowdedSettings(arithmetic, kv_type)) {
    SCOPED_TRACE(setting.ToString());
    Bench crowded(path, setting);
    // The second time everything may be cached.
    const int rounds = setting.isa == alone.isa ? 2 : 1;
    for (int round = 0; round < rounds; ++round) {
      std::vector<Request> shuffled = requests;
      std::shuffle(shuffled.begin(), shuffled.end(), random);
      const auto found = crowded.Run(shuffled, random, 6);
      preemptions += crowded.TakePreemptionCount();
      for (size_t i = 0; i < shuffled.size(); ++i) {
        SCOPED_TRACE(fmt::format("round {}, request {}", round, shuffled[i].id));
        ASSERT_NO_FATAL_FAILURE(ExpectSame(*found[i], *expected[shuffled[i].id - 1]));
        cached_tokens += found[i]->choice(0).finishes[0].cached_tokens;
      }
    }
  }
  EXPECT_GT(preemptions, 0);
  EXPECT_GT(cached_tokens, 1000);
}

// Of texts that a model pools, of which some begin alike.
void ExpectLaw2OfPooled(const std::string& fixture, const PooledOutput output) {
  const std::string path = SourcePath("tests/model/fixtures/parity/") + fixture + "/hf";
  std::mt19937_64 random(5);
  std::vector<Request> requests;
  for (const size_t length : {31, 1, 54, 17, 54, 8}) {
    Request request;
    request.id = requests.size() + 1;
    request.pooling = {.output = output};
    if (output == PooledOutput::kTokenLogits) request.pooling->tokens = {5, 6};
    for (size_t i = 0; i < length; ++i) {
      request.prompt.push_back(i < 20 && length > 50 ? static_cast<TokenId>(i)
                                                     : static_cast<TokenId>(random() % 250));
    }
    request.sampling.max_tokens = 0;
    requests.push_back(std::move(request));
  }
  Bench quiet(path, {.isa = IsasHere().back(), .prefix_cache = false, .is_alone = true});
  std::vector<std::shared_ptr<RecordingSink>> expected;
  for (const Request& request : requests) expected.push_back(quiet.Run({request}, random, 0)[0]);
  for (const Setting& setting : CrowdedSettings(Arithmetic::kBF16, KvType::kBF16)) {
    SCOPED_TRACE(setting.ToString());
    Bench crowded(path, setting);
    std::vector<Request> shuffled = requests;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const auto found = crowded.Run(shuffled, random, 1);
    for (size_t i = 0; i < shuffled.size(); ++i) {
      SCOPED_TRACE(fmt::format("request {}", shuffled[i].id));
      ASSERT_TRUE(found[i]->pooled() && !found[i]->pooled()->values.empty());
      ASSERT_NO_FATAL_FAILURE(ExpectSame(*found[i], *expected[shuffled[i].id - 1]));
    }
  }
}

TEST(Law2, CompanyChangesNothingInSparseVectors) {
  for (const char* fixture : {"bert_masked", "modernbert_masked"}) {
    ExpectLaw2OfPooled(fixture, PooledOutput::kSparse);
  }
}

class Law2Test : public testing::TestWithParam<const char*> {};

TEST_P(Law2Test, CompanyChangesNothing) {
  ExpectLaw2(SourcePath("tests/model/fixtures/parity/") + GetParam() + "/model.gguf",
             Arithmetic::kBF16);
}

TEST(Law2, CompanyChangesNothingWithAnEightBitCache) {
  for (const char* fixture : {"llama3", "mistral"}) {
    ExpectLaw2(SourcePath("tests/model/fixtures/parity/") + fixture + "/model.gguf",
               Arithmetic::kBF16, KvType::kQ8);
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Law2Test,
                         testing::Values("llama2", "llama3", "llama_linear", "llama_yarn",
                                         "llama_partial_rotary", "mistral", "mixtral", "qwen2",
                                         "qwen3", "qwen3_moe", "olmoe", "gemma3", "gpt_oss",
                                         "gemma4_e2b", "lfm2", "lfm2_moe", "qwen3_5", "qwen3_next",
                                         "falcon_h1", "granitehybrid", "granitehybrid_moe",
                                         "mamba2", "nemotron_h", "nemotron_h_moe"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(Law2, CompanyChangesNothingInChunks) {
  ExpectLaw2(SourcePath("tests/model/fixtures/parity/llama4_chunks/hf"), Arithmetic::kBF16);
}

TEST(Law2, CompanyChangesNothingForStories260K) {
  const std::string path = SharedDataPath("models/stories260K.gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  ExpectLaw2(path, Arithmetic::kBF16);
}

// Its weights are quantised: the other models' are not, and int8 is bf16 for them, int8+bf16pair
// bf16pair.
TEST(Law2, CompanyChangesNothingForTheBundledModel) {
  const std::string path = SourcePath("model/demo/weft-demo.gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  ExpectLaw2(path, Arithmetic::kBF16);
  ExpectLaw2(path, Arithmetic::kBF16Pair);
  ExpectLaw2(path, Arithmetic::kInt8);
  ExpectLaw2(path, Arithmetic::kInt8, KvType::kQ8);
}

}  // namespace
}  // namespace weft
