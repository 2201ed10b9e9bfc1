#include "tests.hpp"
#include "running.hpp"

using namespace op_table;

TEST_CASE("every op that is registered has one entry, and every entry an op") {
    std::multiset<std::string> listed;
    for (const entry& e : entries()) listed.insert(e.op);
    for (const op_definition* op : all_ops())
        CHECK_MESSAGE(listed.count(op->name) == 1, std::string(op->name),
                      ": give it one entry, in test/op_table/entries");
    for (const std::string& name : listed) CHECK_MESSAGE(find_op(name) != nullptr, name);
    for (const entry& e : entries()) CHECK_MESSAGE(e.samples.empty() != e.apart.empty(), e.op);
}

TEST_CASE("an op has a gradient, or the table says why none flows") {
    for (const entry& e : entries()) {
        INFO(e.op);
        CHECK((find_op(e.op)->gradient == nullptr) == !e.no_gradient.empty());
    }
}
