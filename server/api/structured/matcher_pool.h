// What recognizers of texts have found out, kept from text to text, and its memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/token_constraint.h"
#include "grammar/mask/mask_maker.h"
#include "grammar/mask/mask_vocabulary.h"
#include "grammar/recognizer.h"

namespace weft {

class SharedRecognizer;

// The memory of constraints: what all recognizers may take together, and those that no text uses
// now. With what these have found out the next text of the same constraint begins, until others
// need the room. Thread-safe; outlives what it counts.
class MatcherPool {
 public:
  using Owner = const void*;

  explicit MatcherPool(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~MatcherPool();

  // Counts so much more; where there is no room, idle ones go. False: there is none all the same,
  // and nothing was counted.
  bool Reserve(size_t bytes);
  // The same for what is there in any case.
  void Count(size_t bytes) { held_bytes_ += bytes; }
  void Release(size_t bytes) { held_bytes_ -= bytes; }
  size_t held_bytes() const { return held_bytes_; }
  // Of one request, so that there is room for others.
  size_t largest_bytes() const { return limit_bytes_ / 4; }

  // nullptr: there is none of this owner's.
  std::unique_ptr<SharedRecognizer> Take(Owner owner);
  void Give(Owner owner, std::unique_ptr<SharedRecognizer> shared);
  void Drop(Owner owner);

 private:
  static constexpr size_t kMostIdle = 64;

  struct Idle {
    Owner owner = nullptr;
    std::unique_ptr<SharedRecognizer> shared;
  };

  // Destroys the idle one that was given first; false: there is none.
  bool DropOldest();

  const size_t limit_bytes_;
  std::atomic<size_t> held_bytes_ = 0;
  std::mutex mutex_;      // guards what follows
  std::list<Idle> idle_;  // the last given first
};

// What matchers of one text share: a recognizer, one of them at a time, and what it has found out.
class SharedRecognizer {
 public:
  // The pool and the vocabulary outlive it.
  SharedRecognizer(MatcherPool* pool, const MaskVocabulary& vocabulary,
                   std::unique_ptr<Recognizer> owned)
      : recognizer(std::move(owned)), pool_(*pool), maker_(&vocabulary, recognizer.get()) {}
  ~SharedRecognizer() { pool_.Release(counted_bytes_); }
  SharedRecognizer(const SharedRecognizer&) = delete;
  SharedRecognizer& operator=(const SharedRecognizer&) = delete;

  std::mutex mutex;  // guards what follows
  const std::unique_ptr<Recognizer> recognizer;

  // Of a state that is not kDead; the mask is of zeros. Errors: those of CountMemory.
  Result<void> FillMask(Recognizer::State state, TokenMask mask);
  // After steps that were new, perhaps. Errors: a limit of the recognizer's, or there is no memory
  // for what it has found out; then nothing that it says counts.
  Result<void> CountMemory();
  // Another text begins. What was found out for those before does not count against it.
  void BeginText() { before_bytes_ = counted_bytes_; }
  size_t counted_bytes() const { return counted_bytes_; }

 private:
  // Masks of states that come again: inside a string, for instance, at every token.
  static constexpr size_t kMostMasks = 16;

  MatcherPool& pool_;
  MaskMaker maker_;
  std::unordered_map<Recognizer::State, std::vector<uint32_t>> masks_;
  size_t counted_bytes_ = 0;
  size_t before_bytes_ = 0;  // the text
};

}  // namespace weft
