#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "databuffer/buffer.hpp"

namespace databuffer {

/// A buffer of a group did not start. what() names the group, the buffer and the cause.
class [[gnu::visibility("default")]] StartError : public std::runtime_error {
 public:
  /// Of the buffer of that name; `what` says all.
  StartError(std::string buffer, const std::string& what)
      : std::runtime_error(what), buffer_(std::move(buffer)) {}
  /// The buffer's name.
  [[nodiscard]] const std::string& buffer() const noexcept { return buffer_; }

 private:
  std::string buffer_;
};

/// A named group of buffers, of any item types, started in order and stopped in reverse order
/// within one deadline. In a chain A → B → sink start B first: then A is stopped first, its last
/// batches go into B, and nothing is lost.
///
/// Threads     start and stop: one thread at a time. The buffers themselves: as always.
class Supervisor {
 public:
  /// `stop_timeout`: how long the destructor may take for all buffers together.
  explicit Supervisor(std::string name) : Supervisor(std::move(name), std::chrono::seconds{60}) {}
  /// As above, with a time of your own.
  template <class Rep, class Period>
  Supervisor(std::string name, std::chrono::duration<Rep, Period> stop_timeout)
      : name_(std::move(name)), stop_timeout_(saturate(stop_timeout)) {
    check_options();
  }
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Starts a buffer, which lives until the group is destroyed. Its name must be new to the group.
  /// Throws      StartError, after stopping every buffer started before, if it does not start.
  template <class T, class H>
  Buffer<T>& start(Options options, H&& handler) {
    return add<T>(options.name, [&] { return new Buffer<T>(options, std::forward<H>(handler)); });
  }

  /// As start(), with a handler for each partition (Buffer::per_partition).
  template <class T, class F>
  Buffer<T>& start_per_partition(Options options, F&& factory) {
    return add<T>(options.name, [&] {
      return new Buffer<T>(Buffer<T>::per_partition(options, std::forward<F>(factory)));
    });
  }

  /// A running buffer by its name; null if there is none, or if its items are not of type T.
  template <class T>
  [[nodiscard]] Buffer<T>* find(std::string_view name) const noexcept {
    for (const auto& member : members_) {
      if (member->name != name) continue;
      const auto* typed = dynamic_cast<const TypedMember<T>*>(member.get());
      return typed == nullptr ? nullptr : typed->buffer.get();
    }
    return nullptr;
  }

  /// How one buffer of the group ended.
  struct Stopped {
    std::string buffer;  ///< Its name.
    CloseReport report;  ///< What its close() answered.
  };

  /// Closes every buffer, the last started first, all within `timeout`: what one leaves of it is
  /// the next one's. Returns a report for each, in the order of closing. May be called again.
  /// Throws      std::bad_alloc, having closed none.
  template <class Rep, class Period>
  std::vector<Stopped> stop(std::chrono::duration<Rep, Period> timeout) {
    return stop_within(saturate(timeout));
  }

  /// The group's name.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  struct Member {
    explicit Member(std::string member_name) : name(std::move(member_name)) {}
    virtual ~Member() = default;
    virtual CloseReport close(Duration timeout) = 0;
    std::string name;
  };

  template <class T>
  struct TypedMember final : Member {
    TypedMember(std::string member_name, Buffer<T>* started)
        : Member(std::move(member_name)), buffer(started) {}
    CloseReport close(Duration timeout) override { return buffer->close(timeout); }
    std::unique_ptr<Buffer<T>> buffer;
  };

  template <class T, class Make>
  Buffer<T>& add(const std::string& name, Make make) {
    try {
      check_name(name);
      auto member = std::make_unique<TypedMember<T>>(name, make());
      Buffer<T>& buffer = *member->buffer;
      members_.push_back(std::move(member));
      return buffer;
    } catch (...) {
      fail_start(name);  // Stops the others and throws a StartError.
    }
  }

  void check_options() const;
  void check_name(const std::string& name) const;
  std::vector<Stopped> stop_within(Duration timeout);
  void close_all(Duration timeout, Stopped* reports) noexcept;
  [[noreturn]] void fail_start(const std::string& name);

  std::string name_;
  Duration stop_timeout_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace databuffer
