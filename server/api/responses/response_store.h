// The responses that clients may come back to: bounded, in memory, each its owner's alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft {

// One item of a conversation, as JSON text.
struct StoredItem {
  std::string id;
  std::string json;
};
using StoredItems = std::vector<std::shared_ptr<const StoredItem>>;

// Each stands alone: it has the whole conversation, so that those before it may go.
struct StoredResponse {
  std::string owner;  // the name of the key that it was made with; empty: there are no keys
  std::string id;
  std::string body;  // the response object, JSON text
  bool background = false;
  bool finished = true;  // otherwise it will be replaced
  StoredItems history;   // what came before the request
  StoredItems input;     // of the request
  StoredItems output;
};

// What one takes: every byte of it and its items, and an allowance for what holds them.
uint64_t StoredBytes(const StoredResponse& response);

// What a WebSocket remembers from one response to the next.
struct ResponseSocketState {
  std::shared_ptr<const StoredResponse> last;  // nullptr: none; it need not be stored
  bool continues_last = false;                 // the request under way goes on from it
};

// Any thread. What is counted is every byte of a response and its items, shared ones once for each
// response, and an allowance for what holds them. What belongs to others is not there.
class ResponseStore {
 public:
  explicit ResponseStore(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  bool enabled() const { return max_bytes_ > 0; }

  // Adds a response, or takes it for the one of its owner that has its id. Room is made by whoever
  // would hold most: its oldest finished ones go. An owner who holds no more than this one would,
  // or no more than an equal share, loses nothing. False, and nothing has changed: there is no room
  // even so.
  bool Put(std::shared_ptr<const StoredResponse> response);
  // As Put, but only where there is a response of this id: it may have been deleted meanwhile.
  bool Replace(std::shared_ptr<const StoredResponse> response);
  // nullptr if it is not there (any more).
  std::shared_ptr<const StoredResponse> Find(std::string_view owner, std::string_view id) const;
  // An item that a stored response brought or made; of several with this id, the one of the
  // response that was stored first.
  std::shared_ptr<const StoredItem> FindItem(std::string_view owner, std::string_view id) const;
  // False: it was not there.
  bool Erase(std::string_view owner, std::string_view id);

  uint64_t used_bytes() const;
  size_t count() const;

 private:
  struct Entry {
    std::shared_ptr<const StoredResponse> response;
    uint64_t size_bytes = 0;
    uint64_t number = 0;  // grows from entry to entry
  };
  using Entries = std::list<Entry>;  // oldest first
  // Who holds an item: its id, and the number of the entry. Keys live in the items.
  using ItemHolder = std::pair<std::string_view, uint64_t>;
  // All that one owner has.
  struct Shelf {
    Entries entries;
    std::unordered_map<std::string_view, Entries::iterator> by_id;  // keys live in the entries
    std::map<ItemHolder, std::shared_ptr<const StoredItem>> items;
    uint64_t used_bytes = 0;
  };
  using Shelves = std::map<std::string, Shelf, std::less<>>;  // none is empty
  struct Holding;

  bool PutLocked(std::shared_ptr<const StoredResponse> response, Shelf& own, Entries::iterator old);
  bool MakeRoom(uint64_t more_bytes, const Shelf& own, Entries::iterator keep);
  void EraseLocked(Shelf& shelf, Entries::iterator entry);

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  Shelves shelves_;
  uint64_t used_bytes_ = 0;
  uint64_t next_number_ = 0;
};

}  // namespace weft
