# Third-party libraries as pdk::<name>. A target with the property PDK_STATIC gets archives, so that the program starts
# without loading them. libgit2 is not linked at all: trees/git2.c loads it by the name found here when it is needed.

find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(PDK_IS_STATIC "$<BOOL:$<TARGET_PROPERTY:PDK_STATIC>>")

# pdk_package(name pkg-config-name minimum-version [archive]): makes pdk::name.
function(pdk_package name module version)
    string(TOUPPER "PDK_${name}" prefix)
    pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET "${module}>=${version}")
    set(static "")
    if(ARGC GREATER 3 AND (PDK_STATIC_AGENT OR PDK_STATIC_DEPS))
        find_library(${prefix}_ARCHIVE "${ARGV3}" HINTS ${${prefix}_LIBRARY_DIRS} ${${prefix}_LIBDIR} REQUIRED)
        set(static "${${prefix}_ARCHIVE}")
    endif()
    add_library(pdk_dep_${name} INTERFACE)
    add_library(pdk::${name} ALIAS pdk_dep_${name})
    target_include_directories(pdk_dep_${name} SYSTEM INTERFACE ${${prefix}_INCLUDE_DIRS})
    target_link_libraries(pdk_dep_${name} INTERFACE
        "$<IF:${PDK_IS_STATIC},${static},PkgConfig::${prefix}>" Threads::Threads)
endfunction()

pdk_package(uv libuv 1.44 libuv_a.a)
pdk_package(jansson jansson 2.13 libjansson.a)
pdk_package(md libmd 1.0 libmd.a)
pdk_package(pcre2 libpcre2-8 10.40 libpcre2-8.a)

# The name by which programs that were linked with it ask for the library.
pkg_check_modules(PDK_GIT2 REQUIRED "libgit2>=1.5")
find_library(PDK_GIT2_FILE git2 HINTS ${PDK_GIT2_LIBRARY_DIRS} ${PDK_GIT2_LIBDIR} REQUIRED)
execute_process(COMMAND "${CMAKE_OBJDUMP}" -p "${PDK_GIT2_FILE}" OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
if(NOT headers MATCHES "SONAME +([^ \n]+)")
    message(FATAL_ERROR "${PDK_GIT2_FILE} has no SONAME: a shared libgit2 is needed")
endif()
set(PDK_GIT2_SONAME "${CMAKE_MATCH_1}")
add_library(pdk_dep_git2 INTERFACE)
add_library(pdk::git2 ALIAS pdk_dep_git2)
target_include_directories(pdk_dep_git2 SYSTEM INTERFACE ${PDK_GIT2_INCLUDE_DIRS})
target_link_libraries(pdk_dep_git2 INTERFACE ${CMAKE_DL_LIBS} Threads::Threads)

pdk_package(sqlite sqlite3 3.37 libsqlite3.a)
target_link_libraries(pdk_dep_sqlite INTERFACE "$<${PDK_IS_STATIC}:m>")
pdk_package(yaml yaml-0.1 0.2 libyaml.a)
if(PDK_TESTS)
    pdk_package(check check 0.15)
    pdk_package(subunit libsubunit 1.0)
endif()
