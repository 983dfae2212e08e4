// Every table of kernels that this machine can run; where the test links `software_amx` and says
// so, AMX over tiles in software and AVX-VNNI in another encoding among them.
#pragma once

#include <vector>

#include "tests/model/kernels/kernel_fixtures.h"
#ifdef WEFT_SOFTWARE_AMX
#include "tests/model/kernels/evex_vnni.h"
#include "tests/model/kernels/software_amx.h"
#endif

namespace weft {

// Scalar first. Of kF32 there is one.
inline std::vector<KernelTable> TablesHere(Arithmetic arithmetic, KvType kv_type = KvType::kBF16) {
  if (arithmetic == Arithmetic::kF32) return {BlasTable()};
  std::vector<KernelTable> tables;
  for (const KernelTable* table : AvailableTables(arithmetic, kv_type)) tables.push_back(*table);
#ifdef WEFT_SOFTWARE_AMX
  if (kv_type == KvType::kBF16 && software_amx::HasSoftwareAmx()) {
    tables.push_back(software_amx::SoftwareAmxTable(arithmetic));
  }
  if (arithmetic == Arithmetic::kInt8 && evex_vnni::HasEvexVnni()) {
    tables.push_back(evex_vnni::EvexVnniTable(kv_type));
  }
#endif
  return tables;
}

}  // namespace weft
