#include "server/hub/content_digest.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <openssl/evp.h>

#include "base/ascii.h"
#include "base/check.h"

namespace weft {
namespace {

constexpr size_t kSha256Digits = 64;
constexpr size_t kGitDigits = 40;

EVP_MD_CTX* DigestOf(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void ContentDigest::Free::operator()(void* context) const { EVP_MD_CTX_free(DigestOf(context)); }

ContentDigest::ContentDigest(std::string_view blob_id, uint64_t size) : context_(EVP_MD_CTX_new()) {
  const bool is_git = blob_id.size() == kGitDigits;
  WEFT_CHECK(context_ != nullptr);
  WEFT_CHECK(EVP_DigestInit_ex(DigestOf(context_.get()), is_git ? EVP_sha1() : EVP_sha256(),
                               nullptr) == 1);
  if (!is_git) return;
  std::string header = fmt::format("blob {}", size);
  header += '\0';
  Update(header);
}

void ContentDigest::Update(std::string_view piece) {
  WEFT_CHECK(EVP_DigestUpdate(DigestOf(context_.get()), piece.data(), piece.size()) == 1);
}

std::string ContentDigest::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  WEFT_CHECK(EVP_DigestFinal_ex(DigestOf(context_.get()), bytes.data(), &size) == 1);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

bool IsBlobId(std::string_view text) {
  const auto is_digit = [](char c) { return IsAsciiDigit(c) || (c >= 'a' && c <= 'f'); };
  return (text.size() == kGitDigits || text.size() == kSha256Digits) &&
         std::ranges::all_of(text, is_digit);
}

}  // namespace weft
