#pragma once

#include <tenon/core/error.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/input/epochs.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/train/input/device_prefetch.hpp>

// A place goes round:
//
//     fill:  in_use.enqueue -> free.dequeue -> scatter_update -> full.enqueue
//     step:  full.dequeue -> gather -> free.enqueue -> in_use.dequeue -> identity
//
// `free` and `full` hold numbers of places. `in_use` says by its room how many are free: there the runner's thread waits, for a
// queue in which somebody waits for room can be closed without harm to those who take from it. So `free` and the steps' part
// of it never wait.

namespace tenon {

namespace detail {

inline void check_prefetched(const std::vector<any_tensor>& element, const device_prefetch_options& o) {
    const auto refuse = [](const std::string& what) { throw invalid_argument_error("prefetch_to_device: " + what); };
    if (element.empty()) refuse("give one tensor at least");
    if (o.slots < 1) refuse("slots is " + std::to_string(o.slots) + "; give 1 or more");
    for (const any_tensor& x : element) {
        if (!x.node()) refuse("a tensor is empty");
        if (!x.extents().is_static())
            refuse(x.name() + " is " + to_string(x.type()) +
                   ", and the places on the device have sizes that are numbers; make batches of one size");
        if (x.element() == element_type::string)
            refuse(x.name() + " holds texts, which do not lie in the memory of a device; decode them before");
        if (x.rank() == max_rank)
            refuse(x.name() + " has " + std::to_string(max_rank) +
                   " dimensions, as many as there can be, and its places have one more");
    }
}

// The places of a tensor, and where they are.
struct prefetch_places {
    any_tensor variable;
    device_name device;
};

} // namespace detail

namespace untyped {

TENON_INLINE std::vector<any_tensor> prefetch_to_device(const std::vector<any_tensor>& element,
                                                        const device_name& device, const device_prefetch_options& o,
                                                        called_from here) {
    const making made(here);
    using namespace tenon::detail;
    check_prefetched(element, o);
    const name_scope below(o.name.empty() ? "prefetch_to_device" : o.name);
    device_name host = device;
    host.type = device_name("/cpu:0").type;
    host.index = 0;

    const variable_policy_scope one_each(nullptr);
    const auto there = on(host);
    const std::vector<tensor_type> number{{element_type::int64, {}}};
    const queue in_use = fifo_queue(number, o.slots, {.name = "in_use"});
    const queue free = fifo_queue(number, o.slots, {.name = "free"});
    const queue full = fifo_queue(number, o.slots, {.name = "full"});

    std::vector<prefetch_places> places;
    {
        const no_controls apart;
        std::vector<operation> begun;
        // The numbers of all places, in each session once.
        const any_tensor once = tenon::add<epoch_order_op>({o.slots, 1, false, 0}, {});
        for (const any_tensor& x : element) {
            const bool on_host = device.type == std::string_view("GPU") && !variable_op::gpu_types.has(x.element());
            extents sizes = x.extents();
            sizes.insert(0, o.slots);
            places.push_back({{}, on_host ? host : device});
            const auto on_it = on(places.back().device);
            any_tensor& v = places.back().variable;
            v = variable("places", {x.element(), sizes}, tenon::zeros(),
                         {.trainable = false, .collected = false, .partition = {.parts = 1}});
            const control_dependencies after(once);
            begun.push_back(assign(v, initialized_value(v)).operation());
        }
        const operation first = [&] {
            const control_dependencies after(group(begun));
            return free.enqueue_many({once});
        }();

        const operation reserved = in_use.enqueue({tenon::constant(std::int64_t{0})});
        const any_tensor place = [&] {
            const control_dependencies after(reserved);
            return free.dequeue()[0];
        }();
        std::vector<operation> written;
        for (std::size_t i = 0; i < element.size(); ++i) {
            const auto on_it = on(places[i].device);
            written.push_back(scatter_update(places[i].variable, place, element[i]).operation());
        }
        const control_dependencies after(group(written));
        add_queue_runner(queue_runner(full, {full.enqueue({place})}, {.first = first, .waited_for = {in_use}}));
    }

    const any_tensor place = full.dequeue()[0];
    std::vector<any_tensor> rows;
    std::vector<node*> read;
    for (const prefetch_places& p : places) {
        const auto on_it = on(p.device);
        rows.push_back(gather(p.variable, place, 0));
        read.push_back(rows.back().node());
    }
    const operation given_back = [&] {
        const control_dependencies after(read);
        return free.enqueue({place});
    }();
    const any_tensor released = [&] {
        const control_dependencies after(given_back);
        return in_use.dequeue()[0];
    }();
    const control_dependencies after(released);
    std::vector<any_tensor> result;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto on_it = on(places[i].device);
        result.push_back(identity(rows[i]));
    }
    return result;
}

} // namespace untyped

} // namespace tenon
