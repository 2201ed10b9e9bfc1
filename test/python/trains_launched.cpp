// One of a run of `tenon launch`: a worker that counts up a variable of the parameter servers until there is a file "enough".
#include <filesystem>
#include <iostream>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main(int argc, char** argv) {
    const tn::net::member self = tn::net::join(argc, argv);
    if (self.is_parameter_server()) return self.serve();
    const auto placed = tn::on(self.placement());
    const auto a = tn::variable<float, tn::shape<3>>("a", tn::zeros());
    const auto b = tn::variable<double, tn::shape<2, 2>>("b", tn::ones());
    const auto step = a.assign_add(1.0f);
    tn::session sess(self.target());
    sess.run(tn::initialize_variables());
    std::cout << "target " << self.target() << std::endl;
    while (!std::filesystem::exists("enough")) sess.run(step.operation());
    return self.finish();
}
