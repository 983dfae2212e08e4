// A conversation as its client keeps it: what has been said, and how the next answer is asked for.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace weft {

class Conversation {
 public:
  // What the model is told before all; "": nothing.
  void SetSystem(std::string text) { system_ = std::move(text); }
  const std::string& system() const { return system_; }

  void AddQuestion(std::string text);
  // To the question that was last; thoughts are not sent back.
  void AddAnswer(std::string text);
  // Takes the last answer away, so that its question is the last again; false: there is none.
  bool DropAnswer();
  // Takes the last question away, with its answer; false: there is none.
  bool DropQuestion();
  void Clear() { messages_ = nlohmann::ordered_json::array(); }
  bool empty() const { return messages_.empty(); }

  // A field of requests: `value` is JSON, or else text; "": the server's default again. Errors: a
  // field that is none of an answer's sampling, or not `reasoning` (on, off, auto).
  Result<void> Set(const std::string& name, const std::string& value);
  const nlohmann::ordered_json& settings() const { return settings_; }

  // Of the request for the next answer, streamed.
  nlohmann::ordered_json Body(const std::string& model) const;

  // As a file has it: {"messages": [...], "settings": {...}}.
  std::string ToJson() const;
  // Takes the place of all there is. Errors, nothing has changed then: what is not such a text.
  Result<void> Load(std::string_view text);

 private:
  std::string system_;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();  // without the system's
  nlohmann::ordered_json settings_ = nlohmann::ordered_json::object();
};

}  // namespace weft
