#include "emulated/support.hpp"

#include <atomic>
#include <functional>
#include <thread>

// Streams, events and graphs of the emulated GPU.

TEST_CASE("work of one stream comes in order, and after the events that it waits for") {
    const emulator::counts before = emulator::count();
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        emulator::reset();
        emulator::seed(seed);
        const device_array<std::int64_t> a(100), b(100);
        const cudaStream_t one = new_stream(), two = new_stream();
        const cudaEvent_t e = new_event();
        launch(number_threads, 1, 128, 0, one, a.get(), std::int64_t{100});
        launch(add_one, 1, 32, 0, one, a.get(), std::int64_t{100});
        CHECK(cudaEventRecord(e, one) == cudaSuccess);
        CHECK(cudaStreamWaitEvent(two, e, 0) == cudaSuccess);
        launch(copy_numbers, 1, 32, 0, two, static_cast<const std::int64_t*>(a.get()), b.get(), std::int64_t{100});
        CHECK(cudaStreamSynchronize(two) == cudaSuccess);
        const auto is = b.read();
        for (std::size_t i = 0; i < 100; ++i) CHECK(is[i] == static_cast<std::int64_t>(i) + 1);
        CHECK(cudaEventDestroy(e) == cudaSuccess);
        CHECK(cudaStreamDestroy(one) == cudaSuccess);
        CHECK(cudaStreamDestroy(two) == cudaSuccess);
    }
    CHECK(emulator::count().streams == before.streams);
    CHECK(emulator::count().events == before.events);
    CHECK(emulator::count().device_bytes == before.device_bytes);
}

TEST_CASE("a missing wait for an event shows for some seed") {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        emulator::reset();
        const device_array<std::int64_t> a(100), b(100);
        const cudaStream_t one = new_stream(), two = new_stream();
        emulator::seed(seed);
        launch(number_threads, 1, 128, 0, one, a.get(), std::int64_t{100});
        launch(copy_numbers, 1, 32, 0, two, static_cast<const std::int64_t*>(a.get()), b.get(), std::int64_t{100});
        CHECK(cudaStreamSynchronize(two) == cudaSuccess);
        wrong += b.read() != up_to(100);
        CHECK(cudaStreamDestroy(one) == cudaSuccess);
        CHECK(cudaStreamDestroy(two) == cudaSuccess);
    }
    CHECK(wrong > 5);
    CHECK(wrong < 35);
}

TEST_CASE("a host function is called in its stream's order, though nobody waits for the stream") {
    emulator::reset();
    const device_array<std::int64_t> a(all_of(10, 0));
    std::atomic<bool> called = false;
    const cudaStream_t s = new_stream();
    launch(number_threads, 1, 128, 0, s, a.get(), std::int64_t{10});
    CHECK(cudaLaunchHostFunc(
              s,
              [](void* to) {
                  int device = 0;
                  CHECK(cudaGetDevice(&device) == cudaErrorNotPermitted);
                  auto& done = *static_cast<std::atomic<bool>*>(to);
                  done = true;
                  done.notify_all();
              },
              &called) == cudaSuccess);
    called.wait(false);
    CHECK(cudaStreamDestroy(s) == cudaSuccess);
    CHECK(a.read() == up_to(10));
}

TEST_CASE("a host that polls an event gets there") {
    emulator::reset();
    const device_array<std::int64_t> a(all_of(10, 0));
    const cudaEvent_t e = new_event();
    CHECK(cudaEventQuery(e) == cudaSuccess);
    for (int i = 0; i < 5; ++i) launch(add_one, 1, 32, 0, nullptr, a.get(), std::int64_t{10});
    CHECK(cudaEventRecord(e, nullptr) == cudaSuccess);
    int asked = 0;
    for (; cudaEventQuery(e) == cudaErrorNotReady; ++asked) {
    }
    CHECK(asked > 0);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaEventDestroy(e) == cudaSuccess);
    CHECK(a.read() == all_of(10, 5));
}

