#pragma once

#include <map>
#include <string>
#include <vector>

#include "reference/step.hpp"

/// Arrays as numbers: equal arrays have one number, so that states of a model are compared quickly.

namespace reference {

class values {
public:
    int number_of(shared_array a);
    const shared_array& operator[](int number) const { return all_.at(static_cast<std::size_t>(number)); }

private:
    std::map<std::string, int> known_;
    std::vector<shared_array> all_;
};

/// Arrays one on another along a new dimension 0, filled up with zeros to the largest size of each dimension. Of none: no
/// rows of `type`.
shared_array stacked(const std::vector<shared_array>& rows, const tenon::tensor_type& type);

} // namespace reference
