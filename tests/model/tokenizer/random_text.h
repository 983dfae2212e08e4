// The random strings that the fixtures' scripts have made the references' answers for, and the
// hashes that these answers are kept as.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "model/tensor.h"
#include "tests/data_paths.h"

namespace weft {

inline constexpr uint64_t kBlock = 100;  // strings a hash

// tests/model/tokenizer/fixtures/`name`.
inline std::string FixturePath(std::string_view name) {
  return SourcePath("tests/model/tokenizer/fixtures/").append(name);
}

inline nlohmann::json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

// Random and random_text() of tests/tools/make_tokenizer_fixtures.py.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t Below(uint64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % bound;
  }

 private:
  uint64_t state_;
};

class RandomText {
 public:
  RandomText() {
    const nlohmann::json alphabet = ReadJson(FixturePath("alphabet.json"));
    ranges_ = alphabet["ranges"].get<std::vector<std::pair<char32_t, char32_t>>>();
    fragments_ = alphabet["fragments"].get<std::vector<std::string>>();
    for (const auto& [begin, end] : ranges_) total_ += end - begin + 1;
  }

  std::string operator()(uint64_t seed) const {
    Random random(seed);
    std::string text;
    std::string part;
    const uint64_t part_count = 1 + random.Below(40);
    for (uint64_t i = 0; i < part_count; ++i) {
      const uint64_t kind = random.Below(8);
      if (kind < 3) {
        part = fragments_[random.Below(fragments_.size())];
      } else if (kind < 5) {
        part = static_cast<char>(0x20 + random.Below(95));
      } else if (kind > 5) {
        part.clear();
        AppendUtf8(CodePoint(random.Below(total_)), &part);
      }
      text += part;
    }
    return text;
  }

 private:
  char32_t CodePoint(uint64_t index) const {
    for (const auto& [begin, end] : ranges_) {
      if (index <= end - begin) return begin + static_cast<char32_t>(index);
      index -= end - begin + 1;
    }
    return 0;
  }

  std::vector<std::pair<char32_t, char32_t>> ranges_;
  std::vector<std::string> fragments_;
  uint64_t total_ = 0;
};

// Four bytes each, the lowest first.
inline std::string IdBytes(const std::vector<TokenId>& ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(id >> shift));
  }
  return bytes;
}

class Fnv1a {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes) {
      state_ = (state_ ^ static_cast<uint8_t>(byte)) * 0x100000001B3u;
    }
  }
  std::string Hex() const { return fmt::format("{:016x}", state_); }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

}  // namespace weft
