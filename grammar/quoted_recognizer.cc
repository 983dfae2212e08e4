#include "grammar/quoted_recognizer.h"

#include <array>
#include <optional>

namespace weft {
namespace {

constexpr uint8_t kLastControl = 0x1F;

struct ShortEscape {
  uint8_t letter;
  uint8_t byte;
};
constexpr auto kShortEscapes = std::to_array<ShortEscape>(
    {{'"', '"'}, {'\\', '\\'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}});

std::optional<uint8_t> HexValueOf(uint8_t digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

}  // namespace

Recognizer::State QuotedRecognizer::Start() {
  const State inner = inner_->Start();
  return inner == kDead ? kDead : Intern({inner, Escape::kNone});
}

bool QuotedRecognizer::Accepts(State state) {
  const Place place = places_[state];
  return place.escape == Escape::kNone && inner_->Accepts(place.inner);
}

bool QuotedRecognizer::TakesControl(State inner, uint8_t first, uint8_t last) {
  for (uint8_t byte = first; byte <= last; ++byte) {
    if (Takes(inner, byte)) return true;
  }
  return false;
}

bool QuotedRecognizer::TakesEscaped(State inner) {
  return Takes(inner, '"') || Takes(inner, '\\') || TakesControl(inner, 0, kLastControl);
}

Recognizer::State QuotedRecognizer::StepInner(State inner, uint8_t byte) {
  const State next = inner_->Step(inner, byte);
  return next == kDead ? kDead : Intern({next, Escape::kNone});
}

Recognizer::State QuotedRecognizer::StepEscape(State inner, uint8_t byte) {
  for (const ShortEscape& escape : kShortEscapes) {
    if (escape.letter == byte) return StepInner(inner, escape.byte);
  }
  if (byte != 'u' || !TakesControl(inner, 0, kLastControl)) return kDead;
  return Intern({inner, Escape::kU});
}

Recognizer::State QuotedRecognizer::Step(State state, uint8_t byte) {
  const Place place = places_[state];
  const State inner = place.inner;
  switch (place.escape) {
    case Escape::kNone:
      if (byte == '\\') return TakesEscaped(inner) ? Intern({inner, Escape::kBegun}) : kDead;
      return byte == '"' || byte <= kLastControl ? kDead : StepInner(inner, byte);
    case Escape::kBegun:
      return StepEscape(inner, byte);
    case Escape::kU:
      return byte == '0' ? Intern({inner, Escape::kU0}) : kDead;
    case Escape::kU0:
      return byte == '0' ? Intern({inner, Escape::kU00}) : kDead;
    case Escape::kU00:
      if (byte == '0' && TakesControl(inner, 0, 0x0F)) return Intern({inner, Escape::kU000});
      if (byte == '1' && TakesControl(inner, 0x10, kLastControl))
        return Intern({inner, Escape::kU001});
      return kDead;
    case Escape::kU000:
    case Escape::kU001: {
      const std::optional<uint8_t> low = HexValueOf(byte);
      if (!low) return kDead;
      return StepInner(inner, place.escape == Escape::kU001 ? 0x10 + *low : *low);
    }
  }
  return kDead;
}

// Outside of escapes those of the inner text, or an escape where one of them needs it.
ByteSet QuotedRecognizer::BytesTowardsEnd(State state) {
  const Place place = places_[state];
  if (place.escape != Escape::kNone) return ByteSet().set();
  ByteSet bytes = inner_->BytesTowardsEnd(place.inner);
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    const bool is_escaped = byte <= kLastControl || byte == '"' || byte == '\\';
    if (!bytes[byte] || !is_escaped) continue;
    bytes.reset(byte);
    bytes.set('\\');
  }
  return bytes;
}

Recognizer::State QuotedRecognizer::Intern(Place place) {
  const uint64_t key =
      static_cast<uint64_t>(place.inner) << 8U | static_cast<uint64_t>(place.escape);
  const auto [entry, is_new] = states_.emplace(key, static_cast<State>(places_.size()));
  if (is_new) places_.push_back(place);
  return entry->second;
}

}  // namespace weft
