#include "tools/databuffer/measuring.hpp"

#include <cstdlib>
#include <exception>

#include "tools/databuffer/scratch_sink.hpp"
#include "tools/databuffer/signals.hpp"
#include "tools/tuning/run.hpp"

namespace databuffer::tools {

namespace {

constexpr int kFailed = 1;
constexpr int kExitOfSignal = 128;  // the shell's convention

void react(int signal, const std::string& on_stop, RunControl& control, Console& console) {
  if (control.stop_for_signal(signal) == 1) {
    console.say(signal_name(signal) + ": " + on_stop + "; a second signal ends at once");
    return;
  }
  console.say(signal_name(signal) + ": ends at once");
  ScratchFile::remove_all();
  std::_Exit(kExitOfSignal + signal);
}

}  // namespace

int run_measuring(const std::string& prefix, const std::string& on_stop,
                  const std::function<bool(Measuring&)>& command) {
  Console console(prefix);
  RunControl control;
  const SignalWatcher signals([&](int signal) { react(signal, on_stop, control, console); });
  Measuring measuring{.console = console, .control = control};
  bool is_well = false;
  try {
    is_well = command(measuring);
  } catch (const tuning::TrialError& error) {
    console.say(failure_text(error));
    ScratchFile::remove_all();
    std::_Exit(kFailed);  // a handler may still use what would be destroyed
  } catch (const std::exception& error) {
    console.say(failure_text(error));
  }
  if (control.signal() != 0) return kExitOfSignal + control.signal();
  return is_well ? 0 : kFailed;
}

bool try_all(Console& console, const std::vector<std::function<void()>>& steps) {
  bool is_well = true;
  for (const std::function<void()>& step : steps) {
    try {
      step();
    } catch (const std::exception& error) {
      console.say(failure_text(error));
      is_well = false;
    }
  }
  return is_well;
}

}  // namespace databuffer::tools
