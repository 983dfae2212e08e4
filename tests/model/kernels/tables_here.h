// Every table of kernels that this machine can run; where the test links `software_kernels`,
// AMX's tiles and AVX-VNNI in software among them.
#pragma once

#include <vector>

#include "tests/model/kernels/kernel_fixtures.h"
#ifdef WEFT_SOFTWARE_KERNELS
#include "tests/model/kernels/software_amx.h"
#include "tests/model/kernels/software_vnni.h"
#endif

namespace weft {

// Scalar first. Of kF32 there is one.
inline std::vector<KernelTable> TablesHere(Arithmetic arithmetic, KvType kv_type = KvType::kBF16) {
  if (arithmetic == Arithmetic::kF32) return {BlasTable()};
  std::vector<KernelTable> tables;
  for (const KernelTable* table : AvailableTables(arithmetic, kv_type)) tables.push_back(*table);
#ifdef WEFT_SOFTWARE_KERNELS
  if (kv_type == KvType::kBF16 && software_amx::HasSoftwareAmx()) {
    tables.push_back(software_amx::SoftwareAmxTable(arithmetic));
  }
  if (arithmetic == Arithmetic::kInt8 && software_vnni::HasSoftwareVnni()) {
    tables.push_back(software_vnni::SoftwareVnniTable(kv_type));
  }
#endif
  return tables;
}

}  // namespace weft
