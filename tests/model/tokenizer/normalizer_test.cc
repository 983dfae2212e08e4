// Normalizers of SentencePiece and BERT, and what a hostile map of characters comes to.
#include "model/tokenizer/normalizer.h"

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/tokenizer/protobuf_reader.h"
#include "tests/model/tokenizer/random_text.h"
#include "tests/read_file.h"

namespace weft {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

// One normalizer step of a text that begins a segment.
std::string Apply(const NormalizerStep& step, std::string text) {
  return step.Apply(std::move(text), true, kMaxBytes).value();
}

// A unit of Darts-clone's: the byte that leads to it, the XOR to its children, whether a value is
// among these.
uint32_t Unit(uint32_t offset, uint8_t label, bool has_leaf) {
  return offset << 10 | static_cast<uint32_t>(has_leaf) << 8 | label;
}

std::string Blob(const std::vector<uint32_t>& units, std::string_view replacements) {
  const auto trie_bytes = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::string blob(sizeof(trie_bytes) + trie_bytes, '\0');
  std::memcpy(blob.data(), &trie_bytes, sizeof(trie_bytes));
  if (trie_bytes > 0) std::memcpy(blob.data() + sizeof(trie_bytes), units.data(), trie_bytes);
  return blob.append(replacements);
}

// "a" -> "X", "ab" -> "YY".
std::string TwoRules() {
  std::vector<uint32_t> units(512);
  units[0] = Unit(256, 0, false);           // children at 256 ^ byte
  units[256 ^ 'a'] = Unit(128, 'a', true);  // its value at 256 ^ 'a' ^ 128, children beside that
  const size_t behind_a = 256 ^ 'a' ^ 128;
  units[behind_a] = 0x80000000;  // the replacement at 0
  units[behind_a ^ 'b'] = Unit(8, 'b', true);
  units[behind_a ^ 'b' ^ 8] = 0x80000000 | 2;
  return Blob(units, std::string_view("X\0YY\0", 5));
}

// normalizer_spec.precompiled_charsmap of a SentencePiece file.
CharacterMap MapOf(const std::string& name) {
  const std::string path = FixturePath(name) + "/tokenizer.model";
  const std::string bytes = ReadFile(path);
  ProtobufReader reader(bytes, path);
  while (!reader.done()) {
    const ProtobufField field = reader.Next().value();
    if (field.number != 3) continue;
    ProtobufReader spec(field.bytes, path);
    while (!spec.done()) {
      const ProtobufField member = spec.Next().value();
      if (member.number == 2) return CharacterMap::Parse(member.bytes).value();
    }
  }
  ADD_FAILURE() << path;
  return {};
}

TEST(CharacterMapTest, RulesAreFoundByLength) {
  const CharacterMap map = CharacterMap::Parse(TwoRules()).value();
  EXPECT_EQ(map.Longest("abc").size_bytes, 2u);
  EXPECT_EQ(map.Longest("abc").replacement, "YY");
  EXPECT_EQ(map.Shortest("abc").size_bytes, 1u);
  EXPECT_EQ(map.Shortest("abc").replacement, "X");
  EXPECT_EQ(map.Longest("ac").replacement, "X");
  EXPECT_EQ(map.Longest("ba").size_bytes, 0u);
  EXPECT_EQ(map.Longest("").size_bytes, 0u);
  EXPECT_EQ(map.Longest(std::string_view("\0a", 2)).size_bytes, 0u);
  EXPECT_EQ(CharacterMap().Longest("a").size_bytes, 0u);
}

TEST(CharacterMapTest, SizesThatContradictEachOtherAreRefused) {
  const auto error = [](const std::string& blob) {
    const auto map = CharacterMap::Parse(blob);
    return map ? std::string() : map.error().message;
  };
  EXPECT_NE(error("abc").find("3 bytes, at least 4"), std::string::npos);
  EXPECT_NE(error(Blob({}, "")).find("a trie of 0 bytes"), std::string::npos);
  EXPECT_NE(error(std::string("\x05\0\0\0abcdefgh", 12)).find("a trie of 5"), std::string::npos);
  EXPECT_NE(error(std::string("\xFC\xFF\xFF\xFFz", 5)).find("up to 1 expected"), std::string::npos);
  EXPECT_NE(error(Blob({0}, "a")).find("zero byte"), std::string::npos);
  EXPECT_NE(error(Blob({0}, std::string_view("\xFF\0", 2))).find("not UTF-8"), std::string::npos);
}

TEST(CharacterMapTest, RulesThatPointOutsideOrIntoACharacterDoNotApply) {
  std::vector<uint32_t> units(512);
  units[0] = Unit(256, 0, false);
  units[256 ^ 'a'] = Unit(128, 'a', true);
  const auto longest = [&](std::string_view text) {
    const CharacterMap map = CharacterMap::Parse(Blob(units, std::string_view("é\0", 3))).value();
    const CharacterMap::Match match = map.Longest(text);
    return std::pair(match.size_bytes, std::string(match.replacement));
  };
  const std::pair<size_t, std::string> none = {0, ""};
  units[256 ^ 'a' ^ 128] = 0x80000000;
  EXPECT_EQ(longest("a"), std::pair(size_t{1}, std::string("é")));
  units[256 ^ 'a' ^ 128] = 0x80000000 | 1;  // in the middle of é
  EXPECT_EQ(longest("a"), none);
  units[256 ^ 'a' ^ 128] = 0x80000000 | 3;  // behind all replacements
  EXPECT_EQ(longest("a"), none);
  units[256 ^ 'a'] = Unit(1 << 20, 'a', true);  // a value outside the trie
  EXPECT_EQ(longest("a"), none);
  units[0] = Unit(1 << 20, 0, false);  // children outside the trie
  EXPECT_EQ(longest("a"), none);
  units[0] = Unit(256, 0, false);
  units[256 ^ 0xC3] = Unit(128, 0xC3, true);  // a rule for the first byte of é
  units[256 ^ 0xC3 ^ 128] = 0x80000000;
  EXPECT_EQ(longest("é"), none);
}

// Where every unit leads back to the root's children, any text of one letter is walked to its end,
// from each of its characters: quadratic time, which would be hours here.
TEST(CharacterMapTest, ATrieWithACycleTakesLinearTime) {
  std::vector<uint32_t> units(512);
  units[0] = Unit(256, 0, false);
  units[256 ^ 'a'] = Unit('a', 'a', false);  // 256 ^ 'a' ^ 'a': where the root's children are
  SentencePieceSpec spec;
  spec.character_map = CharacterMap::Parse(Blob(units, "")).value();
  spec.add_dummy_prefix = false;
  const std::string text(kMaxBytes, 'a');
  EXPECT_EQ(Apply(*MakeSentencePieceStep(std::move(spec)), text), text);
}

TEST(CharacterMapTest, RandomTriesComeToNoHarm) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint32_t> units(1 + random() % 300);
    for (uint32_t& unit : units)
      unit = Unit(random() % 512, "abé"[random() % 3], random() % 2 == 0);
    const auto map = CharacterMap::Parse(Blob(units, std::string_view("é\0a\0", 5)));
    ASSERT_TRUE(map) << map.error().message;
    const std::string precompiled = Apply(*MakePrecompiledStep(*map), "aaébabéab");
    EXPECT_EQ(ValidUtf8Prefix(precompiled), precompiled.size());
    const std::string spelled = Apply(*MakeSentencePieceStep({.character_map = *map}), "aéba béab");
    EXPECT_EQ(ValidUtf8Prefix(spelled), spelled.size());
  }
}

