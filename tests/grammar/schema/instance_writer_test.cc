// The writer of the replay (tests/bench/schema_replay), on a language of a few texts.
#include "tests/bench/schema_replay/instance_writer.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

// Accepts the texts that it is made of: a state is the number of a prefix.
class FewTexts : public Recognizer {
 public:
  explicit FewTexts(std::vector<std::string> texts) : texts_(std::move(texts)) { Number(""); }

  State Start() override { return 0; }

  State Step(State state, uint8_t byte) override {
    const std::string prefix = prefixes_[static_cast<size_t>(state)] + static_cast<char>(byte);
    for (const std::string& text : texts_) {
      if (text.starts_with(prefix)) return Number(prefix);
    }
    return kDead;
  }

  bool Accepts(State state) override {
    for (const std::string& text : texts_) {
      if (text == prefixes_[static_cast<size_t>(state)]) return true;
    }
    return false;
  }

 private:
  State Number(const std::string& prefix) {
    const auto [found, is_new] = numbers_.emplace(prefix, static_cast<State>(prefixes_.size()));
    if (is_new) prefixes_.push_back(prefix);
    return found->second;
  }

  std::vector<std::string> texts_;
  std::vector<std::string> prefixes_;
  std::map<std::string, State> numbers_;
};

WriteOutcome Written(const std::string& value, std::vector<std::string> texts,
                     const InstanceWriter::Options& options = {}) {
  FewTexts recognizer(std::move(texts));
  return InstanceWriter(recognizer, options).Write(nlohmann::ordered_json::parse(value));
}

TEST(InstanceWriterTest, WritesAsPythonDoes) {
  const std::string value = R"({"a":[1,{},[]],"\u00e9":"\n\u0001x"})";
  const std::string spaced = "{\"a\": [1, {}, []], \"\xC3\xA9\": \"\\n\\u0001x\"}";
  EXPECT_EQ(Written(value, {spaced}), WriteOutcome::kAccepted);
  EXPECT_EQ(Written(value, {spaced + " "}), WriteOutcome::kRefused);
  EXPECT_EQ(Written(value, {spaced}, {.is_spaced = false}), WriteOutcome::kRefused);
  EXPECT_EQ(Written("[1,2]", {"[1,2]"}, {.is_spaced = false}), WriteOutcome::kAccepted);
}

TEST(InstanceWriterTest, FindsTheOrderThatIsAccepted) {
  const std::string value = R"([{"a":1,"b":{"c":2,"d":3}}])";
  const std::string other = R"([{"b": {"d": 3, "c": 2}, "a": 1}])";
  EXPECT_EQ(Written(value, {other}), WriteOutcome::kRefused);
  EXPECT_EQ(Written(value, {other}, {.any_order = true}), WriteOutcome::kAccepted);
  // `a` may come first, but then nothing fits.
  EXPECT_EQ(Written(value, {other, R"([{"a": 1, "x": 2}])"}, {.any_order = true}),
            WriteOutcome::kAccepted);
  EXPECT_EQ(Written(value, {R"([{"b": {"d": 3}, "a": 1}])"}, {.any_order = true}),
            WriteOutcome::kRefused);
}

TEST(InstanceWriterTest, GivesUpWhereThereAreTooManyOrders) {
  EXPECT_EQ(Written("[1,2]", {"[1, 2]"}, {.max_bytes = 6}), WriteOutcome::kAccepted);
  EXPECT_EQ(Written("[1,2]", {"[1, 2]"}, {.max_bytes = 5}), WriteOutcome::kUndecided);
}

}  // namespace
}  // namespace weft
