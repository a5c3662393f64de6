# The only build vocabulary of the tree:
#
#   hf_proto(NAME PROTOS... [GRPC])          generated code in a library of its own
#   hf_module(NAME SOURCES... [DEPS ...] [PCH std|asio|grpc])   library holdfast_NAME from src/NAME
#   hf_support(NAME SOURCES... [DEPS ...])   library hf_test_NAME, shared by tests and benchmarks
#   hf_tests(NAME KIND SOURCES... [DEPS ...])  one test binary; KIND is unit or process
#   hf_fuzz(NAME SOURCE [DEPS ...])          a libFuzzer target; its corpus replays as a unit test
#   hf_fuzz_replay(SOURCE)                   the one program that replays the corpora
#   hf_bench(NAME SOURCES... [DEPS ...])     a program under bench/
#   hf_program(NAME SOURCES... [DEPS ...])   a program in build/PRESET/bin
#   hf_bpf(TARGET SOURCE)                    programs for the kernel, embedded in TARGET

# Precompiled headers, shared by every target with the same needs: std, asio and grpc, and for tests
# the same with GoogleTest. Tests are compiled without optimisation: that halves a clean build, and
# the daemons they start and the libraries they link are optimised all the same.
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
  if(HF_TESTS)
    hf_pch(test_${pch} ${pch} OPTIONS -O0 LIBRARIES GTest::gmock GTest::gtest
      HEADERS <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endforeach()

# Unity build: the target compiles a few generated files that include its sources, so that headers
# are parsed a few times and not once per source. The sources of one file are at most 150 kB
# together. They are named relative to the tree, so ccache finds the result in another checkout.
# Two sources of a target must not define the same name in an anonymous namespace: a source that
# cannot follow this rule is named after SEPARATE. A source with compile options of its own is
# separate by itself. With HF_UNITY=OFF every source is compiled alone.
function(hf_sources target)
  cmake_parse_arguments(arg "" "" "SEPARATE" ${ARGN})
  if(NOT HF_UNITY)
    target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
    return()
  endif()
  set(number 0)
  set(bytes 0)
  set(text "")
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options OR source IN_LIST arg_SEPARATE OR NOT source MATCHES "[.]cc$")
      target_sources(${target} PRIVATE ${source})
      continue()
    endif()
    get_filename_component(path ${source} ABSOLUTE)
    file(SIZE ${path} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(NOT text STREQUAL "" AND bytes GREATER 150000)
      file(CONFIGURE OUTPUT unity/${target}_${number}.cc CONTENT "${text}")
      target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${number}.cc)
      math(EXPR number "${number} + 1")
      set(bytes ${size})
      set(text "")
    endif()
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${path})
    string(APPEND text "#include \"${path}\"\n")
  endforeach()
  if(NOT text STREQUAL "")
    file(CONFIGURE OUTPUT unity/${target}_${number}.cc CONTENT "${text}")
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${number}.cc)
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
endfunction()

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
  cmake_parse_arguments(arg "" "PCH" "DEPS;SEPARATE" ${ARGN})
  add_library(holdfast_${name} STATIC)
  hf_sources(holdfast_${name} ${arg_UNPARSED_ARGUMENTS} SEPARATE ${arg_SEPARATE})
  hf_target_common(holdfast_${name} "${arg_PCH}")
  target_link_libraries(holdfast_${name} PUBLIC ${arg_DEPS})
endfunction()

