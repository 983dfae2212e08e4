// The fixtures of encoders: tiny checkpoints, texts, and the reference's hidden states.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/model/parity_fixture.h"

namespace weft {

// Of tests/tools/make_parity_fixtures.py.
inline constexpr std::array kEncoderFixtures = {
    "bert",                // token types, norms of sums
    "distilbert",          // no token types
    "eurobert",            // RMS norms
    "gemma_embedding",     // windows to both sides, norms of what attention and MLP give
    "jina_bert",           // ALiBi to both sides, gated MLPs
    "jina_bert_code",      // a QK norm over all heads, two norms behind attention
    "jina_embeddings_v3",  // RoPE in XLM-R, adapters beside the weights
    "modernbert",          // windows to both sides, two rotations, no norm before the first layer
    "nomic_bert",          // one rotation, one matrix of query, key and value
    "nomic_bert_moe",      // experts without gates in every second layer
    "roberta",             // positions behind the padding's
};
// And those whose family has no GGUF, or none that holds all of it.
inline constexpr std::array kEncoderFixturesWithoutGguf = {
    "gte",                  // NTK's scaling of RoPE, no token types
    "gte_types",            // transformers' own configuration
    "mpnet",                // a bias by relative position
    "nomic_bert_moe_bias",  // a bias of all experts
};

// A classifier of each family.
inline constexpr std::array kClassifierFixtures = {
    "bert_classifier",        // a dense layer with tanh
    "distilbert_classifier",  // with ReLU
    "gte_classifier",         // a mixed NTK scaling
    "jina_bert_classifier",   // MLPs gated with ReLU
    "jina_embeddings_v3_hf",  // transformers' own configuration
    "jina_reranker_v2",       // XLM-R under flash-attn's names
    "modernbert_classifier",  // with GELU and a norm, over the mean
    "mpnet_classifier",       // a bias by relative position
    "llama_classifier",       // a decoder's last position, three labels
    "qwen3_classifier",       // one label
    "roberta_classifier",     // five labels
};

// A head for masked tokens of each family.
inline constexpr std::array kMaskedFixtures = {
    "bert_masked",        // tied to the embedding
    "distilbert_masked",  // likewise, under other names
    "modernbert_masked",  // not tied, a norm without bias
    "roberta_masked",     // tied
};

using Rows = std::vector<std::vector<float>>;

struct Text {
  std::vector<TokenId> tokens;
  Rows hidden;  // the reference's
};

inline std::vector<Text> ReadTexts(const std::string& fixture) {
  std::ifstream text(ParityPath(fixture, "expected.json"));
  const auto json = nlohmann::json::parse(text);
  std::ifstream numbers(ParityPath(fixture, "hidden.f32"), std::ios::binary);
  std::vector<Text> texts;
  for (const auto& tokens : json.at("texts")) {
    Text next{tokens, {}};
    for (size_t row = 0; row < next.tokens.size(); ++row) {
      std::vector<float> values(json.at("hidden_size").get<size_t>());
      numbers.read(reinterpret_cast<char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(float)));
      next.hidden.push_back(std::move(values));
    }
    texts.push_back(std::move(next));
  }
  EXPECT_TRUE(numbers.good() && numbers.peek() == std::ifstream::traits_type::eof()) << fixture;
  return texts;
}

// The hidden states of each text, all in one step. As in the fixtures, a second text begins in the
// middle of each.
inline std::vector<Rows> Encode(RunnableModel& model, const std::vector<Text>& texts) {
  std::vector<Chunk> chunks;
  int32_t first_block = 0;
  for (const Text& text : texts) {
    const auto length = std::ssize(text.tokens);
    chunks.push_back({.tokens = text.tokens,
                      .block_table = model.Blocks(first_block, length),
                      .second_text = static_cast<int32_t>(length / 2)});
    first_block += static_cast<int32_t>(std::ssize(chunks.back().block_table));
  }
  const Rows rows = model.HiddenStates(chunks);
  std::vector<Rows> hidden;
  auto at = rows.begin();
  for (const Text& text : texts) {
    hidden.emplace_back(at, at + std::ssize(text.tokens));
    at += std::ssize(text.tokens);
  }
  return hidden;
}

// What expected.json has by this name, a row a text.
inline Rows ReadExpected(const std::string& fixture, const char* name) {
  std::ifstream file(ParityPath(fixture, "expected.json"));
  return nlohmann::json::parse(file).at(name).get<Rows>();
}

// A classifier's logits of each text, alone.
inline Rows LabelLogits(RunnableModel& model, const std::vector<Text>& texts) {
  Rows logits;
  for (const Text& text : texts) {
    const Rows hidden = Encode(model, {text}).front();
    const Pooling pooling = model.spec().classifier->pooling;
    std::vector<float> pooled = pooling == Pooling::kLast ? hidden.back() : hidden.front();
    for (size_t d = 0; pooling == Pooling::kMean && d < pooled.size(); ++d) {
      double sum = 0;
      for (const std::vector<float>& row : hidden) sum += double{row[d]};
      pooled[d] = static_cast<float>(sum / static_cast<double>(hidden.size()));
    }
    logits.push_back(model.FromPooled(PooledOutput::kLabels, std::move(pooled)));
  }
  return logits;
}

// SPLADE's weights of each text, alone.
inline Rows SparseWeights(RunnableModel& model, const std::vector<Text>& texts) {
  Rows weights;
  for (const Text& text : texts) {
    const auto length = std::ssize(text.tokens);
    const Chunk chunk = {.tokens = text.tokens,
                         .block_table = model.Blocks(0, length),
                         .second_text = static_cast<int32_t>(length / 2)};
    std::vector<float>& largest =
        weights.emplace_back(static_cast<size_t>(model.spec().vocab_size));
    for (const std::vector<float>& row : model.Run({&chunk, 1})) {
      for (size_t i = 0; i < row.size(); ++i) {
        largest[i] = std::max(largest[i], std::log1p(std::max(row[i], 0.0F)));
      }
    }
  }
  return weights;
}

}  // namespace weft
