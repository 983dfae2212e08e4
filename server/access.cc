#include "server/access.h"

#include <utility>

#include "base/log.h"
#include "server/secret_file.h"

namespace weft {

Access::Access(const ServerOptions& options)
    : api_key_path_(options.api_key_path),
      metrics_key_path_(options.metrics_key_path),
      tls_certificate_path_(options.tls_certificate_path),
      tls_key_path_(options.tls_key_path) {}

Result<std::shared_ptr<Access>> Access::Load(const ServerOptions& options) {
  std::shared_ptr<Access> access(new Access(options));
  WEFT_RETURN_IF_ERROR(access->LoadKeys(access->api_key_path_, access->keys_));
  WEFT_RETURN_IF_ERROR(access->LoadKeys(access->metrics_key_path_, access->metrics_keys_));
  WEFT_RETURN_IF_ERROR(access->LoadTls());
  return access;
}

Result<void> Access::LoadKeys(const std::string& path, std::shared_ptr<const ApiKeys>& keys) {
  if (path.empty()) return {};
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path));
  WEFT_ASSIGN_OR_RETURN(ApiKeys parsed, ApiKeys::Parse(text, path));
  Log(LogLevel::kInfo, "{} API keys from {}", parsed.size(), path);
  auto loaded = std::make_shared<const ApiKeys>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  keys = std::move(loaded);
  return {};
}

Result<void> Access::LoadTls() {
  if (tls_certificate_path_.empty()) return {};
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<const TlsContext> tls,
                        TlsContext::Load(tls_certificate_path_, tls_key_path_));
  const std::lock_guard lock(mutex_);
  tls_ = std::move(tls);
  return {};
}

void Access::Reload() {
  if (const Result<void> loaded = LoadKeys(api_key_path_, keys_); !loaded) {
    Log(LogLevel::kError, "the API keys stay as they were: {}", loaded.error().message);
  }
  if (const Result<void> loaded = LoadKeys(metrics_key_path_, metrics_keys_); !loaded) {
    Log(LogLevel::kError, "the keys for /metrics stay as they were: {}", loaded.error().message);
  }
  if (const Result<void> loaded = LoadTls(); !loaded) {
    Log(LogLevel::kError, "the certificate stays as it was: {}", loaded.error().message);
  }
}

std::shared_ptr<const TlsContext> Access::tls() const {
  const std::lock_guard lock(mutex_);
  return tls_;
}

std::shared_ptr<const ApiKeys> Access::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

std::shared_ptr<const ApiKeys> Access::metrics_keys() const {
  const std::lock_guard lock(mutex_);
  return metrics_keys_;
}

}  // namespace weft
