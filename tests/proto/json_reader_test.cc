// What hostile JSON may cost.
#include "proto/json_reader.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

using nlohmann::ordered_json;

// Eight bytes that JSON may have in a string as they are.
bool IsPlain(uint64_t block) {
  std::array<char, 8> bytes{};
  std::memcpy(bytes.data(), &block, sizeof(block));
  for (const char byte : bytes) {
    if (byte < '#' || byte > '~' || byte == '\\') return false;
  }
  return true;
}

// libstdc++'s hash of 64-byte strings, a block of eight bytes after the other, with the seed that
// it always has: any state leads to any other with the right block.
class StringHash {
 public:
  static constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  static constexpr uint64_t kBegin = 0xc70f6907 ^ (64 * kMultiplier);

  static uint64_t Next(uint64_t state, uint64_t block) {
    return (state ^ (Mixed(block * kMultiplier) * kMultiplier)) * kMultiplier;
  }
  static uint64_t BlockBetween(uint64_t state, uint64_t next) {
    return Mixed((next * kInverse ^ state) * kInverse) * kInverse;
  }

 private:
  static constexpr uint64_t kInverse = 0x5f7a0ea7e59b19bd;
  static_assert(kMultiplier * kInverse == 1);
  static uint64_t Mixed(uint64_t value) { return value ^ (value >> 47); }  // its own inverse
};

// 20 strings of 16 bytes after which a hash in the state is in the same one, which `state` becomes.
std::vector<std::string> Alike(uint64_t& state, std::mt19937_64& random) {
  std::vector<std::string> alike;
  const uint64_t after = random();
  while (alike.size() < 20) {
    uint64_t first = 0;
    for (int i = 0; i < 8; ++i) first = first << 8 | ('A' + random() % 26);
    const uint64_t second = StringHash::BlockBetween(StringHash::Next(state, first), after);
    if (!IsPlain(second)) continue;
    std::string text(16, '\0');
    std::memcpy(text.data(), &first, 8);
    std::memcpy(text.data() + 8, &second, 8);
    alike.push_back(text);
  }
  state = after;
  return alike;
}

TEST(JsonReaderTest, NamesThatHashAlikeTakeNoLonger) {
  static_assert(std::endian::native == std::endian::little);
  std::mt19937_64 random(1);
  uint64_t state = StringHash::kBegin;
  std::vector<std::string> names = {""};
  for (int part = 0; part < 4; ++part) {
    const std::vector<std::string> ends = Alike(state, random);
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& end : ends) longer.push_back(name + end);
    }
    names = std::move(longer);
  }
  names.resize(kMaxJsonValues - 1);
  EXPECT_EQ(std::hash<std::string>()(names.front()), std::hash<std::string>()(names.back()));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "{\"" : ",\"") + name + "\":0";
  const ApiResult<ordered_json> parsed = ParseOrderedJson(text + "}");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->size(), names.size());
  const ApiResult<ordered_json> twice = ParseOrderedJson(text + ",\"" + names[7] + "\":0}");
  ASSERT_FALSE(twice);
}

TEST(JsonReaderTest, NamesThatComeTwiceAreFoundInSmallAndLargeObjects) {
  for (const int count : {2, 3, 17, 1000}) {
    std::string text = "{\"a\":[{\"k1\":0";
    for (int i = 2; i <= count; ++i) text += ",\"k" + std::to_string(i) + "\":{\"k1\":0}";
    EXPECT_TRUE(ParseOrderedJson(text + "}]}"));
    const ApiResult<ordered_json> twice = ParseOrderedJson(text + ",\"k2\":0}]}");
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, "duplicate_key");
    EXPECT_EQ(twice.error().param, "a[0].k2");
    EXPECT_EQ(twice.error().message, "the key 'k2' appears twice in one object; send it once");
    EXPECT_EQ(ParseJson(text + ",\"k2\":0}]}").error().message, twice.error().message);
  }
}

TEST(JsonReaderTest, TextsCanShareALimit) {
  std::string text = "[[]";
  for (int64_t i = 2; i < kMaxJsonValues / 2; ++i) text += ",[]";
  JsonCount count;
  EXPECT_TRUE(ParseOrderedJson(text + "]", count));
  EXPECT_TRUE(ParseOrderedJson(text + ",1,2,3,4,5,6,7]", count));
  EXPECT_EQ(ParseOrderedJson("[8", count).error().code, "too_many_values");
}

}  // namespace
}  // namespace weft
