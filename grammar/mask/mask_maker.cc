#include "grammar/mask/mask_maker.h"

#include <algorithm>

namespace weft {
namespace {

constexpr size_t kMostRuns = 64;  // each has a mask

}  // namespace

void MaskMaker::Fill(Recognizer::State state, std::span<uint32_t> mask) {
  path_[0] = state;
  const std::optional<TextRun> run = recognizer_.RunAt(state);
  if (!run) {
    FillNodes(0, static_cast<uint32_t>(trie_.nodes().size() - 1), mask);
    return;
  }
  const Run& known = RunOf(*run, mask.size());
  for (size_t word = 0; word < mask.size(); ++word) mask[word] |= known.mask[word];
  FillExits(known, run->end, state, mask);
}

void MaskMaker::FillNodes(uint32_t begin, uint32_t end, std::span<uint32_t> mask) {
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  for (uint32_t index = begin; index < end;) {
    const TokenTrie::Node& node = nodes[index];
    const Recognizer::State next = recognizer_.Step(path_[node.depth - 1U], node.byte);
    if (next == Recognizer::kDead) {
      index = node.end;
      continue;
    }
    path_[node.depth] = next;
    trie_.SetTokens(index, mask);
    ++index;
  }
}

const MaskMaker::Run& MaskMaker::RunOf(const TextRun& run, size_t mask_words) {
  const std::pair key = {static_cast<const StringDfa*>(run.dfa), run.state};
  const auto known = runs_.find(key);
  if (known != runs_.end()) return known->second;
  if (runs_.size() == kMostRuns) runs_.clear();
  Run& made = runs_[key];
  made.mask.resize(mask_words);
  StringDfa& dfa = *run.dfa;
  std::vector<StringDfa::State> path(trie_.longest() + 1);
  path[0] = run.state;
  std::string text(trie_.longest() + 1, '\0');
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  for (uint32_t index = 0; index + 1 < nodes.size();) {
    const TokenTrie::Node& node = nodes[index];
    const StringDfa::State before = path[node.depth - 1U];
    if (node.byte == run.end && dfa.AtRest(before)) {
      if (dfa.Accepts(before)) {
        trie_.SetTokens(index, made.mask);
        if (index + 1 < node.end) made.exits.push_back({index, text.substr(0, node.depth - 1U)});
      }
      index = node.end;
      continue;
    }
    const StringDfa::State next = dfa.Step(before, node.byte);
    if (next == StringDfa::kDead) {
      index = node.end;
      continue;
    }
    path[node.depth] = next;
    text[node.depth - 1U] = static_cast<char>(node.byte);
    trie_.SetTokens(index, made.mask);
    ++index;
  }
  return made;
}

void MaskMaker::FillExits(const Run& run, uint8_t end, Recognizer::State state,
                          std::span<uint32_t> mask) {
  ends_.clear();
  for (const Exit& exit : run.exits) {
    const int64_t end_class = recognizer_.RunEndClass(state, exit.text);
    const auto [entry, is_new] = ends_.try_emplace(end_class, state);
    if (is_new) {
      Recognizer::State& behind = entry->second;
      for (size_t i = 0; i < exit.text.size() && behind != Recognizer::kDead; ++i) {
        behind = recognizer_.Step(behind, static_cast<uint8_t>(exit.text[i]));
      }
      if (behind != Recognizer::kDead) behind = recognizer_.Step(behind, end);
    }
    if (entry->second == Recognizer::kDead) continue;
    const TokenTrie::Node& node = trie_.nodes()[exit.node];
    path_[node.depth] = entry->second;
    FillNodes(exit.node + 1, node.end, mask);
  }
}

}  // namespace weft
