#pragma once

#include <memory>
#include <string>

#include <tenon/op/wait.hpp>

/// Ops whose results have sizes that their values decide: they wait for nothing but those.

namespace tenon::detail {

// What is done as soon as it is started: `Select` makes the outputs of the inputs.
template <class Select> class immediate_wait final : public wait {
public:
    explicit immediate_wait(const Select& select) : select_(select) {}
    void start(const step&, completion& then) override {
        values = select_(values);
        then.completed(nullptr);
    }
    bool stop() noexcept override { return false; }
    std::string awaited() const override { return "its own values"; }

private:
    const Select& select_;
};

template <class Select> class immediate_kernel final : public waiting_kernel {
public:
    explicit immediate_kernel(const kernel_setup& s) : select_(s) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<immediate_wait<Select>>(select_); }
    bool uses_values() const override { return false; }

private:
    const Select select_;
};

} // namespace tenon::detail
