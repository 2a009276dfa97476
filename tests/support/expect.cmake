# Runs a command and checks how it ends and what it says.
#
#   cmake -D exit_code=CODE -D output=REGEX[;REGEX…] -P expect.cmake -- COMMAND [ARGUMENTS…]
#
# Fails unless the command ends with CODE and its output (stdout and stderr) matches every REGEX.

if(NOT DEFINED exit_code OR NOT output)
  message(FATAL_ERROR "expect.cmake: exit_code and output must say what to expect")
endif()

set(command)
set(is_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE actual_code OUTPUT_VARIABLE text
                ERROR_VARIABLE text)
string(REPLACE ";" " " shown_command "${command}")
if(NOT actual_code STREQUAL exit_code)
  message(FATAL_ERROR "${shown_command}\nended with ${actual_code}, not ${exit_code}; it said:\n${text}")
endif()
foreach(regex IN LISTS output)
  if(NOT text MATCHES "${regex}")
    message(FATAL_ERROR "${shown_command}\ndid not say \"${regex}\", but:\n${text}")
  endif()
endforeach()
