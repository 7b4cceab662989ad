# Compiler and linker flags, in one interface target: pdk_flags.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

# Asserts stay on in every build, so no NDEBUG here.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_DEBUG "-O1 -g" CACHE STRING "" FORCE)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(PDK_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
    -Wmissing-prototypes -Wold-style-definition -Wredundant-decls -Wnested-externs -Wundef
    -Wunused-macros -Wcast-qual -Wwrite-strings -Wpointer-arith -Wnull-dereference -Wformat=2
    -Wvla -Walloca -Wdate-time -Wswitch-enum -Wframe-larger-than=16384)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND PDK_WARNINGS
        -Wjump-misses-init -Wlogical-op -Wduplicated-cond -Wduplicated-branches
        -Wcast-align=strict -Wformat-signedness -Wformat-truncation=1 -Wimplicit-fallthrough=5
        -Wbidi-chars=any)
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND PDK_WARNINGS
        -Wcomma -Wassign-enum -Wunreachable-code-aggressive -Wconditional-uninitialized
        -Wmissing-variable-declarations -Wcovered-switch-default -Wcast-align
        -Wimplicit-fallthrough -Wdocumentation)
endif()

add_library(pdk_flags INTERFACE)
target_include_directories(pdk_flags INTERFACE
    "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
target_compile_definitions(pdk_flags INTERFACE _GNU_SOURCE)
target_compile_options(pdk_flags INTERFACE ${PDK_WARNINGS}
    -fno-common -fvisibility=hidden -fstack-protector-strong -fstack-clash-protection
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection=full>)
target_link_options(pdk_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed)

if(PDK_WERROR)
    target_compile_options(pdk_flags INTERFACE -Werror)
endif()

if(PDK_SANITIZE STREQUAL "address")
    set(PDK_SANITIZE_OPTIONS -fsanitize=address,undefined -fno-sanitize-recover=all)
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
        list(APPEND PDK_SANITIZE_OPTIONS -fsanitize=nullability,local-bounds)
    endif()
elseif(PDK_SANITIZE STREQUAL "thread")
    set(PDK_SANITIZE_OPTIONS -fsanitize=thread)
elseif(PDK_SANITIZE)
    message(FATAL_ERROR "PDK_SANITIZE must be empty, 'address' or 'thread', not '${PDK_SANITIZE}'")
endif()
if(PDK_SANITIZE)
    target_compile_options(pdk_flags INTERFACE ${PDK_SANITIZE_OPTIONS}
        -fno-omit-frame-pointer -fno-optimize-sibling-calls -O1 -g3)
    target_link_options(pdk_flags INTERFACE ${PDK_SANITIZE_OPTIONS})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Undefined first: distributions' compilers may predefine another level. No path of the building machine stays.
    target_compile_options(pdk_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
        "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
endif()

if(PDK_COVERAGE)
    target_compile_options(pdk_flags INTERFACE --coverage -O0 -fprofile-update=atomic)
    target_compile_definitions(pdk_flags INTERFACE PDK_COVERAGE=1)
    target_link_options(pdk_flags INTERFACE --coverage)
endif()

if(PDK_FUZZ)
    target_compile_options(pdk_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(PDK_ANALYZER)
    # This gcc loses memory that moves into an element of an array, and calls it a leak: sanitizers look for those.
    target_compile_options(pdk_flags INTERFACE -O2 -fanalyzer -Wno-analyzer-malloc-leak)
    target_compile_definitions(pdk_flags INTERFACE PDK_ANALYZER=1)
endif()

if(PDK_STATIC_AGENT AND (PDK_SANITIZE OR PDK_COVERAGE OR PDK_FUZZ))
    message(STATUS "paddock-agent is linked dynamically in instrumented builds")
    set(PDK_STATIC_AGENT OFF)
endif()
