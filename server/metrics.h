// Everything that /metrics shows. Thread-safe; prometheus-cpp stays behind this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "server/served_model.h"

namespace weft {

struct StepReport;

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void CountHttpRequest(std::string_view route, int status, double duration_s);
  // A request with an API key, by the key's name.
  void CountKey(const std::string& name, int64_t prompt_tokens, int64_t completion_tokens);
  void CountUnknownFields(int32_t count);
  void ChangeConnections(int change);
  void CountRefusedConnection();
  void CountFailedHandshake();
  // The client went away, or was cut because it did not read, before its answer was complete.
  void CountDisconnect();

  // On the engine thread, after every step.
  void CountStep(const StepReport& report);
  // A choice reached its end.
  void CountFinish(FinishReason reason, int32_t completion_tokens);
  void CountPrompt(int32_t prompt_tokens);
  void ObserveTimeToFirstToken(double seconds);
  void ObserveTimePerOutputToken(double seconds);
  void ObserveRequestDuration(double seconds);

  // Prometheus text format 0.0.4, after reading the engines' gauges.
  std::string Render(const std::vector<ServedModel>& models);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace weft
