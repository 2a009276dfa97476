// Goal: a process may hold several copies of the library, and pass buffers between them: each item
// reaches the buffer it was inserted into, one thread's items keep their order whichever copy's
// code inserts them, and copies may be unloaded in any order while threads that used them live.
// Method: this program and two plugins (library/plugin.cpp), each with its own copy, with every
// visibility and way of binding. The program exports its names, so that a plugin's code of default
// visibility is the program's where the loader can choose.

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "stress/library/plugin.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"

namespace {

using databuffer::Buffer;
using databuffer::InsertStatus;
using databuffer::stress::Crew;
using databuffer::stress::Letter;
using databuffer::stress::Plugin;
using databuffer::stress::Postbox;
using databuffer::stress::scaled;

constexpr std::size_t kThreads = 2;
constexpr std::size_t kHost = 2;  // after plugins 0 and 1

std::string path_of(const std::string& mode, std::size_t plugin) {
  return std::string(DATABUFFER_PLUGINS) + "/plugin_" + mode + (plugin == 0 ? "_a.so" : "_b.so");
}

/// A loaded plugin. Errors are thrown: the program's own threads do not run yet.
class LoadedPlugin {
 public:
  LoadedPlugin(const std::string& path, int flags) : path_(path) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | flags);
    if (handle_ == nullptr) FAIL(dlerror());
    const auto entry = reinterpret_cast<decltype(&databuffer_test_plugin)>(
        dlsym(handle_, "databuffer_test_plugin"));
    REQUIRE((entry != nullptr));
    calls = entry();
  }
  [[nodiscard]] bool unload() { return dlclose(handle_) == 0; }
  [[nodiscard]] bool is_loaded() const {
    void* const handle = dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  }

  Plugin calls{};

 private:
  std::string path_;
  void* handle_ = nullptr;
};

/// The program, with its buffer, and two plugins with theirs.
struct Town {
  Town(const std::string& mode, int flags)
      : plugins{LoadedPlugin(path_of(mode, 0), flags), LoadedPlugin(path_of(mode, 1), flags)},
        own({.name = "host", .max_size = 20},
            [this](std::span<Letter> batch) { boxes[kHost].take(batch); }) {
    for (std::size_t box = 0; box < boxes.size(); ++box) boxes[box].address = 0xA000 + box;
    for (std::size_t plugin = 0; plugin < 2; ++plugin) plugins[plugin].calls.start(&boxes[plugin]);
    buffers = {&plugins[0].calls.letters(), &plugins[1].calls.letters(), &own};
  }

  std::array<Postbox, 3> boxes;  // first: the plugins' buffers reach them until they end
  std::array<LoadedPlugin, 2> plugins;
  Buffer<Letter> own;
  std::array<Buffer<Letter>*, 3> buffers{};
};

/// One thread's letters.
class Writer {
 public:
  Writer(Town& town, std::uint32_t thread) : town_(town), thread_(thread) {}

  /// Inserts into `to`, by the code of `by`. Returns whether it was accepted.
  bool write(std::size_t to, std::size_t by) {
    const Letter letter{town_.boxes[to].address, thread_, sent_[to]++};
    Buffer<Letter>& buffer = *town_.buffers[to];
    if (by == kHost) return buffer.insert(letter, databuffer::kForever) == InsertStatus::kAccepted;
    return town_.plugins[by].calls.send(buffer, letter);
  }

 private:
  Town& town_;
  std::uint32_t thread_;
  std::array<std::uint32_t, 3> sent_{};
};

struct Trial {
  std::string mode;
  int flags;
  std::size_t first_unloaded;
};

void run(const Trial& trial) {
  CAPTURE(trial.mode);
  CAPTURE(trial.flags);
  CAPTURE(trial.first_unloaded);
  const std::uint32_t rounds = scaled(300);
  const std::size_t first = trial.first_unloaded;
  const std::size_t second = 1 - first;
  auto town = std::make_unique<Town>(trial.mode, trial.flags);
  CHECK_THROWS_AS(town->plugins[0].calls.fail(), databuffer::OptionsError);

  std::atomic<std::uint64_t> refused{0};
  std::barrier<> phase(kThreads + 1);
  Crew crew;
  crew.add(kThreads, [&](std::size_t thread) {
    Writer writer(*town, static_cast<std::uint32_t>(thread));
    const auto write_all = [&](std::initializer_list<std::size_t> there) {
      for (std::uint32_t round = 0; round < rounds; ++round) {
        for (const std::size_t to : there) {
          for (const std::size_t by : there) refused += writer.write(to, by) ? 0 : 1;
        }
      }
      phase.arrive_and_wait();  // all have written
      phase.arrive_and_wait();  // a plugin is unloaded
    };
    write_all({kHost, 0, 1});
    write_all({kHost, second});
    write_all({kHost});
  });
  phase.arrive_and_wait();
  CHECK(town->plugins[first].unload());
  // With RTLD_GLOBAL the loader keeps what another library has bound to.
  if (trial.flags == RTLD_LOCAL) CHECK_FALSE(town->plugins[first].is_loaded());
  phase.arrive_and_wait();
  phase.arrive_and_wait();
  CHECK(town->plugins[second].unload());
  for (const LoadedPlugin& plugin : town->plugins) CHECK_FALSE(plugin.is_loaded());
  phase.arrive_and_wait();
  phase.arrive_and_wait();
  phase.arrive_and_wait();
  crew.join();
  town->own.close(databuffer::kForever);

  CHECK(refused == 0);
  const std::uint64_t all = std::uint64_t{kThreads} * rounds;
  CHECK(town->boxes[first].letters == 3 * all);
  CHECK(town->boxes[second].letters == (3 + 2) * all);
  CHECK(town->boxes[kHost].letters == (3 + 2 + 1) * all);
  CHECK(town->boxes[first].texts == 3 * all);
  CHECK(town->boxes[second].texts == (3 + 2) * all);
  for (const Postbox& box : town->boxes) {
    CHECK(box.strangers == 0);
    CHECK(box.out_of_order == 0);
    CHECK(box.broken_texts == 0);
  }
}

}  // namespace

TEST_SUITE("copies") {
  TEST_CASE("a host and two plugins pass their buffers to each other, and are unloaded") {
    for (const char* const mode : {"default", "hidden", "symbolic", "symbolic_functions"}) {
      for (const int flags : {RTLD_LOCAL, RTLD_GLOBAL}) {
        for (const std::size_t first : {0U, 1U}) run({mode, flags, first});
      }
    }
  }

  TEST_CASE("a plugin that comes again finds nothing of its earlier self") {
    for (int round = 0; round < 5; ++round) run({"default", RTLD_LOCAL, 0});
  }
}
