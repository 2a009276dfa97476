// Goal: a shared library that owns a buffer can be unloaded with items pending: they are flushed,
// its threads end, and the process goes on.
// Method: load a library (library/owner.cpp) that has its own copy of the engine, insert from
// several threads, unload it; again and again. Fork in between: nothing of the library may be left
// in the list of what to do then.

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "stress/threads.hpp"

namespace {

using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::tasks_named;

constexpr std::size_t kThreads = 4;
constexpr int kItems = 1000;

/// The library, as long as this lives.
class LoadedLibrary {
 public:
  LoadedLibrary() : handle_(dlopen(DATABUFFER_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) MESSAGE(dlerror());
    REQUIRE(handle_ != nullptr);
  }
  ~LoadedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    void* const symbol = dlsym(handle_, name);
    REQUIRE(symbol != nullptr);
    return reinterpret_cast<Function*>(symbol);
  }
  void unload() {
    REQUIRE(dlclose(handle_) == 0);
    handle_ = nullptr;
  }
  [[nodiscard]] static bool is_loaded() {
    void* const handle = dlopen(DATABUFFER_LIBRARY_PATH, RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  }

 private:
  void* handle_;
};

/// Forks a child that ends at once; returns its exit code.
int fork_and_end() {
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_SUITE("library") {
  TEST_CASE("a library that owns a buffer is unloaded with everything flushed") {
    for (int round = 0; round < 5; ++round) {
      CAPTURE(round);
      std::atomic<std::size_t> handled{0};
      std::atomic<int> accepted{0};
      LoadedLibrary library;
      library.find<void(std::atomic<std::size_t>*)>("library_count_in")(&handled);
      auto* const insert = library.find<int(int)>("library_insert");
      {
        Crew crew;  // Ends first: the loader keeps a library for the threads that used it.
        crew.add(kThreads, [&](std::size_t) { accepted += insert(kItems); });
      }
      CHECK(accepted == static_cast<int>(kThreads) * kItems);
      CHECK(tasks_named("library.").size() >= 2);
      CHECK(fork_and_end() == 7);
      library.unload();
      CHECK_FALSE(LoadedLibrary::is_loaded());
      CHECK(handled == kThreads * kItems);
      CHECK(eventually([] { return tasks_named("library.").empty(); }));
      CHECK(fork_and_end() == 7);
    }
  }
}
