#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace databuffer::stress {

/// A test's threads, joined at the latest when this ends.
class Crew {
 public:
  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() { join(); }

  template <class Body>
  void add(Body body) {
    threads_.emplace_back(std::move(body));
  }
  /// `count` threads; each is told its index.
  template <class Body>
  void add(std::size_t count, Body body) {
    for (std::size_t index = 0; index < count; ++index) {
      threads_.emplace_back([body, index]() mutable { body(index); });
    }
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

/// Longer than anything that works takes, on a machine however busy.
inline constexpr std::chrono::seconds kHangLimit{60};

/// Waits until it is so; returns whether it was, within the hang limit.
template <class Condition>
[[nodiscard]] bool eventually(Condition is_so) {
  const auto end = std::chrono::steady_clock::now() + kHangLimit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
  return true;
}

/// Keeps the core busy for about as long.
inline void spin_for(std::chrono::nanoseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// The thread ids of this process whose names begin so.
[[nodiscard]] inline std::vector<std::string> tasks_named(const std::string& prefix) {
  std::vector<std::string> tasks;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");  // unreadable: it has just ended
    std::string name;
    if (std::getline(file, name) && name.rfind(prefix, 0) == 0) {
      tasks.push_back(entry.path().filename());
    }
  }
  return tasks;
}

}  // namespace databuffer::stress
