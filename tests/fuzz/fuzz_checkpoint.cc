// Any bytes as a whole model, from the file to the logits: refused with one line, or loaded, packed
// and run. The seeds are the parity tests' checkpoints, one of each family; what changes is mostly
// what stands before the weights, where a file can lie about itself.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>

#include "base/float_env.h"
#include "model/checkpoint.h"
#include "model/load.h"
#include "model/state.h"
#include "model/workspace.h"

namespace {

constexpr int64_t kMaxBytes = int64_t{64} << 20;  // of weights, and of all that they are run in
constexpr int64_t kBlockSize = 16;
constexpr std::string_view kFirstTensor = "token_embd.weight";

// A file of these bytes, without a place in any directory.
class BytesAsFile {
 public:
  BytesAsFile(const uint8_t* data, size_t size_bytes) : descriptor_(memfd_create("model", 0)) {
    for (size_t done = 0; done < size_bytes;) {
      const ssize_t written = write(descriptor_, data + done, size_bytes - done);
      if (written <= 0) std::abort();
      done += static_cast<size_t>(written);
    }
  }
  ~BytesAsFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

bool IsSmall(const weft::Checkpoint& checkpoint, const weft::KernelTable& kernels,
             const weft::WorkspaceOptions& options) {
  const weft::ModelSpec& spec = checkpoint.spec;
  return weft::Weights::PackedBytes(checkpoint.tensors, kernels) <= kMaxBytes &&
         weft::Workspace::Bytes(spec, kernels, options) <= kMaxBytes &&
         std::ranges::all_of(
             weft::StateGroupsOf(spec, spec.context_length), [&](const weft::StateGroup& group) {
               return weft::KvCache::BlockBytes(spec, group, kernels, kBlockSize) <= kMaxBytes;
             });
}

// The rows of the one sequence there is.
struct Rows {
  std::vector<weft::TokenId> tokens;
  std::vector<int32_t> positions;
  std::vector<weft::TokenPhase> phases;
  std::vector<weft::SequenceSpan> sequences;

  Rows(const weft::ModelSpec& spec, const weft::SequenceSpan& span)
      : phases(static_cast<size_t>(span.row_count), weft::TokenPhase::kPrompt), sequences({span}) {
    for (int32_t i = 0; i < span.row_count; ++i) {
      const int32_t position = span.first_position + i;
      tokens.push_back((7 * position) % static_cast<weft::TokenId>(spec.vocab_size));
      positions.push_back(position);
    }
  }
  weft::ForwardBatch batch() const {
    return {.token_ids = tokens,
            .positions = positions,
            .phases = phases,
            .sequences = sequences,
            .logit_rows = {}};
  }
};

// Two steps: a short prompt, and one position after it; or, of an encoder, two texts. An
// encoder-decoder reads its source before the first one.
void Run(weft::Transformer& transformer, const weft::WorkspaceOptions& options) {
  const weft::ScopedFlushDenormals flush_denormals;
  std::vector<weft::StateGroup> groups =
      weft::StateGroupsOf(transformer.spec(), transformer.spec().context_length);
  for (weft::StateGroup& group : groups) group.block_count = 1;
  weft::KvCache cache(transformer.spec(), transformer.kernels(), groups, kBlockSize);
  weft::Workspace workspace(transformer.spec(), transformer.kernels(), options);
  const weft::ModelSpec& spec = transformer.spec();
  const bool reads_source = spec.encoder != nullptr;
  const std::vector<int32_t> blocks = {0};
  const std::vector<std::span<const int32_t>> tables(groups.size(), blocks);
  constexpr int32_t kSourceCount = 3;
  const Rows source(spec, {.row_count = kSourceCount, .block_tables = tables});
  const weft::ForwardBatch sources = source.batch();
  int32_t first_position = 0;
  for (const int32_t row_count : {3, 1}) {
    const Rows rows(spec, {.row_count = row_count,
                           .first_position = first_position,
                           .second_text = 1,
                           .source_count = reads_source ? kSourceCount : 0,
                           .block_tables = tables});
    weft::ForwardBatch batch = rows.batch();
    if (reads_source && first_position == 0) batch.sources = &sources;
    const std::vector<int32_t> last_row = {row_count - 1};
    const weft::HiddenVisitor visit_hidden = [](int64_t, std::span<const float>) {};
    batch.hidden_rows = last_row;
    batch.visit_hidden = &visit_hidden;
    if (spec.generates()) batch.logit_rows = last_row;
    transformer.Forward(batch, cache, workspace, [](int64_t, int, float*) {});
    if (!spec.is_encoder) first_position += row_count;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size_bytes, size_t max_size_bytes);

// Weights are most of a file: nine times in ten what stands before them is changed, in place.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size_bytes, size_t max_size_bytes,
                                          unsigned int seed) {
  const std::string_view text(reinterpret_cast<const char*>(data), size_bytes);
  const size_t first_tensor = text.find(kFirstTensor);
  if (seed % 10 == 0 || first_tensor == std::string_view::npos) {
    return LLVMFuzzerMutate(data, size_bytes, max_size_bytes);
  }
  // Metadata, of which the vocabulary is the tokenizer's business, or the tensors' names and
  // shapes.
  const size_t metadata = std::min(text.find("tokenizer.ggml"), first_tensor);
  const size_t begin = seed % 2 == 0 ? 0 : first_tensor;
  const size_t length =
      seed % 2 == 0 ? metadata : std::min<size_t>(4096, size_bytes - first_tensor);
  if (length == 0) return LLVMFuzzerMutate(data, size_bytes, max_size_bytes);
  std::vector<uint8_t> part(data + begin, data + begin + length);
  const size_t changed = LLVMFuzzerMutate(part.data(), part.size(), part.size());
  std::memcpy(data + begin, part.data(), std::min(changed, length));
  return size_bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const BytesAsFile file(data, size_bytes);
  weft::Result<weft::Checkpoint> checkpoint = weft::LoadCheckpoint(file.path());
  if (!checkpoint) {
    const std::string& message = checkpoint.error().message;
    if (message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  static weft::ThreadPool threads(1);
  const weft::KernelTable& kernels =
      weft::KernelsFor(weft::Arithmetic::kBF16, weft::ChooseIsa().value());
  const weft::WorkspaceOptions options = {.max_rows = 4,
                                          .block_size = kBlockSize,
                                          .thread_count = 1,
                                          .has_f16 = weft::HasF16(checkpoint->tensors)};
  if (!IsSmall(*checkpoint, kernels, options)) return 0;
  weft::Result<weft::Transformer> transformer =
      weft::LoadTransformer(*checkpoint, kernels, threads);
  if (transformer) Run(*transformer, options);
  return 0;
}
