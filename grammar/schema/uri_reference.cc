#include "grammar/schema/uri_reference.h"

namespace weft {
namespace {

// A URI reference's parts, each with its delimiter: "http:", "//host", "/path", "?query".
struct UriParts {
  std::string_view scheme;
  std::string_view authority;
  std::string_view path;
  std::string_view query;
};

bool IsScheme(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text) {
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return false;
  }
  return true;
}

UriParts PartsOf(std::string_view uri) {
  UriParts parts;
  const size_t query = uri.find('?');
  if (query != uri.npos) {
    parts.query = uri.substr(query);
    uri = uri.substr(0, query);
  }
  const size_t colon = uri.find(':');
  if (colon != uri.npos && IsScheme(uri.substr(0, colon))) {
    parts.scheme = uri.substr(0, colon + 1);
    uri = uri.substr(colon + 1);
  }
  if (uri.starts_with("//")) {
    const size_t end = uri.find('/', 2);
    parts.authority = uri.substr(0, end);
    uri = end == uri.npos ? std::string_view() : uri.substr(end);
  }
  parts.path = uri;
  return parts;
}

// RFC 3986, section 5.2.4, of an absolute path; a relative one keeps its dots.
std::string WithoutDotSegments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const size_t end = path.find('/', 1);
    const std::string_view segment = path.substr(0, end);
    path = end == path.npos ? std::string_view() : path.substr(end);
    if (segment == "/." || segment == "/..") {
      if (segment == "/..") out.resize(out.rfind('/') == out.npos ? 0 : out.rfind('/'));
      if (path.empty()) out += '/';
    } else {
      out += segment;
    }
  }
  return out;
}

std::string MergedPath(const UriParts& base, std::string_view path) {
  if (!base.authority.empty() && base.path.empty()) return "/" + std::string(path);
  const size_t slash = base.path.rfind('/');
  return std::string(slash == base.path.npos ? "" : base.path.substr(0, slash + 1)).append(path);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

SplitUri SplitFragment(std::string_view reference) {
  const size_t hash = reference.find('#');
  if (hash == reference.npos) return {reference, std::nullopt};
  return {reference.substr(0, hash), reference.substr(hash + 1)};
}

std::string ResolveUri(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  const UriParts from = PartsOf(base);
  const UriParts to = PartsOf(reference);
  std::string uri(to.scheme.empty() ? from.scheme : to.scheme);
  const bool has_authority = !to.scheme.empty() || !to.authority.empty();
  uri += has_authority ? to.authority : from.authority;
  if (has_authority || to.path.starts_with('/')) {
    uri += to.path.starts_with('/') ? WithoutDotSegments(to.path) : std::string(to.path);
  } else if (to.path.empty()) {
    return uri.append(from.path).append(to.query);  // a reference that is a query alone
  } else {
    const std::string path = MergedPath(from, to.path);
    uri += path.starts_with('/') ? WithoutDotSegments(path) : path;
  }
  return uri.append(to.query);
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = text.size() - i > 2 ? HexDigit(text[i + 1]) : -1;
    const int low = text.size() - i > 2 ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string PointerToken(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::string> PointerTokenName(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    if (i + 1 == token.size() || (token[i + 1] != '0' && token[i + 1] != '1')) return std::nullopt;
    out += token[++i] == '0' ? '~' : '/';
  }
  return out;
}

}  // namespace weft
