# Debian 12's packages; docs/decisions/ says why each is there.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
# OpenBLAS itself is loaded when --compute f32 wants it.
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas REQUIRED)
# Headers alone.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
find_package(OpenSSL REQUIRED)
find_package(CURL 7.85 REQUIRED)
pkg_check_modules(LIBEDIT REQUIRED IMPORTED_TARGET libedit)
find_package(SQLite3 3.37 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
if(WEFT_TESTS)
  find_package(GTest REQUIRED)
endif()

# Sockets and HTTP: link weft_asio wherever Boost.Asio or Boost.Beast is included (all of a program
# must agree on these definitions).
add_library(weft_asio STATIC ${CMAKE_CURRENT_LIST_DIR}/boost_asio.cc ${CMAKE_CURRENT_LIST_DIR}/boost_asio_ssl.cc)
target_compile_definitions(weft_asio PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(weft_asio PUBLIC Boost::headers Threads::Threads OpenSSL::SSL OpenSSL::Crypto)
