#pragma once

#include <cstdio>
#include <cstdlib>

/// A fact that holds unless this library has a bug. Checked in debug builds and where
/// DATABUFFER_ASSERTS is set; never has side effects.
#if !defined(NDEBUG) || defined(DATABUFFER_ASSERTS)
#define DATABUFFER_ASSERT(fact)                                                                 \
  ((fact) ? static_cast<void>(0)                                                                \
          : (static_cast<void>(std::fprintf(stderr, "%s:%d: databuffer assertion failed: %s\n", \
                                            __FILE__, __LINE__, #fact)),                        \
             std::abort()))
#else
#define DATABUFFER_ASSERT(fact) static_cast<void>(sizeof(!(fact)))
#endif
