#pragma once

#include <tenon/graph/safetensors.hpp> // where it is now
