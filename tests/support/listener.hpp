#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/manual_buffer.hpp"

namespace databuffer::support {

/// An event, with copies of what it only borrows.
struct Noted : TelemetryEvent {
  explicit Noted(const TelemetryEvent& told)
      : TelemetryEvent(told), buffer_name(told.buffer), error_text(told.error) {}
  std::string buffer_name;
  std::string error_text;
};

/// Notes all events of a buffer.
struct Listener {
  std::vector<Noted> events;

  template <class T>
  void listen(ManualBuffer<T>& buffer, EventSet to = EventSet::all()) {
    REQUIRE(buffer->telemetry().attach(
        "listener", to, [this](const TelemetryEvent& event) { events.emplace_back(event); }));
  }

  [[nodiscard]] std::vector<Event> kinds() const {
    std::vector<Event> kinds;
    for (const Noted& event : events) kinds.push_back(event.event);
    return kinds;
  }
};

}  // namespace databuffer::support
