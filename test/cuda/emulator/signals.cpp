#include "signals.hpp"

#include <csignal>
#include <cstdio>

#include <sys/mman.h>
#include <unistd.h>

#include "block.hpp"
#include "machine.hpp"

namespace tenon::emulator {

namespace {

struct sigaction before_segv, before_bus, before_ill;

struct sigaction& before(int signal) {
    return signal == SIGSEGV ? before_segv : signal == SIGBUS ? before_bus : before_ill;
}

void handle(int signal, siginfo_t* info, void*) {
    if (in_kernel()) {
        char why[160];
        if (signal == SIGILL)
            std::snprintf(why, sizeof why,
                          "reads or writes at an address that is not a multiple of the element's size");
        else if (info->si_code == SI_KERNEL)
            std::snprintf(why, sizeof why, "touches an address that is not aligned for a vector, or not canonical");
        else std::snprintf(why, sizeof why, "touches address %p, which is no memory of its card", info->si_addr);
        leave_kernel(why);
    }
    if (the_machine().card_of(info->si_addr) >= 0) {
        const char text[] = "the host touches device memory: copy it with cudaMemcpyAsync\n";
        [[maybe_unused]] const auto written = write(2, text, sizeof text - 1);
    }
    sigaction(signal, &before(signal), nullptr); // whose turn it is when the instruction is repeated
}

} // namespace

void make_signal_stack() {
    stack_t stack{};
    stack.ss_size = 64 * 1024;
    stack.ss_sp = mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, nullptr);
}

void catch_signals() {
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL}) {
        struct sigaction now {};
        sigaction(signal, &action, &now);
        if (now.sa_sigaction != handle) before(signal) = now;
    }
}

} // namespace tenon::emulator
