#include "tools/databuffer/signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "tools/tuning/starting.hpp"

namespace databuffer::tools {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void ignore(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  if (sigaction(signal, &action, nullptr) != 0) {
    throw std::system_error(errno, std::system_category(), "sigaction");
  }
}

sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (!is_ignored(signal)) sigaddset(&signals, signal);
  }
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    throw std::system_error(error, std::system_category(), "pthread_sigmask");
  }
  return signals;
}

}  // namespace

SignalWatcher::SignalWatcher(std::function<void(int)> react) : react_(std::move(react)) {
  ignore(SIGPIPE);
  ignore(SIGXFSZ);
  const sigset_t signals = block_signals();
  signals_ = FileDescriptor(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!signals_.is_open()) throw std::system_error(errno, std::system_category(), "signalfd");
  thread_ = tuning::starting("the thread that waits for signals",
                             [this] { return std::thread([this] { watch(); }); });
}

SignalWatcher::~SignalWatcher() {
  quit_.set();
  thread_.join();
}

void SignalWatcher::watch() {
  while (wait_ready(signals_.get(), POLLIN, quit_.fd()) == Readiness::kReady) {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) continue;
    try {
      react_(static_cast<int>(info.ssi_signo));
    } catch (const std::bad_alloc&) {
      // What it had to do is done; it may not have been said.
    }
  }
}

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace databuffer::tools
