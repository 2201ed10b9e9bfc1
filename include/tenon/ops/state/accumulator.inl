#pragma once

#include <memory>

#include <tenon/memory/memory_budget.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/graph/resource_use.hpp>
#include <tenon/resources/accumulator.hpp>

/// The kernels of ops/state/accumulator.hpp, and what accumulator a node stands for.

namespace tenon::detail {

inline accumulated_type accumulated_by(const node& n) { return decode<accumulated_type>(n.attributes); }

// The accumulator that a node stands for, on the device that `s` is for.
inline std::shared_ptr<accumulator_resource> accumulator_of_node(const node& n, const kernel_setup& s) {
    require_made_by<accumulator_op>(n, s, "accumulator");
    const auto a = decode<accumulator_op::attributes>(n.attributes);
    const resource_identity id(n, a.shared_name, s);
    const accumulator_description d{a.of.type(), a.of.rows};
    auto found = s.resources->find_or_make<accumulator_resource>(
        id.container, id.name, [&] { return std::make_shared<accumulator_resource>(id.name, d); });
    if (!(found->description() == d))
        throw invalid_argument_error("accumulator " + id.shown() + " exists as " + to_string(found->description()) +
                                     ", not as " + to_string(d));
    return found;
}
// The accumulator that the node of a kernel uses, which is of what the node says.
inline std::shared_ptr<accumulator_resource> used_accumulator(const kernel_setup& s) {
    return accumulator_of_node(*s.node.inputs[0].node, s);
}
inline std::shared_ptr<accumulator_resource> used_accumulator_of_type(const kernel_setup& s) {
    auto found = used_accumulator(s);
    const auto asked = decode<accumulated_type>(s.attrs);
    if (const accumulator_description d{asked.type(), asked.rows}; !(found->description() == d))
        throw invalid_argument_error(s.node.name + ": " + to_string(d) + " is asked of " +
                                     to_string(found->description()));
    return found;
}

struct accumulator_kernel final : kernel {
    explicit accumulator_kernel(const kernel_setup& s) : of(accumulator_of_node(s.node, s)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) *r.output<std::int64_t>(0) = of->state().step;
    }
    double cost() const override { return 2; }
    std::shared_ptr<accumulator_resource> of;
};

struct accumulator_state_kernel final : kernel {
    explicit accumulator_state_kernel(const kernel_setup& s) : of(used_accumulator(s)) {}
    void run(const kernel_run& r) override {
        const accumulator_resource::standing is = of->state();
        const std::int64_t all[] = {is.step, is.count, is.dropped};
        for (int i = 0; i < 3; ++i)
            if (r.out[i]) *r.output<std::int64_t>(i) = all[i];
    }
    std::shared_ptr<accumulator_resource> of;
};

struct accumulator_set_step_kernel final : kernel {
    explicit accumulator_set_step_kernel(const kernel_setup& s) : of(used_accumulator(s)) {}
    void run(const kernel_run& r) override { of->set_step(*r.input<std::int64_t>(1)); }
    std::shared_ptr<accumulator_resource> of;
};

enum class gradient_use { apply, deposit, average };

// These are done at once. They are given their gradients, which need not be copied, and give what has sizes of its own.
class gradient_wait final : public wait {
public:
    gradient_wait(std::shared_ptr<accumulator_resource> of, gradient_use how) : of_(std::move(of)), how_(how) {}

    void start(const step&, completion& then) override {
        const std::int64_t* const numbers = values[1].data<std::int64_t>();
        if (how_ == gradient_use::average) {
            const std::int64_t step = *values[2].data<std::int64_t>();
            values = of_->average_of(numbers, values[1].elements(), step);
            return then.completed(nullptr);
        }
        memory_client::require_room_for_steps(current_payer());
        std::vector<any_array> gradient;
        for (std::size_t i = 2; i < values.size(); ++i)
            gradient.push_back(values[i].is_unique() ? std::move(values[i]) : values[i].copy());
        if (how_ == gradient_use::apply) {
            any_array counted(element_type::boolean, {});
            *counted.data<bool>() = of_->apply(std::move(gradient), *numbers);
            values.clear();
            values.push_back(std::move(counted));
        } else {
            if (values[1].elements() != 3)
                throw invalid_argument_error("accumulator_deposit: a turn is a replica, its ticket and its step, not " +
                                             to_string(values[1].type()));
            of_->deposit(numbers[0], numbers[1], numbers[2], std::move(gradient));
            values.clear();
        }
        then.completed(nullptr);
    }
    bool stop() noexcept override { return false; }
    std::string awaited() const override { return "an accumulator"; }

private:
    const std::shared_ptr<accumulator_resource> of_;
    const gradient_use how_;
};

class gradient_kernel final : public waiting_kernel {
public:
    gradient_kernel(const kernel_setup& s, gradient_use how) : of_(used_accumulator_of_type(s)), how_(how) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<gradient_wait>(of_, how_); }
    bool uses_values() const override { return how_ != gradient_use::average; }

private:
    const std::shared_ptr<accumulator_resource> of_;
    const gradient_use how_;
};

inline kernel_pointer prepare_gradient_kernel(const kernel_setup& s, gradient_use how) {
    return std::make_unique<gradient_kernel>(s, how);
}

class take_wait final : public wait, private accumulator_take {
public:
    take_wait(std::shared_ptr<accumulator_resource> of, std::int64_t least) : of_(std::move(of)), least_(least) {}

    void start(const step&, completion& then) override {
        then_ = &then;
        accumulator_take::keeps = wait::keeps;
        values.clear();
        of_->take(*this, least_);
    }
    bool stop() noexcept override { return of_->stop(*this); }
    void give_back() noexcept override { of_->give_back(*this); }
    void let_go() noexcept override { of_->let_go(*this); }
    std::string awaited() const override { return of_->awaited(least_); }

private:
    void completed(std::exception_ptr failure) noexcept override {
        if (!failure) values = std::exchange(average, {});
        then_->completed(std::move(failure)); // whoever is told may start it anew
    }
    const std::shared_ptr<accumulator_resource> of_;
    const std::int64_t least_;
    completion* then_ = nullptr;
};

class accumulator_take_kernel final : public waiting_kernel {
public:
    explicit accumulator_take_kernel(const kernel_setup& s) :
        of_(used_accumulator_of_type(s)), least_(s.attrs.get<std::int64_t>("least")) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<take_wait>(of_, least_); }
    bool takes() const override { return true; }

private:
    const std::shared_ptr<accumulator_resource> of_;
    const std::int64_t least_;
};

} // namespace tenon::detail
