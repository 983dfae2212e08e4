#include "server/api/route_functions.h"

#include "server/api/chat/chat_job.h"
#include "server/api/classify/classify_job.h"
#include "server/api/completions/completion_job.h"
#include "server/api/decisions/decision_job.h"
#include "server/api/embeddings/embedding_job.h"
#include "server/api/label_scores/label_score_job.h"
#include "server/api/llama_server/llama_job.h"
#include "server/api/messages/messages_job.h"
#include "server/api/ollama/ollama_job.h"
#include "server/api/ollama/ollama_models.h"
#include "server/api/rerank/rerank_job.h"
#include "server/api/responses/responses_job.h"
#include "server/api/score/score_job.h"
#include "server/api/sparse/sparse_job.h"
#include "server/api/tokenize/tokenize_answers.h"

namespace weft {

PrepareFunction PrepareFunctionOf(RouteId route) {
  switch (route) {
    case RouteId::kCompletions:
      return PrepareCompletion;
    case RouteId::kChatCompletions:
      return PrepareChat;
    case RouteId::kMessages:
      return PrepareMessages;
    case RouteId::kResponses:
      return PrepareResponse;
    case RouteId::kCompactResponse:
      return PrepareCompaction;
    case RouteId::kEmbeddings:
      return PrepareEmbedding;
    case RouteId::kRerank:
      return PrepareRerank;
    case RouteId::kAnyRerank:
      return PrepareAnyRerank;
    case RouteId::kScore:
      return PrepareScore;
    case RouteId::kClassify:
      return PrepareClassify;
    case RouteId::kPredict:
      return PreparePredict;
    case RouteId::kPooling:
      return PreparePooling;
    case RouteId::kTeiEmbed:
      return PrepareTeiEmbed;
    case RouteId::kSparse:
      return PrepareSparse;
    case RouteId::kGenerativeScoring:
      return PrepareGenerativeScoring;
    case RouteId::kDecisions:
      return PrepareDecisions;
    case RouteId::kLlamaCompletion:
      return PrepareLlamaCompletion;
    case RouteId::kAnyCompletion:
      return PrepareAnyCompletion;
    case RouteId::kInfill:
      return PrepareLlamaInfill;
    case RouteId::kLlamaEmbedding:
      return PrepareLlamaEmbedding;
    case RouteId::kAnyEmbedding:
      return PrepareAnyEmbedding;
    case RouteId::kOllamaChat:
      return PrepareOllamaChat;
    case RouteId::kOllamaGenerate:
      return PrepareOllamaGenerate;
    case RouteId::kOllamaEmbed:
      return PrepareOllamaEmbed;
    case RouteId::kOllamaEmbeddings:
      return PrepareOllamaEmbeddings;
    default:
      return nullptr;
  }
}

AnswerFunction AnswerFunctionOf(RouteId route) {
  switch (route) {
    case RouteId::kCountTokens:
      return AnswerCountTokens;
    case RouteId::kResponseInputTokens:
      return AnswerInputTokens;
    case RouteId::kChatInputTokens:
      return AnswerChatInputTokens;
    case RouteId::kTokenize:
      return AnswerTokenize;
    case RouteId::kDetokenize:
      return AnswerDetokenize;
    case RouteId::kApplyTemplate:
      return AnswerApplyTemplate;
    case RouteId::kOllamaShow:
      return AnswerOllamaShow;
    default:
      return nullptr;
  }
}

}  // namespace weft
