#include "tests.hpp"

TEST_CASE_FIXTURE(in_graph, "what is fed crosses to the GPU and back") {
    const auto x = tn::placeholder<float, tn::shape<5>>("x");
    const auto y = tn::on("/gpu:0", [&] { return tn::stop_gradient(x); });
    tn::session s(g);
    for (int i = 0; i < 3; ++i) {
        const auto value = s.run(tn::feed(x, {1.0f, 2.0f, 3.0f, 4.0f, static_cast<float>(i)}), y);
        CHECK(value(0) == 1);
        CHECK(value(4) == static_cast<float>(i));
    }
}
