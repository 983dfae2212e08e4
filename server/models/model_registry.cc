#include "server/models/model_registry.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/engine.h"
#include "server/models/model_entry.h"

namespace weft {
namespace {

constexpr std::chrono::seconds kRetryLoad{5};

// Of one that never leaves: nobody counts them.
ModelLease LeaseOfFixed(const ServedModel& model) { return ModelLease(ModelLease(), &model); }

int64_t SecondsSince1970(std::chrono::steady_clock::time_point time) {
  const auto past = std::chrono::steady_clock::now() - time;
  const auto then = std::chrono::system_clock::now() - past;
  return std::chrono::duration_cast<std::chrono::seconds>(then.time_since_epoch()).count();
}

std::vector<RunningModel> WithoutMemory(std::vector<ServedModel> models) {
  std::vector<RunningModel> running;
  for (ServedModel& model : models) running.push_back({.served = std::move(model)});
  return running;
}

ModelStatus StatusOfFixed(const RunningModel& model) {
  return {.id = model.served.id,
          .aliases = model.served.aliases,
          .file_bytes = model.served.facts.file_bytes,
          .created = model.served.created,
          .state = ModelState::kLoaded,
          .lease = LeaseOfFixed(model.served),
          .memory = model.memory};
}

ApiError Unavailable(std::string code, std::string message) {
  ApiError error = HttpError(503, std::move(code), std::move(message));
  error.retry_after = kRetryLoad;
  return error;
}

ApiError Stopping() {
  return HttpError(503, "shutting_down", "the server is shutting down; try another one");
}

ApiError Unknown(std::string_view id) {
  ApiError error = HttpError(404, "model_not_found",
                             fmt::format("the model '{}' does not exist", id.substr(0, 200)));
  error.param = "model";
  return error;
}

}  // namespace

ApiError NotLoadable(std::string_view id, std::string_view reason) {
  return HttpError(500, "model_not_loadable",
                   fmt::format("the model '{}' cannot be loaded: {}", id, reason));
}

ModelRegistry::ModelRegistry(std::vector<ServedModel> fixed)
    : ModelRegistry(RegistryOptions{.fixed = WithoutMemory(std::move(fixed))}) {}

ModelRegistry::ModelRegistry(RegistryOptions options) : options_(std::move(options)) {
  if (!loads_on_request()) return;
  Scan();
  thread_ = std::thread([this] { Run(); });
}

ModelRegistry::~ModelRegistry() {
  Shutdown(Clock::now());
  if (thread_.joinable()) thread_.join();
}

void ModelRegistry::Scan() {
  if (!loads_on_request()) return;
  const std::lock_guard scanning(scan_mutex_);
  std::optional<std::vector<DiskModel>> models = options_.scan();
  if (!models) return;
  const Lock lock(mutex_);
  for (const EntryPointer& entry : entries_) entry->is_on_disk = false;
  for (DiskModel& model : *models) {
    const bool is_fixed = std::ranges::any_of(
        options_.fixed, [&](const RunningModel& fixed) { return fixed.served.IsCalled(model.id); });
    if (is_fixed) continue;
    const auto same = std::ranges::find_if(
        entries_, [&](const EntryPointer& each) { return each->disk.id == model.id; });
    const EntryPointer entry =
        same == entries_.end() ? entries_.emplace_back(std::make_shared<Entry>()) : *same;
    entry->is_on_disk = true;
    entry->disk = std::move(model);
  }
  DropGone();
}

void ModelRegistry::DropGone() {
  std::erase_if(entries_, [&](const EntryPointer& entry) {
    const bool is_wanted = std::ranges::find(line_, entry) != line_.end();
    return !entry->is_on_disk && entry->running == nullptr && !is_wanted;
  });
}

ModelRegistry::EntryPointer ModelRegistry::FindEntry(std::string_view name) const {
  const auto by_id = std::ranges::find_if(
      entries_, [&](const EntryPointer& entry) { return entry->disk.id == name; });
  if (by_id != entries_.end()) return *by_id;
  const auto by_alias = std::ranges::find_if(entries_, [&](const EntryPointer& entry) {
    return std::ranges::find(entry->disk.aliases, name) != entry->disk.aliases.end();
  });
  return by_alias == entries_.end() ? nullptr : *by_alias;
}

ModelLease ModelRegistry::LeaseOf(const EntryPointer& entry, bool is_use) {
  ++entry->lease_count;
  if (is_use) ++entry->use_count;
  return ModelLease(&entry->running->served, [this, entry, is_use](const ServedModel*) {
    const Lock lock(mutex_);
    Return(*entry, is_use);
  });
}

void ModelRegistry::Return(Entry& entry, bool is_use) {
  if (is_use) {
    --entry.use_count;
    entry.last_used = Clock::now();
  }
  if (--entry.lease_count == 0) changed_.notify_all();
}

ModelRegistry::Meant ModelRegistry::MeantBy(const std::optional<std::string>& name, Lock& lock) {
  const std::vector<RunningModel>& fixed = options_.fixed;
  if (!name && !fixed.empty()) return {.fixed = &fixed.front()};
  if (!name) return {.entry = LastUsed()};
  const auto called = std::ranges::find_if(
      fixed, [&](const RunningModel& model) { return model.served.IsCalled(*name); });
  if (called != fixed.end()) return {.fixed = &*called};
  EntryPointer entry = FindEntry(*name);
  if (entry == nullptr) {
    lock.unlock();
    Scan();
    lock.lock();
    entry = FindEntry(*name);
  }
  if (entry != nullptr) return {.entry = std::move(entry)};
  const auto any = std::ranges::find_if(
      fixed, [](const RunningModel& model) { return model.served.takes_any_name; });
  return any == fixed.end() ? Meant() : Meant{.fixed = &*any};
}

ModelRegistry::EntryPointer ModelRegistry::LastUsed() const {
  EntryPointer last;
  for (const EntryPointer& entry : entries_) {
    const bool is_loaded = entry->state == ModelState::kLoaded;
    if (is_loaded && (last == nullptr || *entry->last_used > *last->last_used)) last = entry;
  }
  return last;
}

ModelRegistry::Found ModelRegistry::Find(const std::optional<std::string>& name) {
  Lock lock(mutex_);
  const Meant meant = MeantBy(name, lock);
  if (meant.fixed != nullptr) return {.lease = LeaseOfFixed(meant.fixed->served)};
  if (meant.entry == nullptr) return {};
  if (meant.entry->state == ModelState::kLoaded) return {.lease = LeaseOf(meant.entry, true)};
  return {.needs_id = meant.entry->disk.id};
}

std::optional<ModelStatus> ModelRegistry::Look(const std::optional<std::string>& name) {
  Lock lock(mutex_);
  const Meant meant = MeantBy(name, lock);
  if (meant.fixed != nullptr) return StatusOfFixed(*meant.fixed);
  if (meant.entry != nullptr) return StatusOf(meant.entry);
  return std::nullopt;
}

bool ModelRegistry::Has(std::string_view id) {
  const auto is_it = [&](const RunningModel& model) { return model.served.id == id; };
  if (std::ranges::any_of(options_.fixed, is_it)) return true;
  const auto knows = [&] {
    const Lock lock(mutex_);
    const EntryPointer entry = FindEntry(id);
    return entry != nullptr && entry->disk.id == id;
  };
  if (knows()) return true;
  Scan();
  return knows();
}

std::vector<ModelStatus> ModelRegistry::List() {
  Scan();
  std::vector<ModelStatus> list;
  for (const RunningModel& model : options_.fixed) list.push_back(StatusOfFixed(model));
  const Lock lock(mutex_);
  for (const EntryPointer& entry : entries_) list.push_back(StatusOf(entry));
  return list;
}

ModelStatus ModelRegistry::StatusOf(const EntryPointer& entry) {
  const DiskModel& disk = entry->disk;
  ModelStatus status{.id = disk.id,
                     .aliases = disk.aliases,
                     .kind = disk.kind,
                     .file_bytes = disk.file_bytes,
                     .created = disk.modified,
                     .state = entry->state,
                     .fits = entry->least_bytes.value_or(disk.file_bytes) <= options_.room_bytes,
                     .failure = entry->failure};
  if (entry->last_used) status.last_used = SecondsSince1970(*entry->last_used);
  if (const auto expiry = entry->expiry()) status.expires_at = SecondsSince1970(*expiry);
  if (entry->running != nullptr) {
    status.lease = LeaseOf(entry, false);
    status.memory = entry->running->memory;
    status.created = entry->running->served.created;
  }
  return status;
}

int64_t ModelRegistry::Room() {
  int64_t room = 0;
  for (const RunningModel& model : options_.fixed) room += model.served.engine->queue_room();
  const Lock lock(mutex_);
  bool has_unloaded = false;
  for (const EntryPointer& entry : entries_) {
    const bool is_loaded = entry->state == ModelState::kLoaded;
    if (is_loaded) room += entry->running->served.engine->queue_room();
    has_unloaded |= !is_loaded;
  }
  if (has_unloaded) room += static_cast<int64_t>(options_.max_waiting - waiting_count_);
  return room;
}

ApiResult<ModelRegistry::Ticket> ModelRegistry::Load(std::string_view id, OnLoaded done) {
  std::optional<ApiResult<ModelLease>> at_once;
  Ticket ticket = 0;
  {
    const Lock lock(mutex_);
    if (is_stopping_) return tl::unexpected(Stopping());
    const EntryPointer entry = FindEntry(id);
    if (entry == nullptr) return tl::unexpected(Unknown(id));
    const bool stays_failed = entry->state == ModelState::kFailed && entry->failed_stamp &&
                              entry->failed_stamp == StampOfModel(entry->disk.path);
    if (stays_failed) return tl::unexpected(NotLoadable(id, entry->failure));
    if (entry->state != ModelState::kLoaded && waiting_count_ >= options_.max_waiting) {
      return tl::unexpected(
          Unavailable("overloaded", fmt::format("{} requests are waiting for models to be loaded, "
                                                "the most allowed; try again later",
                                                options_.max_waiting)));
    }
    ticket = next_ticket_++;
    if (entry->state == ModelState::kLoaded) {
      at_once = LeaseOf(entry, true);
    } else {
      entry->waiters.push_back({.ticket = ticket, .done = std::move(done)});
      ++waiting_count_;
      EnterLine(entry);
    }
  }
  if (at_once) done(*std::move(at_once));
  return ticket;
}

void ModelRegistry::EnterLine(const EntryPointer& entry) {
  if (std::ranges::find(line_, entry) == line_.end()) line_.push_back(entry);
  if (entry->running == nullptr) entry->state = ModelState::kLoading;
  changed_.notify_all();
}

ApiError ModelRegistry::StopWaiting(Ticket ticket) {
  const Lock lock(mutex_);
  for (const EntryPointer& entry : line_) {
    const auto removed = std::erase_if(
        entry->waiters, [&](const Waiter& waiter) { return waiter.ticket == ticket; });
    if (removed == 0) continue;
    --waiting_count_;
    changed_.notify_all();  // perhaps nobody wants it any more
    const std::string& id = entry->disk.id;
    const bool waits_for_room = entry == line_.front() && opened_.has_value();
    if (waits_for_room) {
      return Unavailable("models_busy",
                         fmt::format("there is no room for the model '{}': those that would have "
                                     "to leave are in use; try again later",
                                     id));
    }
    return Unavailable("model_loading",
                       fmt::format("the model '{}' is still being loaded; try again later", id));
  }
  return Unavailable("model_loading", "the model is still being loaded; try again later");
}

ApiResult<void> ModelRegistry::Unload(std::string_view id) {
  const auto is_it = [&](const RunningModel& model) { return model.served.IsCalled(id); };
  if (std::ranges::any_of(options_.fixed, is_it)) {
    return tl::unexpected(HttpError(
        400, "model_is_fixed", fmt::format("the model '{}' is one of --model's, which stay", id)));
  }
  const Lock lock(mutex_);
  const EntryPointer entry = FindEntry(id);
  if (entry == nullptr) return tl::unexpected(Unknown(id));
  if (entry->running != nullptr) entry->state = ModelState::kLeaving;
  entry->is_asked_to_leave = entry->running != nullptr || entry->state == ModelState::kLoading;
  changed_.notify_all();
  return {};
}

void ModelRegistry::SetKeepAlive(std::string_view id, std::chrono::milliseconds keep_alive) {
  const Lock lock(mutex_);
  const EntryPointer entry = FindEntry(id);
  if (entry == nullptr) return;
  entry->keep_alive = keep_alive;
  changed_.notify_all();
}

void ModelRegistry::Shutdown(Clock::time_point deadline) {
  std::vector<Waiter> waiters;
  std::vector<ModelLease> running;
  {
    const Lock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
    for (const EntryPointer& entry : entries_) {
      for (Waiter& waiter : TakeWaiters(*entry)) waiters.push_back(std::move(waiter));
      if (entry->running != nullptr) running.push_back(LeaseOf(entry, false));
    }
  }
  for (const Waiter& waiter : waiters) waiter.done(tl::unexpected(Stopping()));
  for (const RunningModel& model : options_.fixed) model.served.engine->Shutdown(deadline);
  for (const ModelLease& model : running) model->engine->Shutdown(deadline);
}

std::vector<ModelRegistry::Waiter> ModelRegistry::TakeWaiters(Entry& entry) {
  waiting_count_ -= entry.waiters.size();
  return std::exchange(entry.waiters, {});
}

}  // namespace weft
