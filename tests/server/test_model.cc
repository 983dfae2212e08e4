#include "tests/server/test_model.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "server/api/conversation/chat_format.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/engine_metrics.h"
#include "tests/engine/fake_model_runner.h"

namespace weft {

ByteTokenizer::ByteTokenizer() {
  for (int byte = 0; byte < 256; ++byte) bytes_ += static_cast<char>(byte);
}

Result<std::vector<TokenId>> ByteTokenizer::Encode(std::string_view text,
                                                   const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  if (options.add_special_tokens) ids.push_back(kBos);
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

Result<EncodedText> ByteTokenizer::EncodeTruncated(std::string_view text,
                                                   const EncodeOptions& options,
                                                   const Truncation& truncation) const {
  EncodedText encoded;
  if (options.add_special_tokens) encoded.ids.push_back(kBos);
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> ids, Encode(text, {.add_special_tokens = false}));
  WEFT_ASSIGN_OR_RETURN(encoded.dropped_count,
                        Truncate(truncation, std::ssize(encoded.ids), &ids, nullptr));
  encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
  return encoded;
}

Result<EncodedText> ByteTokenizer::EncodePair(std::string_view first, std::string_view second,
                                              const EncodeOptions& options,
                                              const Truncation& truncation) const {
  const bool adds = options.add_special_tokens;
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> ids, Encode(first, {.add_special_tokens = false}));
  WEFT_ASSIGN_OR_RETURN(std::vector<TokenId> others, Encode(second, {.add_special_tokens = false}));
  EncodedText encoded;
  WEFT_ASSIGN_OR_RETURN(encoded.dropped_count, Truncate(truncation, adds ? 3 : 0, &ids, &others));
  if (adds) encoded.ids.push_back(kBos);
  encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
  if (adds) encoded.ids.push_back(kEos);
  encoded.second_text = static_cast<int32_t>(encoded.ids.size());
  encoded.ids.insert(encoded.ids.end(), others.begin(), others.end());
  if (adds) encoded.ids.push_back(kEos);
  return encoded;
}

std::string_view ByteTokenizer::TokenBytes(TokenId id) const {
  if (id < 0 || id >= kBos) return {};
  return std::string_view(bytes_).substr(static_cast<size_t>(id), 1);
}

std::string ByteTokenizer::Decode(const std::vector<TokenId>& ids, bool keep_special_tokens) const {
  std::string text;
  for (const TokenId id : ids) text += keep_special_tokens ? TokenText(id) : TokenBytes(id);
  return text;
}

std::string_view ByteTokenizer::TokenText(TokenId id) const {
  if (id == kBos) return "<s>";
  if (id == kEos) return "</s>";
  return TokenBytes(id);
}

std::optional<TokenId> ByteTokenizer::TokenOf(std::string_view vocabulary_text) const {
  for (TokenId id = 0; id < kVocabSize; ++id) {
    if (TokenText(id) == vocabulary_text) return id;
  }
  return std::nullopt;
}

