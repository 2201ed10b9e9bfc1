#include <doctest/doctest.h>

#include "emulator/control.hpp"

// Every test begins on an emulated GPU that is as new, whatever the one before did to its own.

namespace {

struct fresh_start final : doctest::IReporter {
    explicit fresh_start(const doctest::ContextOptions&) {}
    void test_case_start(const doctest::TestCaseData&) override { tenon::emulator::reset(); }

    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};

} // namespace

DOCTEST_REGISTER_LISTENER("fresh_start", 1, fresh_start);
