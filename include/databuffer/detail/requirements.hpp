#pragma once

// What a program that includes databuffer must be compiled with: README.md, "Limits".
#if defined(__cplusplus) && __cplusplus < 202002L
#error "databuffer needs C++20: compile with -std=c++20"
#elif !defined(__cpp_exceptions)
#error "databuffer needs exceptions: compile without -fno-exceptions"
#elif !defined(__cpp_rtti)
#error "databuffer needs run-time type information: compile without -fno-rtti"
#endif
