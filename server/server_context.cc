#include "server/server_context.h"

#include <random>
#include <utility>

#include <fmt/core.h>

namespace weft {
namespace {

uint64_t Random64() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// Splitmix64's finaliser (Steele, Lea, Flood 2014): neighbouring counts give unrelated numbers.
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

ServerContext::ServerContext(ServerOptions options_, std::vector<ServedModel> models_,
                             std::shared_ptr<Metrics> metrics_,
                             std::shared_ptr<const Access> access_)
    : options(std::move(options_)),
      models(std::move(models_)),
      metrics(std::move(metrics_)),
      access(std::move(access_)),
      cors(options.cors_origins),
      body_budget(options.max_buffered_body_bytes),
      responses({.size_bytes = options.response_store_bytes}),
      preparation(static_cast<size_t>(options.preparation_threads)),
      random_base_(Random64()) {}

std::string ServerContext::NextRequestId() {
  const uint64_t count = id_count_.fetch_add(1, std::memory_order_relaxed);
  return fmt::format("{:016x}{:08x}", Mix(random_base_), count);
}

uint64_t ServerContext::NextSeed() {
  return Mix(random_base_ +
             0x9e3779b97f4a7c15 * seed_count_.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace weft
