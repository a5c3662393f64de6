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
find_package(GTest REQUIRED)

add_library(hf_asio INTERFACE)
target_link_libraries(hf_asio INTERFACE Boost::headers Threads::Threads)
# Coroutines only, one epoll loop per thread; no deprecated spellings.
target_compile_definitions(hf_asio INTERFACE BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_HAS_CO_AWAIT BOOST_ASIO_HAS_STD_COROUTINE)
