#pragma once
// What this process may use where control groups limit it, as those of containers do: infinity where none does, or the
// system does not say. The groups around a group limit it, too. `root` is where the system's files begin.

#include <filesystem>

namespace reel::kernels {

/// How many cores' worth of time.
double granted_cores(const std::filesystem::path& root = "/");

/// How many bytes of memory. Who uses more is killed.
double granted_memory(const std::filesystem::path& root = "/");

}  // namespace reel::kernels
