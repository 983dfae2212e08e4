// The models of a server: which there are, which of them are loaded, and who uses them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "proto/api_error.h"
#include "server/models/model_catalog.h"
#include "server/models/served_model.h"

namespace weft {

// A loaded model, which stays loaded as long as somebody holds one of these. Gone before the
// registry is.
using ModelLease = std::shared_ptr<const ServedModel>;

// Bytes that a loaded model takes.
struct ModelMemory {
  uint64_t weight_bytes = 0;
  uint64_t kv_bytes = 0;
  uint64_t workspace_bytes = 0;
  uint64_t other_bytes = 0;  // the accounting of its KV blocks

  uint64_t bytes() const { return weight_bytes + kv_bytes + workspace_bytes + other_bytes; }
};

struct RunningModel {
  ServedModel served;
  ModelMemory memory = {};
  std::shared_ptr<void> owner = {};  // of its engine; nullptr: that outlives the registry
};

// A model whose files are open, and nothing of it is allocated yet.
struct OpenedModel {
  uint64_t weight_bytes = 0;
  uint64_t least_bytes = 0;  // with them a workspace, and the KV cache of a context
  // Within so many bytes, no fewer than those. May take minutes; ends early, with any error, once
  // `stops` says so.
  std::function<Result<RunningModel>(uint64_t bytes, const std::function<bool()>& stops)> load;
};

enum class ModelState {
  kUnloaded,
  kLoading,  // or in the line for it
  kLoaded,
  kLeaving,  // as soon as nobody uses it
  kFailed,   // its files could not be loaded
};

enum class LeaveReason { kIdle, kRoom, kAsked };

struct RegistryOptions {
  std::vector<RunningModel> fixed = {};  // loaded, and never leave
  // For all other models together.
  uint64_t room_bytes = 0;
  // How long a model that nobody uses stays; negative: until its room is wanted.
  std::chrono::milliseconds keep_alive{300'000};
  size_t max_waiting = 256;  // requests, for models to be loaded
  // All models on disk, whatever state they are in; nullopt: the same as last time. By one thread
  // at a time. Empty: there are none, and no thread is started.
  std::function<std::optional<std::vector<DiskModel>>()> scan = {};
  // Opens the files of one.
  std::function<Result<OpenedModel>(const DiskModel&)> open = {};
  // Optional, of any thread: a load that succeeded or failed, and a model that left.
  std::function<void(bool is_loaded, std::chrono::nanoseconds)> on_load = {};
  std::function<void(LeaveReason)> on_leave = {};
};

// What is known about a model.
struct ModelStatus {
  std::string id;
  std::vector<std::string> aliases = {};
  std::string kind = {};  // as DiskModel has it; empty of fixed ones
  uint64_t file_bytes = 0;
  int64_t created = 0;  // seconds since 1970: when it was loaded, or else its files were changed
  ModelState state = ModelState::kUnloaded;
  bool fits = true;  // within the room, as far as the size of its files or a look into them tells
  std::string failure = {};               // kFailed: why
  ModelLease lease = {};                  // of one that is loaded; taking it is no use of the model
  ModelMemory memory = {};                // of one that is loaded
  std::optional<int64_t> last_used = {};  // seconds since 1970; nullopt: never, or a fixed one
  std::optional<int64_t> expires_at = {};  // the same; nullopt: not loaded, in use, or it stays
};

// Thread-safe. A thread of its own loads and unloads, one model at a time and in the order in which
// they were asked for. Where there is no room, models leave: first those that nobody uses, the one
// whose use is longest ago before others. Where these do not suffice, others get no new requests,
// and the load waits for those that they have.
class ModelRegistry {
 public:
  // Of fixed models alone.
  explicit ModelRegistry(std::vector<ServedModel> fixed);
  explicit ModelRegistry(RegistryOptions options);
  // Every lease is gone by now.
  ~ModelRegistry();
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  struct Found {
    ModelLease lease = nullptr;  // nullptr: it is not loaded
    std::string needs_id = {};   // then the id of the one that is meant; empty: there is none
  };
  // The model that requests mean by this name; nullopt: that of requests which name none, the first
  // fixed one, or of those that are loaded the one that was used last. Looks at the disk for names
  // that are not known.
  Found Find(const std::optional<std::string>& name);
  // The same for whoever wants to know of it, which is no use of the model; nullopt: there is none.
  std::optional<ModelStatus> Look(const std::optional<std::string>& name);
  // Whether a model has just this id. Looks at the disk, too.
  bool Has(std::string_view id);
  // All there are, fixed ones first. Looks at the disk.
  std::vector<ModelStatus> List();

