// The memory that requests and connections hold: one budget, and the shares of it that keep one
// client from taking all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "server/http/byte_budget.h"

namespace weft {

// Thread-safe. An eighth is kept for small requests; connections share half, and so do the requests
// of one key; batches, which can wait, have a quarter; what is read but not parsed yet has a
// quarter, so that long heads which never end do not keep others from connecting.
class RequestBudget {
 public:
  explicit RequestBudget(uint64_t limit_bytes)
      : whole_(limit_bytes, limit_bytes / 8),
        connections_(limit_bytes / 2, whole_),
        buffers_(limit_bytes / 4, whole_),
        batches_(limit_bytes / 4, whole_) {}

  // Of what each connection costs, and of what it reads into beyond that.
  ByteBudget& connections() { return connections_; }
  ByteBudget& buffers() { return buffers_; }
  // Of the lines of batches.
  ByteBudget& batches() { return batches_; }
  // Of the requests without a key of their own. Clients are not told apart by their addresses: all
  // of those behind a proxy or a Unix socket have one.
  ByteBudget& anybody() { return whole_; }
  // Of the requests with the key of this name. Names are few: an operator's file has them.
  ByteBudget& OfKey(std::string_view name);

  uint64_t taken_bytes() const { return whole_.taken_bytes(); }

 private:
  ByteBudget whole_;
  ByteBudget connections_;
  ByteBudget buffers_;
  ByteBudget batches_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ByteBudget>, std::less<>> keys_;
};

}  // namespace weft