// What the rules make of a text is bounded.
TEST(CharacterMapTest, RulesThatMultiplyTheTextAreStopped) {
  std::vector<uint32_t> units(512);
  units[0] = Unit(256, 0, false);
  units[256 ^ 'a'] = Unit(128, 'a', true);
  units[256 ^ 'a' ^ 128] = 0x80000000;
  const std::string blob = Blob(units, std::string(1000, 'x') + '\0');
  const CharacterMap map = CharacterMap::Parse(blob).value();
  EXPECT_EQ(MakePrecompiledStep(map)->Apply("aaa", true, 2999), std::nullopt);
  EXPECT_NE(MakePrecompiledStep(map)->Apply("aaa", true, 3000), std::nullopt);
  const auto step = MakeSentencePieceStep({.character_map = map, .add_dummy_prefix = false});
  EXPECT_EQ(step->Apply("aaa", true, 2999), std::nullopt);
  EXPECT_NE(step->Apply("aaa", true, 3000), std::nullopt);
}

TEST(SentencePieceStepTest, SpacesFollowTheSpec) {
  const auto apply = [](bool adds_prefix, bool removes, std::string text) {
    const auto step = MakeSentencePieceStep({.character_map = {},
                                             .add_dummy_prefix = adds_prefix,
                                             .remove_extra_whitespaces = removes,
                                             .user_defined = {}});
    return Apply(*step, std::move(text));
  };
  EXPECT_EQ(apply(true, true, "  a  b  "), "▁a▁b");
  EXPECT_EQ(apply(true, true, "   "), "");
  EXPECT_EQ(apply(true, true, ""), "");
  EXPECT_EQ(apply(true, true, "a▁"), "▁a");  // the library takes it for one of its own
  EXPECT_EQ(apply(false, true, " a  b "), "a▁b");
  EXPECT_EQ(apply(true, false, " a  "), "▁▁a▁▁");
  EXPECT_EQ(apply(true, false, " "), "▁▁");
  EXPECT_EQ(apply(false, false, " a"), "▁a");
}

