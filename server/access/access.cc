#include "server/access/access.h"

#include <array>
#include <utility>

#include "base/log.h"
#include "server/access/secret_file.h"

namespace weft {
namespace {

// nullptr: there is no such file.
Result<std::shared_ptr<const ApiKeys>> ReadKeys(const std::string& path, std::string_view what) {
  if (path.empty()) return std::shared_ptr<const ApiKeys>();
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path));
  WEFT_ASSIGN_OR_RETURN(ApiKeys keys, ApiKeys::Parse(text, path));
  Log(LogLevel::kInfo, "{} {} from {}", keys.size(), what, path);
  return std::make_shared<const ApiKeys>(std::move(keys));
}

constexpr std::string_view kApiKeys = "API keys";
constexpr std::string_view kMetricsKeys = "keys for /metrics";
constexpr std::string_view kOperatorKeys = "operators' keys";

}  // namespace

Access::Access(const ServerOptions& options)
    : api_key_path_(options.api_key_path),
      metrics_key_path_(options.metrics_key_path),
      operator_key_path_(options.operator_key_path),
      tls_certificate_path_(options.tls_certificate_path),
      tls_key_path_(options.tls_key_path) {}

Result<std::shared_ptr<Access>> Access::Load(const ServerOptions& options) {
  std::shared_ptr<Access> access(new Access(options));
  Keys keys;
  WEFT_ASSIGN_OR_RETURN(keys.api, ReadKeys(access->api_key_path_, kApiKeys));
  WEFT_ASSIGN_OR_RETURN(keys.metrics, ReadKeys(access->metrics_key_path_, kMetricsKeys));
  WEFT_ASSIGN_OR_RETURN(keys.operators, ReadKeys(access->operator_key_path_, kOperatorKeys));
  WEFT_RETURN_IF_ERROR(access->SetKeys(std::move(keys)));
  WEFT_RETURN_IF_ERROR(access->LoadTls());
  return access;
}

Result<void> Access::SetKeys(Keys keys) {
  struct File {
    const std::string& path;
    const ApiKeys* keys;
  };
  const std::array files = {File{api_key_path_, keys.api.get()},
                            File{metrics_key_path_, keys.metrics.get()},
                            File{operator_key_path_, keys.operators.get()}};
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t k = i + 1; k < files.size(); ++k) {
      if (files[i].keys == nullptr || files[k].keys == nullptr) continue;
      const std::string common = files[i].keys->CommonWith(*files[k].keys);
      if (common.empty()) continue;
      return Fail(ErrorCode::kInvalidArgument, "{} and {}: {}, but each is for one of them",
                  files[i].path, files[k].path, common);
    }
  }
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
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
  const auto read = [](const std::string& path, std::string_view what, const auto& current) {
    auto loaded = ReadKeys(path, what);
    if (loaded) return *std::move(loaded);
    Log(LogLevel::kError, "the {} stay as they were: {}", what, loaded.error().message);
    return current;
  };
  Keys fresh;
  fresh.api = read(api_key_path_, kApiKeys, keys());
  fresh.metrics = read(metrics_key_path_, kMetricsKeys, metrics_keys());
  fresh.operators = read(operator_key_path_, kOperatorKeys, operator_keys());
  if (const Result<void> set = SetKeys(std::move(fresh)); !set) {
    Log(LogLevel::kError, "all keys stay as they were: {}", set.error().message);
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
  return keys_.api;
}

std::shared_ptr<const ApiKeys> Access::metrics_keys() const {
  const std::lock_guard lock(mutex_);
  return keys_.metrics;
}

std::shared_ptr<const ApiKeys> Access::operator_keys() const {
  const std::lock_guard lock(mutex_);
  return keys_.operators;
}

}  // namespace weft
