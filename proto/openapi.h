// The description of the HTTP API, which GET /openapi.json answers with: proto/openapi.json, built
// in.
#pragma once

#include <string_view>

namespace weft {

// OpenAPI 3.1, as JSON, with the version of this build.
std::string_view OpenApiDocument();

}  // namespace weft
