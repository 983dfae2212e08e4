// Compiled for AVX-512, as software_amx.cc is: the tiles' arithmetic wants hardware fma.
#include "tests/model/kernels/tile_emulator.h"

#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <new>
#include <ucontext.h>

namespace weft::software_amx {
namespace {

// clang-format off
#include "model/kernels/amx_tile_config.inc"
#include "tests/model/kernels/software_tiles.inc"
// clang-format on

// The thread's tile registers, where ldtilecfg has shaped them.
alignas(SoftwareTiles) std::byte tiles_storage[sizeof(SoftwareTiles)];
SoftwareTiles* tiles = nullptr;

// A VEX-encoded instruction of map 0F38 (Intel SDM volume 2, 2.3): C4, two bytes of prefix, opcode,
// ModRM, and for memory a SIB byte and a displacement.
struct Instruction {
  uint8_t opcode;
  uint8_t prefix;  // 0 none, 1 66, 2 F3, 3 F2
  uint8_t vvvv;
  uint8_t mod;
  uint8_t reg;
  uint8_t rm;
  uint8_t* address;  // base + displacement
  int64_t index;     // scaled
  int64_t size_bytes;
};

int64_t Register(const mcontext_t& context, int number) {
  static constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};
  return context.gregs[kOrder[number]];
}

int32_t Displacement(const uint8_t* code, int mod) {
  if (mod == 0) return 0;
  if (mod == 1) return static_cast<int32_t>(*code) - (*code >= 0x80 ? 0x100 : 0);
  int32_t displacement;
  __builtin_memcpy(&displacement, code, 4);
  return displacement;
}

// Memory operands with a base register, which is what g++ makes of them here.
bool DecodeMemory(const uint8_t* code, bool high_index, bool high_base, const mcontext_t& context,
                  Instruction& out) {
  const bool has_sib = out.rm == 4;
  const uint8_t sib = has_sib ? code[5] : static_cast<uint8_t>(4 << 3 | out.rm);  // no index
  const int base = (sib & 7) | (high_base ? 8 : 0);
  const int index = (sib >> 3 & 7) | (high_index ? 8 : 0);
  if (out.mod == 0 && (base & 7) == 5) return false;
  const int prefix_bytes = has_sib ? 6 : 5;
  out.address = reinterpret_cast<uint8_t*>(Register(context, base)) +
                Displacement(code + prefix_bytes, out.mod);
  out.index = index == 4 ? 0 : Register(context, index) << (sib >> 6);
  out.size_bytes = prefix_bytes + (out.mod == 0 ? 0 : out.mod == 1 ? 1 : 4);
  return true;
}

bool Decode(const uint8_t* code, const mcontext_t& context, Instruction& out) {
  const bool is_128_of_map_2 = (code[1] & 0x1f) == 2 && (code[2] & 0x84) == 0;
  if (code[0] != 0xc4 || !is_128_of_map_2) return false;
  out.prefix = code[2] & 3;
  out.vvvv = ~code[2] >> 3 & 15;
  out.opcode = code[3];
  out.mod = code[4] >> 6;
  out.reg = code[4] >> 3 & 7;
  out.rm = code[4] & 7;
  out.size_bytes = 5;
  if ((code[1] & 0x80) == 0) return false;  // tiles 8 and up
  if (out.mod == 3) return true;
  return DecodeMemory(code, (code[1] & 0x40) == 0, (code[1] & 0x20) == 0, context, out);
}

bool Shape(const Instruction& instruction) {
  if (instruction.mod == 3) {  // tilerelease
    tiles = nullptr;
    return instruction.reg == 0 && instruction.rm == 0;
  }
  TileConfig config;
  __builtin_memcpy(&config, instruction.address, sizeof(config));
  tiles = new (tiles_storage) SoftwareTiles(config);
  return instruction.reg == 0;
}

bool Execute(const Instruction& instruction) {
  const bool in_memory = instruction.mod != 3;
  const int tile = instruction.reg;
  const int what = instruction.opcode << 4 | instruction.prefix;
  if (what == 0x490) return Shape(instruction);
  if (tiles == nullptr) return false;
  if (what == 0x493 && !in_memory && instruction.rm == 0) {
    tiles->Zero(tile);
  } else if (what == 0x4b3 && in_memory) {
    tiles->Load(tile, instruction.address, instruction.index);
  } else if (what == 0x4b2 && in_memory) {
    tiles->Store(tile, instruction.address, instruction.index);
  } else if (what == 0x5c2 && !in_memory) {
    tiles->MultiplyBF16(tile, instruction.rm, instruction.vvvv);
  } else if (what == 0x5e3 && !in_memory) {
    tiles->MultiplyInt8(tile, instruction.rm, instruction.vvvv);
  } else {
    return false;
  }
  return true;
}

void Answer(int /*signal*/, siginfo_t* /*info*/, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  Instruction instruction = {};
  const auto* code = reinterpret_cast<const uint8_t*>(machine.gregs[REG_RIP]);
  if (!Decode(code, machine, instruction) || !Execute(instruction)) __builtin_trap();
  machine.gregs[REG_RIP] += instruction.size_bytes;
}

}  // namespace

ScopedTileEmulator::ScopedTileEmulator() {
  struct sigaction action = {};
  action.sa_sigaction = Answer;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &saved_);
}

ScopedTileEmulator::~ScopedTileEmulator() { sigaction(SIGILL, &saved_, nullptr); }

}  // namespace weft::software_amx