function(hf_support name)
  cmake_parse_arguments(arg "" "PCH" "DEPS" ${ARGN})
  if(NOT HF_TESTS)
    return()
  endif()
  add_library(hf_test_${name} STATIC EXCLUDE_FROM_ALL)
  hf_sources(hf_test_${name} ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(hf_test_${name} "${arg_PCH}")
  target_include_directories(hf_test_${name} PUBLIC ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(hf_test_${name} PUBLIC ${arg_DEPS} GTest::gtest GTest::gmock)
endfunction()

function(hf_program name)
  cmake_parse_arguments(arg "" "PCH" "DEPS" ${ARGN})
  add_executable(${name})
  hf_sources(${name} ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(${name} "${arg_PCH}")
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  target_compile_definitions(${name} PRIVATE HF_VERSION="${PROJECT_VERSION}")
endfunction()

# TIMEOUT in seconds ends a shard that hangs; it judges nothing else. SHARDS splits its cases over so
# many ctest entries that run side by side. COST is about how many seconds a shard takes: the longest
# start first, else they would run at the end, alone. A process test runs in its own network, mount and
# pid namespaces (tools/isolate), starts our programs, and has the cases of `*Nightly` suites left out:
# those measure time or memory, and `make nightly` runs them from the release preset.
add_custom_target(unit_tests)
add_custom_target(process_tests)
function(hf_tests name kind)
  cmake_parse_arguments(arg "" "PCH;TIMEOUT;SHARDS;COST" "DEPS;SEPARATE" ${ARGN})
  if(HF_FUZZ OR NOT HF_TESTS)
    return()
  endif()
  add_executable(${name}_test)
  hf_sources(${name}_test ${arg_UNPARSED_ARGUMENTS} SEPARATE ${arg_SEPARATE})
  hf_target_common(${name}_test "test_${arg_PCH}")
  target_compile_options(${name}_test PRIVATE -O0)
  target_link_libraries(${name}_test PRIVATE ${arg_DEPS} hf_test_support GTest::gtest GTest::gmock
    GTest::gtest_main)
  add_dependencies(${kind}_tests ${name}_test)
  if(kind STREQUAL process)
    add_dependencies(${name}_test holdfast holdfastd)
    set(isolate ${CMAKE_SOURCE_DIR}/tools/isolate)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  if(NOT arg_COST)
    set(arg_COST 10)
  endif()
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(without_nightly "")
  if(HF_SANITIZE)
    set(without_nightly "--gtest_filter=-*Nightly*")
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test ${kind}.${name})
    if(arg_SHARDS GREATER 1)
      set(test ${kind}.${name}.${shard})
    endif()
    add_test(NAME ${test} COMMAND ${isolate} $<TARGET_FILE:${name}_test> --gtest_brief=1
      ${without_nightly}
      --gtest_output=xml:${CMAKE_BINARY_DIR}/results/${test}.xml)
    set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${arg_COST} LABELS "${kind};${folder}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard}")
    if(HF_SANITIZE)
      # Also what a daemon dies of that a test wanted to end anyway: a report is a failure (run-tests).
      set(log log_path=${CMAKE_BINARY_DIR}/results/${test}.sanitizer)
      # Freed memory is kept for 32 MB instead of 256, and a report has 12 frames of where memory was
      # allocated instead of 30: both cost every process of every test.
      set(asan ${log}:quarantine_size_mb=32:malloc_context_size=12)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=${asan}"
        "UBSAN_OPTIONS=${log}:print_stacktrace=1"
        "TSAN_OPTIONS=${log}:${HF_TSAN_OPTIONS}")
    endif()
    if(kind STREQUAL unit)
      # A unit test computes: it takes the place of three process tests, which mostly wait.
      set_tests_properties(${test} PROPERTIES PROCESSORS 3)
    endif()
  endforeach()
endfunction()

function(hf_fuzz name source)
  cmake_parse_arguments(arg "" "PCH" "DEPS" ${ARGN})
  if(HF_FUZZ)
    add_executable(${name}_fuzz ${source})
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    hf_target_common(${name}_fuzz "${arg_PCH}")
    target_link_libraries(${name}_fuzz PRIVATE ${arg_DEPS})
  else()
    set_property(GLOBAL APPEND PROPERTY HF_FUZZ_NAMES ${name})
    set_property(GLOBAL APPEND PROPERTY HF_FUZZ_DEPS ${arg_DEPS})
  endif()
endfunction()

# Every target in one program without libFuzzer: one compilation and one link instead of one each.
function(hf_fuzz_replay main)
  if(HF_FUZZ OR NOT HF_TESTS)
    return()
  endif()
  get_property(names GLOBAL PROPERTY HF_FUZZ_NAMES)
  get_property(deps GLOBAL PROPERTY HF_FUZZ_DEPS)
  list(REMOVE_DUPLICATES deps)
  set(targets "")
  set(table "#define HF_FUZZ_TARGETS")
  foreach(name ${names})
    string(APPEND targets "#define LLVMFuzzerTestOneInput replay_${name}\n"
      "#include \"fuzz/${name}_fuzz.cc\"\n#undef LLVMFuzzerTestOneInput\n")
    string(APPEND table " {\"${name}\", replay_${name}},")
    add_test(NAME fuzz.${name} COMMAND fuzz_replay ${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120 LABELS "unit;fuzz")
  endforeach()
  file(CONFIGURE OUTPUT unity/fuzz_replay.cc
    CONTENT "${targets}${table}\n#include \"fuzz/${main}\"\n")
  add_executable(fuzz_replay ${CMAKE_CURRENT_BINARY_DIR}/unity/fuzz_replay.cc)
  target_include_directories(fuzz_replay PRIVATE ${CMAKE_SOURCE_DIR})
  hf_target_common(fuzz_replay grpc)
  target_link_libraries(fuzz_replay PRIVATE ${deps})
  add_dependencies(unit_tests fuzz_replay)
endfunction()

# Builds our programs too, to start them; ALONE does without.
function(hf_bench name)
  cmake_parse_arguments(arg "ALONE" "PCH" "DEPS" ${ARGN})
  if(HF_SANITIZE OR NOT HF_TESTS)
    return()
  endif()
  add_executable(${name}_bench EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
  hf_target_common(${name}_bench "${arg_PCH}")
  target_link_libraries(${name}_bench PRIVATE ${arg_DEPS})
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
