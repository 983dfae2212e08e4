// ModelRegistry's thread.
#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include "base/format_bytes.h"
#include "base/log.h"
#include "server/models/model_entry.h"
#include "server/models/model_registry.h"

namespace weft {
namespace {

ApiError TooLarge(const DiskModel& model, const OpenedModel& opened, uint64_t room_bytes) {
  ApiError error = HttpError(
      400, "model_too_large",
      fmt::format("the model '{}' needs {} ({} of it for weights), and this server has {} for "
                  "models that are loaded on request",
                  model.id, FormatBytes(opened.least_bytes), FormatBytes(opened.weight_bytes),
                  FormatBytes(room_bytes)));
  error.param = "model";
  return error;
}

// What is thrown, for want of memory most likely, is the model's failure alone.
template <typename T>
Result<T> Guarded(const std::function<Result<T>()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "there is no memory for it");
  } catch (const std::exception& exception) {
    return Fail(ErrorCode::kInternal, "{}", exception.what());
  }
}

std::string_view ReasonText(LeaveReason reason) {
  switch (reason) {
    case LeaveReason::kIdle:
      return "nobody has used it for long enough";
    case LeaveReason::kRoom:
      return "another one needs its room";
    case LeaveReason::kAsked:
      break;
  }
  return "as it was asked to";
}

}  // namespace

void ModelRegistry::Run() {
  Lock lock(mutex_);
  while (!is_stopping_) {
    const std::optional<Clock::time_point> next = DropIdle(lock);
    if (is_stopping_) break;
    if (!line_.empty() && AdvanceLoad(lock)) continue;
    if (next) {
      changed_.wait_until(lock, *next);
    } else {
      changed_.wait(lock);
    }
  }
}

// Lets go whoever is due and not in use. When the next one will be.
std::optional<ModelRegistry::Clock::time_point> ModelRegistry::DropIdle(Lock& lock) {
  while (true) {
    const Clock::time_point now = Clock::now();
    std::optional<Clock::time_point> next;
    EntryPointer due;
    for (const EntryPointer& entry : entries_) {
      if (entry->running == nullptr || entry->lease_count > 0) continue;
      const std::optional<Clock::time_point> expiry = entry->expiry();
      if (entry->state == ModelState::kLeaving || (expiry && *expiry <= now)) {
        due = entry;
        break;
      }
      if (expiry) next = std::min(*expiry, next.value_or(*expiry));
    }
    if (due == nullptr) return next;
    Leave(*due, lock);
  }
}

void ModelRegistry::Leave(Entry& entry, Lock& lock) {
  const LeaveReason reason = entry.is_asked_to_leave               ? LeaveReason::kAsked
                             : entry.state == ModelState::kLeaving ? LeaveReason::kRoom
                                                                   : LeaveReason::kIdle;
  entry.state = ModelState::kLeaving;  // nobody gets a lease, though it is gone from the entry
  std::unique_ptr<RunningModel> running = std::move(entry.running);
  lock.unlock();
  const std::string id = running->served.id;
  running.reset();
  Log(LogLevel::kInfo, "the model '{}' has left: {}", id, ReasonText(reason));
  if (options_.on_leave) options_.on_leave(reason);
  lock.lock();
  const bool is_wanted =
      std::ranges::any_of(line_, [&](const EntryPointer& each) { return each.get() == &entry; });
  entry.state = is_wanted ? ModelState::kLoading : ModelState::kUnloaded;
  entry.is_asked_to_leave = false;
  DropGone();
}

// A step on the way of the first in the line; false: it has to wait for others.
bool ModelRegistry::AdvanceLoad(Lock& lock) {
  const EntryPointer entry = line_.front();
  if (entry->waiters.empty()) {
    if (entry->state == ModelState::kLoading) entry->state = ModelState::kUnloaded;
    EndLoad(entry, lock);
    return true;
  }
  if (entry->running != nullptr) return false;  // first it has to leave
  if (!opened_) {
    Open(entry, lock);
    return true;
  }
  if (opened_->least_bytes > options_.room_bytes) {
    entry->state = ModelState::kUnloaded;
    Refuse(entry, TooLarge(entry->disk, *opened_, options_.room_bytes), lock);
    return true;
  }
  const uint64_t free_bytes = options_.room_bytes - std::min(options_.room_bytes, TakenBytes());
  if (opened_->least_bytes > free_bytes) return MakeRoom(opened_->least_bytes - free_bytes);
  // Half of what the weights leave, so that there is room for another one.
  const uint64_t half_bytes = (free_bytes - opened_->weight_bytes) / 2;
  LoadWithin(entry, std::max(opened_->least_bytes, opened_->weight_bytes + half_bytes), lock);
  return true;
}