TEST_CASE("two streams are captured as one graph, which runs as often as it is launched") {
    emulator::reset();
    const emulator::counts before = emulator::count();
    const device_array<std::int64_t> a(all_of(100, 0)), b(all_of(100, 0));
    const cudaStream_t one = new_stream(), two = new_stream();
    const cudaEvent_t fork = new_event(), join = new_event();
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK(cudaEventRecord(fork, one) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(two, fork, 0) == cudaSuccess);
    launch(add_one, 1, 32, 0, one, a.get(), std::int64_t{100});
    launch(add_one, 1, 32, 0, two, b.get(), std::int64_t{50});
    CHECK(cudaEventRecord(join, two) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(one, join, 0) == cudaSuccess);
    launch(copy_numbers, 1, 32, 0, one, static_cast<const std::int64_t*>(a.get()), b.get() + 50, std::int64_t{50});
    cudaStreamCaptureStatus status{};
    CHECK(cudaStreamIsCapturing(two, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(one, &graph) == cudaSuccess);
    std::size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
    CHECK(nodes == 3);
    CHECK(a.read() == all_of(100, 0)); // nothing ran

    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, i % 2 ? one : two) == cudaSuccess);
    CHECK(cudaStreamSynchronize(one) == cudaSuccess);
    CHECK(cudaStreamSynchronize(two) == cudaSuccess);
    CHECK(a.read() == all_of(100, 3));
    CHECK(b.read() == all_of(100, 3));

    // The same with other pointers can be put in its place; another graph cannot.
    const auto capture = [&](int launches) {
        CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
        for (int i = 0; i < launches; ++i) launch(add_one, 1, 32, 0, one, b.get(), std::int64_t{100});
        cudaGraph_t g = nullptr;
        REQUIRE(cudaStreamEndCapture(one, &g) == cudaSuccess);
        return g;
    };
    const cudaGraph_t other = capture(3), shorter = capture(2), longer = capture(2);
    cudaGraphExecUpdateResultInfo result{};
    CHECK(cudaGraphExecUpdate(executable, other, &result) == cudaErrorGraphExecUpdateFailure);
    CHECK(result.result == cudaGraphExecUpdateErrorTopologyChanged);
    CHECK(cudaGetLastError() == cudaErrorGraphExecUpdateFailure);
    cudaGraphExec_t second = nullptr;
    CHECK(cudaGraphInstantiate(&second, shorter, 0) == cudaSuccess);
    CHECK(cudaGraphExecUpdate(second, longer, &result) == cudaSuccess);
    CHECK(cudaGraphLaunch(second, one) == cudaSuccess);
    CHECK(cudaStreamSynchronize(one) == cudaSuccess);
    CHECK(b.read() == all_of(100, 5));
    for (const cudaGraph_t g : {graph, other, shorter, longer}) CHECK(cudaGraphDestroy(g) == cudaSuccess);
    for (const cudaGraphExec_t g : {executable, second}) CHECK(cudaGraphExecDestroy(g) == cudaSuccess);
    for (const cudaEvent_t e : {fork, join}) CHECK(cudaEventDestroy(e) == cudaSuccess);
    for (const cudaStream_t s : {one, two}) CHECK(cudaStreamDestroy(s) == cudaSuccess);
    CHECK(emulator::count().graphs == before.graphs);
    CHECK(emulator::count().executables == before.executables);
}

