// What the processor and the operating system offer, and which instruction set the process uses.
#include <cstdlib>
#include <string>

#include "model/kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <unistd.h>

#include <sys/syscall.h>
#endif

namespace weft {
namespace {

#if defined(__x86_64__)

// Bits of XCR0: which register state the operating system saves (Intel SDM volume 1, 13.1).
constexpr uint64_t kYmmState = 0x6;       // SSE and AVX
constexpr uint64_t kZmmState = 0xe6;      // and opmask, ZMM_Hi256, Hi16_ZMM
constexpr uint64_t kTileState = 0x60000;  // XTILECFG and XTILEDATA

uint64_t ReadXcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

struct Registers {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

Registers Cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool Bit(uint32_t value, int bit) { return (value >> bit & 1) != 0; }

CpuFeatures Detect() {
  CpuFeatures features;
  const Registers leaf1 = Cpuid(1, 0);
  const bool has_xgetbv = Bit(leaf1.ecx, 27);  // OSXSAVE
  if (!has_xgetbv) return features;
  const uint64_t state = ReadXcr0();
  const Registers leaf7 = Cpuid(7, 0);
  const Registers leaf7_1 = leaf7.eax >= 1 ? Cpuid(7, 1) : Registers{};
  const bool fma = Bit(leaf1.ecx, 12);
  const bool avx = Bit(leaf1.ecx, 28);
  const bool f16c = Bit(leaf1.ecx, 29);
  const bool avx2 = Bit(leaf7.ebx, 5);
  features.avx2_fma = (state & kYmmState) == kYmmState && fma && avx && f16c && avx2;
  features.avx_vnni = features.avx2_fma && Bit(leaf7_1.eax, 4);
  const bool f = Bit(leaf7.ebx, 16);
  const bool dq = Bit(leaf7.ebx, 17);
  const bool bw = Bit(leaf7.ebx, 30);
  const bool vl = Bit(leaf7.ebx, 31);
  features.avx512 = features.avx2_fma && (state & kZmmState) == kZmmState && f && dq && bw && vl;
  features.avx512_vbmi = features.avx512 && Bit(leaf7.ecx, 1);
  features.avx512_vnni = features.avx512 && Bit(leaf7.ecx, 11);
  features.avx512_bf16 = features.avx512 && Bit(leaf7_1.eax, 5);
  const bool tiles = features.avx512 && (state & kTileState) == kTileState && Bit(leaf7.edx, 24);
  features.amx_bf16 = tiles && Bit(leaf7.edx, 22);
  features.amx_int8 = tiles && Bit(leaf7.edx, 25);
  return features;
}

#else

CpuFeatures Detect() { return {}; }

#endif

bool HasIsa(const CpuFeatures& cpu, Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return cpu.avx2_fma;
    case Isa::kAvx512:
      return cpu.avx512;
    case Isa::kAmx:
      return cpu.amx_bf16;
  }
  return false;
}

}  // namespace

std::string_view NameOf(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kF32:
      return "f32";
    case Arithmetic::kBF16:
      return "bf16";
    case Arithmetic::kInt8:
      return "int8";
    case Arithmetic::kBF16Pair:
      return "bf16pair";
    case Arithmetic::kInt8Pair:
      return "int8+bf16pair";
  }
  return "unknown";
}

std::string_view NameOf(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAmx:
      return "amx";
  }
  return "unknown";
}

std::string_view NameOf(KvType type) {
  switch (type) {
    case KvType::kF32:
      return "f32";
    case KvType::kBF16:
      return "bf16";
    case KvType::kQ8:
      return "q8";
  }
  return "unknown";
}

CpuFeatures DetectCpu() { return Detect(); }

// Linux grants tile registers to a process that asks; threads started later inherit the grant.
bool RequestTiles() {
#if defined(__x86_64__)
  constexpr int kArchRequestXcompPermission = 0x1023;
  constexpr int kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchRequestXcompPermission, kXfeatureXtiledata) == 0;
#else
  return false;
#endif
}

Result<Isa> ChooseIsa() {
  const CpuFeatures cpu = DetectCpu();
  const char* forced = std::getenv("WEFT_ISA");
  const std::string_view name = forced == nullptr ? "" : forced;
  for (const Isa isa : {Isa::kAmx, Isa::kAvx512, Isa::kAvx2, Isa::kScalar}) {
    if (!name.empty() && name != NameOf(isa)) continue;
    const bool usable = HasIsa(cpu, isa) && (isa != Isa::kAmx || RequestTiles());
    if (usable) return isa;
    if (!name.empty()) {
      return Fail(ErrorCode::kUnsupported, "WEFT_ISA: '{}' is not available on this machine", name);
    }
  }
  return Fail(ErrorCode::kInvalidArgument,
              "WEFT_ISA: '{}' is unknown (expected scalar, avx2, avx512 or amx)", name);
}

}  // namespace weft
