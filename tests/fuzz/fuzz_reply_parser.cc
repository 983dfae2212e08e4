// Replies of a model: whatever it writes and however it is cut, the same comes out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/reply/reply_parser.h"
#include "tests/proto/reply/call_formats.h"

namespace weft {
namespace {

// Neighbours of one kind joined, so that what came in pieces compares with what came whole.
void Append(std::vector<ReplyDelta> deltas, std::vector<ReplyDelta>& all) {
  for (ReplyDelta& delta : deltas) {
    if (delta.text.empty()) std::abort();
    const bool joins = !all.empty() && delta.kind != ReplyDeltaKind::kCallBegun &&
                       all.back().kind == delta.kind && all.back().call_index == delta.call_index;
    if (joins) {
      all.back().text += delta.text;
    } else {
      all.push_back(std::move(delta));
    }
  }
}

std::vector<ReplyDelta> Parse(const ReplyOptions& options, std::string_view text,
                              size_t piece_bytes) {
  ReplyParser parser(options);
  std::vector<ReplyDelta> all;
  for (size_t begin = 0; begin < text.size(); begin += piece_bytes) {
    Append(parser.Push(text.substr(begin, piece_bytes)), all);
  }
  Append(parser.Finish(), all);
  return all;
}

// How often each byte that is no white space comes.
std::vector<size_t> CountBytes(std::string_view text) {
  std::vector<size_t> counts(256);
  for (const char byte : text) ++counts[static_cast<unsigned char>(byte)];
  return counts;
}

}  // namespace
}  // namespace weft

// The first three bytes choose the format, the options and the size of the pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes < 3) return 0;
  weft::ReplyOptions options;
  options.format.calls = weft::kAllCallFormats[data[0] % std::size(weft::kAllCallFormats)];
  options.parses_calls = (data[1] & 1) != 0;
  options.begins_in_reasoning = (data[1] & 2) != 0;
  if ((data[1] & 4) != 0) {
    options.format.answer_open = "<response>";
    options.format.answer_close = "</response>";
  }
  if (weft::HasMessages(options.format.calls)) {  // as ReplyFormatOf has it
    options.format.reasoning_open.clear();
    options.format.reasoning_close.clear();
    options.begins_in_reasoning = false;
  }
  options.tools = {{"f", {{"a", false}, {"s", true}}}};
  const std::string_view text(reinterpret_cast<const char*>(data + 3), size_bytes - 3);
  const std::vector<weft::ReplyDelta> whole = weft::Parse(options, text, text.size() + 1);
  if (weft::Parse(options, text, 1) != whole) std::abort();
  if (weft::Parse(options, text, 1 + data[2] % 16) != whole) std::abort();
  if (options.parses_calls || weft::HasMessages(options.format.calls)) return 0;
  // Without calls only tags and white space may go.
  std::string joined;
  for (const weft::ReplyDelta& delta : whole) joined += delta.text;
  if (joined.size() > text.size()) std::abort();
  const std::vector<size_t> before = weft::CountBytes(text);
  const std::vector<size_t> after = weft::CountBytes(joined);
  constexpr std::string_view kMayGo = " \t\r\n</>thinkrespo";
  for (size_t byte = 0; byte < before.size(); ++byte) {
    if (kMayGo.find(static_cast<char>(byte)) != std::string_view::npos) continue;
    if (before[byte] != after[byte]) std::abort();
  }
  return 0;
}
