# The only build vocabulary of the tree:
#
#   hf_proto(NAME PROTOS... [GRPC])          generated code in a library of its own
#   hf_module(NAME SOURCES... [DEPS ...] [PCH std|asio|grpc])   library holdfast_NAME from src/NAME
#   hf_tests(NAME KIND SOURCES... [DEPS ...])  one test binary; KIND is unit or process
#   hf_sim(NAME SOURCES... [DEPS ...])       a simulation that is also a test, built on demand
#   hf_fuzz(NAME SOURCES... [DEPS ...])      a libFuzzer target; its corpus replays as a unit test
#   hf_bench(NAME SOURCES... [DEPS ...])     a program under bench/
#   hf_program(NAME SOURCES... [DEPS ...])   a program in build/PRESET/bin
#   hf_bpf(TARGET SOURCE)                    programs for the kernel, embedded in TARGET

# Precompiled headers, shared by every target with the same needs: std, asio and grpc, and for tests
# the same with GoogleTest. Tests are compiled without optimisation: that halves a clean build, and
# what they start or link is optimised all the same.
set(hf_pch_libraries_std absl::status absl::statusor fmt::fmt)
set(hf_pch_libraries_asio ${hf_pch_libraries_std} hf_asio)
set(hf_pch_libraries_grpc ${hf_pch_libraries_asio} gRPC::grpc++)
function(hf_pch name base)
  cmake_parse_arguments(arg "" "" "OPTIONS;LIBRARIES;HEADERS" ${ARGN})
  add_library(hf_pch_${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/pch/${base}.cc)
  target_compile_options(hf_pch_${name} PRIVATE ${arg_OPTIONS})
  target_link_libraries(hf_pch_${name} PUBLIC ${hf_pch_libraries_${base}} ${arg_LIBRARIES})
  target_precompile_headers(hf_pch_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch/${base}.h
    ${arg_HEADERS})
endfunction()
foreach(pch std asio grpc)
  hf_pch(${pch} ${pch})
  hf_pch(test_${pch} ${pch} OPTIONS -O0 LIBRARIES GTest::gmock GTest::gtest
    HEADERS <gmock/gmock.h> <gtest/gtest.h>)
endforeach()

function(hf_target_common target pch)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC absl::status absl::statusor fmt::fmt)
  if(pch)
    target_link_libraries(${target} PUBLIC $<TARGET_PROPERTY:hf_pch_${pch},LINK_LIBRARIES>)
    target_precompile_headers(${target} REUSE_FROM hf_pch_${pch})
  endif()
endfunction()

function(hf_proto name)
  cmake_parse_arguments(arg "GRPC" "" "" ${ARGN})
  add_library(hf_proto_${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(hf_proto_${name} PUBLIC protobuf::libprotobuf)
  target_include_directories(hf_proto_${name} SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR})
  target_compile_options(hf_proto_${name} PRIVATE -w)
  if(HF_SANITIZE MATCHES "address")
    # Generated code is not what the sanitizers look for, and half of a clean build otherwise.
    target_compile_options(hf_proto_${name} PRIVATE -fno-sanitize=all)
  endif()
  protobuf_generate(TARGET hf_proto_${name} LANGUAGE cpp IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}
    PROTOC_OUT_DIR ${CMAKE_CURRENT_BINARY_DIR})
  if(arg_GRPC)
    target_link_libraries(hf_proto_${name} PUBLIC gRPC::grpc++)
    protobuf_generate(TARGET hf_proto_${name} LANGUAGE grpc
      GENERATE_EXTENSIONS .grpc.pb.h .grpc.pb.cc
      PLUGIN "protoc-gen-grpc=\$<TARGET_FILE:gRPC::grpc_cpp_plugin>"
      IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR} PROTOC_OUT_DIR ${CMAKE_CURRENT_BINARY_DIR})
  endif()
endfunction()

