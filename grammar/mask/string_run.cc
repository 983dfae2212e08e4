#include "grammar/mask/string_run.h"

namespace weft {

void WalkString(const TokenTrie& trie, StringDfa& dfa, StringDfa::State state, uint8_t end,
                StringRun& run) {
  run.trie = &trie;
  std::vector<StringDfa::State> path(trie.longest() + 1);
  path[0] = state;
  std::string text(trie.longest() + 1, '\0');
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (uint32_t index = 0; index + 1 < nodes.size();) {
    const TokenTrie::Node& node = nodes[index];
    const StringDfa::State before = path[node.depth - 1U];
    if (node.byte == end && dfa.AtRest(before)) {
      if (dfa.Accepts(before)) {
        trie.SetTokens(index, run.mask);
        if (index + 1 < node.end) run.exits.push_back({index, text.substr(0, node.depth - 1U)});
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
    trie.SetTokens(index, run.mask);
    ++index;
  }
}

}  // namespace weft
