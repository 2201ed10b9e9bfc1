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
#include <tenon/tenon.hpp>

#include <cstdio>

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
    const auto second_worker = tn::on("/task:1");
    const auto p1 = 2.0f * s;
    const auto its_cpu = tn::on("/cpu:0");
    const auto p2 = 3.0f * s;

    show("v1", v1);
    show("v2", v2);
    show("v3", v3);
    show("v4", v4);
    show("v5", v5);
    show("s", s);
    show("p1", p1);
    show("p2", p2);
    return 0;
}
