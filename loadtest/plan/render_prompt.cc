#include "loadtest/plan/render_prompt.h"

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "loadtest/plan/random.h"

namespace weft {
namespace {

constexpr auto kWords = std::to_array<std::string_view>(
    {"the",    "old",   "house", "stood", "by",    "a",     "river", "and",   "in",   "its",
     "garden", "grew",  "one",   "tree",  "that",  "gave",  "no",    "fruit", "for",  "years",
     "until",  "child", "came",  "with",  "water", "from",  "well",  "said",  "to",   "it",
     "every",  "day",   "my",    "name",  "is",    "not",   "known", "but",   "I",    "will",
     "stay",   "here",  "when",  "night", "fell",  "stars", "shone", "over",  "hill", "where",
     "sheep",  "lay",   "down",  "under", "stone", "wall",  "of",    "king",  "who",  "had",
     "lost",   "his",   "way",   "home"});
constexpr size_t kWordBits = 6;
static_assert(kWords.size() == 1 << kWordBits);

// A word and the space behind it, at a fixed size: writing one is a store of 8 bytes.
struct PaddedWord {
  std::array<char, 7> text;
  uint8_t size;
};
static_assert(sizeof(PaddedWord) == 8);

constexpr auto kPaddedWords = [] {
  std::array<PaddedWord, kWords.size()> padded{};
  for (size_t i = 0; i < kWords.size(); ++i) {
    for (size_t j = 0; j < kWords[i].size(); ++j) padded[i].text[j] = kWords[i][j];
    padded[i].text[kWords[i].size()] = ' ';  // does not compile if a word is too long
    padded[i].size = static_cast<uint8_t>(kWords[i].size() + 1);
  }
  return padded;
}();

constexpr int kMaxDigits = 10;  // of an id

int64_t TokenCount(const PlannedRequest& request) {
  int64_t token_count = 0;
  for (const PromptSegment& segment : request.segments) token_count += segment.token_count;
  return token_count;
}

// Returns the end. `out` has room for 8 bytes a word.
char* WriteWords(const PromptSegment& segment, char* out) {
  uint64_t state = segment.seed;
  uint64_t bits = 0;
  for (int32_t i = 0; i < segment.token_count; ++i) {
    bits = i % 10 == 0 ? NextRandom(state) : bits >> kWordBits;
    const PaddedWord& word = kPaddedWords[bits % kWords.size()];
    std::memcpy(out, &word, sizeof(word));
    out += word.size;
  }
  return out;
}

}  // namespace

std::string RenderPrompt(const LoadPlan& plan, const PlannedRequest& request) {
  if (request.given_prompt >= 0) {
    return plan.given_prompts[static_cast<size_t>(request.given_prompt)].text;
  }
  const int64_t token_count = TokenCount(request);
  if (token_count == 0) return {};
  std::string text(static_cast<size_t>(token_count) * sizeof(PaddedWord), '\0');
  char* end = text.data();
  for (const PromptSegment& segment : request.segments) end = WriteWords(segment, end);
  text.resize(static_cast<size_t>(end - text.data()) - 1);  // without the last space
  return text;
}

std::string RenderPromptIds(const LoadPlan& plan, const PlannedRequest& request) {
  const auto first = static_cast<uint64_t>(plan.vocabulary_size / 4);
  const auto count = static_cast<uint64_t>(plan.vocabulary_size / 2);
  std::string text(static_cast<size_t>(TokenCount(request)) * (kMaxDigits + 1) + 2, '\0');
  char* end = text.data();
  *end++ = '[';
  for (const PromptSegment& segment : request.segments) {
    Random random(segment.seed);
    for (int32_t i = 0; i < segment.token_count; ++i) {
      end = std::to_chars(end, end + kMaxDigits, first + random.Below(count)).ptr;
      *end++ = ',';
    }
  }
  if (end[-1] == ',') --end;
  *end++ = ']';
  text.resize(static_cast<size_t>(end - text.data()));
  return text;
}

}  // namespace weft
