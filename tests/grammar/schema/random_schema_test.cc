// Random schemas: what the machine lets be written is as the schema wants it, nothing that begins
// cannot end, and what the schema allows can be written.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/mask/way_out.h"
#include "grammar/schema/json_schema.h"
#include "tests/grammar/schema/naive_validator.h"
#include "tests/grammar/schema/random_schemas.h"
#include "tests/grammar/schema/strict_json.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;
using State = Recognizer::State;

// Bytes that a walk chooses among.
constexpr std::string_view kBytes = "\"{}[],:0123456789-.eEtrufalsnbxy \\\n\xC3\xA9";

class Walker {
 public:
  Walker(JsonMachine& machine, uint64_t seed) : machine_(machine), random_(seed) {}

  // A text that is accepted; nullopt: is_stuck, or no end was found.
  std::optional<std::string> Walk(size_t free_bytes) {
    text_.clear();
    turn_ = Recognizer::kDead;
    State state = machine_.Start();
    EXPECT_NE(state, Recognizer::kDead);
    while (text_.size() < free_bytes) {
      if (machine_.Accepts(state) && random_() % 4 == 0) return text_;
      const State next = Choose(state, false);
      if (next == Recognizer::kDead) break;  // it may end, or is stuck: which is found out below
      state = next;
    }
    const std::string begun = text_;
    before_turn_ = begun;
    turn_ = state;
    for (int i = 0; i < kMostEnds; ++i) {
      State end = state;
      text_ = begun;
      while (!machine_.Accepts(end) && text_.size() < begun.size() + kMostBytesToEnd) {
        end = Choose(end, true);
        if (end == Recognizer::kDead) {
          is_stuck_ = true;
          return std::nullopt;
        }
      }
      if (machine_.Accepts(end)) return text_;
    }
    return std::nullopt;
  }

  const std::string& text() const { return text_; }
  // Whether no byte led on, though the text was not accepted.
  bool is_stuck() const { return is_stuck_; }
  // Where the walk left off choosing freely.
  State turn() const { return turn_; }
  const std::string& text_before_turn() const { return before_turn_; }

 private:
  static constexpr int kMostEnds = 200;
  static constexpr size_t kMostBytesToEnd = 400;

  State Choose(State state, bool closes) {
    std::vector<std::string> choices;
    if (closes && EndsInString()) choices = {random_() % 2 == 0 ? "\"" : "abc", "\""};
    if (closes && !EndsInString()) choices = {random_() % 4 != 0 ? "}]" : "", "\":,[{0123-tfn"};
    choices.emplace_back(kBytes);
    for (std::string& bytes : choices) {
      if (EndsInDigits()) std::erase_if(bytes, IsDigit);
      std::ranges::shuffle(bytes, random_);
      for (const char byte : bytes) {
        if (const State next = Step(state, byte); next != Recognizer::kDead) return next;
      }
    }
    if (machine_.Accepts(state)) return Recognizer::kDead;
    const int first = static_cast<int>(random_() % 256);
    for (int i = 0; i < 256; ++i) {
      const State next = Step(state, static_cast<char>((first + i) % 256));
      if (next != Recognizer::kDead) return next;
    }
    return Recognizer::kDead;
  }

  State Step(State state, char byte) {
    const State next = machine_.Step(state, static_cast<uint8_t>(byte));
    if (next != Recognizer::kDead) text_.push_back(byte);
    return next;
  }

  bool EndsInString() const {
    bool is_in_string = false;
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        is_in_string = !is_in_string;
      }
    }
    return is_in_string;
  }

  static bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }
  // Longer numbers are too much for doubles.
  bool EndsInDigits() const {
    return text_.size() >= 2 && IsDigit(text_.back()) && IsDigit(text_[text_.size() - 2]);
  }

  JsonMachine& machine_;
  std::mt19937_64 random_;
  std::string text_;
  std::string before_turn_;
  State turn_ = Recognizer::kDead;
  bool is_stuck_ = false;
};

// How many bytes of a text are not dead; its size and one more if it is accepted.
size_t CountAlive(JsonMachine& machine, const std::string& text) {
  State state = machine.Start();
  for (size_t i = 0; i < text.size(); ++i) {
    state = machine.Step(state, static_cast<uint8_t>(text[i]));
    if (state == Recognizer::kDead) return i;
  }
  return text.size() + (machine.Accepts(state) ? 1 : 0);
}

// What became of many schemas.
struct Tally {
  int schemas = 0;
  int refused = 0;  // by the compiler, though a value was found
  int walks = 0;
  int endless = 0;  // of them, those for which no end was found by chance
  int searches = 0;
  int lost = 0;  // of them, those that found no way
  int instances = 0;
  int misses = 0;
};

