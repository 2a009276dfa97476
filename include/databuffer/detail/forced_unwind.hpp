#pragma once

#include <cxxabi.h>

namespace databuffer::detail {

/// What unwinds a thread's stack at pthread_exit or pthread_cancel. It is no exception: whoever
/// catches it has to throw it on, or the process ends. So it stands before each `catch (...)`
/// around code of the user's. (Where the C++ library has no name for it, nothing can be caught.)
#ifdef __GLIBCXX__
using ForcedUnwind = abi::__forced_unwind;
#else
class ForcedUnwind {};
#endif

}  // namespace databuffer::detail
