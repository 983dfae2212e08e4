#include "model/kernels/blas.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

#include <sys/resource.h>

namespace weft {
namespace {

struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  std::string error;
};

std::atomic<decltype(&cblas_sgemm)> loaded_sgemm{nullptr};

Blas Load() {
  Blas blas;
  setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/1);
  // Never closed: a library with threads does not like it.
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void* const sgemm = library == nullptr ? nullptr : dlsym(library, "cblas_sgemm");
  blas.sgemm = reinterpret_cast<decltype(&cblas_sgemm)>(sgemm);
  if (sgemm == nullptr) blas.error = dlerror();
  return blas;
}

const Blas& TheBlas() {
  static const Blas blas = Load();
  return blas;
}

}  // namespace

Result<void> LoadBlas() {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    return Fail(ErrorCode::kUnsupported,
                "--compute f32 needs an address space without limit, and this one has {} bytes "
                "(ulimit -v): where OpenBLAS is refused memory, it asks again forever",
                space.rlim_cur);
  }
  loaded_sgemm = TheBlas().sgemm;
  if (loaded_sgemm != nullptr) return {};
  return Fail(ErrorCode::kUnsupported, "--compute f32 needs OpenBLAS (Debian's libopenblas0): {}",
              TheBlas().error);
}

decltype(&cblas_sgemm) BlasSgemm() { return loaded_sgemm; }

}  // namespace weft
