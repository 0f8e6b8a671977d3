// What the machine can do: "peak 116.2 copy 21.4 apart 53", in GFLOP/s of f32, in GB/s, and in nanoseconds from one
// core to the next and back.
//
//     ceilings_bench [THREADS]

#include "tests/bench/ceilings.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  reel::kernels::set_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  std::printf("peak %.1f copy %.1f apart %.0f\n", reel::bench::fma_peak<float>(), reel::bench::copy_bandwidth(),
              reel::bench::round_trip());
}