  // How many more requests may come: into the queues of loaded models, and into the line for
  // others.
  int64_t Room();
  // Whether models other than the fixed ones may be loaded.
  bool loads_on_request() const { return static_cast<bool>(options_.scan); }

  using OnLoaded = std::function<void(ApiResult<ModelLease>)>;
  using Ticket = uint64_t;
  // Has the model loaded. `done` is called once, by this thread or the registry's, unless
  // StopWaiting comes first; it must not block. Errors: 404 "model_not_found", 503 "overloaded"
  // (too many wait) and "shutting_down". What `done` gets besides: 400 "model_too_large", before
  // any other model leaves, and 500 "model_not_loadable".
  ApiResult<Ticket> Load(std::string_view id, OnLoaded done);
  // Gives up waiting for a load, which goes on if it has begun or others wait for it. What took so
  // long: 503 "model_loading", or "models_busy" if those that would have to leave are in use.
  ApiError StopWaiting(Ticket ticket);
  // Has the model leave as soon as nobody uses it. Errors: 404 "model_not_found", 400
  // "model_is_fixed".
  ApiResult<void> Unload(std::string_view id);
  // While this model is loaded, it stays so long after its last use; see RegistryOptions.
  void SetKeepAlive(std::string_view id, std::chrono::milliseconds keep_alive);

  // Nothing is loaded any more, who waits is told (503 "shutting_down"), and the engines are shut
  // down (Engine::Shutdown).
  void Shutdown(std::chrono::steady_clock::time_point deadline);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Entry;
  using EntryPointer = std::shared_ptr<Entry>;
  struct Waiter {
    Ticket ticket;
    OnLoaded done;
  };

  // Whom a name means; neither: nobody.
  struct Meant {
    const RunningModel* fixed = nullptr;
    EntryPointer entry = nullptr;
  };

  void Scan();
  // Under the lock, which it gives up to look at the disk.
  Meant MeantBy(const std::optional<std::string>& name, Lock& lock);
  // Under the lock.
  EntryPointer FindEntry(std::string_view name) const;
  EntryPointer LastUsed() const;
  ModelLease LeaseOf(const EntryPointer& entry, bool is_use);
  ModelStatus StatusOf(const EntryPointer& entry);
  uint64_t TakenBytes() const;
  void EnterLine(const EntryPointer& entry);
  // Forgets models that are neither on disk nor loaded.
  void DropGone();
  std::vector<Waiter> TakeWaiters(Entry& entry);
  void Return(Entry& entry, bool is_use);

  // Of the registry's thread, under the lock, which it gives up where that takes long.
  void Run();
  std::optional<Clock::time_point> DropIdle(Lock& lock);
  void Leave(Entry& entry, Lock& lock);
  bool AdvanceLoad(Lock& lock);
  bool MakeRoom(uint64_t needed_bytes);
  void Open(const EntryPointer& entry, Lock& lock);
  void LoadWithin(const EntryPointer& entry, uint64_t bytes, Lock& lock);
  void Refuse(const EntryPointer& entry, const ApiError& error, Lock& lock);
  void SetFailed(const EntryPointer& entry, const Error& error, Lock& lock);
  void EndLoad(const EntryPointer& entry, Lock& lock);

  const RegistryOptions options_;
  std::mutex scan_mutex_;  // of options_.scan; taken before the other
  std::mutex mutex_;       // guards what follows
  std::condition_variable changed_;
  std::vector<EntryPointer> entries_;  // of models on disk, and of loaded ones
  std::vector<EntryPointer> line_;     // to be loaded; the first is next
  std::optional<OpenedModel> opened_;  // of the first, once its files are open
  Ticket next_ticket_ = 1;
  size_t waiting_count_ = 0;
  std::atomic<bool> is_stopping_{false};  // set under the lock
  std::thread thread_;                    // last
};

}  // namespace weft
