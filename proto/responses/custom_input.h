// The input of a custom tool's call, out of the JSON of the arguments in which the model writes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Of one call, while it arrives; one thread. However the arguments are cut into pieces, what comes
// out joined is the same.
class CustomInputReader {
 public:
  // More of {"input":"..."}: what more of the text there is now.
  std::string Push(std::string_view arguments);
  // The arguments have ended. Where they were anything else: all of them, as they are.
  std::string Finish();

 private:
  enum class Place { kHead, kText, kEnd, kOther };

  void PushHead(char c);
  void PushText(char c, std::string& text);
  void EndEscape(std::string& text);

  Place place_ = Place::kHead;
  std::string arguments_;   // until it is known to be the text
  size_t head_bytes_ = 0;   // of what stands before the text
  std::string escape_;      // begun, from its backslash on
  char32_t surrogate_ = 0;  // the first half of a pair; 0: none
};

}  // namespace weft
