# Every library the tree may use, all from Debian.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED COMPONENTS core)
find_package(OpenSSL REQUIRED)
if(HF_TESTS)
  find_package(GTest REQUIRED)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(hf_nghttp2_found REQUIRED IMPORTED_TARGET libnghttp2)
add_library(hf_nghttp2 INTERFACE)
target_link_libraries(hf_nghttp2 INTERFACE PkgConfig::hf_nghttp2_found)
# Loads the kernel's programs of src/track.
pkg_check_modules(libbpf REQUIRED IMPORTED_TARGET libbpf)
find_program(HF_LLVM_STRIP llvm-strip-19 REQUIRED)

add_library(hf_asio INTERFACE)
target_link_libraries(hf_asio INTERFACE Boost::headers Threads::Threads)
# Asio's own functions are compiled once, in hf_asio_impl, instead of in every file.
target_compile_definitions(hf_asio INTERFACE BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_HAS_CO_AWAIT BOOST_ASIO_HAS_STD_COROUTINE BOOST_ASIO_SEPARATE_COMPILATION)
add_library(hf_asio_impl STATIC ${CMAKE_SOURCE_DIR}/cmake/asio_impl.cc)
target_link_libraries(hf_asio_impl PRIVATE hf_asio)
target_link_libraries(hf_asio INTERFACE $<LINK_ONLY:hf_asio_impl>)
