#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "history.hpp"

/// What may be said of histories, whatever was killed, stopped and cut meanwhile.

namespace standing {

struct history {
    std::vector<operation> all;
    std::vector<life> lives;
    std::vector<std::vector<std::int64_t>> left; ///< by server: elements of its queue, when nobody used it any more
    double longer = 5;                           ///< seconds that an operation may take beyond its limit
};

/// What is wrong, in words; nothing where all is right:
/// - what was acknowledged was applied once, what failed was not, what is unknown at most once, in the life of the server that said so;
/// - reads of one life never go back, and show the two variables of a pair alike;
/// - an element is taken once, after it was put, in its life, those of one writer in their order; none is lost while its server lives;
/// - errors are of the documented kinds, and nobody waits for longer than the limit and a bit.
std::vector<std::string> faults_of(const history& h);

} // namespace standing
