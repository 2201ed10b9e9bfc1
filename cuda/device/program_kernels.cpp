#include <cuda/device/program_kernels.hpp>

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

#include <cuda/device/context.hpp>
#include <cuda/device/mark.hpp>
#include <cuda/device/staging.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/add_node.hpp>

namespace tenon::cuda {

namespace {

// Of one device. What a kernel is called is kept as long as that.
class marks {
public:
    explicit marks(gpu_context&) : at_(static_cast<std::uint64_t*>(staging::shared().take(bytes))) {
        if (!at_)
            throw resource_exhausted_error("no page-locked memory of the host for marks of a program's own kernels");
        *at_ = 0;
        const std::lock_guard lock(all().guard);
        all().of_devices.push_back(this);
    }
    ~marks() {
        {
            const std::lock_guard lock(all().guard);
            all().of_devices.remove(this);
        }
        staging::shared().give(at_, bytes);
    }
    marks(const marks&) = delete;
    marks& operator=(const marks&) = delete;

    std::uint64_t enter(std::string name) {
        const std::lock_guard lock(all().guard);
        const auto at = std::find(names_.begin(), names_.end(), name);
        if (at != names_.end()) return static_cast<std::uint64_t>(at - names_.begin()) + 1;
        names_.push_back(std::move(name));
        return names_.size();
    }
    void begin(std::uint64_t number, void* stream) { mark(at_, number, stream); }
    void end(void* stream) { mark(at_, 0, stream); }

    static std::string unended() {
        const std::lock_guard lock(all().guard);
        for (const marks* m : all().of_devices) {
            const std::uint64_t begun = *static_cast<const volatile std::uint64_t*>(m->at_);
            if (begun != 0 && begun <= m->names_.size()) return m->names_[begun - 1];
        }
        return {};
    }

private:
    static constexpr std::size_t bytes = sizeof(std::uint64_t);
    struct registry {
        std::mutex guard;
        std::list<marks*> of_devices;
    };
    static registry& all() {
        static auto& r = *new registry;
        return r;
    }
    std::uint64_t* const at_; // the number of the one that runs, or 0
    std::vector<std::string> names_;
};

class program_kernel final : public kernel {
public:
    program_kernel(const kernel_setup& s, kernel_pointer k) :
        marks_(s.gpu->state<marks>()),
        number_(marks_.enter("node \"" + s.node.name + "\" (" + s.node.op->name + ")")),
        own_(std::move(k)) {}
    void run(const kernel_run& r) override {
        marks_.begin(number_, r.stream);
        try {
            own_->run(r);
        } catch (...) { // what it has not launched is not to blame later
            marks_.end(r.stream);
            throw;
        }
        marks_.end(r.stream);
    }
    std::size_t scratch_bytes() const override { return own_->scratch_bytes(); }
    double cost() const override { return own_->cost(); }
    bool may_share(int i, int o) const override { return own_->may_share(i, o); }
    bool may_be_recorded() const override { return own_->may_be_recorded(); }
    std::size_t told_bytes() const override { return own_->told_bytes(); }
    void tell(std::byte* to) override { own_->tell(to); }
    bool may_refuse() const override { return own_->may_refuse(); }
    void refuse(const std::byte* told) const override { own_->refuse(told); }

private:
    marks& marks_;
    const std::uint64_t number_;
    const kernel_pointer own_;
};

} // namespace

kernel_pointer prepare_program_kernel(const kernel_setup& s) {
    return std::make_unique<program_kernel>(s, s.node.op->gpu(s));
}

std::string unended_program_kernel() {
    const std::string name = marks::unended();
    return name.empty() ? name : "it happened in the kernel of " + name;
}

} // namespace tenon::cuda
