// The ids of pieces of text met before in the same call: natural text repeats its words.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/tensor.h"

namespace weft {

// Direct-mapped and of fixed size, so that no input can make it grow or degenerate. One thread.
class PieceCache {
 public:
  static constexpr size_t kMaxKeyBytes = 32;
  static constexpr size_t kMaxIds = 5;

  // Sized for a text of `text_bytes`: 64 to 16,384 entries of 64 bytes.
  void Reset(size_t text_bytes) {
    size_t count = 64;
    while (count < 16384 && count * 8 < text_bytes) count *= 2;
    slots_.assign(count, Slot{});
  }

  // The ids of `piece`, or an empty span if they are not here.
  std::span<const TokenId> Find(std::string_view piece) const {
    if (piece.size() > kMaxKeyBytes || slots_.empty()) return {};
    const Slot& slot = slots_[SlotOf(piece)];
    if (slot.key_bytes != piece.size() ||
        std::memcmp(slot.key.data(), piece.data(), piece.size()) != 0) {
      return {};
    }
    return {slot.ids.data(), slot.id_count};
  }

  void Insert(std::string_view piece, std::span<const TokenId> ids) {
    if (piece.empty() || piece.size() > kMaxKeyBytes || ids.empty() || ids.size() > kMaxIds ||
        slots_.empty()) {
      return;
    }
    Slot& slot = slots_[SlotOf(piece)];
    slot.key_bytes = static_cast<uint8_t>(piece.size());
    slot.id_count = static_cast<uint8_t>(ids.size());
    std::memcpy(slot.key.data(), piece.data(), piece.size());
    std::copy(ids.begin(), ids.end(), slot.ids.begin());
  }

 private:
  struct Slot {
    std::array<char, kMaxKeyBytes> key = {};
    std::array<TokenId, kMaxIds> ids = {};
    uint8_t key_bytes = 0;  // 0: empty
    uint8_t id_count = 0;
  };
  static_assert(sizeof(Slot) <= 64);

  size_t SlotOf(std::string_view piece) const {
    return std::hash<std::string_view>{}(piece) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_;
};

}  // namespace weft
