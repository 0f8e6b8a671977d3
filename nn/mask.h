#pragma once
#include "autograd/mask.h"

namespace reel::nn {
using reel::Mask;
}
