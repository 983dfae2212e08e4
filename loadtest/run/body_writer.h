// The JSON bodies of requests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "loadtest/plan/load_plan.h"
#include "loadtest/run/answer_reader.h"
#include "loadtest/run/run_options.h"
#include "loadtest/run/server_probe.h"

namespace weft {

// Bodies differ in little: what they have in common is written once.
class BodyWriter {
 public:
  // Fails if the options or the plan's prompts do not fit the endpoint.
  static Result<BodyWriter> Make(const LoadPlan& plan, const RunOptions& options,
                                 const ServerInfo& server);

  // Replaces `body`. `answers` are those to the plan's requests, as far as later turns need them.
  void Write(const LoadPlan& plan, int32_t request, std::span<const Answer> answers,
             std::string& body) const;

 private:
  BodyWriter() = default;

  void WritePrompt(const LoadPlan& plan, int32_t request, std::span<const Answer> answers,
                   std::string& body) const;
  void WriteMessages(const LoadPlan& plan, int32_t request, std::span<const Answer> answers,
                     std::string& body) const;
  void WriteInput(const LoadPlan& plan, const PlannedRequest& request, std::string& body) const;
  void WriteRanking(const LoadPlan& plan, const PlannedRequest& request, std::string& body) const;
  void WriteMalformed(int32_t request, std::string& body) const;

  Endpoint endpoint_ = Endpoint::kCompletions;
  int32_t text_count_ = 0;  // of a request, see TextsPerRequest
  std::string begin_;       // {"model":"m",
  std::string end_;         // ,"temperature":0.0,...} or }
};

}  // namespace weft
