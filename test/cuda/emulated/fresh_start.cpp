#include <string_view>

#include "tests.hpp"
#include "emulator/control.hpp"

// Every test begins on an emulated GPU that is as new, whatever the one before did to its own. But for the tests of tapes
// these are interpreted, since the host's compiler takes a second for each; what is compiled is kept by nobody else.

namespace {

struct fresh_start final : doctest::IReporter {
    explicit fresh_start(const doctest::ContextOptions&) {}
    // To keep the host out of the GPU's memory costs more than most tests: every fourth does, and all where that is asked for.
    void test_case_start(const doctest::TestCaseData& test) override {
        if (std::string_view(test.m_file.c_str()).find("/tapes/") != std::string_view::npos)
            unsetenv("TENON_CUDA_TAPES");
        else setenv("TENON_CUDA_TAPES", "interpreted", 1);
        tenon::emulator::reset();
        tenon::emulator::protect(cases++ % 4 == 0 || std::getenv("TENON_EMULATOR_PROTECTS"));
    }
    int cases = 0;

    void test_run_start() override { setenv("TENON_CACHE_DIR", cache.path().c_str(), 0); }
    temporary_folder cache;

    void report_query(const doctest::QueryData&) override {}
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
