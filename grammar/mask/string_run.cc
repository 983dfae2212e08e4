#include "grammar/mask/string_run.h"

#include "grammar/regex/string_dfa.h"

namespace weft {
namespace {

// Whether a token that goes on behind the node goes into what may be another property's name.
bool GoesIntoName(const TokenTrie& trie, uint32_t exit) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  const size_t base = nodes[exit].depth;
  std::string before(trie.longest() + 1 - base, '\0');  // the last byte that is no space, by depth
  for (uint32_t index = exit + 1; index < nodes[exit].end; ++index) {
    const TokenTrie::Node& node = nodes[index];
    const size_t depth = node.depth - base;
    const char last = before[depth - 1];
    if (node.byte == '"' && last == ',' && index + 1 < node.end) return true;
    const bool is_space =
        node.byte == ' ' || node.byte == '\n' || node.byte == '\r' || node.byte == '\t';
    before[depth] = is_space ? last : static_cast<char>(node.byte);
  }
  return false;
}

}  // namespace

void WalkString(const TokenTrie& trie, uint32_t begin, uint32_t end, const TextRun& text,
                std::span<uint32_t> mask, std::vector<StringExit>& exits) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  if (begin == end) return;
  StringDfa& dfa = *text.dfa;
  const size_t base = nodes[begin].depth - 1U;
  std::vector<StringDfa::State> path(trie.longest() + 1 - base);
  path[0] = text.state;
  std::string inside(path.size(), '\0');
  for (uint32_t index = begin; index < end;) {
    const TokenTrie::Node& node = nodes[index];
    const size_t length = node.depth - base;
    const StringDfa::State before = path[length - 1];
    if (node.byte == text.end && dfa.AtRest(before)) {
      if (dfa.Accepts(before)) {
        trie.SetTokens(index, mask);
        if (index + 1 < node.end) {
          exits.push_back({index, inside.substr(0, length - 1), GoesIntoName(trie, index)});
        }
      }
      index = node.end;
      continue;
    }
    const StringDfa::State next = dfa.Step(before, node.byte);
    if (next == StringDfa::kDead) {
      index = node.end;
      continue;
    }
    path[length] = next;
    inside[length - 1] = static_cast<char>(node.byte);
    trie.SetTokens(index, mask);
    ++index;
  }
}

void WalkString(const TokenTrie& trie, const TextRun& text, StringRun& run) {
  run.trie = &trie;
  const auto end = static_cast<uint32_t>(trie.nodes().size() - 1);
  WalkString(trie, 0, end, text, run.mask, run.exits);
}

void ClearAvoided(const TokenTrie& trie, uint32_t begin, uint32_t end, const TextRun& text,
                  std::span<uint32_t> mask) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  if (begin == end || text.avoided == nullptr) return;
  const size_t base = nodes[begin].depth - 1U;
  std::vector<WordAutomaton::Node> path(trie.longest() + 1 - base);
  path[0] = text.node;
  for (uint32_t index = begin; index < end;) {
    const TokenTrie::Node& node = nodes[index];
    const size_t length = node.depth - base;
    path[length] = text.avoided->Step(path[length - 1], node.byte);
    if (path[length] == WordAutomaton::kWord) {
      trie.ClearTokens(index, mask);
      index = node.end;
    } else {
      ++index;
    }
  }
}

}  // namespace weft
