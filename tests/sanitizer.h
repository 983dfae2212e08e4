// Whether a test runs under a sanitizer that keeps shadows of memory and holds back what is freed.
#pragma once

namespace weft {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderSanitizer = true;
#else
inline constexpr bool kUnderSanitizer = false;
#endif

}  // namespace weft
