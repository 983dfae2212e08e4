#include "server/api/conversation/reply_stream.h"

#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "server/api/token_label.h"

namespace weft {
namespace {

void Append(std::vector<ReplyDelta> more, std::vector<ReplyDelta>& deltas) {
  deltas.insert(deltas.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<ReplyDelta> ReplyStream::Push(const TokensEvent& event, Usage& usage) {
  const bool reasoned = parser_.in_reasoning();
  std::vector<ReplyDelta> deltas = parser_.Push(decoder_.Append(event.text));
  if (reasoned || parser_.in_reasoning()) {
    usage.reasoning_tokens += static_cast<int64_t>(event.tokens.size());
  }
  return deltas;
}

std::vector<ReplyDelta> ReplyStream::Finish() {
  std::vector<ReplyDelta> deltas = parser_.Push(decoder_.Finish());
  Append(parser_.Finish(), deltas);
  return deltas;
}

uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::string MakeCallId(std::string_view request_id, int32_t choice, int32_t call,
                       CallFormat format) {
  constexpr std::string_view kFigures = "0123456789abcdefghijklmnopqrstuvwxyz";
  // Mistral's templates take ids of nine characters only.
  const bool is_short = format == CallFormat::kMistral || format == CallFormat::kMistralNamed;
  std::string id = is_short ? "" : "call_";
  const size_t length = is_short ? 9 : id.size() + 24;
  for (int round = 0; id.size() < length; ++round) {
    uint64_t hash = HashOf(fmt::format("{} {} {} {}", request_id, choice, call, round));
    for (int i = 0; i < 8 && id.size() < length; ++i) {
      id += kFigures[hash % kFigures.size()];
      hash /= kFigures.size();
    }
  }
  return id;
}

ChatLogprob ChatLogprobOf(const Tokenizer& tokenizer, const TokenLogprob& entry) {
  const auto named = [&](TokenId token, float logprob) {
    return ChatTokenLogprob{.token = LabelOf(tokenizer, token),
                            .bytes = std::string(tokenizer.TokenBytes(token)),
                            .logprob = logprob};
  };
  ChatLogprob result{.chosen = named(entry.token, entry.logprob), .top = {}};
  for (const auto& [token, logprob] : entry.top) result.top.push_back(named(token, logprob));
  return result;
}

}  // namespace weft
