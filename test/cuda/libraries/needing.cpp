// A library that needs another one.
extern "C" int tenon_test_answer();
extern "C" int tenon_test_passed_on();
extern "C" int tenon_test_passed_on() { return tenon_test_answer(); }
