# Flags that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Warnings are errors with the compiler that the project is developed on; a newer one may warn of
# more, and that must not keep anybody from building.
set(werror_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(werror_default ON)
endif()
option(WEFT_WERROR "Warnings are errors" ${werror_default})

add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  # The bits of a result are part of a kernel's definition: a*b+c is two roundings unless std::fma says otherwise.
  -ffp-contract=off
  -fno-omit-frame-pointer)
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # What g++ 12 derives from its own inlining is wrong too often at -O2 and above: std::string's operator+
  # (GCC bug 105651), tl::expected in a vector. The sanitizer builds find the real ones.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
include_directories(${CMAKE_SOURCE_DIR})

# Headers and the templates of libraries are most of what there is to compile: several files at a time take less than two
# thirds of the time. Each file still includes what it needs (the dev preset builds them one by one, and the linter reads them so).
option(WEFT_UNITY "Compile several files of a room at a time" ON)
set(CMAKE_UNITY_BUILD ${WEFT_UNITY})
if(WEFT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage)  # it knows anonymous namespaces of main files only
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Relative paths alone count, so that every clone has what another one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=true ${CCACHE_PROGRAM})
endif()

if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # std::atomic_thread_fence in library headers
  endif()
endif()
if(WEFT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