TEST(SentencePieceStepTest, ATextThatGoesOnGetsNoPrefix) {
  const auto step = MakeSentencePieceStep({});
  EXPECT_EQ(step->Apply("a", false, kMaxBytes), "a");
  EXPECT_EQ(step->Apply("  a", false, kMaxBytes), "▁a");
}

TEST(SentencePieceStepTest, UserDefinedSpellingsStay) {
  const auto step = MakeSentencePieceStep({.character_map = CharacterMap::Parse(TwoRules()).value(),
                                           .add_dummy_prefix = true,
                                           .remove_extra_whitespaces = true,
                                           .user_defined = {"abc", "  "}});
  EXPECT_EQ(Apply(*step, "ababcab"), "▁YYabcYY");
  EXPECT_EQ(Apply(*step, "c  c c"), "▁c▁▁c▁c");
}

TEST(NormalizerCrossCheckTest, TheReferencesMapsMakeTheSame) {
  const nlohmann::json expected = ReadJson(FixturePath("precompiled.json"));
  const CharacterMap map = MapOf("sentencepiece_nfkc");
  const std::pair<const char*, std::unique_ptr<NormalizerStep>> steps[] = {
      {"hugging_face", MakePrecompiledStep(map)},
      // The symbols are those of the fixture.
      {"sentencepiece", MakeSentencePieceStep({.character_map = map,
                                               .add_dummy_prefix = true,
                                               .remove_extra_whitespaces = true,
                                               .user_defined = {"<mask>", "thex", "--"}})},
  };
  const RandomText random_text;
  for (const auto& [name, step] : steps) {
    const auto blocks = expected[name].get<std::vector<std::string>>();
    ASSERT_FALSE(blocks.empty());
    for (uint64_t block = 0; block < blocks.size(); ++block) {
      Fnv1a hash;
      for (uint64_t seed = block * kBlock; seed < (block + 1) * kBlock; ++seed) {
        hash.Add(Apply(*step, random_text(seed)) + "\xFF\xFF\xFF\xFF");
      }
      EXPECT_EQ(hash.Hex(), blocks[block]) << name << ", strings from " << block * kBlock;
    }
  }
}

TEST(BertStepTest, CleansAndLowersAsTheReference) {
  const auto uncased = MakeBertStep({});
  EXPECT_EQ(Apply(*uncased, "H\u00E9LLo\tW\u00F6rld\r\n\u3000x"), "hello world   x");
  EXPECT_EQ(Apply(*uncased, std::string("a\0b\uFFFDc\u00ADd\u200Be\uE000f\v", 19)), "abcdef");
  EXPECT_EQ(Apply(*uncased, "a\u0378b"), "a\u0378b");  // unassigned, which is no control character
  EXPECT_EQ(Apply(*uncased, "x\u4E2D\u6587y"), "x \u4E2D  \u6587 y");
  EXPECT_EQ(Apply(*uncased, "\U0002B820\U0002B920"), "\U0002B820 \U0002B920 ");
  EXPECT_EQ(Apply(*uncased, "\u0130\u1E9E\uAC01"), "i\u00DF\u1100\u1161\u11A8");
  const auto cased = MakeBertStep({.clean_text = false,
                                   .handle_chinese_chars = false,
                                   .strip_accents = false,
                                   .lowercase = false});
  const std::string text = "H\u00E9\t\u4E2D\u00AD";
  EXPECT_EQ(Apply(*cased, text), text);
  const auto stripping = MakeBertStep({.strip_accents = true, .lowercase = false});
  EXPECT_EQ(Apply(*stripping, "\u00C9\u0903"), "E\u0903");  // spacing marks stay
}

TEST(NormalizerTest, MarksAndControlCharactersGo) {
  EXPECT_EQ(Apply(*MakeStripAccentsStep(), "a\u0301\u0903\u20DDx"), "ax");
  EXPECT_EQ(Apply(*MakeNmtStep(), "a\u0085\u000Bb\tc\u2581\u200Dd\u00A0"),
            "a\u0085b"
            " c  d\u00A0");
}

}  // namespace
}  // namespace weft
