#include "server/commands/requested_models.h"

#include <optional>
#include <string>
#include <utility>

#include "server/commands/served_models.h"
#include "server/hub/hub_cache.h"
#include "server/metrics/engine_meter.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/metrics.h"
#include "server/models/model_catalog.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

// A model whose engine the metrics show as long as it lives.
class ShownModel {
 public:
  ShownModel(std::unique_ptr<LoadedModel> model, const std::string& name,
             const std::shared_ptr<EngineMeter>& meter, std::shared_ptr<Metrics> metrics)
      : metrics_(std::move(metrics)), model_(std::move(model)) {
    EngineFacts facts = model_->facts();
    facts.model = name;
    metrics_->AddEngine(std::move(facts), meter, model_->engine());
  }
  ~ShownModel() { metrics_->RemoveEngine(model_->engine()); }
  ShownModel(const ShownModel&) = delete;
  ShownModel& operator=(const ShownModel&) = delete;

 private:
  const std::shared_ptr<Metrics> metrics_;
  const std::unique_ptr<LoadedModel> model_;
};

// Opens models, with what they all have in common.
class ModelOpener {
 public:
  ModelOpener(ServeOptions options, Compute compute, std::shared_ptr<MatcherPool> constraints,
              std::shared_ptr<Metrics> metrics)
      : options_(std::move(options)),
        compute_(std::move(compute)),
        constraints_(std::move(constraints)),
        metrics_(std::move(metrics)) {}

  Result<OpenedModel> operator()(const DiskModel& disk) const {
    ModelOptions own = options_.model;
    own.path = disk.path;
    own.meter = std::make_shared<EngineMeter>();
    WEFT_ASSIGN_OR_RETURN(LoadableModel opened, LoadableModel::Open(own, compute_));
    const auto loadable = std::make_shared<LoadableModel>(std::move(opened));
    return OpenedModel{
        .weight_bytes = loadable->weight_bytes(),
        .least_bytes = loadable->least_bytes(),
        .load = [this, loadable, disk, meter = own.meter](
                    uint64_t bytes, const std::function<bool()>& stops) -> Result<RunningModel> {
          WEFT_ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model, loadable->Load(bytes, stops));
          RunningModel running;
          WEFT_ASSIGN_OR_RETURN(running.served,
                                ServeRequested(options_, disk.id, *model, constraints_));
          running.served.aliases = disk.aliases;
          running.memory = MemoryOf(model->memory());
          running.owner = std::make_shared<ShownModel>(std::move(model), disk.id, meter, metrics_);
          return running;
        }};
  }

 private:
  const ServeOptions options_;
  const Compute compute_;
  const std::shared_ptr<MatcherPool> constraints_;
  const std::shared_ptr<Metrics> metrics_;
};

std::string_view LabelOf(LeaveReason reason) {
  switch (reason) {
    case LeaveReason::kIdle:
      return "idle";
    case LeaveReason::kRoom:
      return "room";
    case LeaveReason::kAsked:
      break;
  }
  return "asked";
}

}  // namespace

ModelMemory MemoryOf(const MemoryPlan& plan) {
  return {.weight_bytes = plan.weight_bytes,
          .kv_bytes = plan.kv_bytes(),
          .workspace_bytes = plan.workspace_bytes,
          .other_bytes = plan.accounting_bytes()};
}

Result<RegistryOptions> RequestedModels(const ServeOptions& options, const Compute& compute,
                                        const std::shared_ptr<MatcherPool>& constraints,
                                        const std::shared_ptr<Metrics>& metrics) {
  RegistryOptions registry;
  if (!options.loads_on_request()) return registry;
  std::optional<HubCache> cache;
  if (options.uses_cached_models) {
    WEFT_ASSIGN_OR_RETURN(const HubSettings settings, ReadHubSettings());
    cache.emplace(settings.cache_path);
  }
  WEFT_ASSIGN_OR_RETURN(ModelCatalog catalog,
                        ModelCatalog::Open(options.models_folder, std::move(cache)));
  registry.keep_alive = options.keep_alive;
  registry.scan = [catalog = std::make_shared<ModelCatalog>(std::move(catalog))] {
    return catalog->Scan();
  };
  const auto opener = std::make_shared<const ModelOpener>(options, compute, constraints, metrics);
  registry.open = [opener](const DiskModel& disk) { return (*opener)(disk); };
  registry.on_load = [metrics](bool is_loaded, std::chrono::nanoseconds duration) {
    metrics->CountModelLoad(is_loaded, std::chrono::duration<double>(duration).count());
  };
  registry.on_leave = [metrics](LeaveReason reason) { metrics->CountModelLeft(LabelOf(reason)); };
  return registry;
}

}  // namespace weft
