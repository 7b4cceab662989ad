# How tests are found and run. Every test runs through tests/support/isolate.sh: a HOME, a TMPDIR and a git
# configuration of its own, removed afterwards.

set(PDK_ISOLATE "${CMAKE_SOURCE_DIR}/tests/support/isolate.sh")
set(PDK_ALL_LIBRARIES pdk_cli pdk_engine pdk_promote pdk_verify pdk_missions pdk_backends pdk_agent pdk_sandbox
    pdk_trees pdk_store pdk_process pdk_plan pdk_base)

# pdk_add_test(name LABEL label TIMEOUT seconds COMMAND argv...)
function(pdk_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "COMMAND")
    add_test(NAME ${name} COMMAND "${PDK_ISOLATE}" ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
        ENVIRONMENT "PADDOCK=${CMAKE_BINARY_DIR}/bin/paddock;PADDOCK_AGENT=${CMAKE_BINARY_DIR}/bin/paddock-agent")
endfunction()

# tests/support/*.c is a library for all tests, but child_*.c are programs that tests start.
function(pdk_test_support)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/support/*.c")
    set(children ${sources})
    list(FILTER sources EXCLUDE REGEX "/child_[^/]*\\.c$")
    list(FILTER children INCLUDE REGEX "/child_[^/]*\\.c$")
    if(sources)
        add_library(pdk_test_support STATIC ${sources})
        set(scope PUBLIC)
    else()
        add_library(pdk_test_support INTERFACE)
        set(scope INTERFACE)
    endif()
    target_link_libraries(pdk_test_support ${scope} pdk_flags ${PDK_ALL_LIBRARIES} pdk::check pdk::subunit m rt)
    target_compile_definitions(pdk_test_support ${scope}
        PDK_TEST_CHILD_DIR="${CMAKE_BINARY_DIR}/tests/children"
        PDK_TEST_DATA_DIR="${CMAKE_SOURCE_DIR}/tests/data"
        PDK_TEST_AGENT="${CMAKE_BINARY_DIR}/bin/paddock-agent")
    add_custom_target(pdk_test_children)
    foreach(source IN LISTS children)
        get_filename_component(name "${source}" NAME_WE)
        add_executable(${name} "${source}")
        target_link_libraries(${name} PRIVATE pdk_flags pdk_base pdk_process pdk_sandbox)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/children")
        add_dependencies(pdk_test_children ${name})
    endforeach()
endfunction()

# A test that forces failures names the functions it wraps on a line of its own: "/* wrap: calloc mkdir */".
function(pdk_test_wraps target source)
    file(STRINGS "${source}" lines REGEX "^/\\* wrap: [a-z0-9_ ]+ \\*/$")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^/\\* wrap: ([a-z0-9_ ]+) \\*/$" "\\1" names "${line}")
        separate_arguments(names)
        list(TRANSFORM names PREPEND "-Wl,--wrap=")
        target_link_options(${target} PRIVATE ${names})
    endforeach()
endfunction()

function(pdk_check_tests kind)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "")
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${kind}/test_*.c")
    foreach(source IN LISTS sources)
        get_filename_component(name "${source}" NAME_WE)
        string(REGEX REPLACE "^test_" "" stem "${name}")
        set(target "${kind}_${stem}")
        add_executable(${target} "${source}")
        target_link_libraries(${target} PRIVATE pdk_test_support)
        set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/${kind}")
        pdk_test_wraps(${target} "${source}")
        add_dependencies(${target} pdk_test_children)
        if(TARGET paddock-agent)
            add_dependencies(${target} paddock-agent)
        endif()
        pdk_add_test(${kind}.${stem} LABEL ${kind} TIMEOUT ${arg_TIMEOUT} COMMAND $<TARGET_FILE:${target}>)
    endforeach()
endfunction()
