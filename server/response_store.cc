#include "server/response_store.h"

#include <utility>

namespace weft {
namespace {

// Nodes of the list and the maps, control blocks and the strings' own heads, generously.
constexpr uint64_t kResponseOverheadBytes = 1024;
constexpr uint64_t kItemOverheadBytes = 256;

uint64_t SizeOf(const StoredItems& items) {
  uint64_t size = 0;
  for (const auto& item : items) {
    size += kItemOverheadBytes + item->id.capacity() + item->json.capacity();
  }
  return size;
}

uint64_t SizeOf(const StoredResponse& response) {
  return kResponseOverheadBytes + response.id.capacity() + response.body.capacity() +
         SizeOf(response.history) + SizeOf(response.input) + SizeOf(response.output);
}

}  // namespace

bool ResponseStore::Put(std::shared_ptr<const StoredResponse> response) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(response->id);
  return PutLocked(std::move(response), found == by_id_.end() ? entries_.end() : found->second);
}

bool ResponseStore::Replace(std::shared_ptr<const StoredResponse> response) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(response->id);
  if (found == by_id_.end()) return false;
  return PutLocked(std::move(response), found->second);
}

// `old` goes, if it is an entry.
bool ResponseStore::PutLocked(std::shared_ptr<const StoredResponse> response,
                              Entries::iterator old) {
  const bool replaces = old != entries_.end();
  const uint64_t size_bytes = SizeOf(*response);
  const uint64_t freed_bytes = replaces ? old->size_bytes : 0;
  if (size_bytes > freed_bytes || !replaces) {
    const uint64_t more_bytes = size_bytes > freed_bytes ? size_bytes - freed_bytes : 0;
    if (!MakeRoom(more_bytes, replaces ? 0 : 1, old)) return false;
  }
  const uint64_t number = replaces ? old->number : next_number_++;
  const auto entry = entries_.insert(
      replaces ? old : entries_.end(),
      Entry{.response = std::move(response), .size_bytes = size_bytes, .number = number});
  if (replaces) EraseLocked(old);
  by_id_.emplace(entry->response->id, entry);
  used_bytes_ += size_bytes;
  Index(*entry);
  return true;
}

// Erases the oldest finished entries until so much more fits; none if it cannot.
bool ResponseStore::MakeRoom(uint64_t size_bytes, size_t count, Entries::iterator keep) {
  const auto fits = [&](uint64_t freed_bytes, size_t freed_count) {
    return used_bytes_ - freed_bytes + size_bytes <= limits_.size_bytes &&
           entries_.size() - freed_count + count <= limits_.count;
  };
  uint64_t freed_bytes = 0;
  std::vector<Entries::iterator> oldest;
  for (auto entry = entries_.begin(); !fits(freed_bytes, oldest.size()); ++entry) {
    if (entry == entries_.end()) return false;
    if (entry == keep || !entry->response->finished) continue;
    freed_bytes += entry->size_bytes;
    oldest.push_back(entry);
  }
  for (const Entries::iterator entry : oldest) EraseLocked(entry);
  return true;
}

void ResponseStore::EraseLocked(Entries::iterator entry) {
  Unindex(*entry);
  by_id_.erase(entry->response->id);
  used_bytes_ -= entry->size_bytes;
  entries_.erase(entry);
}

void ResponseStore::Index(const Entry& entry) {
  for (const StoredItems* const items : {&entry.response->input, &entry.response->output}) {
    for (const auto& item : *items) items_.emplace(ItemHolder{item->id, entry.number}, item);
  }
}

void ResponseStore::Unindex(const Entry& entry) {
  for (const StoredItems* const items : {&entry.response->input, &entry.response->output}) {
    for (const auto& item : *items) items_.erase(ItemHolder{item->id, entry.number});
  }
}

std::shared_ptr<const StoredResponse> ResponseStore::Find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second->response;
}

std::shared_ptr<const StoredItem> ResponseStore::FindItem(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto first = items_.lower_bound(ItemHolder{id, 0});
  return first == items_.end() || first->first.first != id ? nullptr : first->second;
}

bool ResponseStore::Erase(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  EraseLocked(found->second);
  return true;
}

uint64_t ResponseStore::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

size_t ResponseStore::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace weft
