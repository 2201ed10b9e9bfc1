#pragma once

#include <tenon/io/safetensors/safetensors.hpp> // where it is now
