// Random schemas and values over a few names, texts and numbers, so that they meet.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

namespace weft {

class RandomSchemas {
 public:
  using Json = nlohmann::ordered_json;

  explicit RandomSchemas(uint64_t seed) : random_(seed) {}

  // A whole document, with "$defs" that references in it lead to.
  Json Document();
  Json Value(int depth);

  uint32_t Below(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  bool OneIn(uint32_t count) { return Below(count) == 0; }

 private:
  Json Schema(int depth);
  void AddKeyword(Json& schema, int depth);
  void AddNumberKeyword(Json& schema);
  void AddStringKeyword(Json& schema);
  void AddObjectKeyword(Json& schema, int depth);
  void AddArrayKeyword(Json& schema, int depth);
  void AddCombination(Json& schema, int depth);
  Json Schemas(int depth);
  Json NamedSchemas(std::span<const std::string_view> names, int depth);
  Json Names();
  Json Type();

  template <typename Range>
  auto OneOf(const Range& range) {
    return range[Below(static_cast<uint32_t>(std::size(range)))];
  }

  std::mt19937_64 random_;
};

}  // namespace weft
