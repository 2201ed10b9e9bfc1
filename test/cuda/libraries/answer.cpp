// A library to be found: which one of its name it is, it says by its number.
extern "C" int tenon_test_answer();
extern "C" int tenon_test_answer() { return TENON_TEST_ANSWER; }