TEST_CASE("what a capture forbids makes it invalid") {
    emulator::reset();
    const device_array<std::int64_t> a(all_of(100, 0));
    const cudaStream_t one = new_stream(), two = new_stream();
    const cudaEvent_t fork = new_event(), before = new_event();
    CHECK(cudaEventRecord(before, two) == cudaSuccess);
    const auto captured = [&](const std::function<void()>& body) {
        CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
        launch(add_one, 1, 32, 0, one, a.get(), std::int64_t{100});
        body();
        cudaGraph_t g = nullptr;
        const cudaError_t answer = cudaStreamEndCapture(one, &g);
        CHECK((g != nullptr) == (answer == cudaSuccess));
        if (g) CHECK(cudaGraphDestroy(g) == cudaSuccess);
        (void)cudaGetLastError();
        return answer;
    };
    CHECK(captured([] {}) == cudaSuccess);
    CHECK(captured([&] { CHECK(cudaStreamSynchronize(one) == cudaErrorStreamCaptureUnsupported); }) ==
          cudaErrorStreamCaptureInvalidated);
    CHECK(captured([&] {
              void* p = nullptr;
              CHECK(cudaMalloc(&p, 16) == cudaErrorStreamCaptureUnsupported);
          }) == cudaErrorStreamCaptureInvalidated);
    CHECK(captured([&] { CHECK(cudaStreamWaitEvent(one, before, 0) == cudaErrorStreamCaptureIsolation); }) ==
          cudaErrorStreamCaptureInvalidated);
    CHECK(captured([&] {
              CHECK(cudaEventRecord(fork, one) == cudaSuccess);
              CHECK(cudaStreamWaitEvent(two, fork, 0) == cudaSuccess);
              launch(add_one, 1, 32, 0, two, a.get(), std::int64_t{100});
          }) == cudaErrorStreamCaptureUnjoined);
    CHECK(captured([&] {
              CHECK(cudaEventRecord(fork, one) == cudaSuccess);
              CHECK(cudaEventQuery(fork) == cudaErrorCapturedEvent);
          }) == cudaErrorStreamCaptureInvalidated);
    CHECK(a.read() == all_of(100, 0));
    for (const cudaEvent_t e : {fork, before}) CHECK(cudaEventDestroy(e) == cudaSuccess);
    for (const cudaStream_t s : {one, two}) CHECK(cudaStreamDestroy(s) == cudaSuccess);
}