function(hf_module name)
  cmake_parse_arguments(arg "" "PCH" "DEPS" ${ARGN})
  add_library(holdfast_${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(holdfast_${name} "${arg_PCH}")
  target_link_libraries(holdfast_${name} PUBLIC ${arg_DEPS})
endfunction()

function(hf_program name)
  cmake_parse_arguments(arg "" "PCH" "DEPS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(${name} "${arg_PCH}")
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  target_compile_definitions(${name} PRIVATE HF_VERSION="${PROJECT_VERSION}")
  # Optimised like the rest, hot or not: the linker takes its copies of inline functions for all.
  set_source_files_properties(${name}_main.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  if(HF_TESTS STREQUAL "unit")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)  # no unit test runs it
  endif()
endfunction()

# TIMEOUT in seconds bounds the whole binary; process tests never run beside each other when they
# say SERIAL, because they fill disks or freeze processes.
function(hf_tests name kind)
  cmake_parse_arguments(arg "SERIAL" "PCH;TIMEOUT" "DEPS" ${ARGN})
  if(HF_FUZZ OR NOT (HF_TESTS STREQUAL "all" OR HF_TESTS STREQUAL kind))
    return()
  endif()
  add_executable(${name}_test ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(${name}_test "test_${arg_PCH}")
  target_compile_options(${name}_test PRIVATE -O0)
  target_link_libraries(${name}_test PRIVATE ${arg_DEPS} GTest::gtest GTest::gmock
    GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE
    HF_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HF_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_test(NAME ${kind}.${name} COMMAND ${name}_test --gtest_brief=1)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_tests_properties(${kind}.${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${kind})
  if(arg_SERIAL)
    set_tests_properties(${kind}.${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

# The same sources as a test, optimised, in any preset: for many more seeds than a test has time for.
function(hf_sim name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  add_executable(${name}_sim EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(${name}_sim "")
  target_link_libraries(${name}_sim PRIVATE ${arg_DEPS} GTest::gtest GTest::gmock
    GTest::gtest_main)
endfunction()

function(hf_fuzz name)
  cmake_parse_arguments(arg "" "PCH" "DEPS" ${ARGN})
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  if(HF_FUZZ)
    add_executable(${name}_fuzz ${arg_UNPARSED_ARGUMENTS})
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  elseif(HF_TESTS MATCHES "unit|all")
    add_executable(${name}_fuzz ${arg_UNPARSED_ARGUMENTS} replay_main.cc)
    add_test(NAME fuzz.${name} COMMAND ${name}_fuzz ${corpus})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120 LABELS unit)
  else()
    return()
  endif()
  hf_target_common(${name}_fuzz "${arg_PCH}")
  target_link_libraries(${name}_fuzz PRIVATE ${arg_DEPS})
endfunction()

# Builds our programs too, to start them; ALONE does without.
function(hf_bench name)
  cmake_parse_arguments(arg "ALONE" "PCH" "DEPS" ${ARGN})
  if(HF_SANITIZE)
    return()
  endif()
  add_executable(${name}_bench EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(${name}_bench "${arg_PCH}")
  target_link_libraries(${name}_bench PRIVATE ${arg_DEPS})
  target_compile_definitions(${name}_bench PRIVATE
    HF_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HF_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(NOT arg_ALONE)
    add_dependencies(${name}_bench holdfast holdfastd)
  endif()
endfunction()

# The compiled object is data in the target, as _binary_NAME_start and _end. CO-RE finds the running
# kernel's offsets when it is loaded, so nothing here looks at the kernel of the building machine.
function(hf_bpf target source)
  get_filename_component(name ${source} NAME_WLE)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${symbol})
  add_custom_command(OUTPUT ${object}_data.o
    COMMAND ${CMAKE_C_COMPILER} -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror
      -I ${CMAKE_SOURCE_DIR}/src -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
      -MD -MF ${object}.d -MT ${object}_data.o
      -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    COMMAND ${HF_LLVM_STRIP} -g ${object}
    COMMAND ${CMAKE_C_COMPILER} -fuse-ld=lld-19 -nostdlib -r -Wl,--format=binary
      -o ${object}_data.o ${symbol}
    DEPENDS ${source} DEPFILE ${object}.d
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "BPF ${source}" VERBATIM)
  target_sources(${target} PRIVATE ${object}_data.o)
endfunction()
