#include "server/api/responses/response_store.h"

#include <algorithm>
#include <queue>
#include <tuple>
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

}  // namespace

uint64_t StoredBytes(const StoredResponse& response) {
  return kResponseOverheadBytes + response.owner.capacity() + response.id.capacity() +
         response.body.capacity() + SizeOf(response.history) + SizeOf(response.input) +
         SizeOf(response.output);
}

bool ResponseStore::Put(std::shared_ptr<const StoredResponse> response) {
  const std::lock_guard lock(mutex_);
  const auto own = shelves_.try_emplace(response->owner).first;
  Shelf& shelf = own->second;
  const auto found = shelf.by_id.find(response->id);
  const bool is_put = PutLocked(std::move(response), shelf,
                                found == shelf.by_id.end() ? shelf.entries.end() : found->second);
  if (shelf.entries.empty()) shelves_.erase(own);
  return is_put;
}

bool ResponseStore::Replace(std::shared_ptr<const StoredResponse> response) {
  const std::lock_guard lock(mutex_);
  const auto own = shelves_.find(response->owner);
  if (own == shelves_.end()) return false;
  const auto found = own->second.by_id.find(response->id);
  if (found == own->second.by_id.end()) return false;
  return PutLocked(std::move(response), own->second, found->second);
}

// `old` goes, if it is an entry.
bool ResponseStore::PutLocked(std::shared_ptr<const StoredResponse> response, Shelf& own,
                              Entries::iterator old) {
  const bool replaces = old != own.entries.end();
  const uint64_t size_bytes = StoredBytes(*response);
  const uint64_t freed_bytes = replaces ? old->size_bytes : 0;
  if (size_bytes > freed_bytes && !MakeRoom(size_bytes - freed_bytes, own, old)) return false;
  const uint64_t number = replaces ? old->number : next_number_++;
  // Counted as soon as it is there: what follows may lack memory.
  const auto entry = own.entries.insert(
      old, Entry{.response = std::move(response), .size_bytes = size_bytes, .number = number});
  own.used_bytes += size_bytes;
  used_bytes_ += size_bytes;
  if (replaces) EraseLocked(own, old);
  own.by_id.emplace(entry->response->id, entry);
  for (const StoredItems* const items : {&entry->response->input, &entry->response->output}) {
    for (const auto& item : *items) own.items.emplace(ItemHolder{item->id, number}, item);
  }
  return true;
}

// What an owner would hold, and which of its entries would go next.
struct ResponseStore::Holding {
  uint64_t size_bytes = 0;
  bool is_own = false;
  Shelves::iterator shelf;
  Entries::iterator oldest;

  bool operator<(const Holding& other) const {
    return std::tie(size_bytes, is_own) < std::tie(other.size_bytes, other.is_own);
  }
  // False: nothing more can go.
  bool Skip(Entries::iterator keep) {
    const auto end = shelf->second.entries.end();
    while (oldest != end && (oldest == keep || !oldest->response->finished)) ++oldest;
    return oldest != end;
  }
};

// Until so much more fits; erases nothing if it cannot.
bool ResponseStore::MakeRoom(uint64_t more_bytes, const Shelf& own, Entries::iterator keep) {
  if (used_bytes_ + more_bytes <= max_bytes_) return true;
  std::priority_queue<Holding> holdings;
  uint64_t own_bytes = own.used_bytes + more_bytes;
  for (auto shelf = shelves_.begin(); shelf != shelves_.end(); ++shelf) {
    const bool is_own = &shelf->second == &own;
    Holding holding{.size_bytes = is_own ? own_bytes : shelf->second.used_bytes,
                    .is_own = is_own,
                    .shelf = shelf,
                    .oldest = shelf->second.entries.begin()};
    if (holding.Skip(keep)) holdings.push(holding);
  }
  const uint64_t share_bytes = max_bytes_ / shelves_.size();
  std::vector<std::pair<Shelves::iterator, Entries::iterator>> going;
  uint64_t left_bytes = used_bytes_ + more_bytes;
  while (left_bytes > max_bytes_) {
    if (holdings.empty()) return false;
    Holding largest = holdings.top();
    holdings.pop();
    if (!largest.is_own && largest.size_bytes <= std::max(own_bytes, share_bytes)) continue;
    const uint64_t size_bytes = largest.oldest->size_bytes;
    going.emplace_back(largest.shelf, largest.oldest++);
    left_bytes -= size_bytes;
    largest.size_bytes -= size_bytes;
    if (largest.is_own) own_bytes = largest.size_bytes;
    if (largest.Skip(keep)) holdings.push(largest);
  }
  for (const auto& [shelf, entry] : going) {
    EraseLocked(shelf->second, entry);
    if (shelf->second.entries.empty() && &shelf->second != &own) shelves_.erase(shelf);
  }
  return true;
}

void ResponseStore::EraseLocked(Shelf& shelf, Entries::iterator entry) {
  const StoredResponse& response = *entry->response;
  for (const StoredItems* const items : {&response.input, &response.output}) {
    for (const auto& item : *items) shelf.items.erase(ItemHolder{item->id, entry->number});
  }
  shelf.by_id.erase(response.id);
  shelf.used_bytes -= entry->size_bytes;
  used_bytes_ -= entry->size_bytes;
  shelf.entries.erase(entry);
}

std::shared_ptr<const StoredResponse> ResponseStore::Find(std::string_view owner,
                                                          std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto own = shelves_.find(owner);
  if (own == shelves_.end()) return nullptr;
  const auto found = own->second.by_id.find(id);
  return found == own->second.by_id.end() ? nullptr : found->second->response;
}

std::shared_ptr<const StoredItem> ResponseStore::FindItem(std::string_view owner,
                                                          std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto own = shelves_.find(owner);
  if (own == shelves_.end()) return nullptr;
  const auto first = own->second.items.lower_bound(ItemHolder{id, 0});
  const bool is_there = first != own->second.items.end() && first->first.first == id;
  return is_there ? first->second : nullptr;
}

bool ResponseStore::Erase(std::string_view owner, std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto own = shelves_.find(owner);
  if (own == shelves_.end()) return false;
  const auto found = own->second.by_id.find(id);
  if (found == own->second.by_id.end()) return false;
  EraseLocked(own->second, found->second);
  if (own->second.entries.empty()) shelves_.erase(own);
  return true;
}

uint64_t ResponseStore::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

size_t ResponseStore::count() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [owner, shelf] : shelves_) count += shelf.entries.size();
  return count;
}

}  // namespace weft
