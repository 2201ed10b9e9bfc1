#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace no_memory {

/// What a program does while one allocation fails, and what must hold then.
class scenario {
public:
    virtual ~scenario() = default;
    /// Before: all allocations are well.
    virtual void prepare() = 0;
    /// One allocation fails. What it throws is to be a resource_exhausted_error.
    virtual void act() = 0;
    /// Afterwards: throws where something was lost or done twice, or does not work any more. `well`: act() threw nothing.
    virtual void check(bool well) = 0;
    /// Parts of act() are the program's own, and throw std::bad_alloc themselves.
    virtual bool has_own_allocations() const { return false; }
};

struct named_scenario {
    std::string name;
    std::function<std::unique_ptr<scenario>()> make;
};

/// Models: a graph is built, a session opened, a step run for the first time and again, a checkpoint saved; by the CPU and by simulated
/// GPUs.
std::vector<named_scenario> model_scenarios();
/// Steps that wait: queues, steps that are started, several tasks.
std::vector<named_scenario> waiting_scenarios();

/// Throws std::runtime_error, with the words, unless it holds.
void require(bool holds, const std::string& words);

} // namespace no_memory
