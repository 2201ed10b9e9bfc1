#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/attributes.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/resources/collective/collective_group.hpp>

// What the ops have in common that wait for the other processes of a group.

namespace tenon::detail {

class group_wait : public wait, protected collective {
public:
    group_wait(std::shared_ptr<collective_group> g, collective_signature s, const collective_turn& t) :
        group_(std::move(g)), turn_(t) {
        what = std::move(s);
    }
    bool stop() noexcept override { return group_->stop(*this); }
    std::string awaited() const override { return group_->awaited(*this); }
    void step_failed() noexcept override { abort("has failed in a step after"); }

protected:
    void begin(const step& in, completion& then) {
        then_ = &then;
        turn_.step = in.id();
        group_->begin(*this, turn_);
    }
    double own_weight() const { return values.size() > 1 ? static_cast<double>(values[1].extents()[0].size) : 1; }
    // Ends the group: this process `has done` so.
    void abort(const char* has_done) noexcept {
        std::string why;
        try {
            why = group_->member(group_->rank()) + " " + has_done + " " + to_string(what) + " of group " +
                  group_->name() + "; the processes must begin again, from a checkpoint";
        } catch (...) { // no memory for words
        }
        group_->abort(error_code::aborted, why);
    }
    // The last that it does.
    void end(std::exception_ptr failure) noexcept {
        values.resize(1);
        if (!failure) values[0] = std::move(value);
        value = {};
        then_->completed(std::move(failure));
    }

    const std::shared_ptr<collective_group> group_;

private:
    collective_turn turn_;
    completion* then_ = nullptr;
};

// The node of such an op, on the host: of x and, where there is one, of what has the rows that are its weight.
template <class Op>
any_tensor add_group_node(const typename Op::attributes& a, const any_tensor& x, const any_tensor& rows,
                          const std::string& node_name) {
    std::vector<any_tensor> in{x};
    if (rows.node()) in.push_back(rows);
    return on("/device:CPU:0", [&] { return tenon::add<Op>(a, in, node_name.empty() ? name_of(a.kind) : node_name); });
}

// Of an op whose attributes name a group.
template <class Op, class Wait> class group_kernel final : public waiting_kernel {
public:
    explicit group_kernel(const kernel_setup& s) :
        a_(decode<typename Op::attributes>(s.attrs)), name_(s.node.name), group_(collective_group::called(a_.group)) {
        if (!group_)
            throw failed_precondition_error(
                "this process has no group of processes called \"" + a_.group +
                "\": collectives run in sessions of the processes' own, while the group lives");
    }
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<Wait>(group_, a_, name_, turn_); }
    bool has_turn() const override { return true; }
    void set_turn(int number, int of) override { turn_ = {0, number, of}; }

private:
    const typename Op::attributes a_;
    const std::string name_;
    const std::shared_ptr<collective_group> group_;
    collective_turn turn_;
};

} // namespace tenon::detail
