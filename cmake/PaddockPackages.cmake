# Third-party libraries as pdk::<name>. A target with the property PDK_STATIC gets the archives of the libraries that
# the agent uses; libgit2 and SQLite have no place in a static program and are left out (using them is a link error).

find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(PDK_IS_STATIC "$<BOOL:$<TARGET_PROPERTY:PDK_STATIC>>")

# pdk_package(name pkg-config-name minimum-version [archive]): makes pdk::name.
function(pdk_package name module version)
    string(TOUPPER "PDK_${name}" prefix)
    pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET "${module}>=${version}")
    set(static "")
    if(ARGC GREATER 3 AND PDK_STATIC_AGENT)
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
pdk_package(git2 libgit2 1.5)
pdk_package(sqlite sqlite3 3.37)
pdk_package(yaml yaml-0.1 0.2)
if(PDK_TESTS)
    pdk_package(check check 0.15)
    pdk_package(subunit libsubunit 1.0)
endif()