uint64_t ModelRegistry::TakenBytes() const {
  uint64_t bytes = 0;
  for (const EntryPointer& entry : entries_) {
    if (entry->running != nullptr) bytes += entry->running->memory.bytes();
  }
  return bytes;
}

// Has models leave that come to so many bytes. False: those that are on their way already do.
bool ModelRegistry::MakeRoom(uint64_t needed_bytes) {
  std::vector<EntryPointer> others;
  for (const EntryPointer& entry : entries_) {
    if (entry->running == nullptr) continue;
    if (entry->state == ModelState::kLeaving) {
      needed_bytes -= std::min(needed_bytes, entry->running->memory.bytes());
    } else {
      others.push_back(entry);
    }
  }
  if (needed_bytes == 0) return false;
  std::ranges::sort(others, {}, [](const EntryPointer& entry) {
    return std::pair(entry->use_count > 0, *entry->last_used);
  });
  for (const EntryPointer& entry : others) {
    if (needed_bytes == 0) break;
    entry->state = ModelState::kLeaving;
    needed_bytes -= std::min(needed_bytes, entry->running->memory.bytes());
  }
  return true;
}

void ModelRegistry::Open(const EntryPointer& entry, Lock& lock) {
  const DiskModel disk = entry->disk;
  lock.unlock();
  Result<OpenedModel> opened = Guarded<OpenedModel>([&] { return options_.open(disk); });
  lock.lock();
  if (!opened) return SetFailed(entry, opened.error(), lock);
  entry->least_bytes = opened->least_bytes;
  opened_ = *std::move(opened);
}

void ModelRegistry::LoadWithin(const EntryPointer& entry, uint64_t bytes, Lock& lock) {
  const OpenedModel opened = *std::exchange(opened_, std::nullopt);
  lock.unlock();
  const Clock::time_point started = Clock::now();
  const std::function<bool()> stops = [this] { return is_stopping_.load(); };
  Result<RunningModel> running = Guarded<RunningModel>([&] { return opened.load(bytes, stops); });
  const Clock::duration duration = Clock::now() - started;
  if (options_.on_load) options_.on_load(running.has_value(), duration);
  lock.lock();
  if (!running) return SetFailed(entry, running.error(), lock);
  Log(LogLevel::kInfo, "the model '{}' is loaded, after {:.1f} s: it takes {} of {}",
      entry->disk.id, std::chrono::duration<double>(duration).count(),
      FormatBytes(running->memory.bytes()), FormatBytes(options_.room_bytes));
  entry->running = std::make_unique<RunningModel>(*std::move(running));
  entry->state = entry->is_asked_to_leave ? ModelState::kLeaving : ModelState::kLoaded;
  entry->last_used = Clock::now();
  entry->keep_alive = options_.keep_alive;
  entry->failure.clear();
  entry->failed_stamp.reset();
  EndLoad(entry, lock);
}

void ModelRegistry::SetFailed(const EntryPointer& entry, const Error& error, Lock& lock) {
  if (is_stopping_) return;  // who waited has been told
  Log(LogLevel::kWarning, "the model '{}' cannot be loaded: {}", entry->disk.id, error.message);
  entry->state = ModelState::kFailed;
  entry->failure = error.message;
  entry->failed_stamp.reset();
  // With more memory it may be another matter.
  if (error.code != ErrorCode::kResourceExhausted) {
    entry->failed_stamp = StampOfModel(entry->disk.path);
  }
  Refuse(entry, NotLoadable(entry->disk.id, error.message), lock);
}

void ModelRegistry::Refuse(const EntryPointer& entry, const ApiError& error, Lock& lock) {
  const std::vector<Waiter> waiters = TakeWaiters(*entry);
  EndLoad(entry, lock);
  lock.unlock();
  for (const Waiter& waiter : waiters) waiter.done(tl::unexpected(error));
  lock.lock();
}

// The first of the line leaves it. Who was to make room for it and is still there may stay, and
// those who wait for it, too, have it.
void ModelRegistry::EndLoad(const EntryPointer& entry, Lock& lock) {
  std::erase(line_, entry);
  opened_.reset();
  DropGone();
  std::vector<std::pair<OnLoaded, ModelLease>> served;
  for (const EntryPointer& each : entries_) {
    if (each->running == nullptr) continue;
    if (!each->is_asked_to_leave) each->state = ModelState::kLoaded;
    if (each != entry && each->is_asked_to_leave) continue;
    for (Waiter& waiter : TakeWaiters(*each)) {
      served.emplace_back(std::move(waiter.done), LeaseOf(each, true));
    }
    std::erase(line_, each);
  }
  lock.unlock();
  for (auto& [done, lease] : served) done(std::move(lease));
  served.clear();
  lock.lock();
}

}  // namespace weft
