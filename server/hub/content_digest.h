// What content is called on the Hub: its SHA-256, or git's id of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

// The name of a content of `size` bytes that comes piece by piece.
class ContentDigest {
 public:
  // `blob_id`: what is expected. 64 digits are a SHA-256, 40 git's: SHA-1 of "blob SIZE", a zero
  // byte and the content.
  ContentDigest(std::string_view blob_id, uint64_t size);

  void Update(std::string_view piece);
  // In hexadecimal; once.
  std::string Finish();

 private:
  struct Free {
    void operator()(void* context) const;
  };

  std::unique_ptr<void, Free> context_;  // EVP_MD_CTX
};

// Whether a ContentDigest can be made of it: 40 or 64 hexadecimal digits, lower case.
bool IsBlobId(std::string_view text);

}  // namespace weft
