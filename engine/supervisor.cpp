#include "databuffer/supervisor.hpp"

#include <algorithm>
#include <exception>

#include "engine/cancellation.hpp"

namespace databuffer {

void Supervisor::check_options() const {
  if (name_.empty()) throw OptionsError("name", "\"\"", "must not be empty");
  if (stop_timeout_ < Duration::zero()) {
    throw OptionsError("stop_timeout", std::to_string(stop_timeout_.count()) + " ns",
                       "must not be negative");
  }
}

Supervisor::~Supervisor() {
  close_all(stop_timeout_, nullptr);
  while (!members_.empty()) members_.pop_back();  // The last started goes first, here too.
}

std::vector<Supervisor::Stopped> Supervisor::stop_within(Duration timeout) {
  std::vector<Stopped> stopped;  // Whole before the first is closed: memory may run out.
  stopped.reserve(members_.size());
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    stopped.push_back({(*member)->name, {}});
  }
  detail::CancellationHeld cancellation;
  close_all(timeout, stopped.data());
  cancellation.act_on_pending();
  return stopped;
}

// The last started first. `reports` has a place for each, or is null.
void Supervisor::close_all(Duration timeout, Stopped* reports) noexcept {
  const detail::CancellationHeld cancellation;  // close() would act on one.
  const TimePoint deadline = deadline_after(steady_clock().now(), timeout);
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    const Duration left = deadline == TimePoint::max() ? kForever : deadline - steady_clock().now();
    const CloseReport report = (*member)->close(left);
    if (reports != nullptr) (reports++)->report = report;
  }
}

void Supervisor::check_name(const std::string& name) const {
  const bool is_known = std::any_of(members_.begin(), members_.end(),
                                    [&](const auto& member) { return member->name == name; });
  if (is_known) throw OptionsError("name", "\"" + name + "\"", "must be new to the group");
}

void Supervisor::fail_start(const std::string& name) {
  std::string cause = "an exception that is not a std::exception";
  try {
    throw;
  } catch (const std::exception& error) {
    cause = error.what();
  } catch (...) {  // Its text is the default above.
  }
  close_all(stop_timeout_, nullptr);
  throw StartError(name,
                   "group \"" + name_ + "\": buffer \"" + name + "\" did not start: " + cause);
}

}  // namespace databuffer
