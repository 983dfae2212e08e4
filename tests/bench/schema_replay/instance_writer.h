// Whether a recognizer takes a JSON value, written as Python's json.dumps writes it or with its
// properties in whichever order the recognizer wants them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "grammar/recognizer.h"

namespace weft {

enum class WriteOutcome {
  kAccepted,
  kRefused,
  kUndecided,  // more orders than there is a budget for
};

class InstanceWriter {
 public:
  struct Options {
    bool is_spaced = true;          // one space behind ',' and ':', as MaskBench has it
    bool any_order = false;         // tries orders of properties until one is accepted
    int64_t max_bytes = 1'000'000;  // that all tries together may write
  };

  // Borrows the recognizer.
  InstanceWriter(Recognizer& recognizer, const Options& options)
      : recognizer_(recognizer), options_(options) {}

  WriteOutcome Write(const nlohmann::ordered_json& value);

  // All bytes that were given to the recognizer.
  int64_t byte_count() const { return byte_count_; }

 private:
  using State = Recognizer::State;
  // What follows a value: true if the rest of the text is accepted from there.
  using Rest = std::function<bool(State)>;

  struct Member {
    std::string name;  // as text, with its colon
    const nlohmann::ordered_json* value = nullptr;
  };

  bool WriteValue(const nlohmann::ordered_json& value, State state, const Rest& rest);
  bool WriteItems(const nlohmann::ordered_json& array, size_t index, State state, const Rest& rest);
  // `due` could be next before the member that was written last, and must be so behind it: where
  // the order is fixed, that member would have been too early.
  bool WriteMembers(const std::vector<Member>& members, std::vector<bool>& written,
                    const std::vector<size_t>& due, State state, const Rest& rest);
  State Text(State state, std::string_view text);

  Recognizer& recognizer_;
  const Options options_;
  int64_t byte_count_ = 0;
};

}  // namespace weft
