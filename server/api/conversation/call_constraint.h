// Calls name functions that were offered: the engine's constraint, made of the reply's format.
#pragma once

#include <memory>

#include "engine/penalties.h"
#include "engine/token_constraint.h"
#include "server/api/conversation/reply_stream.h"

namespace weft {

// What the tokens of a vocabulary add to a reply.
struct ReplyTokens {
  TokenBytes text_of;
  TokenId count = 0;
};

// For the replies that are read so; nullptr: nothing has to be constrained.
std::shared_ptr<const TokenConstraint> MakeCallConstraint(const ReplySetup& setup,
                                                          ReplyTokens tokens);

}  // namespace weft
