// What nearly every test includes, compiled once for all of them. A test still includes what it
// uses: the preset `clang` builds without this.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
