// The one main() of all test programs: doctest's runner, with a watchdog over every test case.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "support/watchdog.hpp"

namespace {

databuffer::support::Watchdog* watchdog = nullptr;  // owned; never destroyed
unsigned cases_selected = 0;                        // known when a run ends

class WatchdogListener final : public doctest::IReporter {
 public:
  explicit WatchdogListener(const doctest::ContextOptions& /*options*/) {}

  void test_case_start(const doctest::TestCaseData& test_case) override {
    name_ = test_case.m_test_suite;
    if (!name_.empty()) name_ += ": ";
    name_ += test_case.m_name;
    watchdog->start(name_);
  }
  void test_case_reenter(const doctest::TestCaseData& /*test_case*/) override {
    watchdog->start(name_);  // the next subcase
  }
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override { watchdog->stop(); }
  void test_run_end(const doctest::TestRunStats& stats) override {
    cases_selected = stats.numTestCasesPassingFilters;
  }

  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test_case*/) override {}

 private:
  std::string name_;
};

REGISTER_LISTENER("watchdog", 1, WatchdogListener);

}  // namespace

int main(int argc, char** argv) {
  try {
    watchdog = new databuffer::support::Watchdog(databuffer::support::test_time_limit());
  } catch (const std::invalid_argument& error) {
    static_cast<void>(std::fprintf(stderr, "%s\n", error.what()));
    return 2;
  }
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;
  if (cases_selected == 0) {
    static_cast<void>(std::fprintf(stderr, "no test case matches: nothing was tested\n"));
    return 1;
  }
  return result;
}
