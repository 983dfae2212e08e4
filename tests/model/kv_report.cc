// Prints what an 8-bit KV cache changes in a model's next-token distributions over a text.
//   kv_report [MODEL TEXT [WINDOW_TOKENS [WINDOWS]]]
#include <cstdlib>
#include <exception>
#include <string>

#include <fmt/core.h>

#include "tests/data_paths.h"
#include "tests/model/kv_accuracy.h"

namespace weft {
namespace {

void Print(int argc, char** argv) {
  const std::string model = argc > 2 ? argv[1] : SourcePath("model/demo/weft-demo.gguf");
  const std::string text = argc > 2 ? argv[2] : SharedDataPath("text/wikitext-2-test.txt");
  const size_t window = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 512;
  const size_t windows = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 32;
  fmt::print("q8 against bf16 KV (f32: against f32), {} windows of {} tokens\n", windows, window);
  for (const Arithmetic arithmetic : {Arithmetic::kF32, Arithmetic::kBF16, Arithmetic::kInt8}) {
    const KvAccuracy found = MeasureKvAccuracy(model, text, arithmetic, window, windows);
    fmt::print(
        "{}: mean KL {:.2e}, median {:.2e}, largest {:.2e}, equal top {:.2f}%, NLL {:.4f}, "
        "with q8 {:.4f}\n",
        NameOf(arithmetic), found.mean_kl, found.median_kl, found.largest_kl, 100 * found.equal_top,
        found.mean_nll_bf16, found.mean_nll_q8);
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    weft::Print(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kv_report: {}\n", error.what());
    return 1;
  }
}
