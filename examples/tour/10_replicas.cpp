// Where the parts of a model go in a cluster with two parameter servers: the variables to the servers in turn, all else
// to the workers. Scopes inside say more. (Nothing runs here: a cluster is not needed to write a program for it.)
//
//     v1  /job:ps/task:0
//     v2  /job:ps/task:1
//     v3  /job:ps/task:0
//     v4  /job:ps/task:1
//     v5  /job:ps/task:0
//     s   /job:worker
//     p1  /job:worker/task:1
//     p2  /job:worker/task:1/device:CPU:0
//     q1  /job:worker/device:GPU:1
//     q2  /job:worker/task:1/device:GPU:1
#include <tenon/tenon.hpp>

#include <cstdio>
#include <utility>

namespace tn = tenon;

namespace {

void show(const char* name, const tn::any_tensor& t) {
    std::printf("%-4s%s\n", name, to_string(t.node()->device).c_str());
}

} // namespace

int main() {
    const auto replica = tn::on(tn::replica_device_setter(2));
    const auto v1 = tn::variable("v1", 1.0f);
    const auto v2 = tn::variable("v2", 2.0f);
    const auto v3 = tn::variable("v3", 3.0f);
    const auto v4 = tn::variable("v4", 4.0f);
    const auto v5 = tn::variable("v5", 5.0f);
    const auto s = v1 + v2;
    const auto [p1, p2] = tn::on("/task:1", [&] {
        const tn::any_tensor doubled = 2.0f * s;
        return std::pair(doubled, tn::on("/cpu:0", [&]() -> tn::any_tensor { return 3.0f * s; }));
    });
    const auto [q1, q2] = tn::on("/gpu:1", [&] {
        const tn::any_tensor doubled = 2.0f * s;
        return std::pair(doubled, tn::on("/task:1", [&]() -> tn::any_tensor { return 3.0f * s; }));
    });

    show("v1", v1);
    show("v2", v2);
    show("v3", v3);
    show("v4", v4);
    show("v5", v5);
    show("s", s);
    show("p1", p1);
    show("p2", p2);
    show("q1", q1);
    show("q2", q2);
    return 0;
}