class RandomSchemaTest : public testing::Test {
 protected:
  void Try(uint64_t seed) {
    RandomSchemas random(seed);
    const Json schema = random.Document();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + schema.dump());
    const SchemaResult<SchemaDocument> document = ReadSchema(schema, {});
    if (!document) return;  // a circle of references
    NaiveValidator oracle(*document);
    std::vector<Json> allowed;
    for (int i = 0; i < 40; ++i) {
      Json value = random.Value(3);
      if (oracle.Accepts(value)) allowed.push_back(std::move(value));
    }
    ++tally_.schemas;
    const SchemaResult<JsonSchema> compiled = JsonSchema::Compile(schema);
    if (!compiled) {
      if (!allowed.empty()) {
        ++tally_.refused;
        Miss(seed, "refused, though it allows " + allowed[0].dump() + ": " +
                       ToError(compiled.error()).message);
      }
      return;
    }
    TryWalks(*compiled, oracle, random, seed);
    const std::unique_ptr<JsonMachine> machine = compiled->NewMachine({.any_order = true});
    for (const Json& value : allowed) {
      ++tally_.instances;
      const std::string text = value.dump();
      if (CountAlive(*machine, text) == text.size() + 1) continue;
      ++tally_.misses;
      Miss(seed, "missed " + text);
    }
  }

  void TryWalks(const JsonSchema& schema, NaiveValidator& oracle, RandomSchemas& random,
                uint64_t seed) {
    for (int i = 0; i < 4; ++i) {
      const JsonMachineOptions options = {.space = static_cast<JsonSpace>(random.Below(3)),
                                          .any_order = random.OneIn(2)};
      const std::unique_ptr<JsonMachine> machine = schema.NewMachine(options);
      const std::unique_ptr<JsonMachine> other = schema.NewMachine(options);
      Walker walker(*machine, random.Below(1U << 31U));
      for (int walk = 0; walk < 4; ++walk) {
        ++tally_.walks;
        const std::optional<std::string> text = walker.Walk(10 + random.Below(60));
        if (!machine->status()) break;  // beyond a limit
        ASSERT_FALSE(walker.is_stuck()) << "no byte leads on from " << walker.text();
        TryWayOut(*machine, walker, oracle, seed);
        if (!text) ++tally_.endless;
        if (!text || HasLongNumber(*text)) continue;
        const std::optional<Json> value = ParseStrictly(*text);
        ASSERT_TRUE(value) << *text;
        ASSERT_TRUE(oracle.Accepts(*value)) << *text;
        ASSERT_EQ(CountAlive(*machine, *text), text->size() + 1) << *text;
        ASSERT_EQ(CountAlive(*other, *text), text->size() + 1) << *text;
      }
    }
  }

  // From where a walk was, a search for a short way finds one, as it does from the beginning.
  void TryWayOut(JsonMachine& machine, const Walker& walker, NaiveValidator& oracle,
                 uint64_t seed) {
    constexpr WayOutLimits kLimits = {.states = 20'000, .width = 256};
    if (walker.turn() == Recognizer::kDead) return;
    ++tally_.searches;
    const std::optional<WayOut> way =
        FindWayOut(machine, walker.turn(), {}, kLimits, [](const WayOut&) { return true; });
    if (!way) {
      ++tally_.lost;
      Miss(seed, "no way out behind " + walker.text_before_turn());
      return;
    }
    const std::string text = walker.text_before_turn() + way->bytes;
    if (HasLongNumber(text)) return;
    const std::optional<Json> value = ParseStrictly(text);
    ASSERT_TRUE(value) << text;
    ASSERT_TRUE(oracle.Accepts(*value)) << text;
    ASSERT_EQ(CountAlive(machine, text), text.size() + 1) << text;
  }

  static void Miss(uint64_t seed, const std::string& what) {
    if (std::getenv("WEFT_SHOW_MISSES") != nullptr) std::cout << seed << ": " << what << "\n";
  }

  Tally tally_;
};

TEST_F(RandomSchemaTest, WalksAndInstances) {
  const char* const asked = std::getenv("WEFT_SCHEMA_SEED");
  uint64_t first = 1;  // the same in every run; others by WEFT_SCHEMA_SEED
  uint64_t count = 2000;
  if (asked != nullptr) {
    first = std::strtoull(asked, nullptr, 10);
    count = 1;
  }
  if (const char* const more = std::getenv("WEFT_SCHEMA_COUNT")) {
    count = std::strtoull(more, nullptr, 10);
  }
  std::cout << "seeds: " << count << " from " << first << std::endl;
  for (uint64_t seed = first; seed < first + count && !HasFatalFailure(); ++seed) Try(seed);
  std::cout << tally_.schemas << " schemas, " << tally_.refused << " refused, " << tally_.walks
            << " walks, " << tally_.endless << " without an end, " << tally_.searches
            << " searches, " << tally_.lost << " that found none, " << tally_.instances
            << " instances, " << tally_.misses << " missed\n";
  EXPECT_LE(tally_.endless, 1 + tally_.walks / 200);
  EXPECT_LE(tally_.lost, 1 + tally_.searches / 1000);
  EXPECT_LE(tally_.misses, 1 + tally_.instances / 200);
  EXPECT_LE(tally_.refused, 1 + tally_.schemas / 200);
}

}  // namespace
}  // namespace weft
