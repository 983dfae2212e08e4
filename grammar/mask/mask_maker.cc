#include "grammar/mask/mask_maker.h"

#include <algorithm>
#include <unordered_map>

namespace weft {
namespace {

constexpr size_t kMostRuns = 64;  // each has a mask

}  // namespace

void MaskMaker::Fill(Recognizer::State state, std::span<uint32_t> mask) {
  path_[0] = state;
  const std::optional<TextRun> run = recognizer_.RunAt(state);
  if (!run) {
    const TokenTrie& trie = vocabulary_.trie();
    FillNodes(trie, 0, static_cast<uint32_t>(trie.nodes().size() - 1), mask);
    return;
  }
  const StringRun& known = RunOf(*run);
  for (size_t word = 0; word < mask.size(); ++word) mask[word] |= known.mask[word];
  FillExits(*known.trie, known.exits, *run, state, mask);
}

void MaskMaker::FillNodes(const TokenTrie& trie, uint32_t begin, uint32_t end,
                          std::span<uint32_t> mask) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (uint32_t index = begin; index < end;) {
    const TokenTrie::Node& node = nodes[index];
    const Recognizer::State next = recognizer_.Step(path_[node.depth - 1U], node.byte);
    if (next == Recognizer::kDead) {
      index = node.end;
      continue;
    }
    path_[node.depth] = next;
    trie.SetTokens(index, mask);
    ++index;
    if (index == node.end || node.byte != '"') continue;
    if (const std::optional<TextRun> run = recognizer_.RunAt(next)) {
      std::vector<StringExit> exits;
      WalkString(trie, index, node.end, *run, mask, exits);
      ClearAvoided(trie, index, node.end, *run, mask);
      FillExits(trie, exits, *run, next, mask);
      index = node.end;
    }
  }
}

const StringRun& MaskMaker::RunOf(const TextRun& run) {
  StringDfa& dfa = *run.dfa;
  const bool is_json_string = dfa.spelling() == Spelling::kJsonString && run.end == '"';
  if (is_json_string && dfa.IsAnyText(run.state) && run.avoided == nullptr)
    return vocabulary_.in_any_string();
  const RunKey key = {run.dfa, run.state, run.avoided, run.node};
  const auto known = runs_.find(key);
  if (known != runs_.end()) return known->second;
  if (run.avoided != nullptr) {
    TextRun other = run;
    other.avoided = nullptr;
    StringRun avoiding = RunOf(other);
    const auto end = static_cast<uint32_t>(vocabulary_.trie().nodes().size() - 1);
    ClearAvoided(vocabulary_.trie(), 0, end, run, avoiding.mask);
    if (runs_.size() >= kMostRuns) runs_.clear();
    return runs_[key] = std::move(avoiding);
  }
  if (runs_.size() >= kMostRuns) runs_.clear();
  StringRun& made = runs_[key];
  made.mask.resize(vocabulary_.mask_words());
  if (is_json_string && dfa.AtRest(run.state)) {
    for (const TokenClass& tokens : vocabulary_.classes()) {
      const RegexReach reach = dfa.ReachOf(run.state, tokens.characters(), tokens.most());
      if (!reach.ends && reach.length < tokens.most()) continue;
      std::ranges::copy(tokens.UpTo(reach.length), made.mask.begin());
      WalkString(tokens.others(), run, made);
      return made;
    }
  }
  WalkString(vocabulary_.trie(), run, made);
  return made;
}

void MaskMaker::FillExits(const TokenTrie& trie, std::span<const StringExit> exits,
                          const TextRun& run, Recognizer::State state, std::span<uint32_t> mask) {
  std::unordered_map<int64_t, Recognizer::State> ends;  // by class
  for (const StringExit& exit : exits) {
    Recognizer::State end = Recognizer::kDead;
    if (run.is_name && exit.goes_into_name) {
      end = StepRun(run, state, exit.text);
    } else {
      const int64_t end_class = recognizer_.RunEndClass(state, exit.text);
      const auto [entry, is_new] = ends.try_emplace(end_class, Recognizer::kDead);
      if (is_new) entry->second = recognizer_.RunEnd(state, exit.text);
      end = entry->second;
    }
    if (end == Recognizer::kDead) continue;
    const TokenTrie::Node& node = trie.nodes()[exit.node];
    path_[node.depth] = end;
    FillNodes(trie, exit.node + 1, node.end, mask);
  }
}

Recognizer::State MaskMaker::StepRun(const TextRun& run, Recognizer::State state,
                                     std::string_view rest) {
  for (const char byte : rest) {
    if (state == Recognizer::kDead) return state;
    state = recognizer_.Step(state, static_cast<uint8_t>(byte));
  }
  return state == Recognizer::kDead ? state : recognizer_.Step(state, run.end);
}

}  // namespace weft
