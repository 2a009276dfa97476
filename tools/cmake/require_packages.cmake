# databuffer_require_packages(USER OPTION package=debian_package…)
#
# Finds every CMake package, or ends with one message that names all that are missing, how to get
# them, and the option to do without USER.
function(databuffer_require_packages user option)
  set(missing)
  foreach(requirement IN LISTS ARGN)
    string(REGEX MATCH "^(.+)=(.+)$" requirement ${requirement})
    set(package ${CMAKE_MATCH_1})
    set(debian_package ${CMAKE_MATCH_2})
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
      list(APPEND missing ${debian_package})
    endif()
  endforeach()
  if(missing)
    list(JOIN missing " " missing)
    message(FATAL_ERROR
      "databuffer: ${user} need packages that were not found. Install them (Debian: apt-get install "
      "${missing}; tools/check --all does), or configure with -D${option}=OFF.")
  endif()
endfunction()
