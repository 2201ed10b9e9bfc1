// error: deleted function.*start_queue_runners
// error: first_the_session_then_the_coordinator
#include <tenon/train/session/queue_runner.hpp>

void program(tenon::session& s, tenon::coordinator& c) {
    int fits = tenon::start_queue_runners(s, c);
#ifdef TENON_EXPECT_ERROR
    int wrong = tenon::start_queue_runners(c, s);
#endif
}
