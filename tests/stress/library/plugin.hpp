#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "databuffer/databuffer.hpp"

// What library/plugin.cpp and its host, copies_stress_test.cpp, know of each other.
namespace databuffer::stress {

/// An item that says whose buffer it is for. Each thread numbers its items for each buffer from 0.
struct Letter {
  std::uint64_t to = 0;
  std::uint32_t thread = 0;
  std::uint32_t sequence = 0;
};

/// What a buffer's handler got. It outlives all libraries.
struct Postbox {
  static constexpr std::size_t kThreads = 4;
  std::uint64_t address = 0;
  std::atomic<std::uint64_t> letters{0};
  std::atomic<std::uint64_t> strangers{0};               // for another address
  std::atomic<std::uint64_t> out_of_order{0};            // of a thread: not the next
  std::uint32_t next[kThreads] = {};                     // the handler's
  std::atomic<std::uint64_t> texts{0}, broken_texts{0};  // of a plugin's other buffer

  void take(std::span<const Letter> batch) {
    for (const Letter& letter : batch) {
      if (letter.to != address) {
        ++strangers;
        continue;
      }
      if (letter.sequence != next[letter.thread]++) ++out_of_order;
      ++letters;
    }
  }
};

struct Plugin {
  /// Starts the plugin's buffers: of letters, and of strings.
  void (*start)(Postbox* box);
  /// The one of letters.
  Buffer<Letter>& (*letters)();
  /// Inserts into anybody's buffer, and a string into its own; returns whether both were accepted.
  bool (*send)(Buffer<Letter>& to, const Letter& letter);
  /// Throws OptionsError.
  void (*fail)();
};

}  // namespace databuffer::stress

/// The one function that a plugin exports by name.
extern "C" [[gnu::visibility("default")]] databuffer::stress::Plugin databuffer_test_plugin();
