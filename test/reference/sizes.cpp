#include "reference/sizes.hpp"

#include <algorithm>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/op/attribute.hpp>

namespace tn = tenon;

namespace reference {

namespace {

bool is_open(const tn::tensor_type& t) { return !t.extents.is_static(); }
bool waits(const tn::node& n) { return n.op->is(tn::op_flags::waits); }

} // namespace

void sizes::bind(const tn::extents& declared, const tn::extents& actual, const std::string& whose) {
    for (int i = 0; i < declared.rank(); ++i) {
        if (!actual[i].is_number()) continue;
        if (declared[i].is_number() && declared[i].size != actual[i].size)
            throw tn::invalid_argument_error(whose + " is " + tn::to_string(actual) + ", not " +
                                             tn::to_string(declared));
        if (!declared[i].is_named()) continue;
        const auto [at, isnew] = names_.emplace(declared[i].name, actual[i].size);
        if (isnew || at->second == actual[i].size) continue;
        disagree_ = late_;
        throw tn::invalid_argument_error("size " + at->first + " has two values");
    }
}

tn::extents sizes::known(tn::extents e) const {
    for (int i = 0; i < e.rank(); ++i) {
        if (!e[i].is_named()) continue;
        if (const auto at = names_.find(e[i].name); at != names_.end()) e[i] = tn::extent(at->second);
    }
    return e;
}

std::vector<tn::tensor_type> sizes::outputs(const tn::node& n, const std::vector<tn::tensor_type>& in,
                                            tn::attributes& a) {
    const std::string_view op = n.op->name;
    a = n.attributes;
    for (const auto& [name, value] : n.attributes)
        if (const auto* e = std::get_if<tn::extents>(&value)) a.set(name.c_str(), known(*e));
    // What these two declare leaves room for what may be fed; what they are is their input.
    if (op == "ensure_shape" || op == "placeholder_with_default") a.set("shape", in[0].extents);
    const bool may_stay_open = waits(n) || std::any_of(in.begin(), in.end(), is_open);
    std::vector<tn::tensor_type> made;
    for (int k = 0; k < static_cast<int>(n.outputs.size()); ++k) {
        tn::inferred t = n.op->infer(a, tn::type_list(in.data(), static_cast<int>(in.size())), k);
        if (!t) throw tn::invalid_argument_error(n.name + ": the rule finds a fault in the step's sizes");
        t.type.extents = known(t.type.extents);
        if (!may_stay_open && is_open(t.type)) throw tn::invalid_argument_error(n.name + ": its sizes are not known");
        bind(n.outputs[static_cast<std::size_t>(k)].extents, t.type.extents, n.name);
        made.push_back(t.type);
    }
    return made;
}

bool sizes::settle(const tn::node& n) {
    std::vector<tn::tensor_type> in;
    for (const tn::node_output& i : n.inputs) in.push_back(of(i));
    if (std::any_of(in.begin(), in.end(), is_open)) return false;
    bool open = false;
    for (int k = 0; k < static_cast<int>(n.outputs.size()); ++k) open = open || is_open(made(n, k));
    if (!open) return true;
    tn::attributes a;
    const std::vector<tn::tensor_type> now = outputs(n, in, a);
    for (int k = 0; k < static_cast<int>(now.size()); ++k) {
        const tn::tensor_type before = std::exchange(made_.at({&n, k}), now[static_cast<std::size_t>(k)]);
        if (tn::tensor_type& t = types_.at({&n, k}); t == before) t = now[static_cast<std::size_t>(k)];
    }
    return true;
}

void sizes::tell(const tn::node_output& o, const tn::tensor_type& t) {
    const tn::extents &declared = o.node->outputs[static_cast<std::size_t>(o.index)].extents,
                      &was = made_.at(place_of(o)).extents;
    for (int i = 0; i < declared.rank(); ++i)
        disagree_ = disagree_ || (declared[i].is_named() && was[i].is_number() && was[i].size != t.extents[i].size);
    bind(made_.at(place_of(o)).extents, t.extents, o.node->name);
    const tn::tensor_type before = std::exchange(made_.at(place_of(o)), t);
    if (tn::tensor_type& as_read = types_.at(place_of(o)); as_read == before) as_read = t;
}

sizes::sizes(const request& r, const order& o) {
    for (const tn::fed_value& f : r.feeds) {
        if (const std::string why = tn::misfit(f.value.type(), f.tensor.type()); !why.empty())
            throw tn::invalid_argument_error("feed of " + f.tensor.name() + ": " + why);
        bind(f.tensor.extents(), f.value.extents(), f.tensor.name());
        types_[place_of(f.tensor.output())] = f.value.type();
    }
    for (const tn::node* n : o.sized()) {
        if (std::string_view(n->op->name) == "placeholder" && (o.runs(n) || !known(n->outputs[0].extents).is_static()))
            throw tn::invalid_argument_error("placeholder " + n->name + " is not fed");
        std::vector<tn::tensor_type> in;
        for (const tn::node_output& i : n->inputs) in.push_back(types_.at(place_of(i)));
        tn::attributes a;
        const std::vector<tn::tensor_type> now = outputs(*n, in, a);
        for (int k = 0; k < static_cast<int>(now.size()); ++k) {
            made_[{n, k}] = now[static_cast<std::size_t>(k)];
            types_.try_emplace({n, k}, now[static_cast<std::size_t>(k)]);
        }
    }
    late_ = true;
}

} // namespace reference
