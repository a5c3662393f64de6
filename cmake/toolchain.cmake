# The compiler, its warnings and sanitizers, the linker, and ccache when it is there.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR
    "Holdfast builds with clang 19 or newer, not ${CMAKE_CXX_COMPILER_ID} "
    "${CMAKE_CXX_COMPILER_VERSION}. g++ 12 miscompiles coroutines: co_await inside conditions and "
    "with aggregate temporaries among its arguments is destroyed twice.\n"
    "Next step: tools/setup && cmake --preset release")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -gline-tables-only -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_GATE "-O1 -gline-tables-only -fno-omit-frame-pointer")

set(HF_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize=")
option(HF_TESTS "Configure tests and benchmarks, too" ON)
option(HF_UNITY "Compile the sources of a target together (see hf_sources)" ON)
option(HF_FUZZ "Build the libFuzzer targets" OFF)

add_compile_options(-pthread -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror
  -Wno-missing-designated-field-initializers)  # fields have defaults so that they may be left out
add_link_options(-pthread -fuse-ld=lld-19)
if(HF_SANITIZE)
  add_compile_options(-fsanitize=${HF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HF_SANITIZE})
  if(HF_SANITIZE MATCHES "undefined")
    # Libraries built by another compiler carry no type information for the first two. The others
    # look at every access through a pointer: a quarter of the time to compile, and ASan or the
    # machine finds a null pointer, too.
    add_compile_options(-fno-sanitize=function,vptr,null,alignment,object-size,pointer-overflow)
  endif()
endif()
# Debian's gRPC, protobuf and Abseil are built without ThreadSanitizer: it sees what they read, write
# and free through memcpy() and the like, but not the atomics that order it, such as the last count
# of a shared_ptr<Channel> dropped within libgrpc++. With ignore_noninstrumented_modules it judges
# such accesses only where our own code makes them; locks are followed everywhere. tools/tsan.supp
# is for what these libraries inline into our code.
set(HF_TSAN_OPTIONS
  "ignore_noninstrumented_modules=1:suppressions=${CMAKE_SOURCE_DIR}/tools/tsan.supp")
if(HF_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Neither objects nor programs name the folder of this checkout.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

find_program(HF_CCACHE ccache)
if(HF_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/tools/ccache-launcher)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/tools/ccache-launcher)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