TEST_CASE("what is refused while a stream is captured goes by what it waits for, by threads and by modes") {
    emulator::reset();
    emulator::cards({{}, {}});
    constexpr auto global = cudaStreamCaptureModeGlobal, local = cudaStreamCaptureModeThreadLocal,
                   relaxed = cudaStreamCaptureModeRelaxed;
    const device_array<std::int64_t> a(all_of(100, 0));
    std::int64_t on_host = 0;
    const cudaStream_t other_stream = new_stream();
    const cudaEvent_t free_event = new_event();
    const auto wait_for_card = [] { return cudaDeviceSynchronize(); };
    const auto wait_for_other_card = [] {
        CHECK(cudaSetDevice(1) == cudaSuccess);
        const cudaError_t answer = cudaDeviceSynchronize();
        CHECK(cudaSetDevice(0) == cudaSuccess);
        return answer;
    };
    const auto take_memory = [] {
        void* p = nullptr;
        const cudaError_t answer = cudaMalloc(&p, 16);
        if (p) CHECK(cudaFree(p) == cudaSuccess);
        return answer;
    };
    const auto ask_for_event = [&] { return cudaEventQuery(free_event); };
    const auto wait_for_other_stream = [&] { return cudaStreamSynchronize(other_stream); };
    const auto copy = [&] { return cudaMemcpy(&on_host, a.get(), sizeof on_host, cudaMemcpyDeviceToHost); };
    const auto use_legacy_stream = [&] { return cudaMemsetAsync(a.get(), 0, 8, nullptr); };
    struct row {
        const char* what;
        std::function<cudaError_t()> ask;
        cudaStreamCaptureMode captures_as;
        bool by_another_thread;
        cudaError_t answer;
        unsigned stream = cudaStreamNonBlocking;
        cudaStreamCaptureMode asks_as = cudaStreamCaptureModeGlobal;
    };
    constexpr cudaError_t refused = cudaErrorStreamCaptureUnsupported, implicit = cudaErrorStreamCaptureImplicit;
    for (const row& r :
         {row{"the card is waited for", wait_for_card, global, true, refused},
          {"the card is waited for", wait_for_card, local, true, refused},
          {"the card is waited for", wait_for_card, relaxed, true, refused},
          {"the card is waited for", wait_for_card, relaxed, false, refused},
          {"another card is waited for", wait_for_other_card, global, true, cudaSuccess},
          {"another card is waited for", wait_for_other_card, local, false, cudaSuccess},
          {"another stream is waited for", wait_for_other_stream, global, true, cudaSuccess},
          {"memory is taken", take_memory, global, true, refused},
          {"memory is taken", take_memory, local, true, cudaSuccess},
          {"memory is taken", take_memory, global, true, cudaSuccess, cudaStreamNonBlocking, local},
          {"memory is taken", take_memory, local, false, refused},
          {"memory is taken", take_memory, local, false, refused, cudaStreamNonBlocking, local},
          {"memory is taken", take_memory, local, false, cudaSuccess, cudaStreamNonBlocking, relaxed},
          {"memory is taken", take_memory, relaxed, false, cudaSuccess},
          {"an event is asked for", ask_for_event, global, true, refused},
          {"an event is asked for", ask_for_event, local, true, cudaSuccess},
          {"a copy waits", copy, local, true, cudaSuccess},
          {"a copy waits", copy, local, true, implicit, cudaStreamDefault},
          {"the legacy stream is used", use_legacy_stream, local, true, cudaSuccess},
          {"the legacy stream is used", use_legacy_stream, local, true, implicit, cudaStreamDefault},
          {"the legacy stream is used", use_legacy_stream, relaxed, false, implicit, cudaStreamDefault}}) {
        CAPTURE(r.what);
        CAPTURE(r.captures_as);
        CAPTURE(r.by_another_thread);
        CAPTURE(r.stream);
        CAPTURE(r.asks_as);
        cudaStream_t s = nullptr;
        REQUIRE(cudaStreamCreateWithFlags(&s, r.stream) == cudaSuccess);
        CHECK(cudaStreamBeginCapture(s, r.captures_as) == cudaSuccess);
        cudaError_t answer = cudaSuccess;
        const auto ask = [&] {
            cudaStreamCaptureMode mode = r.asks_as;
            CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
            answer = r.ask();
            CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
        };
        if (r.by_another_thread) std::thread(ask).join();
        else ask();
        CHECK(answer == r.answer);
        const cudaError_t after = r.answer == cudaSuccess ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
        CHECK(cudaMemsetAsync(a.get(), 0, 8, s) == after);
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamEndCapture(s, &graph) == after);
        if (graph) CHECK(cudaGraphDestroy(graph) == cudaSuccess);
        CHECK(cudaMemsetAsync(a.get(), 0, 8, s) == cudaSuccess); // it is a stream like others again
        CHECK(cudaStreamDestroy(s) == cudaSuccess);
    }
    CHECK(cudaEventDestroy(free_event) == cudaSuccess);
    CHECK(cudaStreamDestroy(other_stream) == cudaSuccess);
    (void)cudaGetLastError();
    emulator::reset();
}

TEST_CASE("what several cards do together waits for the last of them") {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        emulator::reset();
        emulator::cards({{}, {}});
        emulator::seed(seed);
        cudaStream_t streams[2];
        int there = 0, done[2] = {0, 0};
        for (int card = 0; card < 2; ++card) {
            CHECK(cudaSetDevice(card) == cudaSuccess);
            streams[card] = new_stream();
            bool came = false;
            CHECK(emulator::enqueue(streams[card], "meet", [&there, &is_done = done[card], came]() mutable {
                      if (!came) ++there;
                      came = true;
                      if (there == 2) is_done = there;
                      return there == 2;
                  }) == cudaSuccess);
        }
        CHECK(cudaStreamSynchronize(streams[seed % 2]) == cudaSuccess);
        CHECK(done[seed % 2] == 2);
        CHECK(cudaStreamSynchronize(streams[1 - seed % 2]) == cudaSuccess);
        CHECK(done[1 - seed % 2] == 2);
        for (const cudaStream_t s : streams) CHECK(cudaStreamDestroy(s) == cudaSuccess);
    }
    emulator::reset();
}
