#include "model/state.h"

#include <utility>

namespace weft {
namespace {

struct Reach {
  int64_t window = 0;
  int64_t chunk = 0;
  bool operator==(const Reach&) const = default;
};

Reach ReachOf(const AttentionSpec& attention, int64_t context) {
  return {.window = attention.window < context ? attention.window : 0,
          .chunk = attention.chunk < context ? attention.chunk : 0};
}

// The group of the layers that have a state.
StateGroup RecurrentGroup(const ModelSpec& spec) {
  StateGroup group{.is_recurrent = true, .window = 2};
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (RecurrentFloats(spec, spec.layers[i]) > 0) group.layers.push_back(static_cast<int32_t>(i));
  }
  return group;
}

// The group of an encoder-decoder's source.
StateGroup SourceGroup(const ModelSpec& spec) {
  StateGroup source{.is_source = true};
  for (int64_t layer = FirstCrossLayer(spec); layer < CachedLayerCount(spec); ++layer) {
    source.layers.push_back(static_cast<int32_t>(layer));
  }
  return source;
}

}  // namespace

const AttentionSpec& CachedLayer(const ModelSpec& spec, int64_t index) {
  if (spec.encoder && index >= FirstEncoderLayer(spec)) {
    return spec.encoder->layers[static_cast<size_t>(index - FirstEncoderLayer(spec))].attention;
  }
  const int64_t layers = spec.layer_count();
  const LayerSpec& layer = spec.layers[static_cast<size_t>(index % layers)];
  return index < layers ? layer.attention : *layer.cross;
}

int64_t RecurrentFloats(const ModelSpec& spec, const LayerSpec& layer) {
  int64_t floats = 0;
  if (layer.short_conv) floats += (layer.short_conv->width - 1) * spec.hidden_size;
  if (layer.delta_net) floats += layer.delta_net->state_floats();
  if (layer.state_space) floats += layer.state_space->state_floats();
  return floats;
}

std::vector<StateGroup> StateGroupsOf(const ModelSpec& spec, int64_t context) {
  if (spec.is_encoder) {
    StateGroup all{.is_scratch = true};
    for (int32_t i = 0; i < spec.layer_count(); ++i) all.layers.push_back(i);
    return {all};
  }
  std::vector<Reach> reaches;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& attention = layer.attention;
    reaches.push_back(ReachOf(attention, context));
    if (attention.kv_layer == AttentionSpec::kOwnKv) continue;
    // Where they differ, all is kept for both.
    Reach& owner = reaches[static_cast<size_t>(attention.kv_layer)];
    if (owner != reaches.back()) owner = {};
  }
  std::vector<StateGroup> groups;
  for (size_t i = 0; i < reaches.size(); ++i) {
    if (!spec.layers[i].attention) continue;
    const int64_t kv_layer = spec.layers[i].attention.kv_layer;
    const Reach reach =
        reaches[kv_layer == AttentionSpec::kOwnKv ? i : static_cast<size_t>(kv_layer)];
    const auto sees_as_much = [&](const StateGroup& group) {
      return group.window == reach.window && group.chunk == reach.chunk;
    };
    auto group = std::ranges::find_if(groups, sees_as_much);
    if (group == groups.end()) {
      const auto place = reach == Reach{} ? groups.begin() : groups.end();
      group = groups.insert(place, {.window = reach.window, .chunk = reach.chunk});
    }
    group->layers.push_back(static_cast<int32_t>(i));
  }
  if (StateGroup group = RecurrentGroup(spec); !group.layers.empty()) {
    groups.push_back(std::move(group));
  }
  if (spec.encoder) groups.push_back(SourceGroup(spec));
  return groups;
}

}  // namespace weft
