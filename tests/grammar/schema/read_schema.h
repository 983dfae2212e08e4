// Schemas of a test, from JSON text.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grammar/schema/schema_reader.h"

namespace weft {

// A document that must be read.
inline SchemaDocument ReadText(const std::string& text, const SchemaReadOptions& options = {}) {
  auto document = ReadSchema(nlohmann::ordered_json::parse(text), options);
  EXPECT_TRUE(document) << text << ": " << ToError(document.error()).message;
  if (!document) return {{SchemaNode{}}, 0};
  return *std::move(document);
}

inline SchemaNode RootOf(const std::string& text, const SchemaReadOptions& options = {}) {
  SchemaDocument document = ReadText(text, options);
  return document.nodes[document.root];
}

// The error of one that must not, as a line; "" if it is read.
inline std::string RefusalOf(const std::string& text, const SchemaReadOptions& options = {}) {
  const auto document = ReadSchema(nlohmann::ordered_json::parse(text), options);
  return document ? "" : ToError(document.error()).message;
}

}  // namespace weft