TestModel::TestModel(const TestModelOptions& options, std::shared_ptr<Metrics> metrics)
    : id_(options.id),
      aliases_(options.aliases),
      takes_any_name_(options.takes_any_name),
      metrics_(std::move(metrics)) {
  if (!options.chat_template.empty()) {
    ChatTemplateSources sources;
    sources.standard = options.chat_template;
    chat_ = ChatFormat::Create(sources, *tokenizer_).value();
  }
  FakeModelRunner::Options runner_options;
  runner_options.vocab_size = ByteTokenizer::kVocabSize;
  runner_options.block_count = options.block_count;
  if (options.reads_sources) {
    runner_options.groups = {{.block_count = options.block_count},
                             {.is_source = true, .block_count = options.block_count}};
    target_ = {.prefix = {ByteTokenizer::kBos},
               .task_prefixes = {{"summarization", "summarize: "}}};
  }
  auto runner = std::make_unique<FakeModelRunner>(runner_options);
  runner->fill_logits = [script = options.script, reply = options.reply,
                         reply_position = options.reply_position](uint64_t history_hash, TokenId,
                                                                  int32_t position, float* logits) {
    std::fill_n(logits, ByteTokenizer::kVocabSize, -100.0F);
    if (!reply.empty()) {
      const auto index = static_cast<size_t>(std::max(position + 1 - reply_position, 0));
      const bool ends = index >= reply.size();
      logits[ends ? ByteTokenizer::kEos : static_cast<unsigned char>(reply[index])] = 0;
      return;
    }
    if (!script.empty()) {
      const auto byte =
          static_cast<unsigned char>(script[static_cast<size_t>(position) % script.size()]);
      logits[byte] = 0;
      return;
    }
    for (int letter = 'a'; letter <= 'z'; ++letter) {
      logits[letter] =
          static_cast<float>(Mix(history_hash + static_cast<uint64_t>(letter)) % 4096) / 512.0F;
    }
  };
  structured_ = std::make_shared<StructuredOutput>(
      tokenizer_, std::make_shared<MatcherPool>(options.constraint_bytes));
  label_count_ = options.label_count;
  if (options.has_prompts) prompts_.texts = {{"query", "q: "}};
  runner->lacks = {PooledOutput::kSparse};
  if (label_count_ == 0) runner->lacks.insert(PooledOutput::kLabels);
  runner->from_pooled = [count = static_cast<size_t>(label_count_)](PooledOutput output,
                                                                    std::vector<float> pooled) {
    if (output != PooledOutput::kLabels) return pooled;
    pooled.resize(count);  // of at most kHiddenSize
    for (float& number : pooled) number /= 2048;
    return pooled;
  };
  runner->before_run = [this](const ForwardBatch&) -> Result<void> {
    ++steps_;
    std::this_thread::sleep_for(step_time_.load());
    held_.wait(true);
    if (fail_next_step_.exchange(false)) return Fail(ErrorCode::kInternal, "the step went wrong");
    return {};
  };
  EngineOptions engine_options;
  engine_options.max_context = options.max_context;
  engine_options.is_encoder = options.is_encoder;
  engine_options.reads_sources = options.reads_sources;
  engine_options.max_sequences = options.max_sequences;
  engine_options.max_waiting = options.max_waiting;
  engine_options.prefix_cache = options.prefix_cache;
  engine_options.end_tokens = tokenizer_->end_tokens();
  engine_options.token_bytes = [tokenizer = tokenizer_](TokenId id) {
    return tokenizer->TokenBytes(id);
  };
  const auto meter = std::make_shared<EngineMeter>();
  engine_options.on_step = [meter](const StepReport& report) { meter->OnStep(report); };
  engine_ = std::make_unique<Engine>(std::move(engine_options), std::move(runner));
  EngineFacts facts;
  facts.model = id_;
  facts.context = options.max_context;
  facts.prefix_cache = options.prefix_cache;
  facts.memory.groups = {{.group = {.block_count = options.block_count}}};
  metrics_->AddEngine(std::move(facts), meter, *engine_);
}

TestModel::~TestModel() { ReleaseSteps(); }

ServedModel TestModel::Served() const {
  ServedModel model;
  model.id = id_;
  model.aliases = aliases_;
  model.takes_any_name = takes_any_name_;
  model.fingerprint = "fp_" + id_;
  model.created = 1700000000;
  model.tokenizer = tokenizer_;
  model.structured = structured_;
  model.engine = engine_.get();
  model.embedding_size = static_cast<int64_t>(FakeModelRunner::kHiddenSize);
  model.chat = chat_;
  model.target = target_;
  if (label_count_ == 1) model.ranking = Ranking();
  if (label_count_ > 0) model.classifier.emplace().pooling = Pooling::kLast;
  for (int i = 0; i < label_count_; ++i) {
    model.classifier->labels.push_back("label " + std::to_string(i));
  }
  model.prompts = prompts_;
  model.task.target_prefix = target_.prefix;
  return model;
}

void TestModel::HoldSteps() { held_ = true; }

void TestModel::ReleaseSteps() {
  held_ = false;
  held_.notify_all();
}

}  // namespace weft
