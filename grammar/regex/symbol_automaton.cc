#include "grammar/regex/symbol_automaton.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace weft {
namespace {

struct StateHash {
  size_t operator()(const SymbolAutomaton::State& state) const {
    uint64_t hash = state.accepts ? 1 : 0;
    for (const SymbolAutomaton::Edge& edge : state.edges) {
      hash = (hash ^ edge.first) * 0x9E3779B97F4A7C15U;
      hash = (hash ^ edge.next) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29U;
    }
    return hash;
  }
};

struct SameState {
  bool operator()(const SymbolAutomaton::State& a, const SymbolAutomaton::State& b) const {
    return a.accepts == b.accepts && a.edges == b.edges;
  }
};

// Words in order, one after another; what no later word can change is made a state, the same one
// for what goes on the same way (Daciuk, Mihov, Watson and Watson, "Incremental Construction of
// Minimal Acyclic Finite-State Automata", 2000).
class WordsBuilder {
 public:
  void Add(const std::vector<Symbol>& word) {
    size_t common = 0;
    while (common < word.size() && common < last_.size() && word[common] == last_[common]) {
      ++common;
    }
    CloseBeyond(common);
    path_.resize(word.size() + 1);
    path_.back().accepts = true;
    last_ = word;
  }

  // How many states there are, those of the last word among them.
  size_t size() const { return automaton_.states.size() + path_.size(); }

  SymbolAutomaton Finish() {
    automaton_.acyclic = true;
    CloseBeyond(0);
    automaton_.start = Intern(std::move(path_.front()));
    return std::move(automaton_);
  }

 private:
  void CloseBeyond(size_t length) {
    while (path_.size() > length + 1) {
      const uint32_t closed = Intern(std::move(path_.back()));
      path_.pop_back();
      const Symbol symbol = last_[path_.size() - 1];
      path_.back().edges.push_back({symbol, symbol, closed});
    }
  }

  uint32_t Intern(SymbolAutomaton::State state) {
    const auto [at, is_new] =
        known_.try_emplace(state, static_cast<uint32_t>(automaton_.states.size()));
    if (is_new) automaton_.states.push_back(std::move(state));
    return at->second;
  }

  SymbolAutomaton automaton_;
  std::unordered_map<SymbolAutomaton::State, uint32_t, StateHash, SameState> known_;
  std::vector<SymbolAutomaton::State> path_ = std::vector<SymbolAutomaton::State>(1);
  std::vector<Symbol> last_;
};

}  // namespace

void SymbolAutomaton::SetDistances() {
  std::vector<std::vector<uint32_t>> before(states.size());
  std::vector<uint32_t> reached;
  for (uint32_t s = 0; s < states.size(); ++s) {
    for (const Edge& edge : states[s].edges) before[edge.next].push_back(s);
    states[s].distance = states[s].accepts ? 0 : kUnreachable;
    if (states[s].accepts) reached.push_back(s);
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const uint32_t s : before[reached[i]]) {
      if (states[s].distance != kUnreachable) continue;
      states[s].distance = states[reached[i]].distance + 1;
      reached.push_back(s);
    }
  }
  for (State& state : states) {
    std::erase_if(state.edges,
                  [&](const Edge& edge) { return states[edge.next].distance == kUnreachable; });
  }
}

size_t SymbolAutomaton::Bytes() const {
  size_t bytes = states.size() * sizeof(State);
  for (const State& state : states) bytes += state.edges.size() * sizeof(Edge);
  return bytes;
}

std::optional<SymbolAutomaton> WordsAutomaton(std::span<const std::string> words,
                                              size_t max_states) {
  std::vector<std::string_view> sorted(words.begin(), words.end());
  std::ranges::sort(sorted);  // in UTF-8 the order of bytes is that of code points
  WordsBuilder builder;
  std::vector<Symbol> symbols;
  for (const std::string_view word : sorted) {
    symbols.clear();
    for (size_t at = 0; at < word.size();) {
      const Utf8Character character = DecodeUtf8(word, at);
      WEFT_CHECK(character.status == Utf8Status::kValid);
      symbols.push_back(character.code_point);
      at += character.size_bytes;
    }
    if (symbols.size() > max_states) return std::nullopt;
    builder.Add(symbols);
    if (builder.size() > max_states) return std::nullopt;
  }
  return builder.Finish();
}

}  // namespace weft
