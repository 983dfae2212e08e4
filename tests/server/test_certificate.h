// Certificates of a test's own.
#pragma once

#include <string>

namespace weft {

struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

// For localhost, signed by itself, valid from an hour ago until `valid_s` from now.
TestCertificate MakeCertificate(long valid_s = 3600);

// The same key under a passphrase.
std::string EncryptedKey(const std::string& key_pem, const std::string& passphrase);

}  // namespace weft
