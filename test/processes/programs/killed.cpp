// The tests of grids, ensembles and servers that are killed or stopped: one program, for which headers are compiled once.
//
//   killed TENON [doctest's options]
//   killed --WORD FIRST SECOND         what a test starts itself, to kill it: see starts_as
#define DOCTEST_CONFIG_IMPLEMENT

#include <cstdio>

#include <processes/programs/tasks.hpp>

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: killed TENON\n");
        return 2;
    }
    ::signal(SIGPIPE, SIG_IGN);
    if (const auto what = starts_as.find(argv[1]); argc == 4 && what != starts_as.end())
        return what->second(argv[2], argv[3]);
    tenon_command = argv[1];
    tenon::set_client_options({.heartbeat = 0.3, .lease = 1.5});
    doctest::Context context(argc - 1, argv + 1);
    return context.run();
}
