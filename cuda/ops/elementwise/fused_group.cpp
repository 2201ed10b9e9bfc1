// One tape over several lists of operands: members of one form by one launch, once their kernel is compiled.

#include <algorithm>
#include <map>
#include <span>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/ops/elementwise/fused.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/expr/fused_layout.hpp>
#include <tenon/op/kernel_roles.hpp>
#include <tenon/ops/elementwise/fused_group.hpp>

namespace tenon::cuda {

namespace {

using namespace tapes;

class group_kernel final : public detail::fused_group_kernel, public shown_kernel {
public:
    group_kernel(const kernel_setup& s, const attributes& a, way how) :
        fused_group_kernel(s, a, [](const kernel_setup& of) { return prepare_fused(of, way::interpreted); }) {
        std::map<std::string, std::size_t> known; // by the kernel's text
        for (int m = 0; m < a.members; ++m) {
            const int count = a.tape->input_count;
            const type_list in{s.inputs.begin() + std::ptrdiff_t{m} * count, count};
            if (detail::make_layout(in).elements() == 0) continue;
            member own{
                static_cast<std::size_t>(m), std::move(make_passes(*a.tape, in).front()), {}, a.member(m).constants};
            own.how = schedule_of(own.of, s.gpu->multiprocessors);
            const kernel_source source = write_group_kernel(own.of);
            const auto [at, is_new] = known.emplace(source.name, alike_.size());
            if (is_new) alike_.push_back(std::make_unique<batch>(source, s, how));
            alike_[at->second]->members.push_back(std::move(own));
        }
    }

    void run(const kernel_run& r) override {
        for (const auto& b : alike_) {
            const void* const compiled = b->code.find();
            for (std::size_t first = 0, next; first < b->members.size(); first = next) {
                next = compiled ? std::min(first + most_in_group(b->members[0].of), b->members.size()) : first + 1;
                if (compiled) launch(compiled, {b->members.data() + first, next - first}, r);
                else run_member(b->members[first].number, r);
            }
        }
    }
    std::size_t scratch_bytes() const override {
        const bool all = std::all_of(alike_.begin(), alike_.end(), [](const auto& b) { return b->code.find(); });
        return all ? 0 : fused_group_kernel::scratch_bytes();
    }
    bool may_be_recorded() const override {
        bool settled = true;
        for (const auto& b : alike_) settled = b->code.is_settled() && settled;
        return settled;
    }
    std::string shown() const override {
        std::string text;
        for (const auto& b : alike_)
            text += "CUDA C++ for " + std::to_string(b->members.size()) +
                    " variables at a time, with the functions of kernels/tape before it:\n" +
                    write_group_kernel(b->members[0].of).text;
        return text;
    }

private:
    struct member {
        std::size_t number;
        pass of;
        schedule how;
        std::vector<std::int64_t> constants;
    };
    struct batch {
        batch(const kernel_source& source, const kernel_setup& s, way how) : code([&] { return source; }, s, how) {}
        function code;
        std::vector<member> members;
    };

    void launch(const void* compiled, std::span<const member> members, const kernel_run& r) const {
        std::vector<const pass*> passes;
        std::vector<kernel_call> calls;
        for (const member& m : members) {
            const kernel_run own = run_of(r, m.number);
            passes.push_back(&m.of);
            calls.push_back({own.in, own.out, m.constants.data(), nullptr, m.how});
        }
        unsigned blocks = 0;
        std::vector<std::uint64_t> words = write_group_arguments(passes.data(), calls.data(), calls.size(), blocks);
        void* arguments[] = {words.data(), nullptr};
        cuda::check(cudaLaunchKernel(compiled, blocks, 256, arguments, 0, static_cast<cudaStream_t>(r.stream)),
                    "cudaLaunchKernel");
    }

    std::vector<std::unique_ptr<batch>> alike_; // of one form
};

} // namespace

void register_fused_group() {
    enter({{"fused_group", [](const kernel_setup& s) -> kernel_pointer {
                const auto a = decode<fused_group_op::attributes>(s.attrs);
                return std::make_unique<group_kernel>(s, a, wanted_way());
            }}});
}

} // namespace tenon::cuda
