// Models on a disk that is none, for registries.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "server/models/model_registry.h"
#include "tests/server/test_model.h"

namespace weft {

// A folder of models that are loaded in no time, unless loads are held.
class FakeDisk {
 public:
  // Of `bytes`, and least with as many again.
  void Add(const std::string& id, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    models_[id] = {.id = id, .path = "/nowhere/" + id, .kind = "GGUF", .file_bytes = bytes};
    is_changed_ = true;
  }
  void Remove(const std::string& id) {
    const std::lock_guard lock(mutex_);
    models_.erase(id);
    is_changed_ = true;
  }
  // Its files lie at this path, and cannot be loaded.
  void Break(const std::string& id, const std::string& path) {
    const std::lock_guard lock(mutex_);
    models_[id] = {.id = id, .path = path, .kind = "GGUF", .file_bytes = 1};
    broken_.insert(id);
    is_changed_ = true;
  }
  void Repair(const std::string& id) {
    const std::lock_guard lock(mutex_);
    broken_.erase(id);
  }
  void HoldLoads() { holds_ = true; }
  void ReleaseLoads() { holds_ = false; }
  // "open a", "load a in 300", "leave a", in order.
  std::vector<std::string> TakeEvents() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }
  size_t event_count() {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

  RegistryOptions Options(uint64_t room_bytes,
                          std::chrono::milliseconds keep_alive = std::chrono::milliseconds(-1)) {
    RegistryOptions options;
    options.room_bytes = room_bytes;
    options.keep_alive = keep_alive;
    options.scan = [this] { return Scan(); };
    options.open = [this](const DiskModel& model) { return Open(model); };
    return options;
  }

  TestModelOptions model_options;  // of what is loaded, but for the id
  std::chrono::milliseconds step_time{0};

 private:
  void Note(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }

  std::optional<std::vector<DiskModel>> Scan() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_changed_, false)) return std::nullopt;
    std::vector<DiskModel> models;
    for (const auto& [id, model] : models_) models.push_back(model);
    return models;
  }

  Result<OpenedModel> Open(const DiskModel& model) {
    Note("open " + model.id);
    const std::lock_guard lock(mutex_);
    if (broken_.contains(model.id)) return Fail(ErrorCode::kCorrupt, "it is broken");
    return OpenedModel{.weight_bytes = model.file_bytes,
                       .least_bytes = 2 * model.file_bytes,
                       .load = [this, model](uint64_t bytes, const std::function<bool()>& stops) {
                         return Load(model, bytes, stops);
                       }};
  }

  Result<RunningModel> Load(const DiskModel& disk, uint64_t bytes,
                            const std::function<bool()>& stops) {
    Note(fmt::format("load {} in {}", disk.id, bytes));
    while (holds_ && !stops()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (stops()) return Fail(ErrorCode::kUnavailable, "stopped");
    TestModelOptions test_options = model_options;
    test_options.id = disk.id;
    const auto model = std::make_shared<TestModel>(test_options);
    model->SetStepTime(step_time);
    RunningModel running{
        .served = model->Served(),
        .memory = {.weight_bytes = disk.file_bytes, .kv_bytes = bytes - disk.file_bytes},
        .owner = std::shared_ptr<void>(
            nullptr, [this, model, id = disk.id](void*) { Note("leave " + id); })};
    return running;
  }

  std::mutex mutex_;
  std::map<std::string, DiskModel> models_;
  std::set<std::string> broken_;
  std::vector<std::string> events_;
  bool is_changed_ = true;
  std::atomic<bool> holds_{false};
};

}  // namespace weft
